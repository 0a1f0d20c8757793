"""Scores of tables of spans: the answers of `evaluate_traces`, whatever the rows come in and wherever they stand."""

import json
import random
import threading
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import callmatch
import span_tables
from callmatch import InvalidInput, InvalidType
from callmatch.metrics import ToolCallTrajectory
from span_tables import (
    BY_HAND,
    PROFILES,
    A,
    B,
    C,
    D,
    Made,
    desk,
    expectations,
    hexed,
    prefix_of,
    same_as_files,
    scored,
    swapped,
    text,
)

SAMPLES = Path(__file__).parents[2] / "shared" / "samples"


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("roots", [1, 3])
def test_the_answers_are_those_of_the_same_table_read_as_a_file(name, roots):
    make, profile = PROFILES[name]
    made = doubts = 0
    for seed in range(6):
        spans = span_tables.rows(seed, roots=roots)
        table, expected = make(spans), expectations(spans, prefix_of(name))
        for calls in ("executed", "requested"):
            for match in ("exact", "in_order", "any_order"):
                metric = ToolCallTrajectory(match=match, calls=calls)
                scores, columns, traces = same_as_files(table, expected, metric)
                # Where it can't be read twice, the answers are the same, but for traces of which that is said.
                once = metric.evaluate_spans(pa.RecordBatchReader.from_stream(table), expected)
                in_doubt = {problem.split('"')[1] for problem in once.diagnostics}
                rows = zip(pa.table(scores).to_pylist(), pa.table(once).to_pylist(), strict=True)
                assert all(right == row for right, row in rows if row["trace_id"] not in in_doubt)
                doubts += len(in_doubt)
        assert scores.profile == profile
        assert len(scores.diagnostics) == len(traces.diagnostics) == 0
        made += sum(filter(None, columns["made"]))
        by = {f"session {number}": [{"name": "lookup"}] for number in range(9)}
        same_as_files(table, {**by, "nobody": []}, by="conversation_id")
        same_as_files(table, expected, by="test_id")
    assert made > 300
    assert roots > 1 or doubts == 0


# Counted by hand


@pytest.mark.parametrize("name", PROFILES)
def test_counts_by_hand(name):
    make, _ = PROFILES[name]
    prefix = prefix_of(name)
    wanted = {
        prefix + A: [{"name": "lookup", "arguments": {"order": 0}}, {"name": "refund", "arguments": {"order": 1}}],
        prefix + B: [{"name": "lookup"}, {"name": "refund"}],
        prefix + C: [],
        "missing": [],
    }
    table = make(hexed(BY_HAND))
    got = {
        calls: scored(table, wanted, ToolCallTrajectory(match="exact", calls=calls)).to_pydict()
        for calls in ("executed", "requested")
    }
    ids = [*(prefix + id for id in (A, B, C, D)), "missing"]
    for columns in got.values():
        assert columns["trace_id"] == ids
        assert columns["error"] == [None] * 4 + ["there is no trace with this id"]
        assert columns["expected"] == [2, 2, 0, None, None]
    assert got["executed"]["verdict"] == ["passed", "failed", "passed", "not_applicable", "error"]
    assert got["executed"]["made"] == [2, 1, 0, 1, None]
    assert got["executed"]["matched"] == [2, 1, 0, None, None]
    assert got["executed"]["difference_kind"] == [None, "missing", None, None, None]
    assert got["executed"]["expected_index"] == [None, 1, None, None, None]
    assert got["requested"]["verdict"] == ["passed", "passed", "passed", "not_applicable", "error"]
    assert got["requested"]["made"] == [2, 2, 0, 1, None]


def test_conversations_count_as_one():
    spans = [*desk(A, executed=["lookup"], asked=["lookup"]), *desk(B, executed=["refund"], asked=["refund"])]
    for span in spans:
        span.session = "s"
    spans += desk(C, executed=["ask"], asked=["ask"])
    table = span_tables.phoenix(spans)
    expected = {"s": [{"name": "lookup"}, {"name": "refund"}], C: [{"name": "ask"}]}
    got = scored(table, expected, by="conversation_id").to_pydict()
    # The third trace is of no conversation, so nothing is expected of it, whatever it is called.
    assert got["conversation_id"] == ["s", C, C]
    assert got["verdict"] == ["passed", "not_applicable", "error"]
    assert got["made"] == [2, 1, None]


def test_a_trace_in_which_nothing_is_known_of_calls_is_inconclusive():
    spans = [Made("1", "t", None, "CHAIN", "root", 0, 9)]
    got = scored(span_tables.phoenix(spans), {"t": [{"name": "lookup"}]}).to_pydict()
    assert got["verdict"] == ["inconclusive"]
    assert got["made"] == [None]


# Rows anywhere, batches of any size, any number of threads


def test_answers_depend_neither_on_batches_nor_on_threads():
    spans = span_tables.rows(1, traces=900, roots=2)
    table, expected = span_tables.phoenix(spans), expectations(spans)
    assert table.num_rows > 2 * 2048
    whole = scored(table, expected)
    for size in (1, 7, 1000, 5000):
        batches = pa.Table.from_batches(table.combine_chunks().to_batches(max_chunksize=size))
        assert scored(batches, expected, threads=1 if size == 7 else None).equals(whole)
    assert scored(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), expected).equals(whole)


def test_rows_of_a_trace_stand_anywhere():
    spans = span_tables.rows(2, traces=60)
    for place, span in enumerate(spans):
        span.start = span.start * 1000 + place  # of those that began together the order in the table decides
        span.end = span.end * 1000
    expected = expectations(spans)
    by_id = sorted(scored(span_tables.phoenix(spans), expected).to_pylist(), key=lambda row: row["trace_id"])
    for shuffle in (spans[::-1], sorted(spans, key=lambda span: span.id), sorted(spans, key=lambda span: span.start)):
        table = span_tables.phoenix(shuffle)
        rows = scored(table, expected).to_pylist()
        order = [*dict.fromkeys(span.trace for span in shuffle), "nobody"]
        assert [row["trace_id"] for row in rows] == order
        assert sorted(rows, key=lambda row: row["trace_id"]) == by_id


def test_what_was_exported_twice_counts_once():
    table = span_tables.langfuse(BY_HAND)
    window = table.slice(2, 9)  # exports of neighbouring windows overlap
    expected = {A: [{"name": "lookup"}, {"name": "refund"}]}
    assert scored(pa.concat_tables([table, window]), expected).equals(scored(table, expected))
    same_as_files(pa.concat_tables([window, table, table]), expected, ToolCallTrajectory(match="exact"))


# Anything at all


def gone_wrong(spans, rng):
    """The spans in any order, some of them with parents that are not there, their own or in a ring, with ids that come
    again, in other traces, or with times that say nothing."""
    made = [Made(**vars(span)) for span in spans]
    for span in made:
        other, what = rng.choice(spans), rng.random()
        if what < 0.06:
            span.parent = other.id
        elif what < 0.1:
            span.parent = "f" * 16
        elif what < 0.13:
            span.parent = span.id
        elif what < 0.17:
            span.id = other.id
        elif what < 0.2:
            span.trace = other.trace
        elif what < 0.24:
            span.end = span.start
        elif what < 0.28:
            span.start = other.start
        span.end = max(span.start, span.end)
    rng.shuffle(made)
    return made


TEXTS = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), "dictionary", "runs")


def in_any_form(table, rng):
    """The table with texts of other types, nulls here and there, and rows in batches of any size."""
    for field in table.schema:
        column, kind = table[field.name].combine_chunks(), rng.choice(TEXTS)
        if rng.random() < 0.3:
            column = pc.if_else(pa.array([rng.random() < 0.06 for _ in column], pa.bool_()), None, column)
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            match kind:
                case "dictionary":
                    column = column.dictionary_encode()
                case "runs":
                    column = pc.run_end_encode(column)
                case _:
                    column = column.cast(kind)
        table = swapped(table, field.name, column)
    cuts = sorted(rng.randrange(table.num_rows + 1) for _ in range(rng.choice([0, 1, 5, 40])))
    parts = zip([0, *cuts], [*cuts, table.num_rows], strict=True)
    return pa.concat_tables([table.slice(start, end - start) for start, end in parts])


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("seed", range(6))
def test_whatever_there_is_the_answers_are_those_of_a_file(name, seed):
    rng, (make, _) = random.Random(f"{name} {seed}"), PROFILES[name]
    spans = gone_wrong(span_tables.rows(seed, traces=14, roots=3), rng)
    table, expected = in_any_form(make(spans), rng), expectations(spans, prefix_of(name))
    for calls, by in (("executed", "trace_id"), ("requested", "trace_id"), ("executed", "conversation_id")):
        metric = ToolCallTrajectory(match="exact", calls=calls)
        same_as_files(table, expected, metric, by, threads=rng.choice([1, 2, None]))


# Where questions say where a turn begins


def late(trace="t"):
    """Two roots, one after the other, in which models are asked two things; a tool of the first goes on too long."""

    def span(id, parent, kind, start, end, **more):
        return Made(id * 16, trace, parent and parent * 16, kind, kind, start, end, **more)

    return [
        span("1", None, "HTTP", 0, 100),
        span("2", "1", "LLM", 1, 5, question="What is it?", text="It."),
        Made("3" * 16, trace, "1" * 16, "TOOL", "slow", 150, 160, {}),
        span("4", None, "HTTP", 100, 200),
        span("5", "4", "LLM", 101, 105, question="And where?", text="There."),
        Made("6" * 16, trace, "4" * 16, "TOOL", "quick", 120, 130, {}),
    ]


def test_the_order_of_calls_in_turns_that_overlap():
    table = span_tables.otlp2records([*late("a" * 32), *hexed(BY_HAND)])
    expected = {"a" * 32: [{"name": "slow"}, {"name": "quick"}]}
    exact = ToolCallTrajectory(match="exact")
    scores, columns, _ = same_as_files(table, expected, exact)
    assert columns["verdict"][0] == "passed"
    assert scores.diagnostics == []
    # What can be read but once is read without what models were asked, and that is said.
    once = pa.RecordBatchReader.from_stream(table)
    scores = exact.evaluate_spans(once, expected)
    assert pa.table(scores)["verdict"][0].as_py() == "failed"
    assert len(scores.diagnostics) == 1
    assert f'trace "{"a" * 32}": the order of its calls' in scores.diagnostics[0]
    assert ds.dataset([table.to_batches()[0]]).schema == table.schema
    assert scored(ds.dataset(table), expected, exact)["verdict"][0].as_py() == "passed"


# What can't be read


def test_broken_rows_are_told_and_the_others_count():
    table = span_tables.databricks(hexed(BY_HAND))
    attributes, ids = table["attributes"].to_pylist(), table["trace_id"].to_pylist()
    attributes[3], ids[1] = "{broken", None
    table = swapped(swapped(table, "attributes", pa.array(attributes)), "trace_id", pa.array(ids))
    expected = {A: [{"name": "lookup"}, {"name": "refund"}], B: [{"name": "lookup"}]}
    scores, columns, traces = same_as_files(table, expected)
    assert [problem.partition(":")[0] for problem in scores.diagnostics] == ["row 1", "row 3"]
    assert "attributes: expected attributes, got a string" in scores.diagnostics[1]
    # The same rows, but that the lines of a file are counted from 1.
    lines = [problem.split(":")[1] for problem in traces.diagnostics]
    assert [f"row {int(line) - 1}" for line in lines] == ["row 1", "row 3"]
    assert columns["verdict"][columns["trace_id"].index(B)] == "passed"


def test_many_problems_are_counted():
    table = pa.table({"TraceId": ["a"] * 11_000, "SpanId": ["b"] * 11_000, "SpanName": [None] * 11_000})
    scores = ToolCallTrajectory().evaluate_spans(table, {})
    assert len(scores.diagnostics) == 10_001
    assert scores.diagnostics[-1] == "and 1000 more"
    assert len(scores) == 0


def test_log_records_are_no_spans():
    rows = [
        {"trace_id": "t", "span_id": "a", "start_time_unix_nano": 5, "name": "execute_tool f", "body": None},
        {"trace_id": "t", "span_id": "a", "start_time_unix_nano": None, "name": None, "body": "hello"},
    ]
    scores = ToolCallTrajectory().evaluate_spans(pa.Table.from_pylist(rows), {"t": [{"name": "f"}]})
    assert pa.table(scores)["verdict"].to_pylist() == ["passed"]
    assert scores.diagnostics == ["row 1: this is no row of otel_table"]


def test_tables_that_are_not_known():
    with pytest.raises(InvalidInput) as caught:
        scored(pa.table({"context.trace_id": ["a"], "span_ids": ["b"], "name": ["c"]}), {})
    assert str(caught.value) == (
        "these are the columns of no table of spans that is known; the nearest is phoenix, which has context.span_id "
        'or span_id too (did you mean "span_ids"?); the table has context.trace_id, span_ids, name; known are tables '
        "of phoenix, clickhouse, otel_table, logfire, langfuse, langsmith, mlflow, adk_bigquery"
    )
    with pytest.raises(InvalidInput, match="columns of no table of spans that is known; the table has x; known are"):
        scored(pa.table({"x": [1]}), {})
    both = {**{name: ["a"] for name in ("TraceId", "SpanId", "SpanName")}, "trace_id": ["a"], "span_id": ["b"]}
    both = pa.table({**both, "start_time_unix_nano": [5]})
    with pytest.raises(
        InvalidInput, match='those of clickhouse and of otel_table; say which it is: profile="clickhouse"'
    ):
        scored(both, {})
    for profile in ("clickhouse", "otel_table"):
        assert len(scored(both, {}, profile=profile)) == 1
    with pytest.raises(InvalidInput, match="a table of langsmith has run_type, and id or run_id too"):
        scored(both, {}, profile="langsmith")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profile": "pheonix"}, 'did you mean "phoenix"'),
        ({"by": "conversation"}, 'did you mean "conversation_id"'),
        ({"columns": ["verdit"]}, "did you mean"),
        ({"columns": []}, "at least one"),
        ({"columns": ["score", "score"]}, "named twice"),
        ({"threads": 0}, "threads"),
    ],
)
def test_words_that_are_not_known(options, words):
    with pytest.raises(InvalidInput, match=words):
        scored(span_tables.phoenix(BY_HAND), {}, **options)


def test_things_of_other_types():
    table = span_tables.phoenix(BY_HAND)
    for spans, expected in (
        ([1], {}),
        ("file.parquet", {}),
        (table, [1]),
        (table, {1: []}),
        (table, {"a": [object()]}),
    ):
        with pytest.raises(InvalidType):
            scored(spans, expected)
    with pytest.raises(InvalidType, match='did you mean "profile"'):
        scored(table, {}, profil="phoenix")
    twice = pa.table([*table.columns, table["name"]], names=[*table.column_names, "name"])
    with pytest.raises(InvalidInput, match='several columns "name"'):
        scored(twice, {})


def test_no_rows():
    table = span_tables.phoenix(BY_HAND).slice(0, 0)
    assert len(scored(table, {})) == 0
    assert scored(table, {"a": []})["verdict"].to_pylist() == ["error"]


def test_a_stream_that_fails():
    table = span_tables.phoenix(BY_HAND)

    def batches():
        yield table.to_batches()[0]
        raise ValueError("the line went dead")

    with pytest.raises(InvalidInput, match=r"the table can't be read: .*the line went dead"):
        scored(pa.RecordBatchReader.from_batches(table.schema, batches()), {})


# What is expected


def test_expectations_in_a_table_or_a_file(tmp_path):
    spans = span_tables.rows(6)
    table, expected = span_tables.phoenix(spans), expectations(spans)
    right = scored(table, expected)
    lines = [json.dumps({"trace_id": id, "expected_tool_calls": calls}) for id, calls in expected.items()]
    (tmp_path / "expected.jsonl").write_text("\n".join(lines))
    assert scored(table, tmp_path / "expected.jsonl").equals(right)
    texts = [None if calls is None else json.dumps(calls) for calls in expected.values()]
    assert scored(table, pa.table({"trace_id": list(expected), "expected_tool_calls": texts})).equals(right)
    assert scored(table, pl.DataFrame({"id": list(expected), "expected_tool_calls": texts})).equals(right)
    wide = pa.list_(pa.struct([("name", pa.string()), ("arguments", pa.string())]))
    nested = [
        None
        if calls is None
        else [{"name": call["name"], "arguments": call.get("arguments") and text(call["arguments"])} for call in calls]
        for calls in expected.values()
    ]
    assert scored(table, pa.table({"trace_id": list(expected), "expected_tool_calls": pa.array(nested, wide)})).equals(
        right
    )


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"trace": ["a"], "expected_tool_calls": ["[]"]}, "a column of the table is one of trace, expected_tool_calls"),
        ({"trace_id": ["a"], "expected": ["[]"]}, "a column of the table is one of trace_id, expected"),
        ({"trace_id": ["a", "a"], "expected_tool_calls": ["[]", "[]"]}, 'the id "a" was there before, in row 0'),
        ({"trace_id": ["a", None], "expected_tool_calls": ["[]", "[]"]}, r"expected\[1\].trace_id: expected the id"),
        ({"trace_id": ["a"], "expected_tool_calls": [1]}, "holds Int64; tool calls come as"),
    ],
)
def test_tables_of_expectations_that_cant_be_read(columns, words):
    with pytest.raises((InvalidInput, InvalidType), match=words):
        scored(span_tables.phoenix(BY_HAND), pa.table(columns))


def test_a_table_of_expectations_with_a_column_twice():
    ids, calls = pa.array([A]), pa.array(["[]"])
    for name, columns in (("trace_id", [ids, calls, ids]), ("expected_tool_calls", [ids, calls, calls])):
        expected = pa.table(columns, names=["trace_id", "expected_tool_calls", name])
        with pytest.raises(InvalidInput, match=f'expected: the table has several columns "{name}"'):
            scored(span_tables.phoenix(BY_HAND), expected)


def test_an_expectation_that_cant_be_read_is_an_error_of_its_row():
    table = span_tables.phoenix(BY_HAND)
    _, columns, _ = same_as_files(table, {A: '[{"nme": "lookup"}]', B: "[", C: []})
    assert columns["verdict"] == ["error", "error", "passed", "not_applicable"]
    got = scored(table, {A: '[{"nme": "lookup"}]'}, columns=["error"])["error"][0].as_py()
    assert got.startswith("expected_tool_calls[0]")


def test_ids_with_half_of_a_pair_of_surrogates(tmp_path):
    said = ['{"gen_ai.tool.name": "f", "session.id": "s\\ud800"}']
    table = pa.table({"TraceId": ["t"], "SpanId": ["1"], "SpanName": ["f"], "SpanAttributes": said})
    right = {"conversation_id": ["s\\ud800"], "verdict": ["passed"]}
    _, columns, _ = same_as_files(table, {"s\ud800": [{"name": "f"}]}, by="conversation_id")
    assert {name: columns[name] for name in right} == right
    file = tmp_path / "expected.jsonl"
    file.write_text('{"conversation_id": "s\\ud800", "expected_tool_calls": [{"name": "f"}]}')
    assert scored(table, file, by="conversation_id", columns=["verdict"]).to_pydict() == right


# What comes out


def test_scores_can_be_read_again_and_by_others():
    duckdb = pytest.importorskip("duckdb")
    scores = ToolCallTrajectory().evaluate_spans(span_tables.phoenix(BY_HAND), {A: []}, columns=["verdict", "made"])
    assert scores.columns == ("trace_id", "verdict", "made")
    assert len(scores) == 4
    assert repr(scores) == "<SpanScores of 4 rows with the columns trace_id, verdict, made>"
    assert pa.table(scores).equals(pa.table(scores))
    assert pl.DataFrame(scores)["made"].to_list() == [2, 1, 0, 1]
    assert duckdb.sql("select count(*) from scores where verdict = 'failed'").fetchall() == [(1,)]


def test_other_frames_as_they_are():
    duckdb = pytest.importorskip("duckdb")
    table = span_tables.langsmith(BY_HAND)
    expected = {A: [{"name": "lookup"}, {"name": "refund"}], B: []}
    right = scored(table, expected)
    assert scored(pl.from_arrow(table), expected).equals(right)
    assert scored(table.to_pandas(), expected).equals(right)
    relation = duckdb.from_arrow(table)
    assert scored(relation, expected).equals(right)
    assert scored(relation.project(", ".join(callmatch.span_columns(relation.columns))), expected).equals(right)


def test_others_work_meanwhile():
    spans = span_tables.rows(7, traces=1500)
    table, ticks, done = span_tables.phoenix(spans), [], threading.Event()
    table = pa.concat_tables([table] * 3)

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    ticks.clear()
    scored(table, {})
    during = len(ticks)
    done.set()
    thread.join()
    assert during > 5


# Real files


def tables_of(*names):
    return [path for name in names for path in sorted((SAMPLES / name).glob("*")) if path.suffix != ".md"]


def calls_of(table):
    """What each trace did, and once what it didn't."""
    traces = callmatch.read(table)
    known = [one for one in traces if one.tool_calls_reported]
    made = {one.id: [{"name": call.name, "arguments": call.input} for call in one.tool_calls] for one in known}
    return {id: [*calls, {"name": "never"}] if place % 2 else calls for place, (id, calls) in enumerate(made.items())}


@pytest.mark.skipif(not SAMPLES.exists(), reason="the files are not part of the project")
@pytest.mark.parametrize("path", tables_of("columnar"), ids=lambda path: path.name)
def test_real_tables(path):
    table = pq.read_table(path)
    expected = calls_of(table)
    for match in ("exact", "superset"):
        for calls in ("executed", "requested"):
            scores, columns, _ = same_as_files(table, expected, ToolCallTrajectory(match=match, calls=calls))
    assert scores.diagnostics == []
    assert sum(columns["made"]) > 3


def as_rows(path):
    """The rows that a store would have of what an API gave: nested things as JSON text."""
    whole = path.read_text()
    loaded = [json.loads(line) for line in whole.splitlines()] if path.suffix == ".jsonl" else json.loads(whole)
    rows = loaded if isinstance(loaded, list) else loaded.get("observations", loaded.get("runs", [loaded]))
    names = sorted({key for row in rows for key in row})
    shown = [
        {
            key: None if row.get(key) is None else row[key] if isinstance(row[key], str) else text(row[key])
            for key in names
        }
        for row in rows
    ]
    return pa.Table.from_pylist(shown, pa.schema([(name, pa.string()) for name in names]))


@pytest.mark.skipif(not SAMPLES.exists(), reason="the files are not part of the project")
@pytest.mark.parametrize("path", tables_of("langfuse", "langsmith", "mlflow"), ids=lambda path: path.name)
def test_real_exports_as_tables(path):
    table = as_rows(path)
    try:
        callmatch.span_columns(table.column_names)
    except InvalidInput:
        pytest.skip("a trace as a whole, which is no row of a table")
    expected = calls_of(table)
    for calls in ("executed", "requested"):
        scores, columns, traces = same_as_files(table, expected, ToolCallTrajectory(match="exact", calls=calls))
    assert len(scores.diagnostics) == len(traces.diagnostics)
    assert len(columns["made"]) > 0
    # Rows of any order: the order in which they began decides.
    order = list(range(table.num_rows))
    random.Random(1).shuffle(order)
    same_as_files(table.take(order), expected, ToolCallTrajectory(match="exact"))


def test_values_that_nest_deeply():
    spans = hexed(BY_HAND)
    for levels in (400, 900, 5000):
        deep = "[" * levels + "]" * levels
        table = span_tables.databricks(spans)
        said = [text({**span_tables.genai(span), "gen_ai.tool.call.arguments": f'{{"x": {deep}}}'}) for span in spans]
        nested = [f'{{"gen_ai.tool.name": "lookup", "gen_ai.tool.call.arguments": {{"x": {deep}}}}}' for _ in spans]
        for attributes in (said, nested):
            same_as_files(swapped(table, "attributes", pa.array(attributes)), {A: [{"name": "lookup"}]})

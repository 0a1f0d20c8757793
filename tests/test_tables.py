"""Scores of the rows of Arrow tables: the same answers as row by row, whatever the rows come in."""

import json
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import callmatch.duckdb
import callmatch.polars
from answers import CASES, text
from callmatch import InvalidInput, InvalidType, _core
from callmatch.metrics import ToolCallTrajectory

duckdb = pytest.importorskip("duckdb")

NAMES = list(_core.SCORE_COLUMNS)
ODD = [
    ('[{"name": "a"}]', None),
    (None, '[{"name": "a"}]'),
    (None, None),
    ("null", "[]"),
    ("[", '[{"name": "a"}]'),
    ('[{"name": "a"}]', '[{"nme": "a"}]'),
    ('[{"name": 1}]', "[]"),
    ("[]", "[]"),
]
ROWS = [(text(case["actual"]), text(case["expected"])) for case in CASES] + ODD


def table_of(rows, kind=None):
    columns = {
        "tool_calls": pa.array([made for made, _ in rows], kind),
        "expected_tool_calls": pa.array([expected for _, expected in rows], kind),
    }
    return pa.table(columns)


def scored(table, metric=None, **options):
    return pa.table((metric or ToolCallTrajectory()).evaluate_table(table, **options))


def row_by_row(metric, rows):
    scores = metric.evaluate_batch(
        tool_calls=[made for made, _ in rows], expected_tool_calls=[expected for _, expected in rows]
    )
    return {name: getattr(scores, name) for name in NAMES}


def same(table, columns):
    """Errors name the row in their own way, so they are only there or not."""
    got = table.to_pydict()
    for name in ("reason", "error"):
        got[name], columns[name] = (
            [cell if verdict != "error" else "…" for cell, verdict in zip(one[name], one["verdict"], strict=True)]
            for one in (got, columns)
        )
    assert got == columns


@pytest.mark.parametrize("match", _core.MATCH_MODES)
@pytest.mark.parametrize("arguments", _core.ARGUMENT_MODES)
def test_every_case_as_in_a_batch(match, arguments):
    metric = ToolCallTrajectory(match=match, arguments=arguments)
    same(scored(table_of(ROWS), metric), row_by_row(metric, ROWS))


TYPES = {
    "string": pa.string(),
    "large string": pa.large_string(),
    "string view": pa.string_view(),
    "binary": pa.binary(),
    "large binary": pa.large_binary(),
    "binary view": pa.binary_view(),
}


@pytest.mark.parametrize("kind", TYPES)
def test_texts_of_every_type(kind):
    encoded = [[None if cell is None else cell.encode() for cell in row] for row in ROWS]
    table = table_of(encoded if "binary" in kind else ROWS, TYPES[kind])
    assert scored(table).equals(scored(table_of(ROWS)))


def test_dictionaries():
    plain = table_of(ROWS * 3)
    table = pa.table({name: plain[name].dictionary_encode() for name in plain.column_names})
    assert scored(table).equals(scored(plain))


CALLS = [
    [{"name": "search", "arguments": {"query": "a", "limit": 5}}],
    [{"name": "search", "arguments": {"query": "b"}}, {"name": "reply", "arguments": {"text": "c"}}],
    [{"name": "search", "arguments": {"query": "a", "limit": 6}}],
    [],
    None,
]
EXPECTED = [
    [{"name": "search", "arguments": {"limit": 5.0}}],
    [{"name": "reply"}],
    [{"name": "search", "arguments": {"limit": 5}}],
    [],
    [],
]
RIGHT = ["passed", "passed", "failed", "passed", "inconclusive"]


def nested(kind):
    """Lists of structs, whose arguments are of one type."""
    arguments = {
        "text": pa.string(),
        "struct": pa.struct([("query", pa.string()), ("limit", pa.float64()), ("text", pa.string())]),
        "map": pa.map_(pa.string(), pa.string()),
    }[kind]
    write = {
        "text": json.dumps,
        "struct": lambda given: given,
        "map": lambda given: [(key, str(value)) for key, value in given.items()],
    }[kind]
    rows = [
        calls and [{"name": call["name"], "arguments": write(call["arguments"])} for call in calls] for calls in CALLS
    ]
    return pa.array(rows, pa.list_(pa.struct([("name", pa.string()), ("arguments", arguments)])))


@pytest.mark.parametrize("kind", ["text", "struct", "map"])
def test_lists_of_structs(kind):
    expected = EXPECTED
    if kind == "map":  # in which all values are texts
        expected = [[{"name": "search", "arguments": {"limit": "5"}}], [{"name": "reply"}], *EXPECTED[2:]]
    table = pa.table({"tool_calls": nested(kind), "expected_tool_calls": [json.dumps(calls) for calls in expected]})
    assert scored(table)["verdict"].to_pylist() == RIGHT
    large = table.set_column(
        0, "tool_calls", table["tool_calls"].cast(pa.large_list(table["tool_calls"].type.value_type))
    )
    assert scored(large).equals(scored(table))
    assert scored(pl.from_arrow(table)).equals(scored(table))


def test_a_null_in_a_struct_is_a_key_that_is_not_there_and_one_in_a_map_is_a_null():
    """Every row of a column of structs has all keys."""
    call = pa.struct([("name", pa.string()), ("arguments", pa.struct([("x", pa.int64()), ("y", pa.int64())]))])
    made = pa.array([[{"name": "a", "arguments": {"x": 1, "y": None}}], [{"name": "a"}]], pa.list_(call))
    table = pa.table({"tool_calls": made, "expected_tool_calls": ['[{"name": "a", "arguments": {"x": 1}}]'] * 2})
    exact = ToolCallTrajectory(arguments="exact")
    assert scored(table, exact)["verdict"].to_pylist() == ["passed", "inconclusive"]
    call = pa.struct([("name", pa.string()), ("arguments", pa.map_(pa.string(), pa.int64()))])
    made = pa.array([[{"name": "a", "arguments": [("x", 1), ("y", None)]}]], pa.list_(call))
    table = pa.table({"tool_calls": made, "expected_tool_calls": ['[{"name": "a", "arguments": {"x": 1}}]']})
    assert scored(table, exact)["verdict"].to_pylist() == ["failed"]
    table = pa.table({"tool_calls": made, "expected_tool_calls": ['[{"name": "a", "arguments": {"x": 1, "y": null}}]']})
    assert scored(table, exact)["verdict"].to_pylist() == ["passed"]


@pytest.mark.parametrize(
    ("kind", "value", "equal", "unequal"),
    [
        (pa.int8(), 5, "5.0", "6"),
        (pa.uint64(), 2**64 - 1, str(2**64 - 1), str(2**64)),
        (pa.float64(), 0.5, "0.5", "0.25"),
        (pa.decimal128(20, 2), Decimal("12.50"), "12.5", "12.51"),
        (pa.bool_(), True, "true", "1"),
        (pa.string(), "5", '"5"', "5"),
        (pa.list_(pa.int64()), [1, 2], "[1, 2.0]", "[2, 1]"),
        (pa.list_(pa.int64(), 2), [1, 2], "[1, 2.0]", "[2, 1]"),
    ],
)
def test_values_of_arguments_by_their_type(kind, value, equal, unequal):
    call = pa.struct([("name", pa.string()), ("arguments", pa.struct([("x", kind)]))])
    made = pa.array([[{"name": "a", "arguments": {"x": value}}]] * 2, pa.list_(call))
    expected = [f'[{{"name": "a", "arguments": {{"x": {written}}}}}]' for written in (equal, unequal)]
    table = pa.table({"tool_calls": made, "expected_tool_calls": expected})
    assert scored(table)["verdict"].to_pylist() == ["passed", "failed"]


def test_what_comes_out_does_not_depend_on_batches_or_threads():
    table = table_of(ROWS * 200)
    whole = scored(table)
    for rows in (1000, 2048, 3001):
        pieces = pa.Table.from_batches(table.to_batches(max_chunksize=rows))
        for threads in (1, 2, 5):
            assert scored(pieces, threads=threads).equals(whole)
    one = pa.Table.from_batches(table.slice(0, 50).to_batches(max_chunksize=1))
    assert scored(one).equals(whole.slice(0, 50))


def test_errors_name_the_column_and_the_row_of_the_table():
    table = pa.table({"made": ["[]"] * 5000 + ["["], "wanted": ["[]"] * 5001})
    error = scored(table, tool_calls="made", expected_tool_calls="wanted")["error"]
    assert error.null_count == 5000
    assert error[5000].as_py().startswith("made[5000]: not JSON")
    table = pa.table({"tool_calls": pa.array([b"[]", b'[{"name": "\xff"}]']), "expected_tool_calls": ["[]", "[]"]})
    assert scored(table)["verdict"].to_pylist() == ["passed", "error"]


def test_columns_that_are_kept_and_wanted():
    table = table_of(ROWS).append_column("id", pa.array(range(len(ROWS))))
    scores = ToolCallTrajectory().evaluate_table(table, keep=["id", "tool_calls"], columns=["f1", "verdict"])
    assert scores.columns == ("id", "tool_calls", "f1", "verdict")
    got = pa.table(scores)
    assert got.column_names == ["id", "tool_calls", "f1", "verdict"]
    assert got["id"].equals(table["id"])
    assert got["tool_calls"].equals(table["tool_calls"])
    assert got["f1"].equals(scored(table)["f1"])


def test_no_rows():
    got = scored(table_of([], pa.string()))
    assert got.num_rows == 0
    assert got.column_names == NAMES


def test_a_table_is_scored_again_each_time_and_a_stream_once():
    table = table_of(ROWS)
    scores = ToolCallTrajectory().evaluate_table(table)
    assert pa.table(scores).equals(pa.table(scores))
    stream = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches()))
    scores = ToolCallTrajectory().evaluate_table(stream)
    assert pa.table(scores).num_rows == len(ROWS)
    with pytest.raises(InvalidInput, match="but once"):
        pa.table(scores)


def test_a_stream_is_read_batch_by_batch():
    read = []

    def batches():
        for number in range(10):
            read.append(number)
            yield table_of(ROWS).to_batches()[0]

    stream = pa.RecordBatchReader.from_batches(table_of(ROWS).schema, batches())
    scores = pa.RecordBatchReader.from_stream(ToolCallTrajectory().evaluate_table(stream))
    scores.read_next_batch()
    assert len(read) < 5
    assert scores.read_all().num_rows == 9 * len(ROWS)


def test_an_error_of_the_stream_is_raised():
    def batches():
        yield table_of(ROWS).to_batches()[0]
        raise OSError("the disk is gone")

    stream = pa.RecordBatchReader.from_batches(table_of(ROWS).schema, batches())
    with pytest.raises(Exception, match="the disk is gone"):
        scored(stream)


def test_a_record_batch_is_a_table():
    assert scored(table_of(ROWS).to_batches()[0]).equals(scored(table_of(ROWS)))


BAD = {
    "no table": (InvalidType, lambda metric: metric.evaluate_table([1])),
    "no such column": (InvalidInput, lambda metric: metric.evaluate_table(table_of(ROWS), tool_calls="tool_call")),
    "a column of numbers": (
        InvalidType,
        lambda metric: metric.evaluate_table(pa.table({"tool_calls": [1], "expected_tool_calls": ["[]"]})),
    ),
    "a column twice": (
        InvalidInput,
        lambda metric: metric.evaluate_table(
            pa.table([["[]"]] * 3, names=["tool_calls", "expected_tool_calls", "tool_calls"])
        ),
    ),
    "two of a name": (
        InvalidInput,
        lambda metric: metric.evaluate_table(
            table_of(ROWS).rename_columns(["score", "b"]), tool_calls="score", expected_tool_calls="b", keep=["score"]
        ),
    ),
    "no columns": (InvalidInput, lambda metric: metric.evaluate_table(table_of(ROWS), columns=[])),
    "no such score": (InvalidInput, lambda metric: metric.evaluate_table(table_of(ROWS), columns=["verdit"])),
    "a text for a list": (InvalidType, lambda metric: metric.evaluate_table(table_of(ROWS), keep="id")),
    "unknown keyword": (InvalidType, lambda metric: metric.evaluate_table(table_of(ROWS), expected="b")),
    "threads": (InvalidInput, lambda metric: metric.evaluate_table(table_of(ROWS), threads=0)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    error, call = BAD[name]
    with pytest.raises(error):
        call(ToolCallTrajectory())


# -- who reads and writes tables


def test_pandas():
    frame = pd.DataFrame(
        {"tool_calls": [made for made, _ in ROWS], "expected_tool_calls": [wanted for _, wanted in ROWS]}
    )
    assert scored(frame).equals(scored(table_of(ROWS)))


def test_the_deepest_calls_are_scored_in_a_thread_with_a_small_stack(in_small_stack):
    def call(depth):
        return '[{"name": "t", "arguments": ' + '{"k": ' * depth + "1" + "}" * depth + "}]"

    rows, found = [(call(512), call(512)), (call(512), call(511)), (call(513), call(513))], []

    def score_all():
        found.extend(scored(table_of(rows), threads=1)["verdict"].to_pylist())

    in_small_stack(score_all, 64 << 10)
    assert found == ["passed", "failed", "error"]


def test_rows_are_grouped_by_bytes_that_are_no_text():
    groups = pa.array([b"\x00\xff", b"plain", b"\x00\xff"])
    for of in (groups, groups.dictionary_encode(), groups.cast(pa.large_binary())):
        table = table_of([("[]", "[]")] * 3).append_column("of", of)
        found = ToolCallTrajectory().evaluate_table(table).summaries(["of"])
        assert {key: summary.rows for key, summary in found.items()} == {("00ff",): 2, ("plain",): 1}


@pytest.mark.parametrize("given", [pa.array([1]), pa.chunked_array([[1]])])
def test_what_has_no_columns_is_no_table(given):
    with pytest.raises(InvalidType, match="expected a table, whose rows have columns"):
        pa.table(ToolCallTrajectory().evaluate_table(given))
    with pytest.raises(InvalidType, match="expected a table, whose rows have columns"):
        ToolCallTrajectory().evaluate_spans(given, {})


def test_polars_frames():
    frame = pl.from_arrow(table_of(ROWS))
    got = pl.DataFrame(ToolCallTrajectory().evaluate_table(frame))
    assert got.to_dict(as_series=False) == scored(table_of(ROWS)).to_pydict()


def test_a_polars_expression():
    frame = pl.from_arrow(table_of(ROWS * 100))
    right = scored(table_of(ROWS * 100), ToolCallTrajectory(match="superset"))
    score = callmatch.polars.score("tool_calls", pl.col("expected_tool_calls"), match="superset", name="calls")
    for got in (frame.with_columns(score), frame.lazy().with_columns(score).collect()):
        assert got.columns == ["tool_calls", "expected_tool_calls", "calls"]
        struct = got["calls"].struct.unnest()
        assert struct.drop("reason", "error").equals(pl.from_arrow(right).drop("reason", "error"))
    assert frame.select(callmatch.polars.score("tool_calls", "expected_tool_calls", columns=["f1"])).schema == {
        "tool_call_trajectory": pl.Struct({"f1": pl.Float64})
    }


def test_a_duckdb_function():
    connection = duckdb.connect()
    callmatch.duckdb.register(connection)
    rows = table_of(ROWS * 100)  # noqa: F841 - DuckDB finds it by its name
    for match, arguments in [("in_order", "partial"), ("subset", "ignore")]:
        query = f"select unnest(callmatch_score(tool_calls, expected_tool_calls, '{match}', '{arguments}')) from rows"
        got = connection.sql(query).to_arrow_table()
        right = scored(table_of(ROWS * 100), ToolCallTrajectory(match=match, arguments=arguments))
        assert got.drop_columns(["reason", "error"]).equals(right.drop_columns(["reason", "error"]))
        assert pc.sum(pc.is_valid(got["error"])).equals(pc.sum(pc.is_valid(right["error"])))


def test_a_duckdb_function_with_words_from_a_column():
    connection = duckdb.connect()
    callmatch.duckdb.register(connection, "judged", columns=["verdict"])
    made = '[{"name": "a"}, {"name": "b"}]'
    query = f"""
        select judged('{made}', '[{{"name": "a"}}]', match, 'partial').verdict
        from unnest(['exact', 'superset', 'subset', 'exact', 'in_order']) as words(match)
    """
    verdicts = [verdict for (verdict,) in connection.sql(query).fetchall()]
    assert verdicts == ["failed", "passed", "failed", "failed", "passed"]


def test_a_duckdb_function_says_what_is_wrong():
    connection = duckdb.connect()
    callmatch.duckdb.register(connection)
    with pytest.raises(duckdb.InvalidInputException, match=r'did you mean "in_order"'):
        connection.sql("select callmatch_score('[]', '[]', 'inorder', 'partial')").fetchall()
    with pytest.raises(InvalidInput, match="already"):
        callmatch.duckdb.register(connection)

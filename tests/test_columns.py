"""The spans of stored traces as columns: the same whether traces were found before or are read while they are found."""

import json
import pickle
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

import callmatch
from callmatch.readers import ENDINGS
from conftest import SHARED

SAMPLES = SHARED / "samples"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.suffix in ENDINGS)
KINDS = (None, "tool_call", "llm")
TEXTS = ("kind", "id", "parent_id", "name", "agent", "status", "error", "recorded_as")


def plain(parts):
    return [{name: list(column) for name, column in part.items()} for part in parts]


def joined(parts):
    return {name: [cell for part in parts for cell in part[name]] for name in parts[0]} if parts else {}


def compare(source, sizes=(3, 1024)):
    """Read in one pass, and again where the traces are known: the columns are the same, and so is what is told."""
    for kind in KINDS:
        for size in sizes:
            traces, known = callmatch.read(source), callmatch.read(source)
            known.ids()
            parts = plain(traces.columns(size, kind=kind))
            assert parts == plain(known.columns(size, kind=kind))
            assert parts == plain(traces.columns(size, kind=kind))
            assert len(parts) == -(-len(traces) // size)
            # Traces are read by several threads, each of which tells in its order.
            assert sorted(traces.diagnostics) == sorted(known.diagnostics)
            assert (traces.ids(), traces.formats, traces.file_of) == (known.ids(), known.formats, known.file_of)
        assert_rows(callmatch.read(source), joined(parts), kind)


def assert_rows(traces, columns, kind):
    """The rows are the spans of the traces, which are read here one after the other."""
    rows = list(zip(*columns.values(), strict=True))
    for place in range(len(traces)):
        try:
            trace = traces[place]
        except callmatch.CallmatchError:
            continue
        own = [dict(zip(columns, row, strict=True)) for row in rows if row[0] == place]
        spans = [(number, span) for number, turn in enumerate(trace.turns) for span in turn.spans(kind)]
        assert [row["turn"] for row in own] == [number for number, _ in spans]
        for row, (_, span) in zip(own, spans, strict=True):
            assert (row["trace_id"], row["conversation_id"]) == (trace.id, trace.conversation_id)
            assert [row[name] for name in TEXTS] == [getattr(span, name) for name in TEXTS]
            assert [row[name] is None for name in ("started_at", "ended_at")] == [
                time is None for time in (span.started_at, span.ended_at)
            ]
            if span.kind == "llm":
                assert row["input"] is None or kind == "llm"
            else:
                assert (None if row["input"] is None else json.loads(row["input"])) == span.input
            assert (None if row["output"] is None else json.loads(row["output"])) == span.output


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(SAMPLES))) for path in FILES])
def test_a_sample_file_has_the_same_columns_either_way(path):
    try:
        callmatch.read(path)
    except callmatch.CallmatchError:
        pytest.skip("no traces")
    compare(path)


@pytest.mark.parametrize("name", ["refund_traces.jsonl", "spans.jsonl"])
def test_an_example_has_the_same_columns_either_way(name):
    compare(f"examples/{name}")


# What is scattered, broken or told twice


def span(trace, number, tool, start, **more):
    given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, **more}
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": f"execute_tool {tool}",
        "startTimeUnixNano": str(1767268800000000000 + start),
        "endTimeUnixNano": str(1767268800000000001 + start),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in given.items()],
    }


def request(*spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def asked(*names, **more):
    calls = [{"id": f"c{place}", "function": {"name": name, "arguments": "{}"}} for place, name in enumerate(names)]
    messages = [{"role": "user", "content": "Q"}, {"role": "assistant", "tool_calls": calls}]
    return json.dumps({"messages": messages, **more})


def test_traces_that_are_scattered_over_lines_blocks_and_files_are_whole(tmp_path):
    rng = random.Random(5)
    made = [(trace, f"t{number}", number) for trace in range(40) for number in range(rng.choice([1, 1, 1, 5]))]
    rng.shuffle(made)
    # More than a block, so that the pieces of a trace are read by several threads.
    filler = "x" * 20_000
    lines = [request(span(trace, trace * 100 + number, tool, number, filler=filler)) for trace, tool, number in made]
    one, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_text("\n".join(lines[:60]))
    other.write_text("\n".join(lines[60:]))
    for source in (one, [one, other], tmp_path):
        compare(source)
    columns = joined(plain(callmatch.read(tmp_path).columns()))
    order = list(dict.fromkeys(trace for trace, _, _ in made))
    wanted = [(place, f"t{number}") for place, trace in enumerate(order) for number in range(5)]
    wanted = [(place, name) for place, name in wanted if (order[place], name) in {(made[0], made[1]) for made in made}]
    assert list(zip(columns["trace"], columns["name"], strict=True)) == wanted


def test_what_is_broken_cut_off_or_has_no_trace_makes_no_difference(tmp_path):
    cut = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "te'}
    path = tmp_path / "broken.jsonl"
    path.write_text(
        "\n".join(
            [
                request(span(1, 1, "a", 1), span(2, 2, "b", 2)),
                '{"resourceSpans": ',
                request(),
                request(span(3, 3, "c", 1, **cut)),
                json.dumps({"resourceSpans": 5}),
                request({**span(4, 4, "d", 1), "traceId": ""}, span(5, 5, "e", 1)),
                request(span(1, 9, "again", 0)),
            ]
        )
    )
    compare(path)
    (part,) = callmatch.read(path).columns(kind="tool_call")
    assert [name for place, name in zip(part["trace"], part["name"], strict=True) if place == 0] == ["again", "a"]


def test_chats_among_which_some_can_not_be_read_make_no_difference(tmp_path):
    path = tmp_path / "chats.jsonl"
    records = [
        asked("a", id="1"),
        '{"messages": [',
        asked("b", id="1", expected_tool_calls=[], tool_calls=[{"name": "c", "arguments": {}}]),
        json.dumps({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 5}}]}]}),
        json.dumps({"messages": []}),
        asked("d", "e", conversation_id="c"),
    ]
    path.write_text("\n".join(records))
    compare(path)


def test_many_blocks_come_in_their_order(tmp_path):
    path = tmp_path / "many.jsonl"
    filler = "x" * 3_000
    path.write_text("\n".join(asked(f"t{number}", id=str(number), filler=filler) for number in range(2_000)))
    names = [name for part in callmatch.read(path).columns(size=300) for name in part["name"]]
    assert names == [f"t{number}" for number in range(2_000)]
    compare(path, sizes=(300,))


def test_threads_that_ask_at_the_same_time_get_the_same(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text("\n".join(asked(f"t{number}", "u", id=str(number)) for number in range(500)))
    wanted = plain(callmatch.read(path).columns())
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            traces = callmatch.read(path)
            asking = [lambda: plain(traces.columns()), lambda: len(traces)] * 4  # noqa: B023
            answers = [future.result() for future in [pool.submit(ask) for ask in asking]]
            assert answers == [wanted, 500] * 4


# What a column is


@pytest.fixture
def part(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text(asked("a", "b", "b", id="1") + "\n" + asked("ü" * 3, id="2"))
    (part,) = callmatch.read(path).columns()
    return part


def test_a_column_is_a_sequence_like_a_list(part):
    names, wanted = part["name"], ["a", "b", "b", "üüü"]
    assert isinstance(names, Sequence)
    assert names == wanted
    assert wanted == names
    assert names == part["name"]
    assert names != wanted[1:]
    assert names != part["id"]
    assert names != tuple(wanted)
    assert (len(names), names.tolist(), list(names), repr(names)) == (4, wanted, wanted, repr(wanted))
    assert [names[place] for place in range(-4, 4)] == wanted + wanted
    assert (names[1:], names[::-1], list(reversed(names))) == (wanted[1:], wanted[::-1], wanted[::-1])
    for place in (4, -5, 10**30):
        with pytest.raises(IndexError):
            names[place]
    with pytest.raises(TypeError):
        names["a"]
    assert ("b" in names, "c" in names) == (True, False)
    assert (names.count("b"), names.index("b"), names.index("b", 2)) == (2, 1, 2)
    with pytest.raises(ValueError, match="not in list"):
        names.index("c")
    assert (part["trace"], part["turn"], part["error"]) == ([0, 0, 0, 1], [0] * 4, [None] * 4)
    with pytest.raises(TypeError):
        hash(names)
    assert pickle.loads(pickle.dumps(part)) == part
    assert type(pickle.loads(pickle.dumps(names))) is list


def test_a_part_is_a_table_of_pandas_polars_and_pyarrow(part):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    wanted = {name: list(column) for name, column in part.items()}
    assert pyarrow.table(part).to_pydict() == wanted
    assert pyarrow.table(part).schema.field("name").type == pyarrow.large_string()
    assert pyarrow.array(part["name"], pyarrow.string()).type == pyarrow.string()
    assert pyarrow.array(part["turn"]).type == pyarrow.int64()
    frame = polars.DataFrame(part)
    assert frame.to_dict(as_series=False) == wanted
    assert frame.schema["name"] == polars.String
    frame = pandas.DataFrame(part)
    assert frame["name"].tolist() == wanted["name"]
    assert frame["trace"].dtype == "int64"
    assert frame["error"].isna().all()

"""`callmatch.read`: every kind of source, what is told of what can't be read, and how traces are found."""

import datetime
import decimal
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

import callmatch
from answers import text
from callmatch import InvalidInput, InvalidType, Trace, Traces, _core, read
from callmatch.expectations import read_expected
from callmatch.metrics import ToolCallTrajectory

HEX_A, HEX_B = "a" * 32, "b" * 32


def lines(*records):
    return "".join(text(record) + "\n" for record in records)


def asked(question, *names, **more):
    """A record of chat messages."""
    calls = [{"id": f"c{place}", "function": {"name": name, "arguments": "{}"}} for place, name in enumerate(names)]
    told = {"role": "assistant", "content": "Done.", **({"tool_calls": calls} if calls else {})}
    return {"messages": [{"role": "user", "content": question}, told], **more}


def attributes(**values):
    return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in values.items()]


def span(trace, id, name, start, parent=""):
    """A tool call as a span of OTLP."""
    return {
        "traceId": trace,
        "spanId": id * 16,
        "parentSpanId": parent,
        "name": f"execute_tool {name}",
        "startTimeUnixNano": str(1767268800000000000 + start),
        "endTimeUnixNano": str(1767268800000000000 + start + 1),
        "attributes": attributes(
            gen_ai__operation__name="execute_tool", gen_ai__tool__name=name, gen_ai__tool__call__arguments='{"n": 1}'
        ),
    }


def otlp(*spans):
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def own(**fields):
    return {"turns": [{"input": "hi", "output": "hello", "spans": []}], **fields}


def names(traces):
    return [[call.name for call in trace.tool_calls] for trace in traces]


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


CHAT = lines(asked("one", "a", id="t1"), asked("two", "b", "c", id="t2"), asked("three", id="t3"))


# Files


def test_a_file_of_messages(write):
    traces = read(write("chat.jsonl", CHAT))
    assert (len(traces), traces.formats, traces.ids()) == (3, ["openai_chat"], ["t1", "t2", "t3"])
    assert names(traces) == [["a"], ["b", "c"], []]
    assert [trace.input for trace in traces] == ["one", "two", "three"]
    assert traces.diagnostics == []


def test_the_path_may_be_a_text_or_several_paths(write):
    one, two = write("one.jsonl", CHAT), write("two.jsonl", lines(own(id="x")))
    assert read(str(one)).ids() == read(one).ids()
    traces = read([one, str(two)])
    assert traces.ids() == ["t1", "t2", "t3", "x"]
    assert traces.formats == ["openai_chat", "callmatch"]
    assert traces.files == [(str(one), "openai_chat"), (str(two), "callmatch")]
    assert traces.file_of == [0, 0, 0, 1]
    assert read(path for path in (one, two)).ids() == traces.ids()


def test_a_trace_without_an_id_has_none_unless_it_is_alone_in_its_file(write):
    traces = read(write("chat.jsonl", lines(asked("one", "a"), asked("two", "b"))))
    assert (traces.ids(), traces.diagnostics) == ([], [])
    assert [trace.id for trace in traces] == [None, None]
    for name in ("alone.jsonl", "alone.json.gz"):
        content = lines(asked("one", "a")).encode()
        alone = read(write(name, gzip.compress(content) if name.endswith(".gz") else content))
        assert alone.pull("alone").id is None


def test_two_files_of_one_name_do_not_share_an_id_silently(write, tmp_path):
    first, second = (write(f"{folder}/run.json", text(asked(folder, "a"))) for folder in ("a", "b"))
    traces = read(tmp_path)
    assert traces.pull("run").input == "a"
    assert traces.diagnostics == [f"{second}:1: the id 'run' was there before, at {first}:1".replace("'", '"')]


def test_what_has_no_name_gives_none_to_its_trace(write):
    record = asked("one", "a")
    assert read([record]).ids() == []
    command = "import callmatch; print(callmatch.read('-').ids(), len(callmatch.read([])))"
    arguments = [sys.executable, "-W", "ignore:callmatch was built", "-c", command]
    done = subprocess.run(arguments, input=text(record).encode(), capture_output=True, timeout=60, check=True)
    assert done.stdout.split() == [b"[]", b"0"]


def test_places_slices_and_what_a_sequence_does(write):
    traces = read(write("chat.jsonl", CHAT))
    assert traces[-1].id == traces[2].id == "t3"
    assert [trace.id for trace in traces[1:]] == ["t2", "t3"]
    assert [trace.id for trace in traces[::-2]] == ["t3", "t1"]
    assert [trace.id for trace in reversed(traces)] == ["t3", "t2", "t1"]
    assert traces[1] in traces
    for place in (3, -4):
        with pytest.raises(IndexError):
            _ = traces[place]


@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_a_broken_line_is_passed_over_and_told_with_its_place(write, place):
    records = [asked(question, "a", id=question) for question in ("one", "two")]
    at = {"start": 0, "middle": 1, "end": 2}[place]
    content = lines(*records).splitlines()
    content.insert(at, '{"messages": [')
    path = write("chat.jsonl", "\n".join(content))
    traces = read(path)
    assert [trace.input for trace in traces] == ["one", "two"]
    (told,) = traces.diagnostics
    assert told.startswith(f"{path}:{at + 1}: not JSON")


def test_of_an_array_the_number_of_the_record_is_told(write):
    path = write("chat.json", text([asked("one", "a", id="1"), 5, asked("two", "b", id="2")]))
    traces = read(path)
    assert names(traces) == [["a"], ["b"]]
    (told,) = traces.diagnostics
    assert told.startswith(f"{path}: record 2: ")


@pytest.mark.parametrize(
    "make", [lambda raw: b"\xef\xbb\xbf" + raw, gzip.compress, lambda raw: raw.replace(b"\n", b"\r\n")]
)
def test_byte_order_marks_line_ends_and_compression_change_nothing(write, make):
    plain = read(write("chat.jsonl", CHAT))
    assert [*read(write("other.jsonl", make(CHAT.encode())))] == [*plain]


def test_zstandard_is_read(write):
    # A frame of one raw block, which no library is needed for.
    raw = CHAT.encode()
    assert len(raw) < 1 << 17
    frame = b"\x28\xb5\x2f\xfd\xa0" + len(raw).to_bytes(4, "little") + (len(raw) << 3 | 1).to_bytes(3, "little") + raw
    assert read(write("chat.jsonl.zst", frame)).ids() == ["t1", "t2", "t3"]


def test_what_is_damaged_in_compression_is_an_error(write):
    with pytest.raises((InvalidInput, OSError), match=r"chat\.gz"):
        read(write("chat.gz", gzip.compress(CHAT.encode())[:-12]))


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf", gzip.compress(b"")])
def test_an_empty_file_has_no_traces(write, content):
    traces = read(write("empty.jsonl", content))
    assert (len(traces), list(traces), traces.formats, traces.diagnostics) == (0, [], [], [])
    with pytest.raises(InvalidInput, match="expected one trace, found 0"):
        traces.only()


def test_a_file_in_which_nothing_can_be_read_is_an_error(write):
    with pytest.raises(InvalidInput, match=r"bad\.jsonl:1: not JSON"):
        read(write("bad.jsonl", '{"messages": [\n{"x"\n'))
    with pytest.raises(InvalidInput, match=r"no trace could be read; .*bad\.jsonl:1: .*\(and 1 more\)"):
        read(write("bad.jsonl", lines({"messages": [{"role": "usr"}]}, {"messages": [{"role": "usr"}]})))


def test_a_file_that_no_format_fits_names_the_nearest(write):
    path = write("other.jsonl", lines({"messages_": [], "conversation_id": 1, "test_id": 2}))
    with pytest.raises(InvalidInput) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: no known format of traces has such records")
    assert "callmatch" in str(caught.value)


def test_a_format_may_be_insisted_on(write):
    path = write("chat.jsonl", CHAT)
    assert read(path, format="openai_chat").ids() == ["t1", "t2", "t3"]
    with pytest.raises(InvalidInput, match="this is not otlp, but looks like openai_chat"):
        read(path, format="otlp")
    with pytest.raises(InvalidInput, match=r'format is one of .*, not "otpl"; did you mean "otlp"'):
        read(path, format="otpl")
    spans = write("spans.jsonl", lines(otlp(span(HEX_A, "1", "a", 1))))
    assert names(read(spans, format="otel_genai")) == [["a"]]
    # What spans say in the words of others isn't read then.
    assert [trace.tool_calls[0].arguments for trace in read(spans, format="otel_genai")] == [{"n": 1}]
    assert [call.arguments for trace in read(spans, format="openinference") for call in trace.spans("tool_call")] == [
        None
    ]


def test_a_file_that_two_formats_fit_names_both(write):
    both = {**own(id="x"), "traj": [], "task_id": 1, "info": {}, "reward": 1.0, **otlp(span(HEX_A, "1", "a", 1))}
    path = write("both.jsonl", lines(both))
    with pytest.raises(InvalidInput, match=r"looks like .* and like .*format="):
        read(path)


def test_what_is_not_there_is_the_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        read(tmp_path / "none.jsonl")
    assert caught.value.filename == str(tmp_path / "none.jsonl")
    with pytest.raises(FileNotFoundError):
        read([tmp_path, tmp_path / "none.jsonl"])


@pytest.mark.parametrize("source", [5, None, b"x.jsonl", object()])
def test_what_is_no_source_is_refused(source):
    with pytest.raises(InvalidType, match="source: expected a path, several, a table, or rows, got"):
        read(source)


def test_an_open_file_is_refused_and_not_taken_for_paths(write):
    with open(write("chat.jsonl", CHAT)) as file, pytest.raises(InvalidType, match="got TextIOWrapper"):
        read(file)


def test_paths_and_rows_are_not_mixed(write):
    with pytest.raises(InvalidType, match="expected paths, got dict among them"):
        read([write("chat.jsonl", CHAT), {}])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_read_once(tmp_path):
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(CHAT))
    writer.start()
    traces = read(path)
    writer.join()
    assert names(traces) == names(traces) == [["a"], ["b", "c"], []]


# Folders


def test_of_a_folder_files_with_the_usual_endings_count(write, tmp_path):
    for name in ("b.jsonl", "a.json", "c.ndjson", "in/d.traj", ".hidden.jsonl"):
        write(name, lines(own(id=name)))
    for name in ("x.txt", "y.csv", "z", "w.jsonl.bak"):
        write(name, lines(own(id=name)))
    write("e.jsonl.gz", gzip.compress(lines(own(id="e")).encode()))
    traces = read(tmp_path)
    assert traces.ids() == [".hidden.jsonl", "a.json", "b.jsonl", "c.ndjson", "e", "in/d.traj"]
    assert traces.diagnostics == []


def test_a_file_of_another_kind_is_told_in_a_folder_and_an_error_alone(write, tmp_path):
    write("a.jsonl", lines(own(id="a")))
    foreign = write("package.json", text({"name": "x", "version": "1"}))
    traces = read(tmp_path)
    assert traces.ids() == ["a"]
    (told,) = traces.diagnostics
    assert told.startswith(f"{foreign}: no known format")
    with pytest.raises(InvalidInput, match="no known format"):
        read(foreign)


def test_a_folder_of_nothing_but_other_things_is_an_error(write, tmp_path):
    assert list(read(tmp_path)) == []
    write("package.json", text({"name": "x", "version": "1"}))
    with pytest.raises(InvalidInput, match=r"no trace could be read; .*package\.json"):
        read(tmp_path)


def test_a_damaged_file_is_told_in_a_folder_and_an_error_alone(write, tmp_path):
    write("a.jsonl", lines(own(id="a")))
    damaged = write("b.jsonl.gz", gzip.compress(CHAT.encode())[:-20])
    cut = write("c.eval", b"PK\x03\x04")
    traces = read(tmp_path)
    assert traces.ids() == ["a"]
    assert [told.split(": ")[0] for told in traces.diagnostics] == [str(damaged), str(cut)]
    with pytest.raises(InvalidInput, match=r"b\.jsonl\.gz: "):
        read(damaged)


def test_where_nothing_can_be_read_the_place_is_that_of_the_line_or_the_record(write):
    for name, content, place in (("a.txt", "hello\n", ":1: "), ("b.json", '[{"a" 1}]', ": record 1: ")):
        with pytest.raises(InvalidInput) as caught:
            read(path := write(name, content))
        assert str(caught.value).startswith(f"{path}{place}not JSON")


@pytest.mark.skipif(sys.platform == "win32", reason="sets a limit that only POSIX has")
def test_more_files_than_a_process_may_have_open(write, tmp_path):
    for number in range(150):
        plain, packed = (lines(asked(f"{number}", "a", id=f"{kind}{number}")) for kind in ("plain", "packed"))
        write(f"f/{number:03}.jsonl", plain)
        write(f"f/{number:03}.jsonl.gz", gzip.compress(packed.encode()))
    command = (
        "import os, resource, sys, callmatch;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100));"
        "traces = callmatch.read('f'); os.chdir('/');"
        "print(len(traces), len(traces.ids()), sum(int(t.input) for t in traces), traces.diagnostics)"
    )
    arguments = [sys.executable, "-W", "ignore:callmatch was built", "-c", command]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    assert done.stdout.decode().strip() == f"300 300 {2 * sum(range(150))} []"


def test_rows_stay_though_many_files_are_open(write):
    paths = [write(f"{number:03}.jsonl", lines(asked("one", id=f"{number}"))) for number in range(80)]
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = paths[0].with_name("table.parquet")
    parquet.write_table(pyarrow.table({"id": ["t"], "messages": [text(asked("rows")["messages"])]}), table)
    assert read([*paths, table]).pull("t").input == "rows"


def test_progress_is_told_to_the_last_byte(write):
    plain, packed = write("a.jsonl", CHAT), write("b.jsonl.gz", gzip.compress(CHAT.encode()))
    told = []
    Traces([plain], progress=lambda *both: told.append(both))
    assert told[-1] == (size := plain.stat().st_size, size)
    Traces([packed], progress=lambda *both: told.append(both))
    assert told[-1] == (size := packed.stat().st_size, size)
    Traces([asked("one")], progress=lambda *both: told.append(both))
    assert told[-1][0] == told[-1][1] > 0

    def stop(*both):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        Traces(plain, progress=stop)


# Spans


def test_the_spans_of_a_trace_may_be_scattered_over_lines_and_files(write):
    one = write("1.jsonl", lines(otlp(span(HEX_A, "2", "second", 20)), otlp(span(HEX_B, "9", "other", 5))))
    two = write("2.jsonl", lines(otlp(span(HEX_A, "3", "third", 30), span(HEX_A, "1", "first", 10))))
    traces = read([one, two])
    assert traces.ids() == [HEX_A, HEX_B]
    assert names(traces) == [["first", "second", "third"], ["other"]]
    assert names([traces.pull(HEX_A)]) == [["first", "second", "third"]]
    assert traces.diagnostics == []
    assert names(read(one)) == [["second"], ["other"]]


def test_messages_that_an_exporter_cut_off_are_no_answer_and_are_told(write):
    answer = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "refund"}]}])
    model = {
        **span(HEX_A, "a", "", 0),
        "name": "chat",
        "attributes": attributes(gen_ai__operation__name="chat", gen_ai__output__messages=answer[:60]),
    }
    traces = read(write("spans.jsonl", json.dumps(otlp(model))))
    assert (traces[0].tool_calls_reported, traces[0].output) == (False, None)
    assert [note.split(": ")[-1] for note in traces.diagnostics] == ["messages that are cut off"]


def test_one_that_cannot_be_read_is_passed_over_where_all_are_asked_for(write):
    path = write(
        "own.jsonl", lines(own(id="a"), {"id": "b", "turns": [{"input": "x", "spans": [{"kind": "tol"}]}]}, own(id="c"))
    )
    traces = read(path)
    assert [trace.id for trace in traces] == [trace.id for trace in traces] == ["a", "c"]
    # Told once, however often it was met.
    assert len([told for told in traces.diagnostics if told.startswith(f"{path}:2")]) == 1


def test_a_file_of_one_trace_of_any_format(write):
    assert Trace.from_file(write("chat.json", text(asked("one", "a")))).input == "one"
    with pytest.raises(InvalidInput, match="expected one trace, found 3"):
        Trace.from_file(write("chat.jsonl", CHAT))


def test_ids_find_traces_tests_and_conversations(write):
    one = asked("one", "a", id="t1", conversation_id="c")
    two = asked("two", "b", id="t2", conversation_id="c", test_id="x")
    traces = read(write("chat.jsonl", lines(one, two)))
    assert traces.pull("t2").input == "two"
    assert [turn.input for turn in traces.conversation("c").turns] == ["one", "two"]
    assert (traces.for_test("x").id, traces.for_test("t1").id) == ("t2", "t1")
    with pytest.raises(InvalidInput, match=r"no trace with the id 't22'; did you mean 't2'\?"):
        traces.pull("t22")


# Rows


def test_rows_are_read_as_the_records_of_a_file(write):
    records = [json.loads(line) for line in CHAT.splitlines()]
    assert [*read(records)] == [*read(write("chat.jsonl", CHAT))]
    assert [*read(iter(records))] == [*read(records)]
    assert read(records[0]).only().input == "one"
    # Rows that are messages are one conversation.
    assert read(asked("one", "a")["messages"]).only().tool_calls[0].name == "a"
    assert list(read([])) == []


def test_rows_may_hold_what_json_does_not(tmp_path):
    when = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    told = {"n": decimal.Decimal("1.50"), "when": when, "id": uuid.UUID(int=1), "day": when.date(), "x": math.nan}
    row = {"messages": asked("one")["messages"], "id": "t", "expected_tool_calls": [{"name": "a", "arguments": told}]}
    (trace,) = read([row])
    (call,) = trace.attributes["expected_tool_calls"]
    assert math.isnan(call["arguments"].pop("x"))
    assert call["arguments"] == {
        "n": 1.5,
        "when": "2026-01-01T10:00:00Z",
        "id": "00000000-0000-0000-0000-000000000001",
        "day": "2026-01-01",
    }


@pytest.mark.parametrize(
    ("bad", "error", "said"),
    [
        ({"x": {1}}, InvalidType, "rows:2: set is not a JSON value"),
        ({(1, 2): 3}, InvalidInput, "rows:2: keys must be str"),
        ({"messages": 5}, None, "rows:2: "),
    ],
)
def test_a_row_that_can_not_be_is_told_by_its_number(bad, error, said):
    if error is None:
        traces = read([asked("one"), bad])
        assert len(traces) == 1
        assert traces.diagnostics[0].startswith(said)
        return
    with pytest.raises(error, match=said):
        read([asked("one"), bad])


def test_no_temporary_file_is_left(write, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    traces = read([asked("one", "a")])
    assert os.listdir(tmp_path) == []
    assert names(traces) == [["a"]]
    with pytest.raises(InvalidType):
        read([{"x": {1}}])
    assert os.listdir(tmp_path) == []


# Tables


def rows_of_spans():
    """Rows as ClickHouse has them."""
    return [
        {
            "Timestamp": datetime.datetime(2026, 1, 1, 12, 0, second, 5, datetime.timezone.utc),
            "TraceId": HEX_A,
            "SpanId": str(second) * 16,
            "ParentSpanId": None,
            "SpanName": f"execute_tool {name}",
            "SpanAttributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name},
            "Duration": 1000,
            "StatusCode": "Unset",
        }
        for second, name in [(2, "second"), (1, "first")]
    ]


@pytest.fixture
def table():
    pa = pytest.importorskip("pyarrow")
    fields = [
        ("Timestamp", pa.timestamp("ns", "UTC")),
        *((name, pa.string()) for name in ("TraceId", "SpanId", "ParentSpanId", "SpanName")),
        ("SpanAttributes", pa.map_(pa.string(), pa.string())),
        ("Duration", pa.uint64()),
        ("StatusCode", pa.dictionary(pa.int8(), pa.string())),
    ]
    return pa.Table.from_pylist(rows_of_spans(), pa.schema(fields))


def check_of_spans(traces):
    assert (traces.formats, traces.ids()) == (["clickhouse"], [HEX_A])
    (trace,) = traces
    assert [call.name for call in trace.tool_calls] == ["first", "second"]
    assert trace.tool_calls[0].started_at.isoformat() == "2026-01-01T12:00:01.000005+00:00"


def test_tables_of_arrow(table):
    check_of_spans(read(table))
    check_of_spans(read(table.to_reader()))
    check_of_spans(read(table.combine_chunks().to_batches()[0]))
    check_of_spans(read(rows_of_spans()))


def test_frames_of_pandas_and_polars(table):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    check_of_spans(
        read(
            polars.from_arrow(table.drop_columns("SpanAttributes")).with_columns(
                polars.Series("SpanAttributes", [text(row["SpanAttributes"]) for row in rows_of_spans()])
            )
        )
    )
    check_of_spans(read(pandas.DataFrame(rows_of_spans())))
    # As Phoenix gives them: the id of a span is the index.
    check_of_spans(read(pandas.DataFrame(rows_of_spans()).set_index("SpanId")))


def test_files_of_parquet(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "in" / "spans.parquet"
    path.parent.mkdir()
    parquet.write_table(table, path, row_group_size=1)
    check_of_spans(read(path))
    check_of_spans(read(tmp_path))
    # Told by the first bytes, not by the name.
    (tmp_path / "spans.jsonl").write_bytes(path.read_bytes())
    check_of_spans(read(tmp_path / "spans.jsonl"))
    # And beside files of other formats.
    (tmp_path / "own.jsonl").write_text(lines(own(id="x")))
    assert read([path, tmp_path / "own.jsonl"]).ids() == [HEX_A, "x"]


def test_a_damaged_file_of_parquet_is_an_error_and_in_a_folder_a_diagnostic(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "spans.parquet"
    parquet.write_table(table, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match=r"spans\.parquet: the table can't be read"):
        read(path)
    (tmp_path / "own.jsonl").write_text(lines(own(id="x")))
    traces = read(tmp_path)
    assert traces.ids() == ["x"]
    assert traces.diagnostics[0].startswith(f"{path}: the table can't be read")


def test_the_row_of_a_table_is_told_as_the_line(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "chat.parquet"
    messages = [text(asked(question)["messages"]) for question in ("one", "two")]
    parquet.write_table(
        pa.table({"messages": [messages[0], '[{"role": "usr"}]', messages[1]], "id": ["1", "2", "3"]}), path
    )
    traces = read(path)
    assert [trace.input for trace in traces] == ["one", "two"]
    (told,) = traces.diagnostics
    assert told.startswith(f"{path}:2: messages[0].role")


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r"x\.parquet: .*pip install 'callmatch\[parquet\]'"):
        read(path)


def written(table):
    """The rows that a table is read as."""
    import io

    from callmatch import tables

    file = io.BytesIO()
    tables.write_table(table, "table", file)
    return [json.loads(line) for line in file.getvalue().splitlines()]


def test_the_values_of_columns():
    pa = pytest.importorskip("pyarrow")
    columns = {
        "trace_id": pa.array([b"\x01" * 16, None], pa.binary(16)),
        "span_id": pa.array([b"\xab" * 8, b"text"], pa.binary()),
        "body": pa.array([b"some text", b"\xff"], pa.large_binary()),
        "ns": pa.array([1767268800000000001, 0], pa.timestamp("ns", "Europe/Oslo")),
        "s": pa.array([-1, None], pa.timestamp("s")),
        "far": pa.array([10**17, None], pa.timestamp("s")),
        "took": pa.array([1, None], pa.duration("ms")),
        "price": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.00")]),
        "share": pa.array([math.nan, 0.5]),
        "map": pa.array([[("a", [1, None])], []], pa.map_(pa.string(), pa.list_(pa.int64()))),
        "struct": pa.array([{"a": 1, "b": {"c": datetime.datetime(2026, 1, 1)}}, {"a": None}]),
        "list": pa.array([[{"k": "x"}, None], None]),
        "fixed": pa.array([["x"], None], pa.list_(pa.string(), 1)),
        "word": pa.array(["x", "y"]).dictionary_encode(),
        "day": pa.array([datetime.date(2026, 1, 1), None]),
        "big": pa.array([2**63, None], pa.uint64()),
        "nothing": pa.array([None, None]),
    }
    first, second = written(pa.table(columns))
    assert first == {
        "trace_id": "01" * 16,
        "span_id": "ab" * 8,
        "body": "some text",
        "ns": "2026-01-01T12:00:00.000000001Z",
        "s": "1969-12-31T23:59:59Z",
        "far": 10**17,
        "took": 1_000_000,
        "price": 1.5,
        "map": {"a": [1, None]},
        "struct": {"a": 1, "b": {"c": "2026-01-01T00:00:00Z"}},
        "list": [{"k": "x"}, None],
        "fixed": ["x"],
        "word": "x",
        "day": "2026-01-01",
        "big": 2**63,
    }
    # A table has all keys in all rows, so null is taken for a key that is not there.
    assert second == {
        "span_id": "text",
        "body": "ff",
        "ns": "1970-01-01T00:00:00Z",
        "price": 2,
        "share": 0.5,
        "map": {},
        "struct": {},
        "word": "y",
    }
    # A part of a table is read like the whole.
    assert written(pa.table(columns).slice(1)) == [second]


def test_a_column_that_can_not_be_read_is_named():
    pa = pytest.importorskip("pyarrow")
    variant = pa.array([{"metadata": b"", "value": b""}])
    with pytest.raises(InvalidInput, match="Table: column attributes: a VARIANT can't be read; make JSON text"):
        read(pa.table({"attributes": variant}))


# Columns, and many traces at once


def test_columns_have_a_row_for_each_span(write):
    traces = read(write("chat.jsonl", CHAT))
    (part,) = traces.columns()
    assert part["trace"] == [0, 1, 1]
    assert part["name"] == ["a", "b", "c"]
    assert part["kind"] == ["tool_call"] * 3
    assert part["input"] == ["{}"] * 3
    assert part["trace_id"] == ["t1", "t2", "t2"]
    assert len({len(column) for column in part.values()}) == 1
    parts = list(traces.columns(size=1))
    assert [part["name"] for part in parts] == [["a"], ["b", "c"], []]
    assert [part["trace"] for part in parts] == [[0], [1, 1], []]
    assert [part["kind"] for part in traces.columns(kind="tool_call")] == [["tool_call"] * 3]
    assert [part["kind"] for part in traces.columns(kind="model")] == [[]]
    with pytest.raises(InvalidInput, match='did you mean "tool_call"'):
        traces.columns(kind="tool_cal")
    for size in (0, -1, 1.5, True):
        with pytest.raises(InvalidInput, match="size: expected a number of traces"):
            traces.columns(size)


def verdicts(source, expected, modes=None, **options):
    rows = {}
    for scores in ToolCallTrajectory(**modes or {}).evaluate_traces(source, expected, **options):
        rows |= dict(zip(scores.id, scores.verdict, strict=True))
    return rows


def test_many_traces_are_scored_by_their_ids(write):
    traces = read(write("chat.jsonl", CHAT))
    expected = {"t1": [{"name": "a"}], "t2": '[{"name": "c"}, {"name": "b"}]', "gone": []}
    assert verdicts(traces, expected) == {"t1": "passed", "t2": "failed", "t3": "not_applicable", "gone": "error"}
    (scores,) = ToolCallTrajectory().evaluate_traces(traces, expected)
    assert scores.error == [None, None, None, "there is no trace with this id"]
    metric = ToolCallTrajectory()
    for place, id in enumerate(("t1", "t2", "t3")):
        calls = json.loads(expected[id]) if isinstance(expected.get(id), str) else expected.get(id)
        assert scores[place] == metric.evaluate(trace=traces[place], expectations={"tool_calls": calls})


def test_calls_count_in_the_order_in_which_they_started_as_for_one_trace(write):
    times = {"b": "2026-01-01T00:00:02Z", "a": "2026-01-01T00:00:01Z"}
    spans = [{"kind": "tool_call", "name": name, "started_at": start} for name, start in times.items()]
    traces = read(write("own.jsonl", lines({"id": "x", "turns": [{"spans": spans}]})))
    assert names(traces) == [["a", "b"]]
    assert verdicts(traces, {"x": [{"name": "a"}, {"name": "b"}]}) == {"x": "passed"}


def test_traces_that_share_a_conversation_or_a_test_are_scored_as_one(write):
    records = [
        asked("one", "a", id="1", conversation_id="c", test_id="x"),
        asked("two", "b", id="2"),
        asked("three", "c", id="3", conversation_id="c"),
        asked("four", "d", id="4", test_id="x"),
    ]
    path = write("chat.jsonl", lines(*records))
    assert verdicts(path, {"c": [{"name": "a"}, {"name": "c"}], "2": []}, by="conversation_id") == {
        "c": "passed",
        # The ids of traces are not those of conversations.
        "2": "error",
        "4": "not_applicable",
    }
    assert verdicts(path, {"x": [{"name": "a"}, {"name": "d"}], "3": [{"name": "c"}]}, by="test_id") == {
        "x": "passed",
        "2": "not_applicable",
        "3": "passed",
    }


def test_what_is_no_expectation_is_refused(write):
    path = write("chat.jsonl", CHAT)
    with pytest.raises(InvalidInput, match=r'by is one of .*, not "traceid"; did you mean "trace_id"'):
        ToolCallTrajectory().evaluate_traces(path, {}, by="traceid")
    with pytest.raises(InvalidType, match=r"expected: expected .*, got list"):
        ToolCallTrajectory().evaluate_traces(path, [])
    assert verdicts(path, {"t1": [{"nam": "a"}], "t2": "{"})["t1"] == "error"


def test_expected_names_may_be_last_segments_of_those_of_stored_calls(write):
    path = write("chat.jsonl", lines(asked("one", "mcp__github__create_issue", "other", id="1")))
    expected = {"1": [{"name": "create_issue"}]}
    assert verdicts(path, expected) == {"1": "failed"}
    assert verdicts(path, expected, {"names": "last_segment"}) == {"1": "passed"}
    assert verdicts(path, {"1": [{"name": "issue"}]}, {"names": "last_segment"}) == {"1": "failed"}
    # Two expected names of which one is the last segment of the other are a mistake.
    both = {"1": [{"name": "create_issue"}, {"name": "mcp__github__create_issue"}]}
    assert verdicts(path, both, {"names": "last_segment"}) == {"1": "error"}


def test_a_misspelt_keyword_names_the_nearest(write):
    with pytest.raises(InvalidType, match="by"):
        ToolCallTrajectory().evaluate_traces(write("chat.jsonl", CHAT), {}, bye="trace_id")


def test_a_file_of_expectations(write):
    path = write(
        "expected.jsonl",
        lines(
            {"trace_id": "a", "id": "other", "expected_tool_calls": [{"name": "x"}]},
            {"id": 5, "expected_tool_calls": []},
            {"id": "c"},
        ),
    )
    assert read_expected(path) == {"a": [{"name": "x"}], "5": [], "c": None}
    assert read_expected(path, by="test_id") == {"other": [{"name": "x"}], "5": [], "c": None}
    nested = write("expected.json", text([{"id": "a", "info": {"task": [{"actions": []}]}}]))
    assert (
        read_expected(nested, field="info.task.0.actions")
        == read_expected(nested, field="/info/task/0/actions")
        == {"a": []}
    )
    assert read_expected(write("empty.jsonl", "")) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"id": "a", "expected_tool_calls": []}\n\n{"id": "a"}', ":3: the id 'a' was there before, in line 1"),
        (
            '{"id": "a", "expected_tool_calls": []}\n{"idd": "a"}',
            ':2: expected a record with "trace_id" or "id", got idd',
        ),
        ("[]", ':1: expected a record with "trace_id" or "id", got list'),
        ('{"id": true}', ':1: expected a record with "trace_id" or "id", got id'),
        (
            '{"id": "a", "expected_toolcalls": []}',
            ": no record has 'expected_tool_calls'; the first has the keys id, expected_toolcalls; "
            "did you mean 'expected_toolcalls'?",
        ),
        ('{"id": "a", "expected": []}', ": no record has 'expected_tool_calls'; the first has the keys id, expected"),
        ('{"id": ', ":1: not JSON"),
    ],
)
def test_a_file_of_expectations_that_can_not_be_is_told_with_its_line(write, content, said):
    path = write("expected.jsonl", content)
    with pytest.raises(InvalidInput) as caught:
        read_expected(path)
    assert str(caught.value).startswith(f"{path}{said}")


def test_it_is_a_name_of_the_package():
    assert callmatch.read is read
    assert isinstance(read([]), Traces)


def test_the_page_of_formats_has_every_word_and_no_other():
    page = Path(__file__).resolve().parents[1] / "docs" / "formats.md"
    rows = re.findall(r"^\| `(\w+)` \|", page.read_text("utf-8"), re.MULTILINE)
    assert {*rows} == {*_core.trace_formats()}


def test_a_trace_that_was_written_again_beside_its_spans_is_another_one(tmp_path):
    line = Path("examples/spans.jsonl").read_text(encoding="utf-8").splitlines()[0]
    spans = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    piece = {"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}
    pieces = []
    for span in spans:
        piece["resourceSpans"][0]["scopeSpans"][0]["spans"] = [span]
        pieces.append(json.dumps(piece))
    (tmp_path / "b.jsonl").write_text("\n".join(pieces), encoding="utf-8")
    [alone] = callmatch.read(tmp_path / "b.jsonl")
    names = [call.name for call in alone.tool_calls]
    assert names
    # Whichever of them is found first.
    for name in ("a.jsonl", "c.jsonl"):
        again = tmp_path / name
        again.write_text(alone.model_dump_json(), encoding="utf-8")
        traces = callmatch.read(tmp_path)
        assert [[call.name for call in trace.tool_calls] for trace in traces] == [names, names]
        assert [trace.id for trace in traces] == [alone.id] * 2
        assert any("was there before" in told for told in traces.diagnostics)
        again.unlink()

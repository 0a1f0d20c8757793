"""Columns of tables of spans: of every type, told in every way, and read no more than is needed."""

import datetime
import decimal
import json
import subprocess
import sys
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import callmatch
import span_tables
from callmatch import InvalidInput
from callmatch.metrics import ToolCallTrajectory
from span_tables import BY_HAND, PROFILES, A, B, expectations, hexed, prefix_of, same_as_files, scored, swapped, text

INPUT = "attributes.input.value"

# Types of columns


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()], ids=str)
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_texts_and_times_of_every_type(kind, unit):
    spans = span_tables.rows(3)
    expected = expectations(spans)
    table = span_tables.phoenix(spans, kind if kind != pa.binary() else pa.string(), unit)
    if kind == pa.binary():
        texts = {field.name: pa.binary() for field in table.schema if field.type == pa.string()}
        table = table.cast(pa.schema([field.with_type(texts.get(field.name, field.type)) for field in table.schema]))
    assert scored(table, expected).equals(scored(span_tables.phoenix(spans), expected))


def test_times_of_every_unit():
    spans = hexed(BY_HAND)
    for span in spans:
        span.start, span.end = span.start * 1_000_000, span.end * 1_000_000
    table, expected = span_tables.databricks(spans), {A: [{"name": "lookup"}, {"name": "refund"}]}
    right = scored(table, expected)
    assert right["verdict"][0].as_py() == "passed"
    backwards = {A: [{"name": "refund"}, {"name": "lookup"}]}
    assert scored(table, backwards)["verdict"][0].as_py() == "failed"
    nanos = table["start_time_unix_nano"]
    for kind in (pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.uint64(), pa.decimal128(20, 0)):
        times = nanos.cast(pa.timestamp("ns")).cast(kind) if pa.types.is_timestamp(kind) else nanos.cast(kind)
        other = swapped(table, "start_time_unix_nano", times)
        assert scored(other, expected).equals(right), kind
        same_as_files(other, expected)


def test_attributes_in_every_form():
    spans = hexed(span_tables.rows(4, traces=10))
    expected = expectations(spans)
    table = span_tables.databricks(spans)
    right = scored(table, expected)
    said = [span_tables.genai(span) for span in spans]
    keys = sorted({key for attributes in said for key in attributes})
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
    tagged = pa.list_(pa.struct([("key", pa.string()), ("value", pa.struct([("string_value", pa.string())]))]))
    forms = {
        "map": pa.array([list(one.items()) for one in said], pa.map_(pa.string(), pa.string())),
        "struct": pa.array(said, pa.struct([(key, pa.string()) for key in keys])),
        "pairs": pa.array([[{"key": key, "value": one[key]} for key in one] for one in said], pairs),
        "tagged": pa.array(
            [[{"key": key, "value": {"string_value": one[key]}} for key in one] for one in said], tagged
        ),
        "large text": pa.array([text(one) for one in said], pa.large_string()),
        "bytes": pa.array([text(one).encode() for one in said]),
        "dictionary": pa.array([text(one) for one in said]).dictionary_encode(),
    }
    for form, column in forms.items():
        assert scored(swapped(table, "attributes", column), expected).equals(right), form
        same_as_files(swapped(table, "attributes", column), expected)


def odd(count):
    """Columns of what nobody would expect there."""
    each = range(count)
    yield pa.nulls(count)
    yield pa.array([float("nan") if place % 2 else 1.5 for place in each])
    yield pa.array([place % 2 == 0 for place in each])
    yield pa.array([None if place % 2 else "x" for place in each])
    yield pa.array(['{"a": [1, {"b"'] * count)
    yield pa.array(['{"a": [1, {"b": null}]}'] * count)
    yield pa.array([[1, 2]] * count)
    yield pa.array([{"a": 1, "b": None}] * count)
    yield pa.array([b"\xff\xfe"] * count)
    yield pa.array([b"12345678"] * count)
    yield pa.array([1_767_268_800 + place for place in each], pa.timestamp("s"))
    yield pa.array([253_402_300_800 + place for place in each], pa.timestamp("s"))
    yield pa.array([decimal.Decimal("1.50")] * count)
    yield pa.array([[(1, "v"), (1, "w")]] * count, pa.map_(pa.int64(), pa.string()))


@pytest.mark.parametrize("name", PROFILES)
def test_columns_of_other_types_are_read_as_a_file_would_be(name):
    make, profile = PROFILES[name]
    table, expected = make(hexed(BY_HAND)), expectations(hexed(BY_HAND), prefix_of(name))
    exact = ToolCallTrajectory(match="exact")
    compared = 0
    for column in table.column_names:
        for other in odd(table.num_rows):
            changed = swapped(table, column, other)
            scores = pa.table(exact.evaluate_spans(changed, expected, profile=profile))
            try:
                traces = callmatch.read(changed, format=profile)
            except InvalidInput:  # nothing in it could be read
                assert {*scores["verdict"].to_pylist()} == {"error"}
                continue
            parts = list(exact.evaluate_traces(traces, expected))
            for field in ("verdict", "made", "reason"):
                assert scores[field].to_pylist() == [cell for part in parts for cell in getattr(part, field)], column
            assert scores["trace_id"].to_pylist() == [id for part in parts for id in part.id], (column, other.type)
            compared += 1
    assert compared > 60


def test_ids_of_every_type():
    spans = hexed(BY_HAND)
    ids = sorted({span.trace for span in spans})
    numbers = {id: uuid.UUID(int=place + 1) for place, id in enumerate(ids)}
    table = span_tables.databricks(spans)
    own = [numbers[span.trace] for span in spans]
    types = {
        "bytes": (pa.array([one.bytes for one in own], pa.binary()), lambda one: one.hex),
        "fixed": (pa.array([one.bytes for one in own], pa.binary(16)), lambda one: one.hex),
        "uuid": (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([one.bytes for one in own], pa.binary(16))), str),
        # As numbers of 128 bits.
        "integer": (pa.array([one.int for one in own]), lambda one: one.hex),
        "unsigned": (pa.array([one.int for one in own], pa.uint64()), lambda one: one.hex),
        "decimal": (pa.array([decimal.Decimal(one.int) for one in own], pa.decimal128(20, 2)), lambda one: one.hex),
    }
    for name, (column, shown) in types.items():
        other = swapped(table, "trace_id", column)
        expected = {shown(numbers[A]): [{"name": "lookup"}, {"name": "refund"}]}
        scores, columns, _ = same_as_files(other, expected)
        assert columns["verdict"][0] == "passed", name
        assert len(scores) == 4, name


# What a span is, and what it says, in other columns than usual


def kinds_told_otherwise(spans):
    """Frames of Phoenix in which something else, or nothing, tells of what kind spans are."""
    table, none = span_tables.phoenix(spans), pa.nulls(len(spans), pa.string())
    told = "attributes.openinference.span.kind"
    yield table.drop_columns(["span_kind"])
    yield table.drop_columns([told])
    yield table.drop_columns([told, "span_kind"])
    some = pa.array([None if place % 2 else span.kind for place, span in enumerate(spans)])
    yield swapped(swapped(table, "span_kind", some), told, some)
    for key, words in {
        "langfuse.observation.type": {"LLM": "generation"},
        "langsmith.span.kind": {"LLM": "llm", "CHAIN": "chain"},
        "mlflow.spanType": {"LLM": "CHAT_MODEL"},
    }.items():
        # Of every third a product says that it is a tool, whatever OpenInference says.
        kinds = pa.array([words.get(span.kind) if place % 3 else "tool" for place, span in enumerate(spans)])
        other = table.append_column(f"attributes.{key}", kinds)
        yield other
        yield other.append_column("attributes.gen_ai.prompt", pa.array(['{"x": 1}'] * len(spans)))
    base = table.select([name for name in table.column_names if not name.startswith("attributes.")])
    yield base.append_column("attributes", pa.array([text(span_tables.openinference(span)) for span in spans]))
    said = [span_tables.genai(span) for span in spans]
    for key in sorted({key for attributes in said for key in attributes}):
        base = base.append_column(f"attributes.{key}", pa.array([attributes.get(key) for attributes in said]))
    yield base
    yield swapped(base, "span_kind", none)


def tools_told_otherwise(spans):
    """Frames in which tools hand over to agents, or name the call in their results alone."""
    table, tools = span_tables.phoenix(spans), [span.kind == "TOOL" for span in spans]

    def column(of_tool, else_):
        return pa.array([of_tool(place) if is_tool else else_ for place, is_tool in enumerate(tools)], pa.string())

    names = [span.name for span in spans]
    handoffs = column(lambda place: "handoff to clerk" if place % 2 else names[place], "x")
    handing = swapped(table, "name", handoffs)
    yield handing
    handing = swapped(handing, "attributes.tool.name", column(lambda place: None if place % 2 else names[place], None))
    handing = swapped(
        handing, "attributes.output.value", column(lambda place: "clerk" if place % 4 == 1 else "x", None)
    )
    yield handing
    yield swapped(handing, "attributes.input.value", column(lambda _: None, "x"))

    def message(place):
        return text({"type": "tool", "content": "x", "tool_call_id": spans[place].call_id, "status": "success"})

    unnamed = swapped(table, "attributes.tool.id", column(lambda _: None, None))
    yield swapped(unnamed, "attributes.output.value", column(message, None))


def rows_told_otherwise(spans):
    """Rows of products, with what they nest as structs or maps, or with what an instrumentation left in them."""
    table = span_tables.langfuse(spans)
    metadata = [json.loads(one) for one in table["metadata"].to_pylist()]
    pairs = pa.array([list(one.items()) for one in metadata], pa.map_(pa.string(), pa.string()))
    yield swapped(table, "metadata", pairs)
    left = [span_tables.genai(span) for span in spans]
    yield swapped(table, "metadata", pa.array([text({"attributes": one}) for one in left]))
    dotted = [{f"attributes.{key}": value for key, value in one.items()} for one in left]
    yield swapped(table, "metadata", pa.array([text(one) for one in dotted]))
    table = span_tables.adk_bigquery(spans)
    contents = [one and json.loads(one) for one in table["content"].to_pylist()]
    yield swapped(table, "content", pa.array(contents))


@pytest.mark.parametrize("calls", ["executed", "requested"])
@pytest.mark.parametrize("told", [kinds_told_otherwise, tools_told_otherwise, rows_told_otherwise])
def test_what_is_left_unread_makes_no_difference(told, calls):
    metric = ToolCallTrajectory(match="exact", calls=calls)
    spans = span_tables.rows(8, roots=2)
    expected = expectations(spans)
    for table in told(spans):
        same_as_files(table, expected, metric)


def test_traces_of_mlflow_with_spans_as_lists():
    spans = span_tables.rows(9, roots=2)
    table, expected = span_tables.mlflow(spans), expectations(spans, "tr-")
    own = [one and json.loads(one) for one in table["spans"].to_pylist()]
    whole = [one and json.loads(one)["data"]["spans"] for one in table["trace"].to_pylist()]
    table = swapped(table, "spans", pa.array([one or other for one, other in zip(own, whole, strict=True)]))
    right = scored(table, expected)
    assert scored(table.drop_columns(["trace"]), expected).equals(right)
    # A trace that was cut off has its spans beside it.
    cut = pa.array([one and one[:50] for one in table["trace"].to_pylist()])
    assert scored(swapped(table, "trace", cut), expected).equals(right)
    same_as_files(table, expected)


ONE = {
    "context.trace_id": "t",
    "context.span_id": "1",
    "name": "f",
    "span_kind": "TOOL",
    "start_time": span_tables.START,
    "end_time": span_tables.START + 5,
}
"""A row of a frame of Phoenix: a tool."""

FIRST_OF_JANUARY = datetime.datetime(2026, 1, 1)


@pytest.mark.parametrize(
    ("more", "arguments"),
    [
        # An object may stand in a column, or each of its members in one of its own.
        ({"attributes.tool_arguments.order": 1, "name": "running tool: f"}, {"order": 1}),
        ({"attributes.tool.parameters.order": 1}, {"order": 1}),
        ({"attributes.gen_ai.tool.call.arguments.order": 1, "attributes.gen_ai.tool.name": "f"}, {"order": 1}),
        # A time that a tool was given is none of the span's.
        ({"attributes.tool.parameters.start_time": FIRST_OF_JANUARY}, {"start_time": "2026-01-01T00:00:00Z"}),
        ({"attributes.tool_call.function.arguments.time": FIRST_OF_JANUARY}, {"time": "2026-01-01T00:00:00Z"}),
        # A product says that it is a tool, in a column that holds others.
        (
            {"span_kind": "LLM", "attributes.langfuse": {"observation": {"type": "tool"}}, INPUT: '{"order": 1}'},
            {"order": 1},
        ),
        (
            {"span_kind": "LLM", "attributes": '{"langfuse.observation.type": "tool"}', INPUT: '{"order": 1}'},
            {"order": 1},
        ),
        (
            {
                "attributes": '{"openinference.span.kind": "LLM", "mlflow": {"spanType": "TOOL"}, '
                '"input.value": "{\\"order\\": 1}"}'
            },
            {"order": 1},
        ),
    ],
)
def test_arguments_wherever_they_stand(more, arguments):
    table = pa.Table.from_pylist([{**ONE, **more}])
    expected = {"t": [{"name": "f", "arguments": arguments}]}
    _, columns, _ = same_as_files(table, expected, ToolCallTrajectory(match="exact"))
    assert columns["verdict"] == ["passed"]


def test_sessions_in_columns_below_metadata():
    table = pa.Table.from_pylist([{**ONE, "attributes.metadata.session_id": "s"}])
    _, columns, _ = same_as_files(table, {"s": [{"name": "f"}]}, by="conversation_id")
    assert columns["conversation_id"] == ["s"]
    assert columns["made"] == [1]


@pytest.mark.parametrize(
    "names",
    [
        pa.nulls(2),
        pa.nulls(2, pa.string()),
        pa.array([float("nan")] * 2),
        pa.array([float("nan")] * 2, pa.float32()),
        pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int8()), pa.array(["f", None])),
        pa.DictionaryArray.from_arrays(pa.array([None, None], pa.uint64()), pa.array(["f"])),
    ],
    ids=lambda names: f"{names.type}",
)
def test_a_column_in_which_nothing_is_says_nothing(names):
    # What hands over to an agent is a span of a tool that names none: no call of one.
    handing = {**ONE, "name": "handoff to clerk", "attributes.output.value": "clerk", "parent_id": "2"}
    rows = [handing, {**ONE, "context.span_id": "2", "parent_id": None}]
    table = pa.Table.from_pylist(rows).append_column("attributes.tool.name", names)
    _, columns, _ = same_as_files(table, {"t": [{"name": "f"}]}, ToolCallTrajectory(match="exact"))
    assert columns["verdict"] == ["passed"]


SPELLINGS = {
    "name": ["span_name", "SpanName"],
    "parent_span_id": ["parent_id", "parentId", "parentSpanId", "ParentSpanId", "parent"],
    "end_time_unix_nano": ["end_time", "endTime", "endTimeUnixNano", "end_timestamp"],
    "attributes": ["span_attributes", "spanAttributes", "SpanAttributes", "attributes_json", "Attributes"],
}


@pytest.mark.parametrize(("usual", "other"), [(key, one) for key, ones in SPELLINGS.items() for one in ones])
def test_columns_of_opentelemetry_in_every_spelling(usual, other):
    spans = hexed(span_tables.rows(10, traces=12, roots=2))
    table, expected = span_tables.databricks(spans), expectations(spans)
    names = [other if name == usual else name for name in table.column_names]
    assert other in callmatch.span_columns(names, profile="otel_table")
    for calls in ("executed", "requested"):
        metric = ToolCallTrajectory(match="exact", calls=calls)
        right = scored(table, expected, metric)
        assert scored(table.rename_columns(names), expected, metric).equals(right)


# What is not read


def unread(table, column):
    """The table with a column more that no profile reads."""
    return table.append_column("payload", column)


def test_columns_that_are_read():
    table = span_tables.phoenix(BY_HAND)
    read = callmatch.span_columns(table.column_names)
    assert {"status_code", "attributes.llm.input_messages", "attributes.llm.invocation_parameters"}.isdisjoint(read)
    assert {"name", "context.trace_id", "attributes.input.value", "attributes.llm.output_messages"} <= {*read}
    expected = {A: [{"name": "lookup"}], B: [{"name": "refund"}]}
    assert scored(table.select(read), expected).equals(scored(table, expected))
    assert callmatch.span_columns(span_tables.langfuse(BY_HAND).column_names) == [
        *("id", "trace_id", "parent_observation_id", "type", "name", "start_time", "end_time", "input", "output"),
        *("metadata", "tool_calls"),
    ]
    assert "session_id" in callmatch.span_columns(span_tables.langfuse(BY_HAND).column_names, by="conversation_id")


def test_a_table_may_have_what_cant_be_read_in_other_columns():
    table = span_tables.phoenix(BY_HAND)
    variant = pa.array([{"metadata": b"\1", "value": b"\0"}] * len(BY_HAND))
    expected = {A: [{"name": "lookup"}, {"name": "refund"}]}
    assert scored(unread(table, variant), expected).equals(scored(table, expected))
    # Nor is what models were told looked into.
    other = swapped(
        table, "attributes.llm.input_messages", pa.array([[one] for one in variant], pa.list_(variant.type))
    )
    assert scored(other, expected).equals(scored(table, expected))
    where = "column attributes.output.value: a VARIANT can't be read; make JSON text of it first"
    with pytest.raises(InvalidInput, match=where):
        scored(swapped(table, "attributes.output.value", variant), expected)


POISONED = """
import ctypes, mmap, sys
import pyarrow as pa
sys.path.insert(0, {tests!r})
import span_tables
from span_tables import BY_HAND, A, B, scored, swapped

# A page that no process may read: whoever does is ended by the system.
size = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
page = libc.mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
assert page not in (None, ctypes.c_void_p(-1).value)

def poisoned(count):
    offsets = pa.array([0] + [size // count * (place + 1) for place in range(count)], pa.int32())
    buffers = [None, offsets.buffers()[1], pa.foreign_buffer(page, size)]
    return pa.StringArray.from_buffers(count, buffers[1], buffers[2])

table = span_tables.phoenix(BY_HAND, pa.string())
expected = {{A: [{{"name": "lookup"}}, {{"name": "refund"}}], B: []}}
right = scored(table, expected)
models = [place for place, span in enumerate(BY_HAND) if span.kind != "TOOL"]
for name in {names!r}:
    there = name in table.column_names
    column = poisoned(table.num_rows)
    other = swapped(table, name, column) if there else table.append_column(name, column)
    assert scored(other, expected).equals(right), name
print("alive")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="by the way in which Linux protects memory")
def test_what_is_not_needed_is_never_touched():
    tests = str(Path(__file__).parent)

    def run(*names):
        script = POISONED.format(tests=tests, names=list(names))
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    told = ["attributes.llm.input_messages.0.message.content", "attributes.llm.tools.0.tool.json_schema"]
    ran = run(*told, "attributes.llm.invocation_parameters", "attributes.note", "status_code", "payload")
    assert ran.stdout == "alive\n", ran.stderr
    # The page does what it says.
    assert run("attributes.tool.name").returncode < 0


def test_of_a_dataset_no_more_is_decoded_than_is_read(tmp_path):
    spans = span_tables.rows(5)
    table, expected = span_tables.phoenix(spans), expectations(spans)
    pq.write_table(table, tmp_path / "spans.parquet", compression="none", use_dictionary=False)
    bytes_ = bytearray((tmp_path / "spans.parquet").read_bytes())
    metadata = pq.ParquetFile(tmp_path / "spans.parquet").metadata.row_group(0)
    read = callmatch.span_columns(table.column_names)
    columns = [metadata.column(place) for place in range(metadata.num_columns)]
    broken = [one for one in columns if not any(one.path_in_schema.startswith(name) for name in read)]
    assert len(broken) >= 4
    for one in broken:
        start, size = one.data_page_offset, one.total_compressed_size
        bytes_[start : start + size] = b"\xff" * size
    (tmp_path / "broken.parquet").write_bytes(bytes_)
    with pytest.raises(OSError, match=r"Couldn't deserialize|[Uu]nexpected|TProtocol|decode|page|Thrift"):
        pq.read_table(tmp_path / "broken.parquet")
    assert scored(ds.dataset(tmp_path / "broken.parquet"), expected).equals(scored(table, expected))

"""Spans of the GenAI conventions, made by OpenTelemetry's SDK and written by its own encoder."""

import json

import pytest

import callmatch

from .calls import BIG, calls, read_alike, written

pytest.importorskip("opentelemetry.sdk.trace")
pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names
from opentelemetry.trace import Status, StatusCode

ARGUMENTS = [
    {"order_id": BIG, "deep": {"a": [1, None, -0.5e-7]}},
    {"text": 'Größe 😀 "quoted"\n\u2028 \\u0041'},
    {},
]


def tool(tracer, name, arguments, result, id, error=None):
    with tracer.start_as_current_span(f"execute_tool {name}") as span:
        span.set_attributes(
            {
                names.GEN_AI_OPERATION_NAME: names.GenAiOperationNameValues.EXECUTE_TOOL.value,
                names.GEN_AI_TOOL_NAME: name,
                names.GEN_AI_TOOL_CALL_ID: id,
                "gen_ai.tool.call.arguments": json.dumps(arguments),
                # Attributes of every kind, which must not be in the way.
                "a.truth": True,
                "a.number": 2**62,
                "a.float": 1.5,
                "a.list": ["x", "y"],
                "a.list.of.numbers": [1, 2],
            }
        )
        if error is None:
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        else:
            span.set_attribute("error.type", type(error).__name__)
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, str(error)))


@pytest.fixture
def spans(recorder):
    tracer = recorder.provider.get_tracer("peers", "1.0", schema_url="https://opentelemetry.io/schemas/1.37.0")
    # A second scope: the encoder groups spans by theirs.
    other = recorder.provider.get_tracer("others")
    with tracer.start_as_current_span("invoke_agent support") as agent:
        agent.set_attributes(
            {
                names.GEN_AI_OPERATION_NAME: names.GenAiOperationNameValues.INVOKE_AGENT.value,
                names.GEN_AI_AGENT_NAME: "support",
                names.GEN_AI_CONVERSATION_ID: "thread",
            }
        )
        tool(tracer, "lookup", ARGUMENTS[0], {"state": "late"}, "c1")
        tool(other, "note", ARGUMENTS[1], ["a", "b"], "c2")
        tool(tracer, "refund", ARGUMENTS[2], None, "c3", ValueError("no money"))
    return recorder.spans


def test_every_way_of_writing(spans, tmp_path):
    trace = read_alike(spans, tmp_path)
    assert calls(trace) == [
        ("lookup", ARGUMENTS[0], {"state": "late"}),
        ("note", ARGUMENTS[1], ["a", "b"]),
        ("refund", ARGUMENTS[2], None),
    ]
    assert [call.agent for call in trace.tool_calls] == ["support"] * 3
    assert [(call.status, call.error) for call in trace.tool_calls][2] == ("error", "no money")
    assert trace.conversation_id == "thread"


def test_ids_and_times_are_those_of_the_spans(spans, tmp_path):
    recorded = {format(span.context.span_id, "016x"): span for span in spans}
    trace = read_alike(spans, tmp_path)
    assert trace.id == format(spans[0].context.trace_id, "032x")
    assert {span.id for span in trace.spans()} == set(recorded)
    for path in written(spans, tmp_path):
        if path.name.startswith("sdk"):
            continue
        for span in callmatch.read(path)[0].spans():
            parent = recorded[span.id].parent
            assert span.parent_id == (parent and format(parent.span_id, "016x"))
            for time, right in (
                (span.started_at, recorded[span.id].start_time),
                (span.ended_at, recorded[span.id].end_time),
            ):
                assert int(time.timestamp()) == right // 10**9
                assert time.microsecond == right // 1000 % 10**6


def test_json_in_hex_is_what_protobuf_reads_but_for_the_ids(spans, tmp_path):
    """The files are what they are said to be."""
    paths = {path.name: path for path in written(spans, tmp_path)}
    read = Parse(paths["base64.json"].read_text(encoding="utf-8"), ExportTraceServiceRequest())
    assert read.SerializeToString() == paths["request.binpb"].read_bytes()


def test_several_requests_in_one_file_are_the_same_traces(spans, tmp_path):
    """Protobuf's messages can be joined byte by byte, and lines of JSON too."""
    first = written(spans[:2], tmp_path)
    (tmp_path / "second").mkdir()
    second = written(spans[2:], tmp_path / "second")
    whole = calls(read_alike(spans, tmp_path / "second"))
    first = written(spans[:2], tmp_path)
    second = written(spans[2:], tmp_path / "second")
    for name in ("request.binpb", "line.jsonl", "sdk.jsonl"):
        one, other = (next(path for path in paths if path.name == name) for paths in (first, second))
        joined = tmp_path / f"joined-{name}"
        joined.write_bytes(one.read_bytes() + other.read_bytes())
        (trace,) = callmatch.read(joined)
        assert calls(trace) == whole

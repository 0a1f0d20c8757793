"""How calls are compared, and spans written."""

import base64
import datetime
import json

import pytest

import callmatch
from conftest import SHARED

SAMPLES = SHARED / "samples"

TIMES = {"started_at", "ended_at"}
MICROSECOND = datetime.timedelta(microseconds=1)

BIG = 2**70
"""An argument that no reader may turn into a float."""


def sample(name):
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    return path


def calls(trace):
    """Name, arguments and output of each tool call, in their order."""
    return [(call.name, call.arguments, call.output) for call in trace.tool_calls]


def asked(trace):
    """Name and arguments of each tool call."""
    return [(call.name, call.arguments) for call in trace.tool_calls]


def ids(trace):
    return [call.id for call in trace.tool_calls]


def one(source):
    """The only trace in it, all of which could be read."""
    traces = callmatch.read(source)
    assert traces.diagnostics == []
    assert len(traces) == 1
    return traces[0]


def in_any_order(pairs):
    return sorted(json.dumps(pair, sort_keys=True) for pair in pairs)


def _in_hex(value):
    """OTLP's JSON has ids in hexadecimal, where protobuf's own JSON has base64."""
    if isinstance(value, list):
        return [_in_hex(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex() if key in ("traceId", "spanId", "parentSpanId") else _in_hex(item)
        for key, item in value.items()
    }


def written(spans, folder):
    """The same spans in all ways in which OpenTelemetry writes them, as paths."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    request = encode_spans(spans)
    plain = MessageToDict(request)
    texts = {
        "base64.json": json.dumps(plain),
        "hex.json": json.dumps(_in_hex(plain)),
        "numbers.json": json.dumps(_in_hex(MessageToDict(request, use_integers_for_enums=True))),
        "line.jsonl": json.dumps(_in_hex(plain)) + "\n",
        "sdk.json": "\n".join(span.to_json() for span in spans),
        "sdk.jsonl": "".join(span.to_json(indent=None) + "\n" for span in spans),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "request.binpb").write_bytes(request.SerializeToString())
    return [folder / name for name in (*texts, "request.binpb")]


def read_alike(spans, folder):
    """The trace that these spans are, which must be the same however they were written."""
    traces = [one(path) for path in written(spans, folder)]
    for trace in traces[1:]:
        for span, other in zip(trace.spans(), traces[0].spans(), strict=True):
            assert span.model_dump(exclude=TIMES) == other.model_dump(exclude=TIMES)
            # Spans of the SDK are written with microseconds, which it rounds.
            for time, same in ((span.started_at, other.started_at), (span.ended_at, other.ended_at)):
                assert (time is None and same is None) or abs(time - same) <= MICROSECOND
        assert [(turn.input, turn.output) for turn in trace.turns] == [
            (turn.input, turn.output) for turn in traces[0].turns
        ]
    return traces[0]

"""Traces of MLflow, as callmatch reads what MLflow writes."""

import pytest

import callmatch

from .calls import BIG, one, sample

pytest.importorskip("mlflow")
# Its store in files needs it, which mlflow-tracing does not bring.
pytest.importorskip("sqlparse")

import mlflow
from mlflow.entities import SpanType, Trace


@mlflow.trace(span_type=SpanType.TOOL)
def lookup(order_id, deep=None):
    return {"state": "late", "number": BIG}


@mlflow.trace(span_type=SpanType.TOOL, name="issue_refund")
def refund(order_id, *, amount):
    raise ValueError("no money")


@mlflow.trace(span_type=SpanType.TOOL)
def nothing():
    return None


@mlflow.trace(span_type=SpanType.AGENT)
def support(question):
    lookup(42, deep={"a": [1, None]})
    with pytest.raises(ValueError, match="no money"):
        refund(42, amount=1.5)
    with mlflow.start_span("search", span_type=SpanType.RETRIEVER) as span:
        span.set_inputs({"query": "x"})
        span.set_outputs([{"page_content": "a document", "metadata": {}}])
    with mlflow.start_span("lookup", span_type=SpanType.TOOL) as span:
        span.set_inputs({"order_id": "Größe 😀"})
        span.set_outputs(["a", "b"])
    nothing()
    return "Done."


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Two traces of the library's own store, oldest first."""
    mlflow.set_tracking_uri(tmp_path_factory.mktemp("mlflow").as_uri())
    mlflow.set_experiment("peers")
    made = []
    for question in ("Refund 42", "And 43"):
        support(question)
        made.append(mlflow.get_trace(mlflow.get_last_active_trace_id(), flush=True))
    return made


def complaint(span):
    raised = [event.attributes["exception.message"] for event in span.events if event.name == "exception"]
    return span.status.description or next(iter(raised), None)


def theirs(trace):
    """What MLflow says of its tool spans, in the order of their starts."""
    tools = [span for span in trace.data.spans if span.span_type == SpanType.TOOL]
    return [
        (span.span_id, span.name, span.inputs, span.outputs, complaint(span))
        for span in sorted(tools, key=lambda span: span.start_time_ns)
    ]


def ours(trace):
    return [(call.id, call.name, call.arguments, call.output, call.error) for call in trace.tool_calls]


def test_a_trace_as_json(traces, tmp_path):
    for trace in traces:
        path = tmp_path / "trace.json"
        path.write_text(trace.to_json(), encoding="utf-8")
        read = one(path)
        assert read.id == trace.info.trace_id
        assert ours(read) == theirs(trace) == theirs(Trace.from_json(path.read_text(encoding="utf-8")))
        assert len(ours(read)) == 4
        assert {call.agent for call in read.tool_calls} == {"support"}
        assert [span.name for span in read.retrievals] == ["search"]
        assert read.output == "Done."


def test_a_trace_as_a_dict(traces):
    read = callmatch.read([trace.to_dict() for trace in traces])
    assert [ours(trace) for trace in read] == [theirs(trace) for trace in traces]


def test_the_frame_of_a_search(traces, tmp_path):
    frame = mlflow.search_traces(order_by=["timestamp ASC"])
    right = {trace.info.trace_id: theirs(trace) for trace in traces}
    frame.to_json(tmp_path / "frame.jsonl", orient="records", lines=True)
    for source in (frame, frame.to_dict("records"), tmp_path / "frame.jsonl"):
        assert {trace.id: ours(trace) for trace in callmatch.read(source)} == right


def test_the_frame_of_a_search_as_parquet(traces, tmp_path):
    pytest.importorskip("pyarrow")
    mlflow.search_traces().to_parquet(tmp_path / "frame.parquet")
    right = {trace.info.trace_id: theirs(trace) for trace in traces}
    assert {trace.id: ours(trace) for trace in callmatch.read(tmp_path / "frame.parquet")} == right


def test_the_sample():
    path = sample("mlflow/generated__trace.json")
    assert ours(one(path)) == theirs(Trace.from_json(path.read_text(encoding="utf-8")))

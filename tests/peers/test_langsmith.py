"""Runs of LangSmith, made by its own RunTree and written by its own schema."""

import json
import uuid

import pytest

import callmatch

from .calls import BIG, one, sample

pytest.importorskip("langsmith")

from langsmith.run_trees import RunTree
from langsmith.schemas import Run


@pytest.fixture(scope="module")
def runs():
    root = RunTree(name="support", run_type="chain", inputs={"input": "Refund 42"})
    lookup = root.create_child(name="lookup", run_type="tool", inputs={"order_id": BIG, "deep": {"a": [1, None]}})
    lookup.end(outputs={"output": {"state": "late"}})
    inner = root.create_child(name="billing", run_type="chain", inputs={})
    failed = inner.create_child(name="refund", run_type="tool", inputs={"order_id": 42})
    failed.end(error="ValueError('no money')")
    inner.end(outputs={})
    retrieval = root.create_child(name="search", run_type="retriever", inputs={"query": "x"})
    retrieval.end(outputs={"documents": [{"page_content": "a document", "metadata": {}, "type": "Document"}]})
    nothing = root.create_child(name="nothing", run_type="tool", inputs={})
    nothing.end(outputs={"output": "ok"})
    root.end(outputs={"output": "Done."})
    project = uuid.uuid4()
    trees = (root, lookup, inner, failed, retrieval, nothing)
    return [Run(**{**tree._get_dicts_safe(), "session_id": project}) for tree in trees]


def theirs(runs):
    tools = [run for run in runs if run.run_type == "tool"]
    return [
        (str(run.id), run.name, run.inputs, (run.outputs or {}).get("output"), run.error)
        for run in sorted(tools, key=lambda run: run.start_time)
    ]


def ours(trace):
    return [(call.id, call.name, call.arguments, call.output, call.error) for call in trace.tool_calls]


def agrees(trace, runs):
    assert ours(trace) == theirs(runs)
    assert (trace.id, trace.input, trace.output) == (str(runs[0].trace_id), "Refund 42", "Done.")
    assert [span.name for span in trace.retrievals] == ["search"]


def test_runs_one_after_the_other(runs, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(run.model_dump_json() + "\n" for run in runs), encoding="utf-8")
    for source in (
        path,
        [run.model_dump(mode="json") for run in runs],
        [run.model_dump(mode="json") for run in runs[::-1]],
    ):
        agrees(one(source), runs)
    # As they were recorded, times and ids are objects.
    agrees(one([run.model_dump() for run in runs]), runs)


def test_a_run_with_its_children(runs, tmp_path):
    nested = {run.id: {**run.model_dump(mode="json"), "child_runs": []} for run in runs}
    for run in runs[1:]:
        nested[run.parent_run_id]["child_runs"].append(nested[run.id])
    path = tmp_path / "run.json"
    path.write_text(json.dumps(nested[runs[0].id]), encoding="utf-8")
    assert len(Run(**nested[runs[0].id]).child_runs) == 4
    agrees(one(path), runs)


def test_documents_of_a_retriever(runs):
    documents = next(run for run in runs if run.run_type == "retriever").outputs["documents"]
    assert one([run.model_dump(mode="json") for run in runs]).context == documents


def test_the_sample_of_runs():
    path = sample("langsmith/generated__runs.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    runs = [Run(**{"session_id": uuid.uuid4(), **line}) for line in lines]
    for source in (path, lines):
        (trace,) = callmatch.read(source)
        assert [call[:3] for call in ours(trace)] == [call[:3] for call in theirs(runs)]

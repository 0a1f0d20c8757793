"""Real files in the formats of many tools, as `callmatch.read` reads them. What they hold was written down by reading.

The files are kept outside the project. `tests/cases/samples/spans.jsonl` and `logs.jsonl` say of each one which traces
it holds, and of each trace which tools were called, by which agent, with what arguments, and so on.
"""

import json
from pathlib import Path

import pytest

import callmatch
from conftest import SHARED

SAMPLES = SHARED / "samples"
TABLES = Path(__file__).parent / "cases" / "samples"
CASES = [
    json.loads(line)
    for name in ("spans.jsonl", "logs.jsonl")
    for line in (TABLES / name).read_text(encoding="utf-8").splitlines()
]


def start(value):
    """What stands at the beginning of a text, whatever the white space around it."""
    return value.strip()[:30] if isinstance(value, str) else None


def read(trace):
    calls = trace.tool_calls if trace.tool_calls_reported else ()
    return {
        "id": trace.id,
        "conversation": trace.conversation_id,
        "names": [call.name for call in calls],
        "recorded_as": [call.recorded_as for call in calls],
        "agents": [call.agent for call in calls],
        "turns": len(trace.turns),
        "reported": trace.tool_calls_reported,
        "first_arguments": calls[0].arguments if calls else None,
        "last_arguments": calls[-1].arguments if calls else None,
        "outputs": [call.output is not None for call in calls],
        "failed": [call.status in ("error", "failed") or call.error is not None for call in calls],
        "input": start(trace.input),
        "answer": start(trace.output),
    }


@pytest.mark.parametrize("case", [pytest.param(case, id=case["file"]) for case in CASES])
def test_a_sample_file_is_read_as_a_person_reads_it(case):
    path = SAMPLES / case["file"]
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    if not case["traces"]:
        with pytest.raises(callmatch.CallmatchError):
            callmatch.read(path).only()
        return
    traces = callmatch.read(path)
    expected = [{**trace, "input": start(trace["input"]), "answer": start(trace["answer"])} for trace in case["traces"]]
    assert [read(trace) for trace in traces] == expected
    assert traces.formats == [case["format"]]

"""Real conversations in the formats of many providers. What they hold was written down by reading them.

The files are kept outside the project. `tests/cases/samples/messages.jsonl` says of each one, or of what is at a place
in it, which tools were called, how many turns there are, and so on: a line each, with these rules where two readings
are possible.

* What a model asked for is a call, also if its arguments can't be read: they stay the text that they are.
* A call whose result is there has an output, also if the tool printed nothing.
* The answer is what the last turn says last; after a call that the provider ran within the message, that is what comes
  after it. A turn without a text of the assistant has none.
* A list of requests and responses is one conversation, in which a request's history is told once.
"""

import json
from pathlib import Path

import pytest

from callmatch import Trace
from conftest import SHARED

SAMPLES = SHARED / "samples"
TABLE = Path(__file__).parent / "cases" / "samples" / "messages.jsonl"
CASES = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def parameter(case):
    name = case["file"] if case["at"] is None else f"{case['file']}:{case['at']}"
    return pytest.param(case, id=name)


def messages(case):
    path = SAMPLES / case["file"]
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    found = json.loads(path.read_bytes())
    for key in case["at"].split(".") if case["at"] else ():
        found = found[int(key) if isinstance(found, list) else key]
        found = events(found) if case["format"].endswith(" stream") else decoded(found)
    return found


def decoded(value):
    """A value that was written as JSON text, perhaps twice, inside the JSON of a file."""
    while isinstance(value, str):
        value = json.loads(value)
    return value


def events(value):
    """The objects of a stream of server-sent events that was recorded as a text, or what leads there."""
    if not isinstance(value, str):
        return value
    lines = [line.removeprefix("data:").strip() for line in value.split("\n") if line.startswith("data:")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def read(trace):
    calls = trace.tool_calls
    return {
        "names": [call.name for call in calls],
        "turns": len(trace.turns),
        "first_arguments": calls[0].input if calls else None,
        "last_arguments": calls[-1].input if calls else None,
        "outputs": [call.output is not None for call in calls],
        "answer": None if trace.output is None else trace.output[:40],
    }


@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_a_sample_is_read_as_a_person_reads_it(case):
    found = messages(case)
    expected = {key: value for key, value in case.items() if key not in ("file", "at", "format")}
    assert read(Trace.from_messages(found)) == expected
    assert read(Trace.from_messages(json.dumps(found))) == expected

"""A fork of a process has none of its threads, and must not wait for them."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")

PROGRAM = """if True:
    import os, signal, sys
    import callmatch, pyarrow
    from callmatch.metrics import ToolCallCheck, ToolCallTrajectory
    calls, metric = [{"name": "a"}], ToolCallTrajectory()
    text = '[{"name": "a"}]'
    table = pyarrow.table({"tool_calls": [text] * 5000, "expected_tool_calls": [text] * 5000})
    chats = [{"id": str(place), "messages": [{"role": "user", "content": "hello"}]} for place in range(500)]
    request = {"user_query": "?", "generated_text": "It is 3.", "tool_trace": []}
    WAYS = {
        "objects": lambda: metric.evaluate_batch(tool_calls=[calls] * 5000, expected_tool_calls=[calls] * 5000).verdict,
        "texts": lambda: metric.evaluate_batch(tool_calls=[text] * 5000, expected_tool_calls=[text] * 5000).verdict,
        "table": lambda: pyarrow.table(metric.evaluate_table(table))["verdict"].to_pylist(),
        "checks": lambda: len(ToolCallCheck().evaluate_batch([request] * 500)),
        "traces": lambda: [list(part["kind"]) for part in callmatch.read(chats).columns(1024)],
        "scored traces": lambda: [s.verdict for s in metric.evaluate_traces(callmatch.read(chats), {"3": []})],
    }
    way = WAYS[sys.argv[1]]
    before = way()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that waits
        os._exit(7 if way() == before else 8)
    status = os.waitpid(child, 0)[1]
    print(os.WIFEXITED(status) and os.WEXITSTATUS(status), way() == before)
"""


@pytest.mark.parametrize("way", ["objects", "texts", "table", "checks", "traces", "scored traces"])
def test_a_fork_has_threads_of_its_own(way):
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.split() == ["7", "True"]

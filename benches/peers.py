"""What other evaluators of tool calls take, from a file to verdicts, and whether they give the same answers.

`python benches/peers.py` installs each of them into an environment of its own (below `.venv-rivals`), and lets all take
turns on the same file. A worker is this file too, run by the interpreter of its environment.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

ENVIRONMENTS = Path(__file__).resolve().parents[1] / ".venv-rivals"

Calls = list[dict[str, Any]]
Judge = Callable[[str], list[bool]]
"""The verdicts on the records of a file."""


class Peer(NamedTuple):
    """An evaluator in one of its modes."""

    name: str
    mode: str
    """Its own word."""
    match: str
    """The match mode that is nearest, with exact arguments."""
    bar: float
    """How many times as fast callmatch has to be."""


PACKAGES = {
    "plain Python": ["orjson>=3.10,<4"],
    "google-adk": ["orjson>=3.10,<4", "google-adk>=2.10,<3"],
    "agentevals": ["orjson>=3.10,<4", "agentevals>=0.0.9,<0.1"],
    "deepeval": ["orjson>=3.10,<4", "deepeval>=4.3,<5"],
}
PEERS = [
    Peer("plain Python", "in_order", "in_order", 4),
    Peer("plain Python", "exact", "exact", 4),
    Peer("google-adk", "IN_ORDER", "in_order", 40),
    Peer("google-adk", "EXACT", "exact", 40),
    Peer("agentevals", "superset", "superset", 300),
    Peer("agentevals", "strict", "exact", 300),
    Peer("deepeval", "", "superset", 300),
    Peer("deepeval", "should_consider_ordering", "in_order", 300),
    Peer("deepeval", "should_exact_match", "exact", 300),
]


# What runs in the environments


def records(path: str) -> Iterator[tuple[Calls, Calls]]:
    """The calls made and those expected, read as fast as Python can."""
    import orjson  # noqa: PLC0415

    with open(path, "rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            yield record["actual"], record["expected"]


def plain(mode: str) -> Judge:
    """The scorer that one would write by hand."""
    import reference  # noqa: PLC0415

    passes = reference.MODES[mode]
    return lambda path: [passes(made, wanted, reference.equal) for made, wanted in records(path)]


def adk(mode: str) -> Judge:
    """`TrajectoryEvaluator` of google-adk, on what it makes of the events of an agent itself."""
    from google.adk.evaluation.eval_case import Invocation, InvocationEvent, InvocationEvents  # noqa: PLC0415
    from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion  # noqa: PLC0415
    from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=ToolTrajectoryCriterion.MatchType[mode])
    evaluator = TrajectoryEvaluator(eval_metric=EvalMetric(metric_name="tool_trajectory", criterion=criterion))
    question = types.Content(role="user", parts=[types.Part(text="")])

    def invocation(calls: Calls) -> Invocation:
        uses = [types.FunctionCall(name=call["name"], args=call["arguments"]) for call in calls]
        contents = [types.Content(role="model", parts=[types.Part(function_call=use)]) for use in uses]
        events = [InvocationEvent(author="agent", content=content) for content in contents]
        return Invocation(user_content=question, intermediate_data=InvocationEvents(invocation_events=events))

    def judge(path: str) -> list[bool]:
        return [
            evaluator.evaluate_invocations([invocation(made)], [invocation(wanted)]).overall_score == 1.0
            for made, wanted in records(path)
        ]

    return judge


def agentevals(mode: str) -> Judge:
    """The trajectory match evaluator of agentevals, on messages with one call each."""
    from agentevals.trajectory.match import create_trajectory_match_evaluator  # noqa: PLC0415

    evaluator = create_trajectory_match_evaluator(trajectory_match_mode=mode)

    def messages(calls: Calls) -> list[dict[str, Any]]:
        return [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}}],
            }
            for call in calls
        ]

    def judge(path: str) -> list[bool]:
        return [
            bool(evaluator(outputs=messages(made), reference_outputs=messages(wanted))["score"])
            for made, wanted in records(path)
        ]

    return judge


def deepeval(mode: str) -> Judge:
    """`ToolCorrectnessMetric` of deepeval, with arguments; in no mode, it takes any order."""
    from deepeval.metrics import ToolCorrectnessMetric  # noqa: PLC0415
    from deepeval.models import DeepEvalBaseLLM  # noqa: PLC0415
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams  # noqa: PLC0415

    class NoModel(DeepEvalBaseLLM):
        """It wants one, and asks it nothing here."""

        def load_model(self) -> Any:
            return None

        def generate(self, *_: Any, **__: Any) -> str:
            raise AssertionError

        async def a_generate(self, *_: Any, **__: Any) -> str:
            raise AssertionError

        def get_model_name(self) -> str:
            return "none"

    metric = ToolCorrectnessMetric(
        model=NoModel(),
        evaluation_params=[ToolCallParams.INPUT_PARAMETERS],
        **({mode: True} if mode else {}),
    )

    def tools(calls: Calls) -> list[ToolCall]:
        return [ToolCall(name=call["name"], input_parameters=call["arguments"]) for call in calls]

    def passes(made: Calls, wanted: Calls) -> bool:
        metric.measure(LLMTestCase(input="", actual_output="", tools_called=tools(made), expected_tools=tools(wanted)))
        return metric.score == 1.0

    def judge(path: str) -> list[bool]:
        return [passes(made, wanted) for made, wanted in records(path)]

    return judge


JUDGES = {"plain Python": plain, "google-adk": adk, "agentevals": agentevals, "deepeval": deepeval}


def timed(judge: Judge, path: str) -> tuple[float, list[bool]]:
    """How many seconds it takes to judge a file, and the verdicts."""
    gc.collect()
    start = perf_counter()
    verdicts = judge(path)
    return perf_counter() - start, verdicts


def work(name: str, mode: str, path: str) -> None:
    """Judge a file for each line of standard input, and tell the verdicts and the time."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    judge = JUDGES[name](mode)
    for _ in sys.stdin:
        seconds, verdicts = timed(judge, path)
        print(json.dumps({"seconds": seconds, "passed": verdicts}), file=answers, flush=True)


# What starts them


def interpreter(name: str) -> Path:
    """The interpreter of the environment that has a peer. The environment is made where there is none."""
    packages = "\n".join(PACKAGES[name])
    environment = ENVIRONMENTS / name.replace(" ", "-")
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made = environment / ".packages"
    if not made.exists() or made.read_text("utf-8") != packages:
        print(f"installing {', '.join(PACKAGES[name])}", file=sys.stderr)
        venv.create(environment, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        made.write_text(packages, "utf-8")
    return python


def version_of(name: str) -> str:
    """Which version of a peer is in its environment."""
    if name == "plain Python":
        return ""
    code = f"from importlib import metadata; print(metadata.version({name!r}))"
    return subprocess.run([interpreter(name), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def take_turns(peer: Peer, path: Path, rounds: int) -> Iterator[tuple[float, list[bool], float, list[bool]]]:
    """What a peer takes and says, and what we do, again and again."""
    quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "LANGSMITH_TRACING": "false", "PYTHONWARNINGS": "ignore"}
    command = [interpreter(peer.name), Path(__file__).resolve(), "--worker", peer.name, peer.mode, path]
    judge = callmatch(peer.match)
    # Some write files where they are run.
    with (
        tempfile.TemporaryDirectory() as room,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **quiet}, cwd=room
        ) as worker,
    ):
        assert worker.stdin is not None
        assert worker.stdout is not None
        for _ in range(rounds):
            print("go", file=worker.stdin, flush=True)
            line = worker.stdout.readline()
            if not line:
                raise SystemExit(f"{peer.name} failed")
            theirs = json.loads(line)
            # Ours takes some 60 ms, in which whatever else the machine does shows; theirs takes long enough.
            seconds, verdicts = zip(*(timed(judge, str(path)) for _ in range(3)), strict=True)
            yield theirs["seconds"], theirs["passed"], min(seconds), verdicts[0]
        worker.stdin.close()


def callmatch(match: str) -> Judge:
    """This library, on all cores."""
    from callmatch.metrics import ToolCallTrajectory  # noqa: PLC0415 - not there where the others are

    metric = ToolCallTrajectory(match=match, arguments="exact")
    return lambda path: [
        verdict == "passed"
        for scores in metric.evaluate_file(path, actual="actual", expected="expected")
        for verdict in scores.verdict
    ]


CHARTED = "exact"
"""The mode that all have."""


class Chart:
    """Bars of text, which show wherever text does."""

    WIDTH = 60

    def __init__(self) -> None:
        self._bars: dict[str, float] = {}

    def add(self, name: str, theirs: float, ours: float) -> None:
        self._bars["callmatch"] = min(ours, self._bars.get("callmatch", ours))
        self._bars[name] = theirs

    def lines(self) -> Iterator[str]:
        longest = max(self._bars.values(), default=1)
        for name, microseconds in self._bars.items():
            whole, eighths = divmod(max(1, round(microseconds / longest * self.WIDTH * 8)), 8)
            yield f"{name:<12} {'█' * whole}{' ▏▎▍▌▋▊▉'[eighths].strip()} {microseconds:,.0f} µs"


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=20_000, help="how many pairs of lists of calls (default: 20000)")
    parser.add_argument("--rounds", type=int, default=3, help="how often; the shortest time counts (default: 3)")
    parser.add_argument("--only", choices=list(PACKAGES), action="append", help="only this one")
    parser.add_argument("--chart", action="store_true", help="draw the mode that all have, too")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a bar is missed")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    import gen_pairs  # noqa: PLC0415
    import reference  # noqa: PLC0415

    missed, chart = False, Chart()
    print(
        "| against | version, mode | our mode | pairs | theirs, µs a pair | ours | faster | bar | answers that differ |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pairs.jsonl"
        with path.open("w", encoding="utf-8") as out:
            out.writelines(map(gen_pairs.line, gen_pairs.records(options.pairs)))
        for peer in PEERS:
            if options.only and peer.name not in options.only:
                continue
            passes = reference.MODES[peer.match]
            right = [passes(made, wanted, reference.equal) for made, wanted in records(str(path))]
            turns = list(take_turns(peer, path, options.rounds))
            if any(ours != right for *_, ours in turns):
                raise SystemExit(f"callmatch gives wrong answers in the mode {peer.match}")
            theirs, ours = (min(turn[place] for turn in turns) / options.pairs * 1e6 for place in (0, 2))
            differ = sum(answer != truth for answer, truth in zip(turns[0][1], right, strict=True))
            missed |= theirs / ours < peer.bar
            if peer.match == CHARTED:
                chart.add(peer.name, theirs, ours)
            print(
                f"| {peer.name} | {version_of(peer.name)} {peer.mode or 'default'} | {peer.match} | {options.pairs:,} "
                f"| {theirs:,.1f} | {ours:.2f} | {theirs / ours:,.1f} x | {peer.bar:g} x | {differ:,} |",
                flush=True,
            )
    if options.chart:
        print("", *chart.lines(), sep="\n")
    sys.exit(options.strict and missed)


if __name__ == "__main__":
    main()

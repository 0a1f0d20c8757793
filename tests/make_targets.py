"""Writes the table of targets (`tests/cases/targets/targets.jsonl`): what each metric says of each target.

The answers are worked out from the rules, as plainly as possible and sharing no code with the package:
``python tests/make_targets.py`` writes the file again. A line holds

* ``metric``: what is asked; ``options``: how it is made, beside what is always the same;
* ``target``;
* ``subjects``: a letter for each thing that the target finds, which is what the metric says of it: ``P`` passes, ``F``
  fails, ``-`` gets no verdict, ``!`` crashes; ``names``: what they are called, over and over;
* ``turns``: for a target that judges a whole, how many turns there are;
* ``want``: the ``verdict``; the ``score``; the ``reason`` (its beginning, or all of it where ``whole`` is true); what
  it ``mentions``; the ``counts`` of what was found, was judged, passed, failed and had no verdict, and the index of the
  first that failed. Or ``refused``: what the error has to name.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

FILE = Path(__file__).parent / "cases" / "targets" / "targets.jsonl"

NOUN = {
    "turn": "turn",
    "tool_call": "tool call",
    "retrieval": "retrieval",
    "agent": "agent",
    "llm": "LLM call",
    "embedding": "embedding",
    "rerank": "rerank",
    "guardrail": "guardrail",
    "handoff": "handoff",
    "chain": "chain",
}
SPANS = [on for on in NOUN if on != "turn"]
WHOLE = ["response", "conversation", "run"]
ALL = [*WHOLE, *NOUN]

TAKES = {
    "numeric_judge": ["response", *NOUN],
    "categorical_judge": ["response", *NOUN],
    "judge_with_reference": ["response"],
    "conversational_judge": ["conversation"],
    "tool_call_trajectory": ["response", "conversation", "run"],
    "code_bool": ["response", *NOUN],
    "code_number": ["response", *NOUN],
    "code_bool_of_trace": ["turn", "conversation", "run"],
    "code_number_of_trace": ["turn", "conversation", "run"],
}
JUDGES = ["numeric_judge", "categorical_judge", "judge_with_reference", "conversational_judge"]
WITH_MEAN = ["numeric_judge", "code_number", "code_number_of_trace"]
VERDICT = {"P": "passed", "F": "failed", "-": "inconclusive", "!": "error"}

NAMES = {
    "tool_call": ["lookup_order", "issue_refund", "send_mail"],
    "agent": ["triage", "billing"],
    "llm": ["gpt-small", "gpt-large"],
    "handoff": ["billing"],
}
"""The names of the subjects, over and over; spans of the other kinds have none."""


def own_score(metric, outcome):
    """What one subject is given; the tests make the metrics so."""
    if outcome in "-!":
        return None
    if metric == "categorical_judge":
        return {"P": "good", "F": "bad"}[outcome]
    if metric.startswith(("code_bool", "tool_call_trajectory")):
        return {"P": 1.0, "F": 0.0}[outcome]
    return {"P": 0.75, "F": 0.25}[outcome]


def told(target, names, index):
    """Which of the subjects it is."""
    name, which = names[index % len(names)], f"{NOUN[target['on']]} {index + 1}"
    return f"{which}: " if name is None else f"`{name}`, {which}: "


def several(metric, target, subjects, names, most=25):
    """The answer for turns and spans."""
    nouns = NOUN[target["on"]] + "s"
    if not subjects:
        named = f" named `{target['name']}`" if "name" in target else ""
        if "within" in target:
            return nothing("not_applicable", f"No {nouns}{named} ", mentions=[f"`{target['within']}`"])
        return nothing("not_applicable", f"No {nouns}{named} were recorded.")

    judged = subjects[:most]
    passed, failed = judged.count("P"), judged.count("F")
    counted = passed + failed
    without = len(judged) - counted
    first = judged.find("F")
    counts = [len(subjects), len(judged), passed, failed, without, None if first < 0 else first]
    notes = [f"the first {most} of {len(subjects)} were judged"] if len(subjects) > most else []

    if counted == 0:
        reason = f"None of {len(judged)} {nouns} got a verdict" + bracketed(notes)
        if "!" in judged:
            reason += f"; the first that crashed is {told(target, names, judged.find('!'))}"
            return {**nothing("error", reason), "counts": counts}
        return {**nothing("inconclusive", f"{reason}; the first is {told(target, names, 0)}"), "counts": counts}

    if without:
        notes.append(f"{without} without a verdict left out")
    aggregate = target.get("aggregate", "all")
    score = Fraction(passed, counted)
    said = ""
    if aggregate == "all":
        holds = passed == counted
    elif aggregate == "any":
        holds = passed >= 1
    elif aggregate == "majority":
        holds = passed > failed
        said = "" if holds else " (more than half must)"
    elif aggregate == "mean":
        score = sum(Fraction(own_score(metric, outcome)) for outcome in judged if outcome in "PF") / counted
        holds = score >= Fraction(1, 2)
        said = f", with a mean score of {float(score)} (>= 0.5 is needed)"
    else:
        holds = score >= Fraction(str(aggregate))
        said = "" if holds else f" (a share of {aggregate} must)"
    reason = f"{passed} of {counted} {nouns} passed{said}{bracketed(notes)}"
    if not holds:
        reason += f"; the first that failed is {told(target, names, first)}"
    verdict = "passed" if holds else "failed"
    return {"verdict": verdict, "score": float(score), "reason": reason, "whole": holds, "counts": counts}


def nothing(verdict, reason, **more):
    return {"verdict": verdict, "score": None, "reason": reason, **more}


def bracketed(notes):
    return f" ({'; '.join(notes)})" if notes else ""


def one(metric, outcome, **more):
    """The answer for a whole: what the metric says of it."""
    return {"verdict": VERDICT[outcome], "score": own_score(metric, outcome), "reason": "", **more}


def trajectory(outcome, made):
    """The answer of the trajectory, which the tests ask whether `issue_refund` was called."""
    if outcome != "F":
        return one("tool_call_trajectory", outcome)
    became = "it was never called" if made else "no tool calls were recorded"
    return one("tool_call_trajectory", "F", reason=f"Expected `issue_refund`; {became}.", whole=True)


# The cases

SCENARIOS = {
    "none": "",
    "one": "P",
    "one-failing": "F",
    "one-without-verdict": "-",
    "one-that-crashes": "!",
    "several": "PPP",
    "several-of-which-some-fail": "PFPF",
    "26": 26 * "P",
    "26-of-which-the-25th-fails": 24 * "P" + "FP",
    "26-of-which-the-26th-fails": 25 * "P" + "F",
    "all-failing": "FFF",
    "26-failing": 26 * "F",
    "some-without-verdict": "P-P",
    "some-without-verdict-and-one-fails": "-P-F",
    "none-with-a-verdict": "---",
    "26-of-which-none-has-a-verdict": 26 * "-",
    "26-of-which-half-have-a-verdict": 13 * "P-",
    "one-crashing": "P!P",
    "one-crashing-and-one-fails": "!FP",
    "all-crashing": "!!",
    "one-crashing-and-one-without-verdict": "-!",
}

AGGREGATES = {
    "any": ["PF", "FF", "F-P", "!F", "-", ""],
    "majority": ["PF", "PPF", "FPF", "P--", "PF!-", "!-"],
    0.8: ["PPPPF", "FFPPP", "PPPP---F", "P-", "!"],
    0.7: ["PPPPPPPFFF", "PPF"],
    0.5: ["PF", "FPF"],
    1.0: ["PP"],
    "mean": ["PF", "FFPF", "-P!", "F", 30 * "P", "--", "!", ""],
}

SEVERAL = ["numeric_judge", "categorical_judge", "code_bool", "code_number"]


def case(kind, metric, target, subjects, want=None, names=None, **more):
    target_id = target["on"] + "".join(f"+{target[key]}" for key in ("name", "within", "aggregate") if key in target)
    line = {"id": f"{metric}/{target_id}/{kind}", "metric": metric, **more, "target": target, "subjects": subjects}
    if target["on"] in NOUN and want is None:
        names = names or NAMES.get(target["on"], [None])
        line["names"] = names
        want = several(metric, target, subjects, names, more.get("options", {}).get("max_spans", 25))
    return {**line, "want": want}


def of_several():
    for metric in SEVERAL:
        for on in NOUN:
            for kind, subjects in SCENARIOS.items():
                yield case(kind, metric, {"on": on}, subjects)
    for metric in ("code_bool_of_trace", "code_number_of_trace"):
        for kind, subjects in SCENARIOS.items():
            yield case(kind, metric, {"on": "turn"}, subjects)
    for metric in SEVERAL:
        for on in ("turn", "tool_call", "retrieval", "llm"):
            for aggregate, lists in AGGREGATES.items():
                if aggregate != "mean" or metric in WITH_MEAN:
                    for place, subjects in enumerate(lists):
                        yield case(place, metric, {"on": on, "aggregate": aggregate}, subjects)
    for metric in SEVERAL:
        for on in SPANS:
            for kind in ("none", "one", "several-of-which-some-fail", *(["26"] if metric == "code_bool" else [])):
                subjects = SCENARIOS[kind]
                yield case(kind, metric, {"on": on, "name": "it"}, subjects, names=["it"])
                yield case(kind, metric, {"on": on, "within": "desk"}, subjects)
                yield case(kind, metric, {"on": on, "name": "it", "within": "desk"}, subjects, names=["it"])
    for metric in SEVERAL:
        for on in ("turn", "tool_call"):
            for most, subjects in ((1, "PF"), (3, "FFFFF"), (40, 26 * "P"), (2, "PP")):
                yield case(f"at-most-{most}", metric, {"on": on}, subjects, options={"max_spans": most})
            yield case("40", metric, {"on": on}, 24 * "P" + "!" + 15 * "F")


def of_one():
    for metric, takes in TAKES.items():
        for on in WHOLE:
            if on not in takes or metric == "tool_call_trajectory":
                continue
            for turns in (1, 3, 26):
                for kind, outcome in (("passes", "P"), ("fails", "F"), ("without-verdict", "-"), ("crashes", "!")):
                    said = {"mentions": ["so it was"]} if metric in JUDGES and outcome in "PF" else {}
                    want = one(metric, outcome, **said)
                    yield case(f"{kind}-{turns}", metric, {"on": on}, outcome, want, turns=turns)
    for on in WHOLE:
        for kind, outcome, turns in (
            ("reported-none", "F", 0),
            ("not-reported", "-", 1),
            ("not-reported-several", "-", 3),
            ("one", "P", 1),
            ("one-other", "F", 1),
            ("several", "P", 3),
            ("all-others", "F", 3),
            ("26", "P", 26),
            ("26-others", "F", 26),
        ):
            want = trajectory(outcome, turns)
            yield case(kind, "tool_call_trajectory", {"on": on}, outcome, want, turns=turns)


def refused():
    for metric, takes in TAKES.items():
        for on in ALL:
            if on not in takes:
                yield case("refused", metric, {"on": on}, "", {"refused": takes})
    for metric in SEVERAL:
        if metric not in WITH_MEAN:
            for on in ("turn", "tool_call", "chain"):
                yield case("refused", metric, {"on": on, "aggregate": "mean"}, "", {"refused": ["mean", "threshold"]})


def can_happen(line):
    """A judge has no verdict where no output was recorded, but a tool call or handoff without one has an empty one.

    What a conversation was is recorded in any case.
    """
    recorded = line["target"]["on"] in ("tool_call", "handoff", "conversation")
    return not (line["metric"] in JUDGES and recorded and "-" in line["subjects"])


def lines():
    for line in (*of_several(), *of_one(), *refused()):
        if can_happen(line):
            yield json.dumps(line, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text("".join(lines()), encoding="utf-8")

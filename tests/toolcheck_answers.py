"""The cases of ToolCallCheck, and what one of its results says, in the form that the cases use."""

import json
from pathlib import Path

CHECKS = ["tool_relevance", "result_fidelity", "status_consistency", "no_hallucination"]
VERDICTS = {"followed", "violated", "undecided", "vacuous"}
NOT_VIOLATED = {"followed", "vacuous"}
RELATIONS = {
    "supported",
    "derived",
    "echo",
    "unsupported",
    "contradicted",
    "unchecked",
    "status_agrees",
    "status_disagrees",
    "called",
    "never_called",
}
CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "toolcheck.jsonl").read_text(encoding="utf-8").splitlines()
]


def verdicts(result):
    return {instruction.id: instruction.verdict for instruction in result.instructions_list}


def acceptable(words):
    """Followed and vacuous both say that nothing was violated."""
    given = {words} if isinstance(words, str) else set(words)
    return given | NOT_VIOLATED if given & NOT_VIOLATED else given


def wrong(expect, found):
    """The checks of a case with another verdict than an acceptable one."""
    return {
        check: f"{found[check]}, not {words}"
        for check, words in expect.items()
        if found[check] not in acceptable(words)
    }


def evidence(result):
    return [found for instruction in result.instructions_list for found in instruction.evidence]


def relations(result):
    """What was said of each place in the text, without where in the trace it comes from."""
    return sorted(
        (instruction.id, found.start, found.end, found.kind, found.relation)
        for instruction in result.instructions_list
        for found in instruction.evidence
        if found.start is not None
    )


def consistent(result, request):
    """The parts of one result agree with each other, whatever the right answer is."""
    assert [instruction.id for instruction in result.instructions_list] == CHECKS
    decided = []
    for instruction in result.instructions_list:
        verdict, label, probability = instruction.verdict, instruction.label, instruction.follow_probability
        assert verdict in VERDICTS
        assert label == {"followed": True, "vacuous": True, "violated": False, "undecided": None}[verdict]
        assert 0 <= probability <= 1
        if verdict == "undecided":
            assert probability == 0.5
        else:
            decided.append(probability)
            assert (probability >= 0.5) == label
        if verdict == "violated":
            assert instruction.rules
        for found in instruction.evidence:
            assert found.relation in RELATIONS
            if found.start is None:
                assert found.end is None
                continue
            assert 0 <= found.start < found.end <= len(request["generated_text"])
            assert readable(request["generated_text"][found.start : found.end]) == found.text
            assert found.source is None or points(found.source, request)
    assert result.score == min(decided, default=None)
    return True


def readable(text):
    """Halves of surrogate pairs are told as the sign for what can't be told."""
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)


def points(pointer, request):
    """Whether a JSON pointer leads somewhere in the request. Below a text it leads on into the JSON of the text."""
    place = request
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, str):
            try:
                place = json.loads(place)
            except ValueError:
                return True
        if isinstance(place, list):
            place = place[int(key)]
        elif isinstance(place, dict):
            place = place[key]
        else:
            return False
    return True

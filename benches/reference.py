"""The scorer that a careful Python user would write by hand: True or False, Python's own ==, no reasons, no counts.

It is the yardstick for speed, not for right answers (True == 1 here). Calls are {"name": str, "arguments": dict}.
"""

from __future__ import annotations

from collections.abc import Callable

Call = dict
Fits = Callable[[dict, dict], bool]


def partial(want: dict, got: dict) -> bool:
    return all(k in got and got[k] == v for k, v in want.items())


def equal(want: dict, got: dict) -> bool:
    return want == got


def exact(actual: list[Call], expected: list[Call], fits: Fits) -> bool:
    return len(actual) == len(expected) and all(
        a["name"] == e["name"] and fits(e["arguments"], a["arguments"])
        for a, e in zip(actual, expected)  # noqa: B905
    )


def in_order(actual: list[Call], expected: list[Call], fits: Fits) -> bool:
    calls = iter(actual)
    return all(any(a["name"] == e["name"] and fits(e["arguments"], a["arguments"]) for a in calls) for e in expected)


def pairing(actual: list[Call], expected: list[Call], fits: Fits) -> int:
    """Size of the largest one-to-one pairing (augmenting paths within a tool name)."""
    made: dict[str, list] = {}
    for a in actual:
        made.setdefault(a["name"], []).append(a["arguments"])
    wanted: dict[str, list] = {}
    for e in expected:
        wanted.setdefault(e["name"], []).append(e["arguments"])
    total = 0
    for name, es in wanted.items():
        as_ = made.get(name, [])
        edges = [[j for j, a in enumerate(as_) if fits(e, a)] for e in es]
        owner: dict[int, int] = {}

        def augment(i: int, seen: set[int]) -> bool:
            for j in edges[i]:  # noqa: B023
                if j not in seen:
                    seen.add(j)
                    if j not in owner or augment(owner[j], seen):  # noqa: B023
                        owner[j] = i  # noqa: B023
                        return True
            return False

        total += sum(augment(i, set()) for i in range(len(es)))
    return total


def any_order(actual: list[Call], expected: list[Call], fits: Fits) -> bool:
    return len(actual) == len(expected) == pairing(actual, expected, fits)


def subset(actual: list[Call], expected: list[Call], fits: Fits) -> bool:
    return pairing(actual, expected, fits) == len(actual)


def superset(actual: list[Call], expected: list[Call], fits: Fits) -> bool:
    return pairing(actual, expected, fits) == len(expected)


MODES = {function.__name__: function for function in (exact, in_order, any_order, subset, superset)}

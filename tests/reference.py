"""The rules of matching, written as plainly as possible: slow, obvious, and sharing no code with the package.

For inputs of a few calls only: the largest pairing is found by trying everything.
"""

from __future__ import annotations

import json
import math
from functools import cache

MATCHES = ("exact", "in_order", "any_order", "subset", "superset")
ARGUMENTS = ("partial", "exact", "ignore")
PAIRS = [(match, arguments) for match in MATCHES for arguments in ARGUMENTS]

NOT_RECORDED = "not recorded"  # in an expected call: any arguments
UNREADABLE = "unreadable"
NO, MAYBE, YES = 0, 1, 2


# Values


def kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (list, tuple)):
        return "array"
    assert isinstance(value, dict), value
    return "object"


def is_nan(number):
    return isinstance(number, float) and math.isnan(number)


def equal(a, b):
    if kind(a) != kind(b):
        return False
    if kind(a) == "number":
        return a == b or (is_nan(a) and is_nan(b))  # Python compares an int with a float exactly
    if kind(a) == "array":
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if kind(a) == "object":
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return a == b


def step(pointer, key):
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def first_difference(want, got, partial=False, pointer=""):
    """The deepest first place that differs, as (pointer, {side: value}); None if `got` matches `want`."""
    if kind(want) == kind(got) == "object":
        for key in want:
            if key not in got:
                return step(pointer, key), {"expected_value": want[key]}
            if not equal(want[key], got[key]):
                return first_difference(want[key], got[key], pointer=step(pointer, key))
        for key in got:
            if key not in want and not partial:
                return step(pointer, key), {"actual_value": got[key]}
        return None
    if kind(want) == kind(got) == "array":
        for index in range(max(len(want), len(got))):
            if index >= len(got):
                return step(pointer, index), {"expected_value": want[index]}
            if index >= len(want):
                return step(pointer, index), {"actual_value": got[index]}
            if not equal(want[index], got[index]):
                return first_difference(want[index], got[index], pointer=step(pointer, index))
        return None
    return None if equal(want, got) else (pointer, {"expected_value": want, "actual_value": got})


# Calls


def read(call):
    """A call's name and its arguments: a dict, NOT_RECORDED or UNREADABLE."""
    call = call.get("function", call)
    name = call["name"] if "name" in call else call["tool_name"]
    for key in ("arguments", "args", "kwargs", "input", "request_payload"):
        if call.get(key) is not None:
            return name, read_arguments(call[key])
    return name, NOT_RECORDED


def read_arguments(value):
    if value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return UNREADABLE
    return value if isinstance(value, dict) else UNREADABLE


def fit(expected, made, arguments):
    """Whether a made call fits an expected one: YES, NO, or MAYBE where that was not recorded."""
    (want_name, want), (got_name, got) = read(expected), read(made)
    if want_name != got_name:
        return NO
    if arguments == "ignore" or want == NOT_RECORDED:
        return YES
    if got == UNREADABLE:
        return NO
    if got == NOT_RECORDED:
        return YES if arguments == "partial" and want == {} else MAYBE
    return YES if first_difference(want, got, partial=arguments == "partial") is None else NO


def difference_of_arguments(expected, made, arguments):
    want, got = read(expected)[1], read(made)[1]
    if got == NOT_RECORDED:
        return "", {"expected_value": want}
    if got == UNREADABLE:
        return "", {"expected_value": want, "actual_value": UNREADABLE}
    return first_difference(want, got, partial=arguments == "partial")


# Pairing: `fits[i][j]` says whether made call j fits expected call i


def largest(fits, rows, columns):
    """The size of the largest one-to-one pairing of these rows with these columns."""
    rows = tuple(rows)

    @cache
    def best(n, free):
        if n == len(rows):
            return 0
        taken = [1 + best(n + 1, free - {j}) for j in free if fits[rows[n]][j]]
        return max([best(n + 1, free), *taken])

    return best(0, frozenset(columns))


def not_kept(fits, rows, columns):
    """Rows are taken in order, and each is kept if all kept ones can still be paired: the others."""
    kept = []
    for i in rows:
        if largest(fits, [*kept, i], columns) == len(kept) + 1:
            kept.append(i)
    return [i for i in rows if i not in kept]


def transpose(fits, columns):
    return [[row[j] for row in fits] for j in columns]


def subsequence(fits, rows, columns):
    """The made call that each expected one takes from left to right, until one finds none."""
    used, position = [], 0
    for i in rows:
        found = [j for j in columns if j >= position and fits[i][j]]
        if not found:
            break
        used.append(found[0])
        position = found[0] + 1
    return used


def passes(match, fits, rows, columns):
    if not rows:
        return not columns
    if match == "exact":
        return len(rows) == len(columns) and all(fits[i][i] for i in rows)
    if match == "in_order":
        return len(subsequence(fits, rows, columns)) == len(rows)
    pairs = largest(fits, rows, columns)
    every_expected, every_made = pairs == len(rows), pairs == len(columns)
    return {
        "any_order": every_expected and every_made,
        "subset": every_made,
        "superset": every_expected,
    }[match]


def first_call_that_differs(match, fits, wanted, made):
    """[kind, expected_index, actual_index]; `wanted` and `made` are the names."""
    rows, columns = range(len(wanted)), range(len(made))
    if not rows:
        return ["unexpected", None, 0]

    if match == "exact":
        for i in range(max(len(wanted), len(made))):
            if i >= len(made):
                return ["missing", i, None]
            if i >= len(wanted):
                return ["unexpected", None, i]
            if not fits[i][i]:
                return ["arguments" if wanted[i] == made[i] else "name", i, i]

    if match == "in_order":
        used = subsequence(fits, rows, columns)
        i = len(used)
        after = used[-1] + 1 if used else 0
        unused = [j for j in columns if j not in used]
        fitting = [j for j in unused if fits[i][j]]
        if fitting:
            return ["order", i, fitting[0]]
        named = [j for j in unused if wanted[i] == made[j]]
        for j in [j for j in named if j >= after] + [j for j in named if j < after]:
            return ["arguments", i, j]
        return ["missing", i, None]

    pairs = largest(fits, rows, columns)
    if match == "subset":
        j = not_kept(transpose(fits, columns), columns, rows)[0]
        left_over = [i for i in rows if wanted[i] == made[j] and leaves_over_row(fits, rows, columns, i, pairs)]
        return ["arguments" if left_over else "unexpected", None, j]
    for i in not_kept(fits, rows, columns):
        left_over = [j for j in columns if wanted[i] == made[j] and leaves_over_column(fits, rows, columns, j, pairs)]
        return ["arguments" if left_over else "missing", i, None]
    return ["unexpected", None, not_kept(transpose(fits, columns), columns, rows)[0]]


def leaves_over_row(fits, rows, columns, i, pairs):
    return largest(fits, [row for row in rows if row != i], columns) == pairs


def leaves_over_column(fits, rows, columns, j, pairs):
    return largest(fits, rows, [column for column in columns if column != j]) == pairs


# The whole answer


def judge(expected, actual, match, arguments):
    rows, columns = range(len(expected)), range(len(actual))
    three = [[fit(e, a, arguments) for a in actual] for e in expected]
    fits = [[value == YES for value in row] for row in three]
    hopeful = [[value != NO for value in row] for row in three]
    wanted, made = [read(e)[0] for e in expected], [read(a)[0] for a in actual]

    answer = {"verdict": "inconclusive", "difference": None, "differing": []}
    if passes(match, fits, rows, columns):
        answer["verdict"] = "passed"
    elif not passes(match, hopeful, rows, columns):
        answer["verdict"] = "failed"
        answer["difference"] = first_call_that_differs(match, fits, wanted, made)

    answer["matched"] = matched = largest(fits, rows, columns)
    answer["missing"] = not_kept(fits, rows, columns)
    answer["unexpected"] = not_kept(transpose(fits, columns), columns, rows)
    answer["fits"] = fits
    if not rows and not columns:
        answer["precision"] = answer["recall"] = answer["f1"] = 1.0
    elif not matched:
        answer["precision"] = answer["recall"] = answer["f1"] = 0.0
    else:
        answer["precision"] = p = matched / len(columns)
        answer["recall"] = r = matched / len(rows)
        answer["f1"] = 2 * p * r / (p + r)

    if answer["difference"] and answer["difference"][0] == "arguments":
        # Where only one side is named, the other is a call of that name that a largest pairing leaves over.
        _, i, j = answer["difference"]
        those_i = [i] if i is not None else [i for i in rows if leaves_over_row(fits, rows, columns, i, matched)]
        those_j = [j] if j is not None else [j for j in columns if leaves_over_column(fits, rows, columns, j, matched)]
        answer["differing"] = [
            difference_of_arguments(expected[i], actual[j], arguments)
            for i in those_i
            for j in those_j
            if wanted[i] == made[j]
        ]
    return answer

"""Intervals of shares that were counted, and a test of whether two of them differ."""

from __future__ import annotations

import math
from itertools import accumulate
from statistics import NormalDist

__all__ = ["Interval", "mcnemar", "of_difference", "wilson"]

Interval = tuple[float, float]
"""The lower and the upper end."""

MOST_EXACT = 2000
"""Up to so many changed pairs, probabilities are added up as whole numbers."""


def wilson(count: float, of: int, confidence: float = 0.95) -> Interval | None:
    """The interval of a share, by the score method of Wilson, without a correction for continuity.

    It holds for shares near 0 and 1 and for few rows too, where the textbook interval does not.

    Args:
        count: How many of them have what is looked for; or the sum of shares, from 0 to 1 each.
        of: How many there are.
        confidence: How often such intervals contain the true share, above 0 and below 1.

    Returns:
        The lower and the upper end, from 0 to 1; None if there are none.

    References:
        E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.

    Examples:
        >>> [round(end, 4) for end in wilson(81, 263)]
        [0.2553, 0.3662]
    """
    if of == 0:
        return None
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    middle = (count + z2 / 2) / (of + z2)
    half = math.sqrt(z2 * (max(0.0, count * (of - count)) / of + z2 / 4)) / (of + z2)
    # Of none and of all, one end is exactly 0 or 1, and comes out so but for rounding.
    return 0.0 if count <= 0 else max(0.0, middle - half), 1.0 if count >= of else min(1.0, middle + half)


def of_difference(both: int, first: int, second: int, neither: int, confidence: float = 0.95) -> Interval | None:
    """The interval of the difference of two shares of the same rows: that of the second less that of the first.

    Args:
        both: How many rows have what is looked for both times.
        first: How many have it the first time alone.
        second: How many have it the second time alone.
        neither: How many never have it.
        confidence: How often such intervals contain the true difference.

    Returns:
        The lower and the upper end, from -1 to 1; None if there are no rows.

    References:
        R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based on paired
        data", Statistics in Medicine 17 (1998), 2635-2650, method 10: Wilson's intervals of the two shares, put
        together with the correlation that the rows show.

    Examples:
        >>> [round(end, 4) for end in of_difference(both=59, first=6, second=16, neither=80)]
        [0.0046, 0.1186]
    """
    rows = both + first + second + neither
    one, other = wilson(both + first, rows, confidence), wilson(both + second, rows, confidence)
    if one is None or other is None:
        return None
    shares = (both + first) / rows, (both + second) / rows
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    covered = both * neither - first * second
    if covered > 0:
        covered = max(0, covered - rows / 2)  # type: ignore[assignment]  # a correction for continuity
    correlation = covered / math.sqrt(margins) if margins else 0.0

    def reach(a: float, b: float) -> float:
        return math.sqrt(max(0.0, a * a - 2 * correlation * a * b + b * b))

    difference = shares[1] - shares[0]
    below = reach(shares[1] - other[0], one[1] - shares[0])
    above = reach(other[1] - shares[1], shares[0] - one[0])
    return max(-1.0, difference - below), min(1.0, difference + above)


def mcnemar(first: int, second: int, *, mid: bool = False) -> float:
    """How probable a difference like this, or a larger one, is where there is none: the exact test of McNemar.

    Of the rows that differ, as many would do so in one way as in the other.

    Args:
        first: How many rows have what is looked for the first time alone.
        second: How many have it the second time alone.
        mid: Count what is as probable as the difference found by half. The exact test is rather too careful; this is
            nearer to what it promises.

    Returns:
        The two-sided p-value, from 0 to 1; 1.0 if no row differs.

    References:
        Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
        Psychometrika 12 (1947), 153-157. M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary
        matched-pairs data: mid-p and asymptotic are better than exact conditional", BMC Medical Research Methodology 13
        (2013), 91.

    Examples:
        >>> mcnemar(1, 7), mcnemar(1, 7, mid=True)
        (0.0703125, 0.0390625)
    """
    changed, fewer = first + second, min(first, second)
    if changed == 0:
        return 1.0
    at, up_to = _binomial(changed, fewer)
    if first == second:
        return 1.0 - at / 2 if mid else 1.0
    return min(1.0, 2 * up_to - (at if mid else 0.0))


def _binomial(n: int, k: int) -> tuple[float, float]:
    """The probability of k heads, and of up to k, in n throws of a coin; k is n / 2 at most."""
    if n <= MOST_EXACT:
        counts = list(accumulate(range(1, k + 1), lambda count, i: count * (n - i + 1) // i, initial=1))
        return counts[-1] / 2**n, sum(counts) / 2**n
    at = math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))
    up_to = term = 1.0
    for i in range(k, 0, -1):
        term *= i / (n - i + 1)
        up_to += term
        if term < up_to * 1e-17:
            break
    return at, min(1.0, at * up_to)

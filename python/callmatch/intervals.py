"""Intervals of shares that were counted."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

__all__ = ["wilson"]

Interval = tuple[float, float]


def wilson(count: int, of: int, confidence: float = 0.95) -> Interval | None:
    """The interval of a share, by the score method of Wilson, without a correction for continuity.

    It holds for shares near 0 and 1 and for few rows too, where the textbook interval does not.

    Args:
        count: How many of them have what is looked for.
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
    half = sqrt(z2 * (count * (of - count) / of + z2 / 4)) / (of + z2)
    # Of none and of all, what is exactly 0 or 1 comes out so but for rounding.
    return 0.0 if count == 0 else max(0.0, middle - half), 1.0 if count == of else min(1.0, middle + half)

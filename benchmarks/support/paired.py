# SPDX-License-Identifier: Apache-2.0
"""The median of paired ratios, and how well it is known."""
import math
import statistics


def interval(values, confidence=0.95):
    """Two order statistics between which the median lies with at least this confidence, by the binomial distribution,
    which asks nothing of how the values are distributed; the first and the last where there are too few (below 6)."""
    n = len(values)
    place = 0
    below = 1 / 2**n  # the probability that at most `place` values are less than the median
    while place + 1 < n / 2 and 2 * (below + math.comb(n, place + 1) / 2**n) <= 1 - confidence:
        place += 1
        below += math.comb(n, place) / 2**n
    ordered = sorted(values)
    return ordered[place], ordered[n - 1 - place]


def cells(old, new):
    """Median ratio and interval as two cells of a table."""
    ratios = [b / a for a, b in zip(old, new, strict=True)]
    low, high = interval(ratios)
    return [f"{statistics.median(ratios):.4f}", f"{low:.4f} to {high:.4f}"]

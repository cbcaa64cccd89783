"""Statistics on groups of samples. Pure numpy; knows no benchmark.

A group is one session. Calls of one session are not independent of each other, so the interval
of every figure comes from how the sessions differ, never from the number of calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 2000
SEED = 20260728
QUANTILE_METHOD = "linear"
"""Linear interpolation of order statistics: type 7 of Hyndman & Fan (1996), numpy's default."""

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom; checked against scipy in the tests.
_T_95 = (
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
    2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
    2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831,
    2.048407, 2.045230, 2.042272,
)  # fmt: skip
_Z_95 = 1.959964
_RANK_BINS = 2048

Groups = Sequence[NDArray[np.int64]] | Sequence[NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval: the only number that leaves this room.

    ``low`` and ``high`` are None where the sessions are too few to tell (one).
    """

    value: float
    low: float | None
    high: float | None
    n_sessions: int
    n_samples: int
    level: float = LEVEL

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate in another unit."""
        return Estimate(
            self.value * factor,
            None if self.low is None else self.low * factor,
            None if self.high is None else self.high * factor,
            self.n_sessions,
            self.n_samples,
            self.level,
        )


def t_95(degrees: int) -> float:
    """Return Student's t for a two-sided 95 % interval."""
    if degrees <= len(_T_95):
        return _T_95[degrees - 1]
    # Expansion in 1 / degrees: Abramowitz & Stegun 26.7.5, at the 97.5 % point.
    return _Z_95 + 2.37227 / degrees + 2.82250 / degrees**2


def mean(groups: Groups, *, signed: bool = False) -> Estimate:
    """Return the mean of all samples with a t interval over the means of the sessions.

    Means add up: the means of the phases sum to the mean of the total. Groups must not be empty.
    The interval of what cannot be negative (all but ``signed`` differences) ends at 0.
    """
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    means = np.array([np.mean(group) for group in groups], dtype=np.float64)
    value = float(np.average(means, weights=sizes))
    n = len(means)
    if n < 2:
        return Estimate(value, None, None, n, int(sizes.sum()))
    half = t_95(n - 1) * float(np.std(means, ddof=1)) / n**0.5
    low = value - half
    if not signed:
        low = max(low, 0.0)
    return Estimate(value, low, value + half, n, int(sizes.sum()))


def difference_of_means(left: Groups, right: Groups) -> Estimate:
    """Return ``mean(left) - mean(right)`` of sessions paired in order, with a t interval.

    For groups of the same rounds: what the machine did in a round hits both and cancels.
    """
    pairs = [float(np.mean(a)) - float(np.mean(b)) for a, b in zip(left, right, strict=True)]
    estimate = mean([np.array([pair]) for pair in pairs], signed=True)
    samples = sum(len(group) for group in (*left, *right))
    return Estimate(estimate.value, estimate.low, estimate.high, len(pairs), samples)


def quantile(groups: Groups, q: float) -> Estimate | None:
    """Return the ``q`` quantile of all samples, or None with fewer than ``1 / (1 - q)`` of them.

    The interval is a percentile bootstrap over sessions, widened by t / z for their number
    (Hesterberg 2015 on the narrowness of small-sample bootstraps).
    """
    pooled = np.sort(np.concatenate(list(groups)))
    if len(pooled) < needed(q):
        return None
    value = float(np.quantile(pooled, q, method="linear"))
    n = len(groups)
    if n < 2:
        return Estimate(value, None, None, n, len(pooled))
    drawn = _resampled_quantiles(groups, pooled, q)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    widen = t_95(n - 1) / _Z_95 * (n / (n - 1)) ** 0.5
    low = value - max(value - float(low), 0.0) * widen
    high = value + max(float(high) - value, 0.0) * widen
    # A quantile of these samples cannot lie outside them, whatever the widening says.
    low, high = max(low, float(pooled[0])), min(high, float(pooled[-1]))
    return Estimate(value, low, high, n, len(pooled))


def needed(q: float) -> int:
    """Return how many samples a quantile needs to say anything: one beyond it, on average."""
    tail = min(q, 1 - q)
    return 1 if tail <= 0 or q == 0.5 else int(np.ceil(1 / tail - 1e-9))


def _resampled_quantiles(
    groups: Groups, pooled: NDArray[np.int64] | NDArray[np.float64], q: float
) -> NDArray[np.float64]:
    """Return the quantile of each resample of whole sessions.

    Samples are counted in at most 2,048 bins of neighbouring ranks per session, and each resample
    finds its quantile by bisection over the bins, so that the cost does not grow with the number
    of calls.
    """
    bins = min(_RANK_BINS, len(pooled))
    edges = pooled[np.linspace(0, len(pooled) - 1, bins).astype(np.int64)]
    # How many samples of each session lie at or below each edge: one row per edge.
    below = np.stack(
        [np.searchsorted(np.sort(group), edges, side="right") for group in groups], axis=1
    )
    weights = _resamples(len(groups))
    wanted = q * (weights @ below[-1])
    low = np.zeros(len(weights), dtype=np.int64)
    high = np.full(len(weights), len(edges) - 1)
    while (low < high).any():
        middle = (low + high) // 2
        reached = np.einsum("ij,ij->i", weights, below[middle]) >= wanted
        high = np.where(reached, middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    return np.asarray(edges[low], dtype=np.float64)


@lru_cache(maxsize=64)
def _resamples(n: int) -> NDArray[np.int64]:
    """Return how often each of ``n`` sessions is in each resample; the same for every figure."""
    draw = np.random.default_rng(SEED).multinomial(n, [1 / n] * n, size=RESAMPLES)
    return np.asarray(draw, dtype=np.int64)

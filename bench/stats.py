"""Statistics on groups of samples. Pure numpy; knows no benchmark.

A group is one session. Calls of one session are not independent of each other, so every interval
comes from a hierarchical bootstrap: sessions are drawn with replacement, then the calls inside each
drawn session (Davison & Hinkley 1997, §3.8; Kalibera & Jones 2013). Drawing calls one by one would
cost their number; what it does to a figure follows from the first moments of that draw, so it is
drawn as one normal number per resample: for a mean the noise of the drawn mean, for a quantile
the noise of how many drawn calls lie at or below it (Bahadur 1966).

The interval is the figure ± t × the standard deviation of the resampled figures: on a logarithmic
scale for quantiles and ratios, which are skewed, and on a linear one for means and differences,
which must add up. ``t`` is Student's for the sessions, and the deviation is corrected by
√(n / (n - 1)), as few sessions resample too narrowly (Hesterberg 2015).
``benchmarks/coverage.py`` shows how often such intervals hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 2000
SEED = 20260728
QUANTILE_METHOD = "linear"
"""Linear interpolation of order statistics: type 7 of Hyndman & Fan (1996), numpy's default."""
INTERVAL_METHOD = "hierarchical bootstrap (sessions, then calls), bootstrap t"
FIGURES: dict[str, float | None] = {
    "mean": None,
    "p50": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p99.9": 0.999,
}
"""The figures that are shown, by name; a quantile is its level, the mean is None."""

_BODY_RANKS, _TAIL_RANKS = 1024, 256

Samples = NDArray[np.int64] | NDArray[np.float64]
Groups = Sequence[NDArray[np.int64]] | Sequence[NDArray[np.float64]] | Sequence[Samples]
Draws = NDArray[np.float64]


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

    @property
    def relative_half_width(self) -> float | None:
        """Half the interval over the value; None where there is no interval or the value is 0."""
        if self.low is None or self.high is None or not self.value:
            return None
        return (self.high - self.low) / 2 / abs(self.value)


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two samples compared in one figure: ``difference`` is right - left, ``ratio`` right / left.

    ``ratio`` is None where either figure is not above 0. ``paired`` says whether sessions were
    compared within their rounds.
    """

    left: Estimate
    right: Estimate
    difference: Estimate
    ratio: Estimate | None
    paired: bool


class Sample:
    """Groups of samples, prepared once for all figures. Groups must not be empty."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.sizes = np.array([len(group) for group in groups], dtype=np.int64)
        self.n_samples = int(self.sizes.sum())

    @property
    def n_sessions(self) -> int:
        """How many groups there are."""
        return len(self.groups)

    @cached_property
    def pooled(self) -> Samples:
        """All samples, sorted."""
        return np.sort(np.concatenate(list(self.groups)))

    @cached_property
    def moments(self) -> tuple[Draws, Draws]:
        """The sum of each group, and the sum of squares around its mean."""
        sums = np.array([np.sum(group, dtype=np.float64) for group in self.groups])
        squares = np.array([np.var(group) * len(group) for group in self.groups])
        return sums, squares

    @cached_property
    def ranked(self) -> tuple[Samples, NDArray[np.int64]]:
        """Edges, dense at both tails, and how many samples of each group lie at or below each.

        One row per edge, one column per group: what a resample costs does not grow with the calls.
        """
        last = self.n_samples - 1
        body = np.linspace(0, last, min(_BODY_RANKS, self.n_samples)).astype(np.int64)
        tail = np.geomspace(1, self.n_samples, _TAIL_RANKS).astype(np.int64) - 1
        edges = self.pooled[np.unique(np.concatenate([body, tail, last - tail]))]
        below = [np.searchsorted(np.sort(group), edges, side="right") for group in self.groups]
        return edges, np.stack(below, axis=1)

    def value(self, q: float | None) -> float | None:
        """Return the figure of all samples; None for a quantile that too few samples can tell."""
        if q is None:
            return float(self.moments[0].sum() / self.n_samples)
        if self.n_samples < needed(q):
            return None
        return float(np.quantile(self.pooled, q, method="linear"))

    def draws(self, q: float | None, stream: int = 0, pairing: int | None = None) -> Draws:
        """Return the figure of each resample.

        Streams are independent of each other; with the same ``pairing`` the same sessions are in.
        """
        weights = _session_draws(self.n_sessions, stream if pairing is None else pairing)
        noise = _noise(stream)
        if q is None:
            sums, squares = self.moments
            drawn = weights @ self.sizes
            return np.asarray(
                (weights @ sums + noise * np.sqrt(weights @ squares)) / drawn, dtype=np.float64
            )
        edges, below = self.ranked
        wanted = np.asarray(q * (weights @ self.sizes), dtype=np.float64)
        counts = below[_reached(below, weights, wanted)]
        binomial = np.einsum("ij,ij->i", weights, counts * (1 - counts / self.sizes))
        moved = np.maximum(wanted - noise * np.sqrt(binomial), 1.0)
        return np.asarray(edges[_reached(below, weights, np.asarray(moved))], dtype=np.float64)

    def estimate(self, q: float | None, *, signed: bool = False) -> Estimate | None:
        """Return the figure with its interval, or None where it cannot be told.

        The interval of a mean that cannot be negative (all but ``signed`` ones) ends at 0; that of
        a quantile ends with the samples.
        """
        value = self.value(q)
        if value is None:
            return None
        n = self.n_sessions
        if n < 2:
            return Estimate(value, None, None, n, self.n_samples)
        draws = self.draws(q)
        positive = value > 0 and float(draws.min()) > 0
        if q is None or not positive:
            low, high = _linear(value, draws, n)
        else:
            low, high = _logarithmic(value, draws, n)
        if q is not None:
            low, high = max(low, float(self.pooled[0])), min(high, float(self.pooled[-1]))
        elif not signed:
            low = max(low, 0.0)
        return Estimate(value, min(low, value), max(high, value), n, self.n_samples)


def mean(groups: Groups, *, signed: bool = False) -> Estimate:
    """Return the mean of all samples. Means add up: those of the phases sum to that of the total.

    Groups must not be empty.
    """
    estimate = Sample(groups).estimate(None, signed=signed)
    assert estimate is not None
    return estimate


def quantile(groups: Groups, q: float) -> Estimate | None:
    """Return the ``q`` quantile of all samples, or None with fewer than :func:`needed` of them."""
    return Sample(groups).estimate(q)


def difference_of_means(left: Groups, right: Groups) -> Estimate:
    """Return ``mean(left) - mean(right)`` of sessions paired in order, with a t interval.

    For groups of the same rounds: what the machine did in a round hits both and cancels.
    """
    pairs = [float(np.mean(a)) - float(np.mean(b)) for a, b in zip(left, right, strict=True)]
    estimate = mean([np.array([pair]) for pair in pairs], signed=True)
    samples = sum(len(group) for group in (*left, *right))
    return Estimate(estimate.value, estimate.low, estimate.high, len(pairs), samples)


def contrast(
    left: Sample,
    right: Sample,
    q: float | None,
    *,
    paired: bool,
    signed: bool = True,
    level: float = LEVEL,
) -> Contrast | None:
    """Compare two samples in one figure, or return None where one of them cannot tell it.

    ``paired``: group ``i`` of both is of the same round, so that the same rounds are drawn for
    both; otherwise the two are drawn apart, and ``t`` has the degrees of freedom of Welch (1947).
    ``signed`` is that of :meth:`Sample.estimate`, for either side. ``level`` is that of the
    intervals of difference and ratio; those of the sides stay at :data:`LEVEL`.
    """
    before, after = left.estimate(q, signed=signed), right.estimate(q, signed=signed)
    if before is None or after is None:
        return None
    samples = before.n_samples + after.n_samples
    sessions = min(before.n_sessions, after.n_sessions)

    def estimate(value: float, half: float | None) -> Estimate:
        if half is None:
            return Estimate(value, None, None, sessions, samples)
        return Estimate(value, value - half, value + half, sessions, samples, level)

    def half_of(both: tuple[Draws, Draws]) -> float:
        deviation, degrees = _deviation_of_two(both, left, right, paired=paired)
        return student_t(level, degrees) * deviation

    difference, ratio = after.value - before.value, None
    alone = sessions < 2
    drawn = None if alone else (left.draws(q, 0), right.draws(q, 1, 0 if paired else None))
    half = None if drawn is None else half_of(drawn)
    positive = before.value > 0 and after.value > 0
    if positive and (drawn is None or min(float(drawn[0].min()), float(drawn[1].min())) > 0):
        value = after.value / before.value
        if drawn is None:
            ratio = estimate(value, None)
        else:
            logs = (np.log(drawn[0]), np.log(drawn[1]))
            factor = math.exp(half_of(logs))
            ratio = Estimate(value, value / factor, value * factor, sessions, samples, level)
    return Contrast(before, after, estimate(difference, half), ratio, paired)


def needed(q: float) -> int:
    """Return how many samples a quantile needs to say anything: one beyond it, on average."""
    tail = min(q, 1 - q)
    return 1 if tail <= 0 or q == 0.5 else int(np.ceil(1 / tail - 1e-9))


def student_t(level: float, degrees: float) -> float:
    """Return Student's t for a two-sided interval of this level.

    Hill (1970), algorithm 396; below 2 degrees interpolated between the two exact values.
    """
    outside = 1 - level
    one = 1 / math.tan(outside * math.pi / 2)
    two = math.sqrt(2 / (outside * (2 - outside)) - 2)
    if degrees <= 2:
        return one + (two - one) * (degrees - 1)
    n = degrees
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * outside) ** (2 / n)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(outside / 2)
        y = x * x
        if n < 5:
            c += 0.3 * (n - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        y = (
            (1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1
        ) * (n + 1) / (n + 2) + 1 / y
    return math.sqrt(n * y)


def _linear(value: float, draws: Draws, n: int) -> tuple[float, float]:
    half = student_t(LEVEL, n - 1) * _deviation(draws, n)
    return value - half, value + half


def _logarithmic(value: float, draws: Draws, n: int) -> tuple[float, float]:
    factor = float(np.exp(student_t(LEVEL, n - 1) * _deviation(np.log(draws), n)))
    return value / factor, value * factor


def _deviation(draws: Draws, n: int) -> float:
    return float(np.std(draws)) * float((n / (n - 1)) ** 0.5)


def _deviation_of_two(
    drawn: tuple[Draws, Draws], left: Sample, right: Sample, *, paired: bool
) -> tuple[float, float]:
    """Return the deviation of right - left from the draws of both, and its degrees of freedom."""
    if paired:
        n = left.n_sessions
        return _deviation(drawn[1] - drawn[0], n), n - 1
    n_left, n_right = left.n_sessions, right.n_sessions
    variances = _deviation(drawn[0], n_left) ** 2, _deviation(drawn[1], n_right) ** 2
    whole = sum(variances)
    if not whole:
        return 0.0, 1.0
    degrees = whole**2 / (variances[0] ** 2 / (n_left - 1) + variances[1] ** 2 / (n_right - 1))
    return float(whole**0.5), degrees


def _reached(
    below: NDArray[np.int64], weights: NDArray[np.int64], wanted: Draws
) -> NDArray[np.int64]:
    """Return, per resample, the first edge at which the drawn sessions have ``wanted`` samples."""
    low = np.zeros(len(weights), dtype=np.int64)
    high = np.full(len(weights), len(below) - 1)
    while (low < high).any():
        middle = (low + high) // 2
        reached = np.einsum("ij,ij->i", weights, below[middle]) >= wanted
        high = np.where(reached, middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    return low


@lru_cache(maxsize=8)
def _session_draws(n: int, stream: int) -> NDArray[np.int64]:
    """Return how often each of ``n`` sessions is in each resample; the same for every figure."""
    draw = np.random.default_rng((SEED, stream)).multinomial(n, [1 / n] * n, size=RESAMPLES)
    return np.asarray(draw, dtype=np.int64)


@lru_cache(maxsize=8)
def _noise(stream: int) -> Draws:
    """Return what drawing the calls adds to each resample, in standard deviations."""
    return np.random.default_rng((SEED, stream, 1)).standard_normal(RESAMPLES)

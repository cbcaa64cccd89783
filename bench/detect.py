"""Detectors: what is wrong with samples in groups, told from the numbers alone. Pure numpy.

A group is the totals of one session in ns, in order. Ratios between times are compared as
differences of logarithms. A detector answers None where all is well or where too little is there to
tell: silence is no proof. Where a figure has an interval over sessions (:mod:`bench.stats`),
the whole interval must lie beyond the threshold, so that noise does not trigger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bench import stats
from bench.stats import Groups, Samples

Floats = NDArray[np.float64]

EFFECT = 1.05
"""Warm-up and drift: what is smaller than this factor is left alone."""
DRIFT_P = 0.01
AUTOCORRELATION = 0.5
SHARE_BETWEEN = 0.5
APART = 1.10
"""Sessions disagree only where their medians reach this far."""
MODE_WEIGHT = 0.05
MODES_APART = 1.25
"""How far two modes lie apart at least, as a factor."""
VALLEY = 0.7
"""The density between two modes, over that of the lower one, is at most this."""

MIN_SESSIONS = 3
MIN_SESSIONS_COMPARED = 6
"""Where one median per session is all there is: their order in time, their falling in two."""
MIN_CALLS = 50
"""Per session."""
MIN_CALLS_FOR_MODES = 200

_BLOCKS = 20
_BLOCK_CALLS = 5
_SHUFFLES = 9_999
_BIN = 0.02
_KERNELS_BINS = (2.5, 5.0, 10.0)
"""Standard deviations of 5, 10 and 20 %: humps may be as narrow as the first, as wide as many."""
_REACH = 4
_Z_OF_A_VALLEY = 4.0
_GAP_OVER_GROUP = 2.0


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The first calls take ``factor`` times the later ones.

    After ``calls`` they no longer do: or later, if not ``settled`` before the middle of a session.
    """

    factor: float
    calls: int
    settled: bool


@dataclass(frozen=True, slots=True)
class Drift:
    """From the first session to the last, medians change by ``factor``; ``p`` by permutation."""

    factor: float
    p: float


@dataclass(frozen=True, slots=True)
class Modes:
    """Two humps of calls: the median of each, the share of the slow ones, and where they part."""

    fast_ns: float
    slow_ns: float
    slow_share: float
    valley_ns: float


@dataclass(frozen=True, slots=True)
class SessionModes:
    """Two groups of sessions: the middle of the medians of each, and how many are in each."""

    fast_ns: float
    slow_ns: float
    fast_sessions: int
    slow_sessions: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The share of the variance that lies between sessions, and how far their medians reach."""

    share: float
    lowest_ns: float
    highest_ns: float


def warm_up(groups: Groups) -> WarmUp | None:
    """Compare the first twentieth of each session with its second half.

    Medians of logarithms, paired within sessions.
    """
    logs = _long_enough(groups)
    if len(logs) < MIN_SESSIONS:
        return None
    size = max(_BLOCK_CALLS, min(map(len, logs)) // _BLOCKS)
    count = min(map(len, logs)) // 2 // size
    excess = np.array(
        [np.median(log[: count * size].reshape(count, size), axis=1) - _late(log) for log in logs]
    )
    first = stats.mean([row[:1] for row in excess], signed=True)
    if first.low is None or first.low < np.log(EFFECT):
        return None
    settled = np.flatnonzero(excess.mean(axis=0) < np.log(EFFECT))
    blocks = int(settled[0]) if len(settled) else count
    return WarmUp(float(np.exp(first.value)), blocks * size, bool(len(settled)))


def drift(groups: Groups, positions: Sequence[int]) -> Drift | None:
    """Compare the sessions' medians with when they ran; ``positions[i]`` is that of group ``i``.

    The slope is that of Theil (1950) and Sen (1968); ``p`` is that of Spearman's correlation
    among shuffled orders.
    """
    present = [i for i, group in enumerate(groups) if len(group)]
    if len(present) < MIN_SESSIONS_COMPARED:
        return None
    at = np.array([positions[i] for i in present], dtype=np.float64)
    medians = np.array([np.median(_logs(groups[i])) for i in present])
    left, right = np.triu_indices(len(at), 1)
    apart = at[right] - at[left]
    slopes = (medians[right] - medians[left])[apart != 0] / apart[apart != 0]
    if not len(slopes):
        return None
    change = float(np.median(slopes)) * float(np.ptp(at))
    if abs(change) < np.log(EFFECT):
        return None
    p = _p_of_order(_ranks(at), _ranks(medians))
    return Drift(float(np.exp(change)), p) if p <= DRIFT_P else None


def modes(groups: Groups) -> Modes | None:
    """Look for a valley in the density of all calls, on a logarithmic scale.

    The kernels have fixed widths, so that a far tail makes no modes of its own. The valley must be
    lower than both humps by more than counting calls, of which neighbours are alike, does by
    chance, and at least half of the rarer calls must lie in sessions that have mostly the others:
    see :func:`session_modes` for where they do not.
    """
    logs = [_logs(group) for group in groups if len(group)]
    if sum(map(len, logs)) < MIN_CALLS_FOR_MODES:
        return None
    alike = _neighbours(logs)
    pooled = np.concatenate(logs)
    found = (_valley(pooled, width, (1 - alike) / (1 + alike)) for width in _KERNELS_BINS)
    valley = next((place for place in found if place is not None), None)
    if valley is None:
        return None
    slow_calls = np.array([np.sum(log > valley) for log in logs])
    fast_calls = np.array([len(log) for log in logs]) - slow_calls
    strays = int(np.sum(np.minimum(slow_calls, fast_calls)))
    rarer = int(min(np.sum(slow_calls), np.sum(fast_calls)))
    mixed = strays >= max(MODE_WEIGHT * len(pooled), rarer / 2)
    fast = float(np.median(pooled[pooled <= valley]))
    slow = float(np.median(pooled[pooled > valley]))
    if not mixed or slow - fast < np.log(MODES_APART):
        return None
    share = float(np.sum(slow_calls)) / len(pooled)
    return Modes(float(np.exp(fast)), float(np.exp(slow)), share, float(np.exp(valley)))


def session_modes(groups: Groups) -> SessionModes | None:
    """Look for two groups of at least two sessions, with a gap far wider than either group."""
    medians = np.sort([np.median(_logs(group)) for group in groups if len(group)])
    if len(medians) < MIN_SESSIONS_COMPARED:
        return None
    gaps = np.diff(medians)
    fast = int(np.argmax(gaps[1:-1])) + 2
    gap = float(gaps[fast - 1])
    widest = max(float(np.ptp(medians[:fast])), float(np.ptp(medians[fast:])))
    if gap < max(np.log(MODES_APART), _GAP_OVER_GROUP * widest):
        return None
    return SessionModes(
        fast_ns=float(np.exp(np.median(medians[:fast]))),
        slow_ns=float(np.exp(np.median(medians[fast:]))),
        fast_sessions=fast,
        slow_sessions=len(medians) - fast,
    )


def autocorrelation(groups: Groups) -> float | None:
    """Return the correlation of the ranks of neighbouring calls within their sessions."""
    correlations = [np.array([_lag_1(log)]) for log in _long_enough(groups) if np.ptp(log)]
    if len(correlations) < MIN_SESSIONS:
        return None
    found = stats.mean(correlations, signed=True)
    return found.value if found.low is not None and found.low > AUTOCORRELATION else None


def disagreement(groups: Groups) -> Disagreement | None:
    """Return how much of the variance lies between sessions (the ICC of a one-way ANOVA)."""
    logs = _long_enough(groups)
    if len(logs) < MIN_SESSIONS:
        return None
    medians = np.array([np.median(log) for log in logs])
    share = _intraclass(logs)
    if share < SHARE_BETWEEN or np.ptp(medians) < np.log(APART):
        return None
    return Disagreement(share, float(np.exp(medians.min())), float(np.exp(medians.max())))


def _intraclass(logs: Sequence[Floats]) -> float:
    sizes = np.array([len(log) for log in logs], dtype=np.float64)
    means = np.array([log.mean() for log in logs])
    n, k = float(sizes.sum()), len(logs)
    size = (n - float(sizes @ sizes) / n) / (k - 1)
    between = float(sizes @ (means - float(sizes @ means) / n) ** 2) / (k - 1)
    within = sum(float(((log - log.mean()) ** 2).sum()) for log in logs) / (n - k)
    whole = between + (size - 1) * within
    return (between - within) / whole if whole else 0.0


def _valley(pooled: Floats, width_bins: float, worth: float) -> float | None:
    """Return where two humps part, or None: the lowest place relative to the lower of the two.

    Each call counts as ``worth`` independent ones.
    """
    reach = int(_REACH * width_bins)
    low = float(pooled.min()) - reach * _BIN
    bins = int((float(pooled.max()) - low) / _BIN) + reach + 2
    counts = np.bincount(((pooled - low) / _BIN).astype(np.int64), minlength=bins)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width_bins) ** 2)
    # Calls under a kernel of height 1: their variance is their number over √2.
    height = np.convolve(counts, kernel, mode="same")
    lower = np.minimum(np.maximum.accumulate(height), np.maximum.accumulate(height[::-1])[::-1])
    noise = np.sqrt(np.maximum(lower + height, 1.0) / 2**0.5 / worth)
    below = np.cumsum(counts) / len(pooled)
    heavy = (below >= MODE_WEIGHT) & (below <= 1 - MODE_WEIGHT)
    clear = heavy & (height <= VALLEY * lower) & (lower - height >= _Z_OF_A_VALLEY * noise)
    if not clear.any():
        return None
    depth = np.where(clear, height / np.maximum(lower, 1.0), np.inf)
    deepest = np.flatnonzero(depth <= depth.min() + 1e-9)
    # An empty valley is wide: part the humps in its middle.
    return low + _BIN * (float(deepest[len(deepest) // 2]) + 1)


def _neighbours(logs: Sequence[Floats]) -> float:
    """Return how alike neighbouring calls are over all sessions: 0 and more, below 1."""
    found = [_lag_1(log) for log in logs if len(log) >= MIN_CALLS and np.ptp(log)]
    return min(max(float(np.mean(found)), 0.0), 0.9) if found else 0.0


def _lag_1(log: Floats) -> float:
    ranks = _ranks(log)
    around = ranks - ranks.mean()
    return float(around[1:] @ around[:-1]) / float(around @ around)


def _p_of_order(left: Floats, right: Floats) -> float:
    shuffled = right[_shuffles(len(right))]
    centred = left - left.mean()
    found = abs(float(centred @ right))
    hits = int(np.sum(np.abs(shuffled @ centred) >= found - 1e-9))
    return (1 + hits) / (1 + _SHUFFLES)


@lru_cache(maxsize=8)
def _shuffles(n: int) -> NDArray[np.int64]:
    random = np.random.default_rng((stats.SEED, n))
    return np.asarray(random.permuted(np.tile(np.arange(n), (_SHUFFLES, 1)), axis=1))


def _ranks(values: Floats) -> Floats:
    """Return ranks from 0; equal values share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count) - 1
    return np.asarray((last - (count - 1) / 2)[place], dtype=np.float64)


def _long_enough(groups: Groups) -> list[Floats]:
    return [_logs(group) for group in groups if len(group) >= MIN_CALLS]


def _late(log: Floats) -> float:
    return float(np.median(log[len(log) // 2 :]))


def _logs(group: Samples) -> Floats:
    """Return logarithms; a total of 0 ns (a coarse clock) counts as 1."""
    return np.log(np.maximum(np.asarray(group, dtype=np.float64), 1.0))

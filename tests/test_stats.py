"""Statistics against people who did not write them: numpy, scipy, and drawn coverage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench import stats

GROUPS = st.lists(
    st.lists(st.integers(min_value=0, max_value=10**10), min_size=1, max_size=30).map(
        lambda values: np.array(values, dtype=np.int64)
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("degrees", [*range(1, 31), 2.5, 7.3, 50, 200])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99, 1 - 0.05 / 6, 0.999])
def test_t_agrees_with_scipy(degrees: float, level: float) -> None:
    assert stats.student_t(level, degrees) == pytest.approx(
        scipy.stats.t.ppf((1 + level) / 2, degrees), rel=2e-4
    )


def test_the_interval_of_a_mean_is_scipys_t_interval_over_sessions() -> None:
    sessions = [np.array([value], dtype=np.int64) for value in (10, 12, 11, 15, 9)]
    estimate = stats.mean(sessions)
    expected = scipy.stats.t.interval(0.95, 4, loc=11.4, scale=scipy.stats.sem([10, 12, 11, 15, 9]))
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=0.02)


@given(GROUPS)
def test_means_of_parts_sum_to_the_mean_of_the_total(groups: list[NDArray[np.int64]]) -> None:
    halves = [group // 2 for group in groups]
    rests = [group - half for group, half in zip(groups, halves, strict=True)]
    total = stats.mean(groups).value
    assert stats.mean(halves).value + stats.mean(rests).value == pytest.approx(total, abs=1e-3)


@given(GROUPS, st.sampled_from([0.5, 0.9, 0.99]))
def test_a_quantile_is_numpys_and_lies_in_its_interval(
    groups: list[NDArray[np.int64]], q: float
) -> None:
    estimate = stats.quantile(groups, q)
    pooled = np.concatenate(groups)
    if estimate is None:
        assert len(pooled) < stats.needed(q)
        return
    assert estimate.value == pytest.approx(float(np.quantile(pooled, q)))
    if estimate.low is not None:
        assert estimate.high is not None
        assert estimate.low <= estimate.value <= estimate.high
    assert (estimate.low is None) == (len(groups) == 1)


def test_quantiles_never_decrease() -> None:
    groups = [np.arange(1, 500, dtype=np.int64)]
    values = [stats.quantile(groups, q) for q in (0.5, 0.9, 0.99)]
    known = [estimate.value for estimate in values if estimate is not None]
    assert known == sorted(known)


def test_a_percentile_that_too_few_samples_cannot_tell_is_refused() -> None:
    assert stats.needed(0.99) == 100
    assert stats.needed(0.9) == 10
    assert stats.quantile([np.arange(99, dtype=np.int64)], 0.99) is None
    assert stats.quantile([np.arange(100, dtype=np.int64)], 0.99) is not None


def test_one_session_has_no_interval() -> None:
    estimate = stats.mean([np.array([1, 2, 3], dtype=np.int64)])
    assert (estimate.value, estimate.low, estimate.high) == (2.0, None, None)


def brute_force(groups: list[NDArray[np.float64]], q: float | None) -> NDArray[np.float64]:
    """Return a hierarchical bootstrap that really draws every call."""
    random = np.random.default_rng(3)
    figures = []
    for _ in range(1500):
        drawn = [groups[i] for i in random.integers(0, len(groups), len(groups))]
        calls = np.concatenate([random.choice(group, len(group)) for group in drawn])
        figures.append(float(np.mean(calls) if q is None else np.quantile(calls, q)))
    return np.array(figures)


@pytest.mark.parametrize("q", [None, 0.5, 0.9, 0.99])
def test_resamples_spread_like_those_that_draw_every_call(q: float | None) -> None:
    random = np.random.default_rng(2)
    centres = random.normal(0, 0.1, 8)
    groups = [np.exp(random.normal(centre, 0.3, 200)) * 1e5 for centre in centres]
    drawn, expected = stats.Sample(groups).draws(q), brute_force(groups, q)
    assert np.std(drawn) == pytest.approx(np.std(expected), rel=0.15)
    assert np.mean(drawn) == pytest.approx(np.mean(expected), rel=0.02)


def lognormal(seed: int, sessions: int = 10, calls: int = 100, factor: float = 1.0) -> stats.Sample:
    random = np.random.default_rng(seed)
    return stats.Sample(
        [np.exp(random.normal(0, 0.2, calls)) * 1e5 * factor for _ in range(sessions)]
    )


@pytest.mark.parametrize("q", [None, 0.5, 0.9])
@pytest.mark.parametrize("paired", [True, False])
def test_a_contrast_finds_a_factor_and_its_inverse(q: float | None, paired: bool) -> None:
    slow, quick = lognormal(1, factor=1.5), lognormal(2)
    there = stats.contrast(quick, slow, q, paired=paired)
    back = stats.contrast(slow, quick, q, paired=paired)
    assert there is not None
    assert back is not None
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.ratio.low is not None
    assert there.ratio.low < 1.5 * 1.05
    assert there.ratio.value == pytest.approx(1 / back.ratio.value)
    assert there.difference.value == -back.difference.value


def test_pairing_within_rounds_narrows_what_drift_widens() -> None:
    random = np.random.default_rng(4)
    drift = np.exp(random.normal(0, 0.5, 10))
    left = stats.Sample([d * 1e5 * np.exp(random.normal(0, 0.05, 50)) for d in drift])
    right = stats.Sample([d * 1.1e5 * np.exp(random.normal(0, 0.05, 50)) for d in drift])
    widths = []
    for paired in (True, False):
        found = stats.contrast(left, right, 0.5, paired=paired)
        assert found is not None
        assert found.ratio is not None
        assert found.ratio.relative_half_width is not None
        widths.append(found.ratio.relative_half_width)
    assert widths[0] < widths[1] / 5


def test_a_ratio_to_what_is_not_above_zero_is_refused_and_its_difference_kept() -> None:
    signed = stats.Sample([np.array([-5.0, 5.0]), np.array([-4.0, 3.0]), np.array([-1.0, 1.0])])
    found = stats.contrast(signed, lognormal(1, sessions=3), None, paired=False)
    assert found is not None
    assert found.ratio is None
    assert found.difference.low is not None


def test_one_session_on_a_side_gives_a_ratio_without_an_interval() -> None:
    found = stats.contrast(lognormal(1, sessions=1), lognormal(2, sessions=1), 0.5, paired=True)
    assert found is not None
    assert found.ratio is not None
    assert (found.ratio.low, found.difference.high) == (None, None)


def test_what_is_equal_everywhere_differs_by_exactly_nothing() -> None:
    same = stats.Sample([np.full(20, 100, dtype=np.int64) for _ in range(4)])
    found = stats.contrast(same, same, 0.5, paired=False)
    assert found is not None
    assert found.ratio is not None
    assert (found.ratio.low, found.ratio.high) == pytest.approx((1.0, 1.0))
    assert (found.difference.low, found.difference.high) == pytest.approx((0.0, 0.0))


def test_paired_differences_cancel_what_hits_both_sides() -> None:
    drift = np.array([0, 1000, 5000, 20000], dtype=np.int64)
    left = [np.array([100 + d]) for d in drift]
    right = [np.array([70 + d]) for d in drift]
    estimate = stats.difference_of_means(left, right)
    assert (estimate.value, estimate.low, estimate.high) == (30.0, 30.0, 30.0)


def test_intervals_of_median_and_mean_cover_the_truth_about_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    sessions, calls, trials = 10, 40, 200
    hits = {"mean": 0, "median": 0}
    for _ in range(trials):
        centres = random.normal(1000, 50, sessions)
        groups = [random.normal(centre, 30, calls) for centre in centres]
        mean, median = stats.mean(groups), stats.quantile(groups, 0.5)
        assert median is not None
        for name, estimate in (("mean", mean), ("median", median)):
            assert estimate.low is not None
            assert estimate.high is not None
            hits[name] += estimate.low <= 1000 <= estimate.high
    assert 0.89 <= hits["mean"] / trials <= 1
    assert 0.89 <= hits["median"] / trials <= 1

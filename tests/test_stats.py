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


@pytest.mark.parametrize("degrees", [*range(1, 31), 50, 200])
def test_t_agrees_with_scipy(degrees: int) -> None:
    assert stats.t_95(degrees) == pytest.approx(scipy.stats.t.ppf(0.975, degrees), rel=2e-4)


def test_the_interval_of_a_mean_is_scipys_t_interval_over_sessions() -> None:
    sessions = [np.array([value], dtype=np.int64) for value in (10, 12, 11, 15, 9)]
    estimate = stats.mean(sessions)
    expected = scipy.stats.t.interval(0.95, 4, loc=11.4, scale=scipy.stats.sem([10, 12, 11, 15, 9]))
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-6)


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

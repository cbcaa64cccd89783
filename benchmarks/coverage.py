"""How often the intervals hold the truth, on data whose truth is known.

Method: sessions of lognormal, autocorrelated calls with a known spread from session to session and
within a session; the true median and p99 of the mixture are known exactly. A trial draws new
sessions and asks for both figures with their 95 % intervals. What a pooled bootstrap would have
given, which takes calls as independent, stands beside it.

Bounds: 92 to 98 % of 1,000 trials, for median and p99, with 10 sessions or more. ``--quick``
makes 200 trials of two cases, where the share itself is uncertain by ± 3 %: there the bounds are
wider by that. The cases printed without a verdict show where the method ends: sessions that agree
completely (too wide) and sessions that differ by much more than their calls (p99 too narrow).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bench.stats import LEVEL, Estimate, Sample
from common import Report, quick

CENTRE_NS = 100_000.0
LOW, HIGH = 92.0, 98.0
FIGURES = {"median": 0.5, "p99": 0.99}
Z = {"median": 0.0, "p99": 2.3263478740408408}
"""The standard normal at each level."""
QUICK_SLACK = 4.0
"""Two standard errors of a share of 95 % in 200 trials, and a little."""
POOLED_RESAMPLES = 300


@dataclass(frozen=True)
class Case:
    """What is drawn: standard deviations of the logarithm, and the correlation of neighbours."""

    sessions: int
    calls: int
    between: float
    within: float
    correlation: float
    judged: bool = True

    @property
    def name(self) -> str:
        """The case in words."""
        return (
            f"{self.sessions} sessions × {self.calls} calls, spread {self.between:.0%} between and "
            f"{self.within:.0%} within, autocorrelation {self.correlation:g}"
        )

    @property
    def label(self) -> str:
        """The case in few letters: sessions × calls, spreads between / within, correlation."""
        spreads = f"spread {self.between:.0%}/{self.within:.0%}"
        return f"{self.sessions} × {self.calls}, {spreads}, r = {self.correlation:g}"

    def truth_ns(self, figure: str) -> float:
        """Return the quantile of the mixture, which is lognormal again."""
        whole = (self.between**2 + self.within**2) ** 0.5
        return float(CENTRE_NS * np.exp(whole * Z[figure]))

    def draw(self, random: np.random.Generator) -> list[NDArray[np.float64]]:
        """Return the calls of new sessions, in ns."""
        noise = random.standard_normal((self.calls, self.sessions))
        fresh = (1 - self.correlation**2) ** 0.5
        for before, after in pairwise(noise):
            after *= fresh
            after += self.correlation * before
        centres = self.between * random.standard_normal(self.sessions)
        return list((CENTRE_NS * np.exp(centres + self.within * noise)).T)


CASES = (
    Case(10, 200, 0.10, 0.3, 0.5),
    Case(20, 200, 0.10, 0.3, 0.5),
    Case(10, 1000, 0.10, 0.3, 0.8),
    Case(30, 200, 0.10, 0.3, 0.3),
    Case(10, 200, 0.0, 0.3, 0.0, judged=False),
    Case(10, 200, 0.30, 0.3, 0.2, judged=False),
)


def pooled(groups: list[NDArray[np.float64]], q: float, random: np.random.Generator) -> Estimate:
    """Return the percentile bootstrap of calls taken as independent."""
    calls = np.concatenate(groups)
    drawn = np.quantile(random.choice(calls, (POOLED_RESAMPLES, len(calls))), q, axis=1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    value = float(np.quantile(calls, q))
    return Estimate(value, float(low), float(high), len(groups), len(calls))


def holds(estimate: Estimate | None, truth_ns: float) -> bool:
    """Whether the interval contains the truth."""
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth_ns <= estimate.high


def shares(case: Case, trials: int, pooled_trials: int) -> dict[tuple[str, str], float]:
    """Return the share of trials in percent whose interval held the truth, by method and figure."""
    random = np.random.default_rng((case.sessions, case.calls, round(case.between * 100)))
    hits = {(method, name): 0 for method in ("here", "pooled") for name in FIGURES}
    for trial in range(trials):
        groups = case.draw(random)
        sample = Sample(groups)
        for name, q in FIGURES.items():
            truth_ns = case.truth_ns(name)
            hits["here", name] += holds(sample.estimate(q), truth_ns)
            if trial < pooled_trials:
                hits["pooled", name] += holds(pooled(groups, q, random), truth_ns)
    of = {"here": trials, "pooled": pooled_trials}
    return {key: 100 * count / of[key[0]] for key, count in hits.items()}


def main() -> None:
    """Run the proof."""
    short = quick(__doc__)
    trials, pooled_trials, cases = (200, 40, CASES[:2]) if short else (1000, 100, CASES)
    slack = QUICK_SLACK if short else 0.0
    report = Report("Coverage: how often 95 % intervals hold the truth")
    report.start(f"{len(cases)} cases × {trials} trials")
    for case in cases:
        report.say(case.name)
        found = shares(case, trials, pooled_trials)
        for name in FIGURES:
            share = found["here", name]
            text = f"{share:.1f} % (pooled calls: {found['pooled', name]:.0f} %)"
            low, high = LOW - slack, min(HIGH + slack, 100.0)
            facts = {
                "case": case.label,
                "figure_of": name,
                "share_percent": share,
                "pooled_percent": found["pooled", name],
                "low_percent": low,
                "high_percent": high,
            }
            if case.judged:
                bound = f"bound {low:g} to {high:g} %"
                report.judge(f"{name} held", low <= share <= high, f"{text} ({bound})", **facts)
            else:
                report.say(f"{name} held, beyond what is promised: {text}", **facts)
    report.end()


if __name__ == "__main__":
    main()

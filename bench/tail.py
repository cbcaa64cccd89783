"""What makes the slowest calls slow: their phases against those of the calls around the median.

Means add up: the excess of the phases sums exactly to the excess of the total (law 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench import stats
from bench.phases import Phase
from bench.results import CellResult, Nanoseconds
from bench.stats import Estimate

SLOW = 0.99
"""Calls above this quantile of the totals are the slow ones."""
TYPICAL = (0.4, 0.6)
"""Calls between these quantiles are those around the median."""
MIN_SLOW_CALLS = 10


@dataclass(frozen=True)
class Tail:
    """How much longer each phase takes in the slow calls than in typical ones; means, in ns.

    ``parts`` sum to ``excess``. Each may be negative: a phase that is shorter in slow calls. The
    intervals are over the sessions that hold slow calls, ``excess.n_sessions`` of them; the typical
    calls, twenty times as many, are taken as known.
    """

    parts: Mapping[Phase, Estimate]
    excess: Estimate

    @property
    def shares(self) -> dict[Phase, float]:
        """The share of each phase in the excess; they sum to 1."""
        return {phase: part.value / self.excess.value for phase, part in self.parts.items()}

    @property
    def dominant(self) -> Phase:
        """The phase that adds most."""
        return max(self.parts, key=lambda phase: self.parts[phase].value)

    @property
    def n_calls(self) -> int:
        """How many slow calls there are."""
        return self.excess.n_samples


def tail(cell: CellResult) -> Tail | None:
    """Return the excess of the slow calls of a cell.

    None where they are fewer than :data:`MIN_SLOW_CALLS`, or where the cell has one phase only.
    """
    phases = cell.call_phases
    calls = [
        (session.total_ns[rows], {phase: session.calls[phase][rows] for phase in phases})
        for session, rows in cell.with_all_phases()
    ]
    if not calls or len(phases) < 2:
        return None
    totals = [total for total, _ in calls]
    sample = stats.Sample(totals)
    low, high, beyond = (sample.value(q) for q in (*TYPICAL, SLOW))
    if low is None or high is None or beyond is None:
        return None
    if np.sum(sample.pooled > beyond) < MIN_SLOW_CALLS:
        return None
    typical = [(low <= total) & (total <= high) for total in totals]
    slow = [total > beyond for total in totals]

    def excess(columns: Sequence[Nanoseconds], *, signed: bool = True) -> Estimate:
        usual = np.mean(np.concatenate([c[rows] for c, rows in zip(columns, typical, strict=True)]))
        chosen = [c[rows] for c, rows in zip(columns, slow, strict=True)]
        return stats.mean([c - usual for c in chosen if len(c)], signed=signed)

    return Tail(
        parts={phase: excess([columns[phase] for _, columns in calls]) for phase in phases},
        excess=excess(totals, signed=False),
    )

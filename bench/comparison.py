"""Two targets, two runs, two transports: what differs, how sure that is, and what cannot be told.

A verdict needs the whole interval of the ratio beyond the threshold, and that of the difference on
the same side of 0; else it says ``no difference shown``, never "equal". Setup, calls, boundary and
handler are compared apart, so that a slower handler is not read as a slower boundary. What is not
alike in its conditions is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from bench import stats
from bench.errors import BenchError
from bench.matching import Matched, Pair, conditions, match, match_within, values_of
from bench.plan import BLOCKED
from bench.remembered import once_each
from bench.render.units import counted
from bench.results import CellResult, Result
from bench.stats import Contrast, Estimate
from bench.subjects import BOUNDARY, CALL, HANDLER, Measured, measured

THRESHOLD: Final = 0.02
"""A difference below this share is nothing to act on, however sure it is."""
DESIGNS_OF_TWO: Final = ("ab", "aa")
"""Runs of two targets that differ in their name (and command) alone."""
LISTED: Final = 4
"""So many cells that share a reason are named one by one."""
DEFAULT_ROWS: Final = (
    ("setup", "mean"),
    ("call", "p50"),
    ("call", "mean"),
    ("call", "p99"),
    ("boundary", "mean"),
    ("handler", "mean"),
)
"""Subject and figure of the rows of each pair of cells."""
ROW_LEVEL: Final = 1 - (1 - stats.LEVEL) / len(DEFAULT_ROWS)
"""The level of the intervals of ratios and differences: all rows of a pair together hold in at
least 95 % of comparisons (Bonferroni), so that six rows raise no more alarms than one."""


class Verdict(StrEnum):
    """What a comparison says of its right side."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Row:
    """One figure of one pair of cells. ``reason`` says why where it is not comparable.

    ``estimated`` figures come from probes, where the servers wrote no marks.
    """

    cell: str
    subject: str
    figure: str
    contrast: Contrast | None
    verdict: Verdict
    reason: str = ""
    estimated: bool = False

    @property
    def label(self) -> str:
        """The row in one phrase."""
        return f"{self.cell} {self.subject}.{self.figure}"

    @property
    def ratio(self) -> Estimate | None:
        """Right over left, where there is such a ratio."""
        return None if self.contrast is None else self.contrast.ratio


@dataclass(frozen=True)
class Comparison:
    """Everything that is said of two sides.

    ``excluded`` names what has no counterpart or no data, ``silent`` those of them without data,
    ``warnings`` what differs without standing in the way. ``paired`` says that both sides are of
    one interleaved run, so that sessions are compared within their rounds.
    """

    left: str
    right: str
    pairs: Sequence[Pair]
    excluded: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    paired: bool = False
    threshold: float = THRESHOLD
    silent: Sequence[str] = ()
    rows: Sequence[Row] = field(init=False)

    def __post_init__(self) -> None:
        """Judge the default rows."""
        rows = [self.row(pair, *wanted) for pair in self.pairs for wanted in DEFAULT_ROWS]
        object.__setattr__(self, "rows", tuple(row for row in rows if row is not None))

    @property
    def comparable(self) -> bool:
        """Whether anything at all could be judged."""
        return any(row.verdict is not Verdict.NOT_COMPARABLE for row in self.rows)

    @property
    def counted(self) -> str:
        """How many cells were compared, and why the others were not."""
        judged = {row.cell for row in self.rows if row.verdict is not Verdict.NOT_COMPARABLE}
        left_out = dict(self.excluded)
        for row in self.rows:
            if row.cell not in judged:
                left_out.setdefault(row.cell, row.reason)
        by_reason: dict[str, list[str]] = {}
        for cell, reason in left_out.items():
            by_reason.setdefault(reason, []).append(cell)
        said = "".join(f"; {_listed(cells)}: {why}" for why, cells in by_reason.items())
        return f"{len(judged)} of {counted(len(judged) + len(left_out), 'cell')} compared{said}"

    def row(self, pair: Pair, subject: str, figure: str) -> Row | None:
        """Return one figure of a pair; None where neither side has the subject."""
        left, right = measured(pair.left, subject), measured(pair.right, subject)
        if left is None and right is None:
            return None
        contrast, reason = self._contrast(left, right, figure)
        reason = reason or "; ".join(pair.obstacles)
        verdict = Verdict.NOT_COMPARABLE
        if contrast is not None and not reason:
            inside = subject in (BOUNDARY, HANDLER)
            scale = measured(pair.left, CALL) if inside else left
            verdict, reason = judge(contrast, self.threshold, _mean_ns(scale))
        estimated = any(side is not None and side.estimated for side in (left, right))
        return Row(pair.name, subject, figure, contrast, verdict, reason, estimated)

    def _contrast(
        self, left: Measured | None, right: Measured | None, figure: str
    ) -> tuple[Contrast | None, str]:
        """Return both sides compared, or why they cannot be."""
        if left is None or right is None:
            return None, f"no data in {self.left if left is None else self.right}"
        if left.estimated != right.estimated:
            return None, "one side has marks, the other has none"
        q = stats.FIGURES[figure]
        common = sorted(set(left.rounds) & set(right.rounds))
        paired = self.paired and len(common) > 1
        sides = (
            (left.within(common), right.within(common)) if paired else (left.sample, right.sample)
        )
        contrast = stats.contrast(*sides, q, paired=paired, signed=left.signed, level=ROW_LEVEL)
        if contrast is None:
            least = min(side.n_samples for side in sides)
            return None, f"{figure} needs {stats.needed(q or 0.5)} samples, a side has {least}"
        return contrast, ""


def compare(
    left: Result,
    right: Result,
    *,
    labels: tuple[str, str] = ("A", "B"),
    threshold: float = THRESHOLD,
    anyway: bool = False,
) -> Comparison:
    """Compare the cells of two runs that have the same name.

    ``anyway`` judges also where host or harness differ; that is then a warning. Cells without
    data, with other payloads, revisions or success rates are never judged.
    """
    obstacles, warnings = conditions(left, right)
    if anyway:
        obstacles, warnings = [], [*obstacles, *warnings]
    matched = match(left, right, labels, obstacles)
    return _comparison(matched, warnings, paired=False, threshold=threshold)


def compare_within(
    result: Result, by: str, *, baseline: str | None = None, threshold: float = THRESHOLD
) -> list[Comparison]:
    """Compare the cells of one run that differ in the field ``by`` and in nothing else.

    One comparison per value that has a counterpart, against ``baseline`` (unless given, the value
    that has the most). Raises BenchError where the field or the value is unknown, or where no two
    cells differ in this field alone.
    """
    values = values_of(result, by)
    if baseline is not None and baseline not in values:
        raise BenchError(f"no cell has {by} {baseline!r}; there are: {', '.join(values)}")
    candidates = values if baseline is None else [baseline]
    sides = [
        [match_within(result, by, (first, value)) for value in values if value != first]
        for first in candidates
    ]
    matches = max(sides, key=lambda side: sum(matched.met for matched in side))
    # Blocked sessions of the same number did not run beside each other.
    paired = result.run.get("order_of_sessions") != BLOCKED
    found = [
        _comparison(matched, paired=paired, threshold=threshold)
        for matched in matches
        if matched.met
    ]
    if not found:
        raise BenchError(
            f"--by {by}: no two cells differ in {by} alone; the fields of each are under cells in "
            "show --format json"
        )
    return found


def field_of_design(result: Result) -> str | None:
    """Return the field in which the two targets of a run made to compare them differ."""
    return "server" if result.run.get("design") in DESIGNS_OF_TWO else None


@once_each
def compare_two_targets(result: Result) -> Comparison | None:
    """Return what a run of two targets was made for; None of another run."""
    field = field_of_design(result)
    if field is None:
        return None
    first, *_ = result.run.get("names") or [None]
    return compare_within(result, field, baseline=first)[0]


def median_ratio(left: CellResult, right: CellResult) -> Estimate | None:
    """Return how many times as long the median call of another cell of one run takes."""
    pair = Pair(right.name, left, right)
    row = Comparison(left.name, right.name, [], paired=True).row(pair, CALL, "p50")
    return None if row is None else row.ratio


def judge(contrast: Contrast, threshold: float, scale_ns: float) -> tuple[Verdict, str]:
    """Return the verdict on the right side, and why there is none where that needs saying.

    Where there is no ratio (a signed figure near 0) the difference is held against ``scale_ns``.
    """
    ratio, difference = contrast.ratio, contrast.difference
    if difference.low is None or difference.high is None:
        return Verdict.NOT_COMPARABLE, "one session on a side: nothing tells how sessions differ"
    if ratio is not None and ratio.low is not None and ratio.high is not None:
        low, high = ratio.low - 1, ratio.high - 1
    else:
        low, high = difference.low / (scale_ns or 1.0), difference.high / (scale_ns or 1.0)
    # Both intervals stand in one row: a verdict that one of them contradicts would mislead.
    if low > threshold and difference.low > 0:
        return Verdict.SLOWER, ""
    if high < -threshold and difference.high < 0:
        return Verdict.FASTER, ""
    return Verdict.NO_DIFFERENCE, ""


def _comparison(
    matched: Matched, warnings: Sequence[str] = (), *, paired: bool, threshold: float
) -> Comparison:
    return Comparison(
        *matched.labels,
        matched.pairs,
        matched.excluded,
        warnings,
        paired=paired,
        threshold=threshold,
        silent=matched.silent,
    )


def _listed(cells: Sequence[str]) -> str:
    more = len(cells) - LISTED
    return ", ".join(cells[:LISTED]) + (f" and {more} more" if more > 0 else "") + " excluded"


def _mean_ns(found: Measured | None) -> float:
    value = found.sample.value(None) if found is not None else None
    return abs(value) if value is not None else 0.0

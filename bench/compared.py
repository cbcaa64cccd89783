"""Comparisons from Python: what ``mcp-latency compare`` says, as values that show themselves."""

from __future__ import annotations

from dataclasses import dataclass

from bench import comparison
from bench.api import Records
from bench.comparison import THRESHOLD, Comparison
from bench.errors import BenchError
from bench.render import html, verdicts
from bench.results import Result, expect_result
from bench.tidy import flat, with_all_keys


@dataclass(frozen=True)
class Compared(Comparison):
    """A comparison that shows itself. ``bench.charts.compare(found)`` draws it."""

    @classmethod
    def of(cls, found: Comparison) -> Compared:
        """Return a comparison as one that shows itself."""
        made = cls.__new__(cls)
        made.__dict__.update(vars(found))  # its rows are judged already
        return made

    @property
    def sentences(self) -> list[str]:
        """What a reader wants to know first, one sentence per cell."""
        return verdicts.sentences(self)

    def table(self) -> Records:
        """Return one record per row: both sides, ratio and difference with intervals, verdict."""
        rows = [
            {
                "cell": row.cell,
                "subject": row.subject,
                "figure": row.figure,
                **flat("left_ns", row.contrast.left if row.contrast else None),
                **flat("right_ns", row.contrast.right if row.contrast else None),
                **flat("ratio", row.ratio),
                **flat("difference_ns", row.contrast.difference if row.contrast else None),
                "verdict": str(row.verdict),
                "reason": row.reason or None,
            }
            for row in self.rows
        ]
        return Records(with_all_keys(rows), f"{self.right} against {self.left}")

    def _repr_html_(self) -> str:
        records = self.table()
        return html.table(records, records.title, self.sentences)


def compare(
    left: Result,
    right: Result | None = None,
    *,
    by: str | None = None,
    baseline: str | None = None,
    labels: tuple[str, str] = ("A", "B"),
    threshold: float = THRESHOLD,
    anyway: bool = False,
) -> Compared:
    """Compare two runs, or the cells of one run that differ in the field ``by`` alone.

    A run of two targets (``--ab``, ``--aa``) needs no ``by``. Where the field has several values
    beside ``baseline``, take the run with two of them: ``run.filter(server=["a", "b"])``. Raises
    BenchError where there is nothing to compare.
    """
    expect_result(left)
    if len(labels) != 2:
        raise BenchError(f"labels is {labels!r}; expected two names, one for each run")
    if not (isinstance(threshold, int | float) and 0 <= threshold < 1):
        raise BenchError(f"threshold is {threshold!r}; expected a share, like {THRESHOLD}")
    if right is not None:
        expect_result(right)
        if by is not None or baseline is not None:
            raise BenchError("by and baseline compare cells of one run; two were given")
        found = comparison.compare(left, right, labels=labels, threshold=threshold, anyway=anyway)
        return Compared.of(found)
    field = by or comparison.field_of_design(left)
    if field is None:
        raise BenchError("one run alone: give a second one, or by=FIELD (server, transport, …)")
    several = comparison.compare_within(left, field, baseline=baseline, threshold=threshold)
    if len(several) > 1:
        names = ", ".join(found.right for found in several)
        raise BenchError(
            f"{field} has several values beside {several[0].left}: {names}; "
            f"filter the run to two of them"
        )
    return Compared.of(several[0])

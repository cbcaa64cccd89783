"""What there is to export: the results, what was compared in them, and what became of the gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench import stats
from bench.comparison import Comparison
from bench.figures import Figure, figures
from bench.gate_syntax import Kind
from bench.gates import Outcome
from bench.render import report, tables, verdicts
from bench.render.formats import plain
from bench.render.gate_lines import describe
from bench.render.tables import Table
from bench.results import Result


@dataclass(frozen=True)
class Contents:
    """``results`` by the name of their side; one result may be compared within itself.

    Without ``comparisons`` it is a single result that is shown. ``floors`` are sentences: what the
    machines show as a difference where there is none.
    """

    results: Mapping[str, Result]
    comparisons: Sequence[Comparison] = ()
    outcomes: Sequence[Outcome] = ()
    floors: Sequence[str] = ()

    @property
    def candidates(self) -> Mapping[str, Result]:
        """The results whose figures are news: all but the one that others are compared with."""
        names = list(self.results)
        return {name: self.results[name] for name in names[1:] or names}

    @cached_property
    def tables(self) -> list[Table]:
        """The tables that are shown."""
        if self.comparisons:
            return [verdicts.verdict_table(one) for one in self.comparisons]
        return [table for result in self.results.values() for table in tables.all_tables(result)]

    def figures(self) -> list[tuple[str, Figure]]:
        """Return the listed figures of the candidates, each with a name that no other has."""
        several = len(self.candidates) > 1
        return [
            (f"{name}: {figure.label}" if several else figure.label, figure)
            for name, result in self.candidates.items()
            for figure in figures(result)
        ]

    def fields(self) -> dict[str, Any]:
        """Return everything beside the tables as plain values, with the units in the keys."""
        if self.comparisons:
            known: dict[str, Any] = {
                "comparisons": [verdicts.as_fields(one) for one in self.comparisons],
                "noise_floors": list(self.floors),
                "runs": [
                    {
                        "name": name,
                        "run": dict(result.run),
                        "environment": dict(result.environment),
                        "notices": report.findings(result),
                    }
                    for name, result in self.results.items()
                ],
            }
        else:
            (result,) = self.results.values()
            known = report.as_fields(result)
        return {
            **known,
            "quantile_method": stats.QUANTILE_METHOD,
            "interval_method": stats.INTERVAL_METHOD,
            "figures": [_figure_fields(name, figure) for name, figure in self.figures()],
            "gates": [_outcome_fields(outcome) for outcome in self.outcomes],
        }


def _figure_fields(name: str, figure: Figure) -> dict[str, Any]:
    estimate = figure.estimate
    return {
        "name": name,
        "cell": figure.cell,
        "subject": figure.subject,
        "figure": figure.name,
        "value_ns": None if estimate is None else estimate.value,
        "low_ns": None if estimate is None else estimate.low,
        "high_ns": None if estimate is None else estimate.high,
        "n_sessions": figure.n_sessions,
        "n_samples": figure.n_samples,
        "estimated": figure.estimated,
        "reason": figure.reason or None,
    }


def _outcome_fields(outcome: Outcome) -> dict[str, Any]:
    ratio = outcome.gate.kind is Kind.RATIO
    return {
        "gate": outcome.gate.text,
        "cell": outcome.cell or None,
        "sides": outcome.sides,
        "state": outcome.state.value,
        "limit_ratio" if ratio else "limit_ns": outcome.gate.limit,
        "ratio" if ratio else f"{outcome.gate.kind}_ns": plain(outcome.estimate),
        "said": describe(outcome),
    }

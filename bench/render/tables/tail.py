"""What makes the slowest calls slow."""

from __future__ import annotations

from bench.render.tables.calls import shown_phases
from bench.render.tables.table import Table, Value
from bench.results import CellResult, Result
from bench.tail import MIN_SLOW_CALLS, Tail, tail


def tail_table(result: Result) -> Table:
    """Return, phase by phase, what the slowest calls take more than those around the median."""
    found = [(cell, made) for cell in result.cells if (made := tail(cell)) is not None]
    phases = shown_phases({phase for _, made in found for phase in made.parts})
    columns = {
        "cell": "cell",
        "calls": "calls above p99",
        "sessions": "in sessions",
        **{f"{phase}_ns": phase.value for phase in phases},
        "excess_ns": "excess",
        "dominant": "most of it in",
    }
    notes = (
        "Mean of the calls above p99 minus mean of the calls between p40 and p60, phase by phase: "
        "the phases of a row sum to its excess, and one that is shorter in slow calls is negative. "
        "Where few sessions hold them, it is these sessions that are slow. "
        f"Cells with fewer than {MIN_SLOW_CALLS} calls above p99 are left out.",
    )
    rows = [_row(cell, made) for cell, made in found]
    return Table("tail", "What makes the slowest calls slow", columns, rows, notes)


def _row(cell: CellResult, made: Tail) -> dict[str, Value]:
    return {
        "cell": cell.name,
        "calls": made.n_calls,
        "sessions": f"{made.excess.n_sessions} of {len(cell.totals())}",
        **{f"{phase}_ns": part for phase, part in made.parts.items()},
        "excess_ns": made.excess,
        "dominant": f"{made.dominant} ({made.shares[made.dominant] * 100:.0f} %)",
    }

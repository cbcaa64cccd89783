"""What one thing more adds to a call: a layer, a change, the marks."""

from __future__ import annotations

from bench import accounts
from bench.render.tables.table import Table, Value
from bench.results import Result


def ladder_table(result: Result) -> Table:
    """Return the rungs: what each layer adds to the one below it."""
    rungs = accounts.ladder(result)
    rows: list[dict[str, Value]] = [
        {"rung": rung.label, "p50_ns": rung.total, "increment_ns": rung.increment}
        for rung in (rungs if len(rungs) > 1 else [])
    ]
    columns = {"rung": "rung", "p50_ns": "p50", "increment_ns": "adds"}
    notes = (
        "The increment is the mean difference of the medians of sessions of the same round; each "
        "p50 is of all calls, so theirs may differ by another amount.",
    )
    return Table("ladder", "Ladder: what each layer adds to a call", columns, rows, notes)


def changes_table(result: Result) -> Table:
    """Return what one change adds: a client library, TLS, a connection for each call."""
    rows: list[dict[str, Value]] = [
        {
            "cell": cost.cell,
            "change": cost.change,
            "without_ns": cost.without,
            "cost_ns": cost.cost,
        }
        for cost in accounts.change_costs(result)
    ]
    columns = {
        "cell": "cell",
        "change": "change",
        "without_ns": "p50 without it",
        "cost_ns": "it adds",
    }
    notes = ("Against the same cell without the change, interleaved and paired by round.",)
    return Table("changes", "What one change adds to a call", columns, rows, notes)


def marking_table(result: Result) -> Table:
    """Return what the marks themselves cost."""
    rows: list[dict[str, Value]] = [
        {"cell": cost.cell, "unmarked_ns": cost.unmarked, "cost_ns": cost.cost}
        for cost in accounts.marking_costs(result)
    ]
    columns = {"cell": "cell", "unmarked_ns": "p50 without marks", "cost_ns": "marks add"}
    notes = ("The same cell with and without marks, interleaved and paired by round.",)
    return Table("marking", "Cost of marking", columns, rows, notes)

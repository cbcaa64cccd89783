"""What a call takes, and where it goes."""

from __future__ import annotations

from collections.abc import Collection

from bench import accounts
from bench.phases import CALL, Phase
from bench.render.tables.table import Table, Value
from bench.results import Result


def calls_table(result: Result) -> Table:
    """Return the calls of each cell: percentiles, mean, and who is charged."""
    rows: list[dict[str, Value]] = []
    bracketed = False
    for cell in result.cells:
        calls = accounts.calls(cell)
        if calls is None:
            continue
        row: dict[str, Value] = {
            "cell": cell.name,
            "calls": cell.n_calls,
            "first_call_ns": accounts.first_call(cell),
            "p50_ns": calls.median,
            "p90_ns": calls.p90,
            "p99_ns": calls.p99,
            "mean_ns": calls.breakdown.total,
            "boundary_ns": calls.boundary,
            "handler_ns": calls.handler,
        }
        if calls.handler is None and calls.bracket is not None:
            bracketed = True
            row["handler_low_ns"] = calls.bracket.low
            row["handler_high_ns"] = calls.bracket.high
        rows.append(row)
    columns = {
        "cell": "cell",
        "calls": "calls",
        "first_call_ns": "first_call",
        "p50_ns": "p50",
        "p90_ns": "p90",
        "p99_ns": "p99",
        "mean_ns": "mean",
        "boundary_ns": "boundary",
        "handler_ns": "handler",
    }
    notes = ["Closed loop, one request in flight; [low – high] is the 95 % interval over sessions."]
    if bracketed:
        columns |= {
            "handler_low_ns": "call − unknown tool",
            "handler_high_ns": "call − ping",
        }
        notes.append(
            "Without marks the handler is estimated by difference, from the medians of each "
            "session. What only a real call pays (a thread, checking the result) is in it."
        )
    return Table("calls", "Calls", columns, rows, notes)


def phases_table(result: Result) -> Table:
    """Return where the mean call goes, phase by phase."""
    rows: list[dict[str, Value]] = []
    for cell in result.cells:
        phases = accounts.call_phases(cell)
        if phases is None:
            continue
        row: dict[str, Value] = {"cell": cell.name}
        row |= {f"{phase}_ns": estimate for phase, estimate in phases.parts.items()}
        rows.append({**row, "total_ns": phases.total})
    shown = shown_phases({phase for cell in result.cells for phase in cell.call_phases})
    columns = {"cell": "cell", **{f"{phase}_ns": phase.value for phase in shown}}
    notes = ("Means, which add up: the phases of a row sum to its total.",)
    return Table(
        "phases", "Where a call goes (mean)", {**columns, "total_ns": "total"}, rows, notes
    )


def shown_phases(found: Collection[Phase]) -> list[Phase]:
    """Return the phases of a call that a table has columns for, in causal order."""
    order = (Phase.REOPEN, *CALL[:-1], Phase.SERVER, CALL[-1])
    return [phase for phase in order if phase in found]

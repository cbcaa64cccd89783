"""What a session costs before its first call."""

from __future__ import annotations

from bench import accounts
from bench.phases import Phase
from bench.render.tables.table import Table, Value
from bench.results import Result


def setup_table(result: Result) -> Table:
    """Return what each server costs before its first call: mean phases, once per session."""
    groups = accounts.setup_groups(result)
    phases = [p for p in Phase if any(p in group.setup_phases for group in groups)]
    rows: list[dict[str, Value]] = []
    for group in groups:
        parts = accounts.setup(group)
        assert parts is not None
        rows.append(
            {
                "server": group.name,
                "sessions": parts.total.n_sessions,
                **{f"{phase}_ns": parts.parts.get(phase) for phase in phases},
                "setup_ns": parts.total,
                "close_ns": accounts.close(group),
            }
        )
    columns = {"server": "server", "sessions": "sessions"}
    columns |= {f"{phase}_ns": phase.value for phase in phases}
    columns |= {"setup_ns": "setup", "close_ns": "close"}
    notes = (
        "Means over sessions; setup is the sum of the phases before it. "
        "close stands beside setup, never inside it, and so does first_call among the calls.",
    )
    return Table("setup", "Setup, once per session", columns, rows, notes)

"""The tables of a result as values, one module per subject. Formats are elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from bench.render.tables.calls import calls_table, phases_table
from bench.render.tables.increments import changes_table, ladder_table, marking_table
from bench.render.tables.setup import setup_table
from bench.render.tables.side_by_side import comparison_table
from bench.render.tables.table import Table, Value
from bench.render.tables.tail import tail_table
from bench.render.tables.traffic import (
    messages_table,
    outcomes_table,
    server_requests_table,
    server_table,
)
from bench.results import Result


def all_tables(result: Result) -> list[Table]:
    """Return the tables that have rows, in the order in which they are read."""
    makers: tuple[Callable[[Result], Table], ...] = (
        comparison_table,
        setup_table,
        calls_table,
        phases_table,
        tail_table,
        ladder_table,
        changes_table,
        marking_table,
        messages_table,
        server_requests_table,
        server_table,
        outcomes_table,
    )
    return [table for table in (make(result) for make in makers) if table.rows]


__all__ = [
    "Table",
    "Value",
    "all_tables",
    "calls_table",
    "changes_table",
    "comparison_table",
    "ladder_table",
    "marking_table",
    "messages_table",
    "outcomes_table",
    "phases_table",
    "server_requests_table",
    "server_table",
    "setup_table",
    "tail_table",
]

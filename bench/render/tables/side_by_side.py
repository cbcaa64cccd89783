"""All ways to reach a handler in one table."""

from __future__ import annotations

from bench import accounts
from bench.render.tables.table import Table, Value
from bench.render.tables.traffic import messages_per_call
from bench.results import CellResult, Result
from bench.stats import Estimate


def comparison_table(result: Result) -> Table:
    """Return all ways to reach a handler side by side, the quickest median first."""
    ways = {
        (cell.transport, cell.client, cell.fields.get("revision"))
        for cell in result.cells
        if cell.transport != "pipe"
    }
    cells = [cell for cell in result.cells if cell.totals()] if len(ways) > 1 else []
    handlers = list(dict.fromkeys(cell.handler for cell in cells))
    made = [(handlers.index(cell.handler), _comparison_row(cell)) for cell in cells]
    made.sort(key=lambda pair: (pair[0], _value_of(pair[1]["p50_ns"])))
    rows = [row for _, row in made]
    columns = {
        "cell": "cell",
        "setup_ns": "setup",
        "first_call_ns": "first_call",
        "p50_ns": "p50",
        "p99_ns": "p99",
        "boundary_ns": "boundary",
        "handler_ns": "handler",
        "setup_messages": "messages in setup → ←",
        "call_messages": "per call → ←",
        "request_bytes": "bytes →",
        "response_bytes": "bytes ←",
        "connections": "connections",
    }
    notes = (
        "Sorted by the median call of each handler; setup, boundary and handler are means. "
        "Messages are JSON-RPC, counted on the wire; bytes are per call, with their framing.",
    )
    return Table("comparison", "Side by side", columns, rows, notes)


def _comparison_row(cell: CellResult) -> dict[str, Value]:
    calls, bill = accounts.calls(cell), accounts.setup(cell)
    assert calls is not None
    facts = [session.facts for session in cell.sessions]

    def most(name: str) -> int | None:
        values = [int(fact[name]) for fact in facts if name in fact]
        return max(values) if values else None

    sent, received = most("setup_messages_sent"), most("setup_messages_received")
    return {
        "cell": cell.name,
        "setup_ns": bill.total if bill is not None and bill.parts else None,
        "first_call_ns": accounts.first_call(cell),
        "p50_ns": calls.median,
        "p99_ns": calls.p99,
        "boundary_ns": calls.boundary,
        "handler_ns": calls.handler,
        "setup_messages": f"{sent} {received}" if sent is not None else None,
        "call_messages": messages_per_call(cell),
        "request_bytes": most("request_bytes_per_call") or None,
        "response_bytes": most("response_bytes_per_call") or None,
        "connections": most("connections"),
    }


def _value_of(value: Value) -> float:
    return value.value if isinstance(value, Estimate) else float("inf")

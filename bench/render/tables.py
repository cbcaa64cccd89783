"""The tables of a result as values: titles, columns and rows of numbers. Formats are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench import breakdown, stats
from bench.phases import CALL, Phase
from bench.results import CellResult, Result
from bench.stats import Estimate

Value = Estimate | int | str | None


@dataclass(frozen=True)
class Table:
    """One table. ``columns`` maps keys to headings; durations are in ns.

    ``notes`` stand under it. A key that ends in ``_ns`` holds a duration.
    """

    key: str
    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Value]]
    notes: Sequence[str] = field(default=())


def all_tables(result: Result) -> list[Table]:
    """Return the tables that have rows, in the order in which they are read."""
    makers: tuple[Callable[[Result], Table], ...] = (
        comparison_table,
        setup_table,
        calls_table,
        phases_table,
        ladder_table,
        changes_table,
        marking_table,
        messages_table,
        server_requests_table,
        server_table,
        outcomes_table,
    )
    return [table for table in (make(result) for make in makers) if table.rows]


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
    calls, bill = breakdown.calls(cell), breakdown.setup(cell)
    assert calls is not None
    facts = [session.facts for session in cell.sessions]

    def most(name: str) -> int | None:
        values = [int(fact[name]) for fact in facts if name in fact]
        return max(values) if values else None

    sent, received = most("setup_messages_sent"), most("setup_messages_received")
    return {
        "cell": cell.name,
        "setup_ns": bill.total if bill is not None and bill.parts else None,
        "first_call_ns": breakdown.first_call(cell),
        "p50_ns": calls.median,
        "p99_ns": calls.p99,
        "boundary_ns": calls.boundary,
        "handler_ns": calls.handler,
        "setup_messages": f"{sent} {received}" if sent is not None else None,
        "call_messages": _messages_per_call(cell),
        "request_bytes": most("request_bytes_per_call") or None,
        "response_bytes": most("response_bytes_per_call") or None,
        "connections": most("connections"),
    }


def _messages_per_call(cell: CellResult) -> str | None:
    """Return the messages of one call each way, from what the whole session has seen."""
    sent = received = exchanges = 0
    for session in cell.sessions:
        facts = session.facts
        if "setup_messages_sent" not in facts or "exchanges" not in facts:
            return _requests_seen(cell)
        sent += int(facts["messages_sent"]) - int(facts["setup_messages_sent"])
        received += int(facts["messages_received"]) - int(facts["setup_messages_received"])
        exchanges += int(facts["exchanges"])
    return f"{sent / exchanges:.3g} {received / exchanges:.3g}" if exchanges else None


def _requests_seen(cell: CellResult) -> str | None:
    """Return the requests of one call as the server saw them, where the client does not tell."""
    facts = [s.facts for s in cell.sessions if "requests_seen_in_calls" in s.facts]
    exchanges = sum(int(fact["exchanges"]) for fact in facts)
    if cell.client == "raw" or not exchanges:
        return None
    return f"{sum(int(fact['requests_seen_in_calls']) for fact in facts) / exchanges:.3g} –"


def _value_of(value: Value) -> float:
    return value.value if isinstance(value, Estimate) else float("inf")


def setup_table(result: Result) -> Table:
    """Return what each server costs before its first call: mean phases, once per session."""
    groups = breakdown.setup_groups(result)
    phases = [p for p in Phase if any(p in group.setup_phases for group in groups)]
    rows: list[dict[str, Value]] = []
    for group in groups:
        parts = breakdown.setup(group)
        assert parts is not None
        rows.append(
            {
                "server": group.name,
                "sessions": parts.total.n_sessions,
                **{f"{phase}_ns": parts.parts.get(phase) for phase in phases},
                "setup_ns": parts.total,
                "close_ns": breakdown.close(group),
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


def calls_table(result: Result) -> Table:
    """Return the calls of each cell: percentiles, mean, and who is charged."""
    rows: list[dict[str, Value]] = []
    bracketed = False
    for cell in result.cells:
        calls = breakdown.calls(cell)
        if calls is None:
            continue
        row: dict[str, Value] = {
            "cell": cell.name,
            "calls": cell.n_calls,
            "first_call_ns": breakdown.first_call(cell),
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
        phases = breakdown.call_phases(cell)
        if phases is None:
            continue
        row: dict[str, Value] = {"cell": cell.name}
        row |= {f"{phase}_ns": estimate for phase, estimate in phases.parts.items()}
        rows.append({**row, "total_ns": phases.total})
    found = {phase for cell in result.cells for phase in cell.call_phases}
    shown = [
        phase for phase in (Phase.REOPEN, *CALL[:-1], Phase.SERVER, CALL[-1]) if phase in found
    ]
    columns = {"cell": "cell", **{f"{phase}_ns": phase.value for phase in shown}}
    notes = ("Means, which add up: the phases of a row sum to its total.",)
    return Table(
        "phases", "Where a call goes (mean)", {**columns, "total_ns": "total"}, rows, notes
    )


def ladder_table(result: Result) -> Table:
    """Return the rungs: what each layer adds to the one below it."""
    rungs = breakdown.ladder(result)
    rows: list[dict[str, Value]] = [
        {"rung": rung.label, "p50_ns": rung.total, "increment_ns": rung.increment}
        for rung in (rungs if len(rungs) > 1 else [])
    ]
    columns = {"rung": "rung", "p50_ns": "p50", "increment_ns": "adds"}
    notes = ("The increment pairs sessions of the same round.",)
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
        for cost in breakdown.change_costs(result)
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
        for cost in breakdown.marking_costs(result)
    ]
    columns = {"cell": "cell", "unmarked_ns": "p50 without marks", "cost_ns": "marks add"}
    notes = ("The same cell with and without marks, interleaved and paired by round.",)
    return Table("marking", "Cost of marking", columns, rows, notes)


def messages_table(result: Result) -> Table:
    """Return how many messages a session takes, counted on the wire, where revisions differ."""
    cells = [cell for cell in result.cells if cell.client == "raw" and cell.fields.get("revision")]
    several = len({cell.fields["revision"] for cell in cells}) > 2
    rows = [row for row in map(_messages_row, cells if several else []) if row is not None]
    columns = {
        "cell": "cell",
        "mode": "mode",
        "agreed": "revision in force",
        "setup_sent": "setup →",
        "setup_received": "setup ←",
        "pages": "list pages",
        "call": "a call → ←",
        "session": "one page, one call",
    }
    notes = ("JSON-RPC messages, counted on the wire by the thin client.",)
    return Table("messages", "Messages of a session", columns, rows, notes)


def _messages_row(cell: CellResult) -> dict[str, Value] | None:
    facts = next((s.facts for s in cell.sessions if "setup_messages_sent" in s.facts), None)
    per_call = _messages_per_call(cell)
    if facts is None or per_call is None:
        return None
    sent, received = int(facts["setup_messages_sent"]), int(facts["setup_messages_received"])
    pages = int(facts["pages"])
    one_page = sent + received - 2 * (pages - 1)
    call = sum(round(float(part)) for part in per_call.split())
    return {
        "cell": cell.name,
        "mode": str(cell.fields.get("mode")),
        "agreed": str(facts.get("agreed_revision")),
        "setup_sent": sent,
        "setup_received": received,
        "pages": pages,
        "call": per_call,
        "session": one_page + call,
    }


def server_requests_table(result: Result) -> Table:
    """Return what servers asked the client in the middle of calls, and what answering took."""
    rows: list[dict[str, Value]] = []
    for cell in result.cells:
        requests = sum(int(session.facts.get("server_requests", 0)) for session in cell.sessions)
        if not requests:
            continue
        answering = cell.answering()
        row: dict[str, Value] = {"cell": cell.name}
        row["requests"] = f"{requests / cell.n_calls:.3g}"
        row["one_ns"] = round(sum(int(column.sum()) for column in answering) / requests)
        rows.append({**row, "answering_ns": stats.mean(answering)})
    columns = {
        "cell": "cell",
        "requests": "requests per call",
        "one_ns": "answering one",
        "answering_ns": "answering, per call",
    }
    notes = (
        "Means; from the arrival of a request to the transport having taken the answer (over HTTP: "
        "its 202). A part of the call, within whatever phase the server asked in.",
    )
    return Table("server_requests", "Requests of the server within a call", columns, rows, notes)


def server_table(result: Result) -> Table:
    """Return the scheduler's account of the server, and the traffic of a call."""
    rows = [row for row in map(_server_row, result.cells) if row is not None]
    columns = {
        "cell": "cell",
        "setup_cpu_ns": "CPU in setup",
        "setup_wait_ns": "run-queue wait in setup",
        "call_cpu_ns": "CPU per exchange",
        "call_wait_ns": "run-queue wait per exchange",
        "messages_sent": "messages →",
        "messages_received": "messages ←",
        "request_bytes": "bytes → per call",
        "response_bytes": "bytes ← per call",
    }
    notes = ("Scheduler accounting of the server's processes (schedstat); means over sessions.",)
    return Table("server", "Server accounting and traffic", columns, rows, notes)


def outcomes_table(result: Result) -> Table:
    """Return how the calls ended; only what is not all ok gets a row."""
    rows: list[dict[str, Value]] = []
    names = ("ok", "tool_error", "rpc_error", "transport_error", "timeout", "input_required")
    for cell in result.cells:
        outcomes = cell.outcomes
        if cell.failures or set(outcomes) - {"ok"} or not outcomes:
            counts = {name: outcomes.get(name, 0) for name in names}
            rows.append({"cell": cell.name, **counts, "failed_sessions": len(cell.failures)})
    columns = {"cell": "cell", **{name: name for name in names}}
    columns["failed_sessions"] = "sessions failed"
    notes = ("Only ok calls are in the statistics above.",)
    return Table("outcomes", "Outcomes", columns, rows, notes)


def _server_row(cell: CellResult) -> dict[str, Value] | None:
    facts = [session.facts for session in cell.sessions if "server_calls_cpu_ns" in session.facts]
    if not facts:
        return None
    exchanges = [
        len(s.gap_ns) + len(s.protocol_probe_ns) + len(s.dispatch_probe_ns) for s in cell.sessions
    ]
    made = max(sum(exchanges), 1)

    def average(name: str, over: float = len(facts)) -> int | None:
        values = [float(fact[name]) for fact in facts if name in fact]
        return round(sum(values) / over) if values else None

    return {
        "cell": cell.name,
        "setup_cpu_ns": average("server_setup_cpu_ns"),
        "setup_wait_ns": average("server_setup_wait_ns"),
        "call_cpu_ns": average("server_calls_cpu_ns", made),
        "call_wait_ns": average("server_calls_wait_ns", made),
        "messages_sent": average("messages_sent"),
        "messages_received": average("messages_received"),
        "request_bytes": average("request_bytes_per_call") or None,
        "response_bytes": average("response_bytes_per_call") or None,
    }

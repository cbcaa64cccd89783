"""What was counted beside the phases: messages, requests of the server, CPU time, outcomes."""

from __future__ import annotations

from bench import stats
from bench.render.tables.table import Table, Value
from bench.results import CellResult, Result


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
    per_call = messages_per_call(cell)
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


def messages_per_call(cell: CellResult) -> str | None:
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

"""What N calls in one session cost, and where the cheapest way changes. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench import accounts, stats
from bench.accounts import Breakdown
from bench.results import CellResult, Result
from bench.spec import LISTENING


@dataclass(frozen=True)
class CostLine:
    """What ``n`` calls in one session cost: ``setup_ns + n × call_ns``, both means.

    ``sessions`` holds the setup and the mean call of each.
    """

    label: str
    setup_ns: float
    call_ns: float
    sessions: tuple[tuple[float, float], ...] = ()

    def cost_ns(self, n: float) -> float:
        """Return the cost of a session with ``n`` calls."""
        return self.setup_ns + n * self.call_ns

    def between_ns(self, n: float) -> tuple[float, float] | None:
        """Return the interval of the cost, or None where the sessions are too few to tell."""
        if len(self.sessions) < 2:
            return None
        cost = stats.mean([np.array([setup + n * call]) for setup, call in self.sessions])
        return None if cost.low is None or cost.high is None else (cost.low, cost.high)

    def told_from(self, other: CostLine, n: float) -> bool:
        """Whether the intervals of the cost of ``n`` calls lie apart."""
        mine, others = self.between_ns(n), other.between_ns(n)
        if mine is None or others is None:
            return False
        return mine[1] < others[0] or others[1] < mine[0]


def cost_lines(result: Result, handler: str, server: str | None = None) -> list[CostLine]:
    """Return the cost of N calls for each way to reach one server with one handler over MCP.

    A server that listens may be running already: then nobody waits for its start, and a second
    line, "(running)", leaves ``spawn`` and ``boot`` out.
    """
    lines: dict[str, CostLine] = {}
    for cell in result.cells:
        phases, bill = accounts.call_phases(cell), accounts.setup(cell)
        wanted = cell.handler == handler and server in (None, cell.server) and session_by_wire(cell)
        if not wanted or phases is None or bill is None or cell.reach in lines:
            continue
        call_ns = phases.total.value
        lines[cell.reach] = _cost_line(cell, cell.reach, bill, call_ns)
        if cell.transport not in LISTENING:
            continue
        running = accounts.without_start(cell)
        after_boot = accounts.setup(running)
        if after_boot is not None and len(after_boot.parts) < len(bill.parts):
            label = f"{cell.reach} (running)"
            lines[label] = _cost_line(running, label, after_boot, call_ns)
    return list(lines.values())


def _cost_line(cell: CellResult, label: str, bill: Breakdown, call_ns: float) -> CostLine:
    sessions = [
        (float(session.setup_ns), float(np.mean(session.total_ns[rows])))
        for session, rows in cell.with_all_phases()
        if session.setup.keys() == bill.parts.keys()
    ]
    return CostLine(label, bill.total.value, call_ns, tuple(sessions))


def session_by_wire(cell: CellResult) -> bool:
    """Whether a cell is an MCP session over a wire, called by the thin client."""
    return cell.transport in ("stdio", "http", "sse") and cell.client == "raw"


def crossings(lines: Sequence[CostLine]) -> list[tuple[float, CostLine, CostLine]]:
    """Return where the cheapest line changes: after how many calls, from which to which."""
    if not lines:
        return []
    found: list[tuple[float, CostLine, CostLine]] = []
    n, best = 1.0, min(lines, key=lambda line: (line.cost_ns(1), line.call_ns))
    while True:
        later = [
            ((line.setup_ns - best.setup_ns) / (best.call_ns - line.call_ns), line)
            for line in lines
            if line.call_ns < best.call_ns
        ]
        later = [(at, line) for at, line in later if at >= n]
        if not later:
            return found
        n, following = min(later, key=lambda pair: (pair[0], pair[1].call_ns))
        found.append((n, best, following))
        best = following

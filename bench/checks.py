"""Checks: what a reader must know before trusting the figures of a cell, in plain words.

Values in, values out. A check never drops data, and is silent where it cannot tell. The detectors
and their thresholds, and what keeps noise from triggering them, are in :mod:`bench.detect`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bench import detect
from bench.phases import Phase
from bench.plan import BLOCKED
from bench.render.units import counted, duration
from bench.results import CellResult, Nanoseconds, Result, Session
from bench.spec import LISTENING, ONE_PROCESS

CLIENT_BUSY = 0.8
"""The share of the time of the calls that the client process may be busy."""
RUN_QUEUE = 0.05
"""The share of the time of the calls that ready threads of the server may wait for a CPU."""
MIN_CALLS = 50
"""Of all sessions, for the two shares above."""
MIN_CALLS_LATE = 10
"""For the quickest calls: where all wait for one timer, few tell."""

DELAYED_ACK_NS = (38_000_000, 46_000_000)
"""Linux delays an acknowledgement by 40 ms; a server that writes head and body apart, without
TCP_NODELAY, then waits for it in every call (cpython issue 108736)."""
_TIMERS = {
    DELAYED_ACK_NS: "about 40 ms, the signature of a delayed acknowledgement",
    (195_000_000, 215_000_000): (
        "about 200 ms, the signature of a delayed acknowledgement or of a retransmission"
    ),
    (250_000_000, 270_000_000): "about 260 ms, the signature of a timer of TCP",
}
_NODELAY = (
    "It is the transport's, not the handler's: set TCP_NODELAY on both sides, and write head and "
    "body at once"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check that failed in one cell: its code, a sentence for people, the figures behind it.

    The first of the ``facts`` says how bad it is: the larger, the worse.
    """

    code: str
    cell: str
    sentence: str
    facts: Mapping[str, int | float]


def findings(result: Result) -> list[Finding]:
    """Return what the checks found, cell by cell."""
    warmups = result.run.get("warmups")
    known = warmups if isinstance(warmups, int) else 0
    in_rounds = result.run.get("order_of_sessions") != BLOCKED
    return [
        finding
        for cell in result.cells
        for finding in of_cell(cell, warmups=known, in_rounds=in_rounds)
    ]


def of_cell(cell: CellResult, *, warmups: int = 0, in_rounds: bool = True) -> list[Finding]:
    """Return what the checks found in one cell; ``warmups`` were made before its calls.

    ``in_rounds`` says that the sessions of each round ran beside each other.
    """
    checks: tuple[Callable[[CellResult], Finding | None], ...] = (
        lambda cell: _warm_up(cell, warmups),
        _modes,
        _delayed_ack,
        lambda cell: _between_sessions(cell, in_rounds),
        _autocorrelation,
        _client_busy,
        _run_queue,
    )
    return [finding for check in checks if (finding := check(cell)) is not None]


def acknowledged_late(cell: CellResult) -> bool:
    """Whether even the quickest call waits as long as a delayed acknowledgement takes."""
    return _delayed_ack(cell) is not None


def _warm_up(cell: CellResult, warmups: int) -> Finding | None:
    found = detect.warm_up(cell.totals())
    if found is None:
        return None
    needed = warmups + found.calls
    remedy = f"use --warmups {needed}" if found.settled else f"use more than --warmups {needed}"
    sentence = (
        f"the first calls of a session take {_longer(found.factor)} its later ones, so "
        f"{counted(warmups, 'warm-up')} {'was' if warmups == 1 else 'were'} too few: {remedy}"
    )
    facts = {"warmups_needed": needed, "warmups": warmups, "factor": found.factor}
    return Finding("warm_up", cell.name, sentence, facts)


def _modes(cell: CellResult) -> Finding | None:
    found = detect.modes(cell.totals())
    if found is None:
        return None
    share = found.slow_share
    where = (
        f"calls come in two modes, {duration(found.fast_ns)} ({_percent(1 - share)}) and "
        f"{duration(found.slow_ns)} ({_percent(share)})"
    )
    other = (
        "the median tells of one only. See the distribution (mcp-latency plot), and look for what "
        "alternates, such as the CPU, a cache or a collector of garbage"
    )
    facts = {
        "ratio": found.slow_ns / found.fast_ns,
        "fast_ns": found.fast_ns,
        "slow_ns": found.slow_ns,
        "slow_share": share,
    }
    return _two_modes(cell, "modes", (where, other), facts)


def _session_modes(cell: CellResult) -> Finding | None:
    found = detect.session_modes(cell.totals())
    if found is None:
        return None
    where = (
        f"{found.fast_sessions} sessions run at about {duration(found.fast_ns)} and "
        f"{found.slow_sessions} at about {duration(found.slow_ns)}"
    )
    other = (
        "something is decided once per session, most often on which CPUs client and server run; "
        "--affinity fixes them"
    )
    facts = {
        "ratio": found.slow_ns / found.fast_ns,
        "fast_ns": found.fast_ns,
        "slow_ns": found.slow_ns,
        "fast_sessions": found.fast_sessions,
        "slow_sessions": found.slow_sessions,
    }
    return _two_modes(cell, "session_modes", (where, other), facts)


def _two_modes(
    cell: CellResult, code: str, texts: tuple[str, str], facts: Mapping[str, int | float]
) -> Finding:
    """Return the finding of two modes, charged to a timer of TCP where one tells them apart."""
    where, other = texts
    between_ns = (facts["fast_ns"] * facts["slow_ns"]) ** 0.5
    slow_ns = [rest[session.total_ns > between_ns] for session, rest in _outside_ns(cell)]
    waits_ns = (facts["slow_ns"] - facts["fast_ns"], float(np.median(np.concatenate(slow_ns))))
    timers = [_timer(wait_ns) for wait_ns in waits_ns] if _over_tcp(cell) else []
    timer = next(filter(None, timers), None)
    if timer is None:
        return Finding(code, cell.name, f"{where}: {other}", facts)
    sentence = f"{where}: the slow ones wait {timer}. {_NODELAY}"
    return Finding(f"{code}_of_a_timer", cell.name, sentence, facts)


def _delayed_ack(cell: CellResult) -> Finding | None:
    if not _over_tcp(cell) or cell.n_calls < MIN_CALLS_LATE:
        return None
    quickest_ns = float(np.quantile(np.concatenate([ns for _, ns in _outside_ns(cell)]), 0.1))
    low_ns, high_ns = DELAYED_ACK_NS
    if not low_ns <= quickest_ns <= high_ns:
        return None
    sentence = f"even the quickest calls take {_TIMERS[DELAYED_ACK_NS]}. {_NODELAY}"
    return Finding("delayed_ack", cell.name, sentence, {"quickest_ns": quickest_ns})


def _between_sessions(cell: CellResult, in_rounds: bool) -> Finding | None:
    """Return the finding that explains best why sessions differ: one is enough."""
    return _drift(cell, in_rounds) or _session_modes(cell) or _disagreement(cell)


def _drift(cell: CellResult, in_rounds: bool) -> Finding | None:
    found = detect.drift(cell.totals(), [session.position for session in _called(cell)])
    if found is None:
        return None
    slower, quicker = ("last", "first") if found.factor > 1 else ("first", "last")
    change = max(found.factor, 1 / found.factor)
    remedy = (
        "Comparisons within rounds stand; for figures that stand alone measure again on a quieter "
        "machine"
        if in_rounds
        else "Nothing here is compared within rounds (--order blocked): measure again, interleaved"
    )
    sentence = (
        f"calls changed over the run: in the {slower} sessions they take {_longer(change)} in the "
        f"{quicker} (p = {found.p:.2g}), so the machine or the server did. {remedy}"
    )
    facts = {"change": change, "factor": found.factor, "p": found.p}
    return Finding("drift", cell.name, sentence, facts)


def _disagreement(cell: CellResult) -> Finding | None:
    found = detect.disagreement(cell.totals())
    if found is None:
        return None
    sentence = (
        f"sessions differ more than the calls in them ({_percent(found.share)} of the variance; "
        f"medians from {duration(found.lowest_ns)} to {duration(found.highest_ns)}): more "
        "--sessions narrow the intervals, more calls do not; --affinity fixes the CPUs they run on"
    )
    facts = {
        "share_between": found.share,
        "lowest_ns": found.lowest_ns,
        "highest_ns": found.highest_ns,
    }
    return Finding("disagreement", cell.name, sentence, facts)


def _autocorrelation(cell: CellResult) -> Finding | None:
    found = detect.autocorrelation(cell.totals())
    if found is None:
        return None
    worth = round(cell.n_calls * (1 - found) / (1 + found))
    sentence = (
        f"a call is like the one before it (correlation {found:.2f}), so {cell.n_calls:,} calls "
        f"tell as much as about {worth:,} independent ones: the intervals allow for it, and more "
        "--sessions narrow them better than more calls"
    )
    facts = {"correlation": found, "calls": cell.n_calls, "effective_calls": worth}
    return Finding("autocorrelation", cell.name, sentence, facts)


def _client_busy(cell: CellResult) -> Finding | None:
    share = _share(cell, "client_cpu_ns")
    if share is None or share <= CLIENT_BUSY or cell.transport in ONE_PROCESS:
        return None
    other = "" if cell.client == "raw" else "; --client raw shows the server without it"
    sentence = (
        f"the client process was busy for {_percent(share)} of the time of the calls, so the "
        f"client sets their pace, not the server{other}"
    )
    return Finding("client_busy", cell.name, sentence, {"share": share})


def _run_queue(cell: CellResult) -> Finding | None:
    share = _share(cell, "server_calls_wait_ns")
    if share is None or share <= RUN_QUEUE:
        return None
    sentence = (
        "threads of the server were ready to run but waited for a CPU, together for "
        f"{_percent(share)} of the time of the calls: another program, the client or other threads "
        "of the server had it. Use a quieter machine, or give the server more CPUs (--affinity)"
    )
    return Finding("run_queue", cell.name, sentence, {"share": share})


def _share(cell: CellResult, fact: str) -> float | None:
    """Return a time that sessions account for over the time of their calls, all together."""
    known = [s.facts for s in cell.sessions if fact in s.facts and "calls_wall_ns" in s.facts]
    wall_ns = sum(float(facts["calls_wall_ns"]) for facts in known)
    if not wall_ns or cell.n_calls < MIN_CALLS:
        return None
    return sum(float(facts[fact]) for facts in known) / wall_ns


def _timer(wait_ns: float) -> str | None:
    """Return the timer of TCP that takes this long, if one does."""
    found = (text for (low_ns, high_ns), text in _TIMERS.items() if low_ns <= wait_ns <= high_ns)
    return next(found, None)


def _called(cell: CellResult) -> list[Session]:
    """Return the sessions of :meth:`CellResult.totals`, in the same order."""
    return [session for session in cell.sessions if len(session.gap_ns)]


def _over_tcp(cell: CellResult) -> bool:
    return cell.transport in LISTENING and cell.fields.get("socket") != "unix"


def _outside_ns(cell: CellResult) -> list[tuple[Session, Nanoseconds]]:
    """Return what each call takes outside the handler; all of it where there are no marks."""
    none = np.zeros(1, np.int64)
    return [
        (session, session.total_ns - np.maximum(session.calls.get(Phase.HANDLER, none), 0))
        for session in _called(cell)
    ]


def _longer(factor: float) -> str:
    """Return a comparison that a noun follows."""
    return f"{_percent(factor - 1)} longer than" if factor < 2 else f"{factor:.1f} times as long as"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"

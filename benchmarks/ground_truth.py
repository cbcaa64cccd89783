"""Injected delays are found again, each in its own phase and nowhere else.

Method: the server of ``tests/truth/delayed_server.py`` with and without delays, alternating, one
fresh process per session, pinned to one CPU with the client on the other. Setup phases: difference
of the medians over sessions. Call phases: difference of the medians over calls, one tool per
handler delay against the tool without one.

``--transport`` says how the server is reached: ``stdio``, ``http`` (answers in JSON), ``http-sse``
(answers as a stream), ``sse`` (the legacy transport), or ``rest``, which has no protocol and so no
phases of one.

Bounds: each delay within the larger of 3 % and 150 µs; every other phase moves by at most 150 µs.
Over HTTP 300 µs: a server that boots is looked for every half millisecond.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.phases import CALL, Phase
from bench.results import Session
from bench.spec import SessionSpec
from common import Report, parser, python, rounds, two_cpus

SERVER = str(Path(__file__).parent.parent / "tests" / "truth" / "delayed_server.py")
SETUP_MS = {Phase.BOOT: 300.0, Phase.INITIALIZE: 50.0, Phase.TOOLS_LIST: 20.0, Phase.CLOSE: 100.0}
CALL_MS = {Phase.DISPATCH: 5.0, Phase.REPLY: 5.0}
HANDLERS_MS = (2, 10, 31)
SHARE = 0.03


@dataclass(frozen=True)
class Way:
    """One way to reach the server: what of the delays has a phase there, and how close they are."""

    transport: str
    words: tuple[str, ...] = ()
    url: str | None = None
    absent: tuple[Phase, ...] = ()
    tolerance_us: float = 300.0


MCP_URL, REST_URL = "http://127.0.0.1:{port}/mcp", "http://127.0.0.1:{port}/rest"
PROTOCOL = (Phase.INITIALIZE, Phase.TOOLS_LIST)
WAYS = {
    "stdio": Way("stdio", tolerance_us=150.0),
    "http": Way("http", ("port={port}",), MCP_URL),
    "http-sse": Way("http", ("port={port}", "sse=1"), MCP_URL),
    "sse": Way("sse", ("port={port}",), "http://127.0.0.1:{port}/sse"),
    "rest": Way("rest", ("port={port}",), REST_URL, absent=PROTOCOL),
}


def spec(way: Way, tool: str, calls: int, *, delayed: bool) -> SessionSpec:
    """Return one session against the server, with all delays or with none."""
    delays = {**SETUP_MS, **CALL_MS} if delayed else {}
    words = [f"{phase}={ms}" for phase, ms in delays.items()]
    client_cpu, server_cpu = two_cpus()
    return SessionSpec(
        argv=python(SERVER, *way.words, *words),
        transport=way.transport,
        url=way.url,
        tool=tool,
        calls=calls,
        warmups=3,
        marks=True,
        client_cpus=(client_cpu,),
        server_cpus=(server_cpu,),
    )


def once(session: Session) -> dict[Phase, float]:
    """Return the phases of a session that happen once, in ns."""
    return {**session.setup, Phase.CLOSE: float(session.close_ns or 0)}


def medians(values: dict[Phase, list[float]]) -> dict[Phase, float]:
    """Return the median of each phase."""
    return {phase: float(np.median(column)) for phase, column in values.items()}


def judge(report: Report, way: Way, what: str, shift_us: float, delay_us: float) -> None:
    """Check one phase against the delay that was put into it, or against none."""
    bound_us = max(SHARE * delay_us, way.tolerance_us)
    found = f"{what}: {delay_us:.0f} µs put in, {shift_us:.0f} found, off by"
    facts = {"name": what, "put_in_us": delay_us, "found_us": shift_us}
    report.check(found, abs(shift_us - delay_us), bound_us, "µs", **facts)


def judge_setup(
    report: Report, way: Way, with_delay: dict[Phase, float], without: dict[Phase, float]
) -> None:
    """Check the phases that happen once; one that got a delay has to be there."""
    for phase in SETUP_MS:
        if phase not in with_delay and phase not in way.absent:
            report.fail(phase, "there is no such phase")
    for phase, ns in with_delay.items():
        judge(report, way, phase, (ns - without[phase]) / 1e3, SETUP_MS.get(phase, 0.0) * 1e3)


def main() -> None:
    """Run the proof."""
    command = parser(__doc__)
    command.add_argument("--transport", choices=WAYS, default="stdio", help="default: stdio")
    options = command.parse_args()
    way = WAYS[options.transport]
    sessions, calls = (6, 20) if options.quick else (15, 40)
    report = Report(f"ground truth over {options.transport}: delays are found in their own phase")
    report.start(f"{sessions} sessions × {calls} calls each way")
    specs = {f"{ms}": spec(way, f"handler-{ms}", calls, delayed=True) for ms in HANDLERS_MS}
    specs["plain"] = spec(way, "handler-0", calls, delayed=False)
    setups: dict[bool, dict[Phase, list[float]]] = {
        True: defaultdict(list),
        False: defaultdict(list),
    }
    phases: dict[str, dict[Phase, list[float]]] = {name: defaultdict(list) for name in specs}
    for found in rounds(specs, sessions):
        for name, session in found.items():
            for phase, ns in once(session).items():
                setups[name != "plain"][phase].append(ns)
            if not session.complete().all():
                sys.exit(f"FAIL  {name}: calls without a complete set of marks")
            for phase in CALL:
                phases[name][phase] += session.calls[phase].tolist()
    judge_setup(report, way, medians(setups[True]), medians(setups[False]))
    plain = medians(phases["plain"])
    for name in map(str, HANDLERS_MS):
        put_in = {**CALL_MS, Phase.HANDLER: float(name)}
        for phase, ns in medians(phases[name]).items():
            what = f"handler {name} ms: {phase}"
            judge(report, way, what, (ns - plain[phase]) / 1e3, put_in.get(phase, 0.0) * 1e3)
    report.end()


if __name__ == "__main__":
    main()

"""Injected delays are found again, each in its own phase and nowhere else.

Method: the server of ``tests/truth/delayed_server.py`` with and without delays, alternating, one
fresh process per session, pinned to one CPU with the client on the other. Setup phases: difference
of the medians over sessions. Call phases: difference of the medians over calls, one tool per
handler delay against the tool without one.

Bounds: each delay within the larger of 3 % and 150 µs; every other phase moves by at most 150 µs.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from bench.phases import CALL, Phase
from bench.results import Session
from bench.spec import SessionSpec
from common import Report, python, quick, rounds, two_cpus

SERVER = str(Path(__file__).parent.parent / "tests" / "truth" / "delayed_server.py")
SETUP_MS = {Phase.BOOT: 300.0, Phase.INITIALIZE: 50.0, Phase.TOOLS_LIST: 20.0, Phase.CLOSE: 100.0}
CALL_MS = {Phase.DISPATCH: 5.0, Phase.REPLY: 5.0}
HANDLERS_MS = (2, 10, 31)
TOLERANCE_US = 150.0
SHARE = 0.03


def spec(tool: str, calls: int, *, delayed: bool) -> SessionSpec:
    """Return one session against the server, with all delays or with none."""
    delays = {**SETUP_MS, **CALL_MS} if delayed else {}
    words = [f"{phase}={ms}" for phase, ms in delays.items()]
    client_cpu, server_cpu = two_cpus()
    return SessionSpec(
        argv=python(SERVER, *words),
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


def judge(report: Report, what: str, shift_us: float, delay_us: float) -> None:
    """Check one phase against the delay that was put into it, or against none."""
    bound_us = max(SHARE * delay_us, TOLERANCE_US) if delay_us else TOLERANCE_US
    found = f"{what}: {delay_us:.0f} µs put in, {shift_us:.0f} found, off by"
    report.check(found, abs(shift_us - delay_us), bound_us, "µs")


def main() -> None:
    """Run the proof."""
    sessions, calls = (6, 20) if quick(__doc__) else (15, 40)
    report = Report("ground truth: injected delays are found in their own phase")
    report.start(f"{sessions} sessions × {calls} calls each way")
    specs = {f"{ms}": spec(f"handler-{ms}", calls, delayed=True) for ms in HANDLERS_MS}
    specs["plain"] = spec("handler-0", calls, delayed=False)
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
    with_delay, without = medians(setups[True]), medians(setups[False])
    for phase, ns in with_delay.items():
        judge(report, phase, (ns - without[phase]) / 1e3, SETUP_MS.get(phase, 0.0) * 1e3)
    plain = medians(phases["plain"])
    for name in map(str, HANDLERS_MS):
        put_in = {**CALL_MS, Phase.HANDLER: float(name)}
        for phase, ns in medians(phases[name]).items():
            what = f"handler {name} ms: {phase}"
            judge(report, what, (ns - plain[phase]) / 1e3, put_in.get(phase, 0.0) * 1e3)
    report.end()


if __name__ == "__main__":
    main()

"""What makes timings on this machine unsteady, and what the harness itself costs here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.render.units import duration

if TYPE_CHECKING:
    from rich.console import Console

_LOAD_PER_CPU = 0.25
_STEAL_SHARE = 0.01
_FEW_CPUS = 2


@dataclass(frozen=True)
class Finding:
    """One look at the machine: ``steady`` is None where it cannot be told."""

    name: str
    value: str
    steady: bool | None
    advice: str = ""


def print_report(console: Console) -> None:
    """Print every finding and the measured overheads."""
    from bench.runner import Runner

    for finding in findings():
        mark = {True: "ok  ", False: "WARN", None: "  ? "}[finding.steady]
        console.print(f"{mark} {finding.name}: {finding.value}", markup=False, soft_wrap=True)
        if finding.advice and finding.steady is False:
            console.print(f"       {finding.advice}", markup=False, soft_wrap=True)
    console.print("\nWhat the harness costs here:", markup=False)
    for name, ns in Runner(lambda *_: None).overheads().items():
        text = name.removesuffix("_ns").replace("_", " ")
        console.print(f"     {text}: {duration(ns)}", markup=False)


def findings() -> Iterator[Finding]:
    """Yield each finding."""
    checks: tuple[Callable[[], Finding], ...] = (
        _cpus, _load, _governor, _turbo, _steal, _clock, _schedstat, _first_read,
    )  # fmt: skip
    for check in checks:
        yield check()


def _cpus() -> Finding:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    few = (count or 1) < _FEW_CPUS
    advice = "client and server share one CPU: each waits for the other to leave it"
    return Finding("CPUs for this process", str(count), not few, advice)


def _load() -> Finding:
    load = os.getloadavg()[0]
    busy = load > _LOAD_PER_CPU * (os.cpu_count() or 1)
    advice = "other work competes for the CPUs: close it, or use more sessions"
    return Finding("load average (1 min)", f"{load:.2f}", not busy, advice)


def _governor() -> Finding:
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor is None:
        return Finding("CPU frequency governor", "not visible (virtual machine?)", None)
    advice = "set it to 'performance': python -m pyperf system tune (as root)"
    return Finding("CPU frequency governor", governor, governor == "performance", advice)


def _turbo() -> Finding:
    no_turbo = _read("/sys/devices/system/cpu/intel_pstate/no_turbo")
    if no_turbo is None:
        return Finding("turbo mode", "not visible", None)
    advice = "the clock rate changes with heat: python -m pyperf system tune (as root)"
    return Finding("turbo mode", "off" if no_turbo == "1" else "on", no_turbo == "1", advice)


def _steal() -> Finding:
    stat = _read("/proc/stat")
    if stat is None:
        return Finding("time stolen by the hypervisor", "not visible", None)
    ticks = [int(field) for field in stat.splitlines()[0].split()[1:]]
    share = ticks[7] / max(sum(ticks[:8]), 1)
    advice = "the host takes CPUs away: measure on another machine, or use more sessions"
    return Finding(
        "time stolen by the hypervisor", f"{share:.2%} since boot", share < _STEAL_SHARE, advice
    )


def _clock() -> Finding:
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return Finding("clock source", "not visible", None)
    quick = source in ("tsc", "kvm-clock", "arch_sys_counter")
    return Finding("clock source", source, quick, "reading this clock costs a system call")


def _schedstat() -> Finding:
    there = Path("/proc/self/schedstat").exists()
    advice = "CPU time and run-queue wait of servers will be missing from results"
    return Finding("scheduler accounting (schedstat)", "there" if there else "none", there, advice)


def _first_read() -> Finding:
    linux = sys.platform.startswith("linux")
    advice = "boot cannot be told from initialize here"
    return Finding("first-read probe", "there" if linux else "none", linux, advice)


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None

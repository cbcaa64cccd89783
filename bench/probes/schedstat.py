"""Scheduler accounting: CPU time and run-queue wait of a server, from /proc (Linux only)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Time on a CPU and time ready but waiting for one, in nanoseconds."""

    cpu_ns: int
    wait_ns: int

    def __sub__(self, earlier: Scheduled) -> Scheduled:
        return Scheduled(self.cpu_ns - earlier.cpu_ns, self.wait_ns - earlier.wait_ns)


def read_group(group: int) -> Scheduled | None:
    """Sum over all threads of all living processes of a process group; None where unknown.

    Group 0 is no server of ours (but all threads of the kernel, to the system).

    Threads that have ended are not counted, so a difference of two readings is exact only for a
    server that ends no thread in between.
    """
    if not group:
        return None
    cpu_ns = wait_ns = 0
    found = False
    for pid in _members(group):
        for thread in (_PROC / pid / "task").glob("*/schedstat"):
            try:
                cpu, wait, _ = thread.read_text().split()
            except (OSError, ValueError):
                continue
            cpu_ns += int(cpu)
            wait_ns += int(wait)
            found = True
    return Scheduled(cpu_ns, wait_ns) if found else None


def _members(group: int) -> list[str]:
    members = []
    try:
        pids = [entry.name for entry in _PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return []
    for pid in pids:
        try:
            stat = (_PROC / pid / "stat").read_text()
        except OSError:
            continue
        # The command name may hold spaces and brackets: the fields start after the last one.
        fields = stat[stat.rfind(")") + 2 :].split()
        if int(fields[2]) == group:
            members.append(pid)
    return members

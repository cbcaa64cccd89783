"""What the proofs share: sessions through the real worker, and lines that can fail."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bench import __version__
from bench.plan import Slot
from bench.records import session_of
from bench.results import Session
from bench.runner import Job, Runner
from bench.spec import SessionSpec


@dataclass
class Report:
    """Prints figure, bound and PASS or FAIL; remembers whether anything failed."""

    title: str
    failed: list[str] = field(default_factory=list)

    def start(self, amount: str) -> None:
        """Say what is measured, where and how often."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        print(f"# {self.title}")
        print(f"# {now}, {platform.node()}, {platform.platform()}")
        print(f"# mcp-latency {__version__}, Python {platform.python_version()}, {amount}")

    def check(
        self, what: str, figure: float, bound: float, unit: str, *, least: bool = False
    ) -> None:
        """Print one line; the figure may be at most (or, with ``least``, must be at least) it."""
        passed = figure >= bound if least else figure <= bound
        sign = "≥" if least else "≤"
        self.judge(what, passed, f"{figure:.3f} {unit} (bound {sign} {bound:g} {unit})")

    def judge(self, what: str, passed: bool, found: str, word: str = "PASS") -> None:
        """Print one line for what has passed or not; ``word`` stands for passed."""
        print(f"{word if passed else 'FAIL'}  {what}: {found}", flush=True)
        if not passed:
            self.failed.append(what)

    def say(self, text: str) -> None:
        """Print a line of information, which cannot fail."""
        print(f"      {text}", flush=True)

    def end(self) -> None:
        """Leave the program with the exit code that the lines ask for."""
        print(f"{'FAIL' if self.failed else 'PASS'}: {self.title}")
        sys.exit(1 if self.failed else 0)


def quick(description: str | None) -> bool:
    """Read the command line; return whether ``--quick`` was given."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sessions, the same bounds")
    return bool(parser.parse_args().quick)


def two_cpus() -> tuple[int, int]:
    """Return a CPU for each side; ends the program where there is only one."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit(
            "FAIL  this proof needs two CPUs, one for each side; this process may use only one"
        )
    return cpus[0], cpus[-1]


def python(*arguments: str) -> tuple[str, ...]:
    """Return a command of this Python that ignores the current folder."""
    return (sys.executable, "-P", *arguments)


def rounds(specs: Mapping[str, SessionSpec], count: int) -> Iterator[dict[str, Session]]:
    """Run every spec once per round through fresh workers; yield each round's sessions.

    The order alternates from round to round, so that neither side is always first.
    """
    runner = Runner(lambda *_: None)
    for round_ in range(count):
        names = list(specs) if round_ % 2 == 0 else list(specs)[::-1]
        jobs = [Job(Slot(place, round_, place), specs[name]) for place, name in enumerate(names)]
        sessions: dict[str, Session] = {}
        for name, entry in zip(names, runner.run(jobs), strict=True):
            failure: dict[str, Any] | None = entry.header.get("failure")
            if failure is not None:
                sys.exit(f"FAIL  {name}: {failure['phase']}: {failure['text']}")
            sessions[name] = session_of(entry)
        yield sessions

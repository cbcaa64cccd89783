"""What the proofs share: sessions through the real worker, and lines that can fail."""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench import __version__
from bench.atomic import write_in_one_step
from bench.environment import collect
from bench.plan import Slot
from bench.records import session_of
from bench.results import Session
from bench.runner import Job, Runner
from bench.spec import SessionSpec
from bench.transports.sockets import free_port

_WHERE: Final = (
    "hostname",
    "cpu_model_name",
    "cpu_count",
    "platform",
    "python_version",
    "harness_version",
    "mcp_version",
)
"""What is kept of a machine."""


@dataclass
class Report:
    """Prints figure, bound and PASS or FAIL; remembers every line, and whether anything failed.

    With ``--json FILE`` on the command line the lines are also kept as data, one entry per command.
    ``facts`` are the values behind a line, for readers of that file.
    """

    title: str
    failed: list[str] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)

    def start(self, amount: str) -> None:
        """Say what is measured, where and how often."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.about = {"title": self.title, "created": now, "amount": amount}
        print(f"# {self.title}")
        print(f"# {now}, {platform.node()}, {platform.platform()}")
        print(f"# mcp-latency {__version__}, Python {platform.python_version()}, {amount}")

    def check(
        self,
        what: str,
        figure: float,
        bound: float,
        unit: str,
        *,
        least: bool = False,
        **facts: object,
    ) -> None:
        """Print one line; the figure may be at most (or, with ``least``, must be at least) it."""
        passed = figure >= bound if least else figure <= bound
        sign = "≥" if least else "≤"
        values = {"figure": figure, "bound": bound, "unit": unit, "sign": sign, **facts}
        found = f"{figure:.3f} {unit} (bound {sign} {bound:g} {unit})"
        self.judge(what, passed, found, **values)

    def judge(
        self, what: str, passed: bool, found: str, word: str = "PASS", **facts: object
    ) -> None:
        """Print one line for what has passed or not; ``word`` stands for passed."""
        verdict = word if passed else "FAIL"
        print(f"{verdict}  {what}: {found}", flush=True)
        self.lines.append({"what": what, "verdict": verdict, "found": found, **facts})
        if not passed:
            self.failed.append(what)

    def fail(self, what: str, why: str) -> None:
        """Print a line that could not be measured."""
        self.judge(what, False, why)

    def say(self, text: str, **facts: object) -> None:
        """Print a line of information, which cannot fail."""
        print(f"      {text}", flush=True)
        self.lines.append({"what": text, "verdict": None, **facts})

    def end(self) -> None:
        """Keep the lines if that was asked; leave the program with the exit code they ask for."""
        verdict = "FAIL" if self.failed else "PASS"
        print(f"{verdict}: {self.title}")
        asked, _ = parser(None).parse_known_args()
        if asked.json is not None:
            keep(asked.json, {**self.about, "verdict": verdict, "lines": self.lines})
        sys.exit(1 if self.failed else 0)


def keep(file: Path, found: dict[str, Any]) -> None:
    """Put what a proof has found into a file, in the place of what it found before."""
    program, *words = sys.argv
    if "--json" in words:
        at = words.index("--json")
        del words[at : at + 2]
    name = [Path(program).stem, *(word for word in words if word != "--quick")]
    command = ["python", f"benchmarks/{Path(program).name}", *words]
    environment = collect({})
    where = {key: environment[key] for key in _WHERE if key in environment}
    said = {"proof": " ".join(name), "command": " ".join(command)}
    new = {**said, **found, "environment": where}
    try:
        old = json.loads(file.read_text("utf-8"))["proofs"]
    except FileNotFoundError:
        old = []
    entries = {entry["proof"]: entry for entry in [*old, new]}
    proofs = [entries[name] for name in sorted(entries)]
    text = json.dumps({"proofs": proofs}, indent=1, ensure_ascii=False, allow_nan=False)
    write_in_one_step(file, f"{text}\n".encode())


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of what every proof knows; the first line of a docstring describes it."""
    made = argparse.ArgumentParser(
        description=(description or "").partition("\n")[0],
        add_help=description is not None,
        allow_abbrev=False,
    )
    made.add_argument("--quick", action="store_true", help="fewer sessions, the same bounds")
    made.add_argument("--json", type=Path, metavar="FILE", help="also keep what is found in FILE")
    return made


def quick(description: str | None) -> bool:
    """Read the command line; return whether ``--quick`` was given."""
    return bool(parser(description).parse_args().quick)


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


@contextmanager
def served(module: str, *flags: str, cpu: int) -> Iterator[str]:
    """Start a server on a free port of the loopback, pinned to ``cpu``; yield its base URL."""
    port = free_port()
    command = ("taskset", "-c", str(cpu), *python("-m", module, *flags, "--port", str(port)))
    with subprocess.Popen(command) as process:
        try:
            _await_port(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(2_000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    sys.exit(f"FAIL  the server did not come up: {' '.join(map(str, process.args))}")


class MeasurementFailed(Exception):
    """One figure could not be taken; the message says why."""


def session(spec: SessionSpec) -> Session:
    """Run one session through a fresh worker. Raises MeasurementFailed."""
    (entry,) = Runner(lambda *_: None).run([Job(Slot(0, 0, 0), spec)])
    failure: dict[str, Any] | None = entry.header.get("failure")
    if failure is not None:
        raise MeasurementFailed(f"{failure['phase']}: {failure['text']}")
    return session_of(entry, spec.client)


def rounds(specs: Mapping[str, SessionSpec], count: int) -> Iterator[dict[str, Session]]:
    """Run every spec once per round through fresh workers; yield each round's sessions.

    The order alternates from round to round, so that neither side is always first.
    """
    for round_ in range(count):
        names = list(specs) if round_ % 2 == 0 else list(specs)[::-1]
        sessions: dict[str, Session] = {}
        for name in names:
            try:
                sessions[name] = session(specs[name])
            except MeasurementFailed as error:
                sys.exit(f"FAIL  {name}: {error}")
        yield sessions

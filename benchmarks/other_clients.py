"""The same calls as other clients report them.

Method: ``noop`` of ``servers/minimal.py`` over stdio and of ``servers/minimal_http.py`` over HTTP,
called by the raw client, the official SDK's, fastmcp's, and ``toolproof bench`` (PyPI:
mcp-toolproof, installed into a virtual environment that is thrown away). Fresh processes each
round, in turn, client on one CPU and server on another. p50 is the median over the rounds of what
each reports; setup is from the start of the server until its tools are listed, which toolproof
does not report. Its p50 comes in steps of 10 µs.

No bound on any figure: every client has to report one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from bench.spec import SessionSpec
from common import MeasurementFailed, Report, python, quick, served, session, two_cpus

STDIO, HTTP = "servers.minimal", "servers.minimal_http"
TRANSPORTS = ("stdio", "http")
PACKAGE = "mcp-toolproof"
LIMIT_S = 120


@dataclass
class Row:
    """What one client has reported over one transport, in ns; ``setup_ns`` may be unknown."""

    p50_ns: list[float] = field(default_factory=list)
    setup_ns: list[float] = field(default_factory=list)


Found = tuple[float, float | None]
"""p50 and setup of one session, in ns."""


def ours(client: str, transport: str, calls: int) -> Found:
    """Return what one session of a client inside this project reports."""
    client_cpu, server_cpu = two_cpus()
    target = ("-m", STDIO) if transport == "stdio" else ("-m", HTTP, "--port", "{port}")
    spec = SessionSpec(
        argv=python(*target),
        url=None if transport == "stdio" else "http://127.0.0.1:{port}/mcp",
        transport=transport,
        client=client,
        tool="noop",
        calls=calls,
        warmups=50,
        client_cpus=(client_cpu,),
        server_cpus=(server_cpu,),
    )
    measured = session(spec)
    if len(measured.total_ns) != calls:
        raise MeasurementFailed(f"{calls - len(measured.total_ns)} of {calls} calls failed")
    return float(np.median(measured.total_ns)), float(sum(measured.setup.values()))


def toolproof(program: Path, transport: str, calls: int) -> Found:
    """Return what one run of ``toolproof bench`` reports."""
    client_cpu, server_cpu = map(str, two_cpus())
    if transport == "stdio":
        target = ("--", "taskset", "-c", server_cpu, *python("-m", STDIO))
        return _toolproof(program, client_cpu, calls, target)
    with served(HTTP, cpu=int(server_cpu)) as base:
        return _toolproof(program, client_cpu, calls, ("--url", f"{base}/mcp"))


def _toolproof(program: Path, cpu: str, calls: int, target: tuple[str, ...]) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        options = ("--tool", "noop", "--args", "{}", "--concurrency", "1", "--calls", str(calls))
        _run("taskset", "-c", cpu, str(program), "bench", *options, "--json", str(file), *target)
        (entry,) = json.loads(file.read_text())["bench"]
    if entry["errors"]:
        raise MeasurementFailed(f"{entry['errors']} of {calls} calls failed")
    return float(entry["p50_ms"]) * 1e6, None


def install(folder: str) -> Path:
    """Install toolproof into an environment of its own; return its program."""
    _run(sys.executable, "-m", "venv", folder)
    pip = (f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, PACKAGE)
    return Path(folder) / "bin" / "toolproof"


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MeasurementFailed(str(error)) from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-300:]
        raise MeasurementFailed(f"{command[0]} ended with {done.returncode}: {said}")
    return done.stdout


def measure(
    clients: dict[str, Callable[[str, int], Found]], count: int, calls: int, report: Report
) -> dict[tuple[str, str], Row]:
    """Let every client call over every transport, round by round; one that fails is left out."""
    rows: dict[tuple[str, str], Row] = defaultdict(Row)
    pairs = [(client, transport) for transport in TRANSPORTS for client in clients]
    failed: set[tuple[str, str]] = set()
    for round_ in range(count):
        for pair in pairs[:: -1 if round_ % 2 else 1]:
            if pair in failed:
                continue
            client, transport = pair
            try:
                p50_ns, setup_ns = clients[client](transport, calls)
            except MeasurementFailed as error:
                report.fail(f"{client} over {transport}", str(error))
                failed.add(pair)
                continue
            rows[pair].p50_ns.append(p50_ns)
            if setup_ns is not None:
                rows[pair].setup_ns.append(setup_ns)
    return {pair: rows[pair] for pair in pairs if pair not in failed}


def print_table(rows: dict[tuple[str, str], Row]) -> None:
    """Print the figures as Markdown."""
    print("\n| client | transport | p50 | times the raw client | setup |")
    print("|---|---|---:|---:|---:|")
    for (client, transport), row in rows.items():
        p50_ns, raw = float(np.median(row.p50_ns)), rows.get(("raw", transport))
        times = f"{p50_ns / np.median(raw.p50_ns):.1f}" if raw else "—"
        setup = f"{np.median(row.setup_ns) / 1e6:.0f} ms" if row.setup_ns else "—"
        print(f"| {client} | {transport} | {p50_ns / 1e3:.0f} µs | {times} | {setup} |")
    print(flush=True)


def main() -> None:
    """Run the proof."""
    count, calls = (1, 300) if quick(__doc__) else (10, 1_000)
    report = Report("other clients: the same calls as each of them reports them")
    report.start(f"{count} rounds × {calls} calls each way")
    clients: dict[str, Callable[[str, int], Found]] = {
        name: partial(ours, name) for name in ("raw", "sdk", "fastmcp")
    }
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = install(folder)
            version = _run(str(program), "--version").strip()
        except MeasurementFailed as error:
            report.fail("toolproof", f"{PACKAGE} cannot be installed: {error}")
        else:
            report.say(f"toolproof: {version}")
            clients["toolproof"] = partial(toolproof, program)
        rows = measure(clients, count, calls, report)
    print_table(rows)
    for (client, transport), row in rows.items():
        reported = len(row.p50_ns)
        report.check(f"{client} over {transport} reports", reported, count, "rounds", least=True)
    report.end()


if __name__ == "__main__":
    main()

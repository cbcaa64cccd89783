"""What ``mcp-latency run`` does: flags to a suite, a run with its progress, then the report."""

from __future__ import annotations

import os
import random
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bench import suite as suites
from bench.cli import FAILED, INTERRUPTED
from bench.errors import BenchError, SuiteError
from bench.measure import Options, check_output, measure, parse_arguments, plan_of
from bench.prepare import certificates, with_tickets, without_missing
from bench.protocol.revisions import AUTO, REVISIONS
from bench.redact import redact
from bench.render import report, tables
from bench.results import Result
from bench.runner import Interrupted
from bench.show_progress import make_progress
from bench.storage import default_path
from bench.suite import Suite
from bench.suite_file import load_suite
from bench.target import checked_headers, parse_pairs, reach

TRACE_VARIABLE = "MCP_LOG_LEVEL"
DEFAULT_SUITE = "bill"
_ONLY_WITH_COMMAND = (
    "tool", "arguments", "name", "inherit_environ", "copy_env", "marks", "transport", "client",
    "headers",
)  # fmt: skip


def run(name: str | None, output: Path | None, flags: Mapping[str, Any]) -> None:
    """Run a suite and print its report; ends the program with its exit code."""
    suite = _sized(suites.only(_suite(name, flags), flags["only"]), flags)
    suite, skipped = without_missing(suite)
    for line in skipped:
        click.echo(f"mcp-latency: {line}", err=True)
    client_cpus, server_cpus = _affinity(flags["affinity"])
    seed = random.SystemRandom().randrange(2**32) if flags["seed"] is None else flags["seed"]
    if flags["dry_run"]:
        _print_plan(suite, seed)
        return
    path = output or default_path(suite.name)
    check_output(path, suite, force=flags["force"])
    suite = with_tickets(suite)
    with _trace(flags["trace"]) as trace_fd, certificates(suite) as suite:
        options = Options(seed, _command_line(suite), client_cpus, server_cpus, trace_fd)
        slots = plan_of(suite, seed)
        with make_progress(suite, len(slots), quiet=flags["quiet"]) as progress:
            try:
                result, interrupted = measure(
                    suite, options, path, progress.update, progress.finished
                )
            except Interrupted:
                click.echo("mcp-latency: interrupted before the first session", err=True)
                raise click.exceptions.Exit(INTERRUPTED) from None
    _report(result, path, interrupted=interrupted)


def _suite(name: str | None, flags: Mapping[str, Any]) -> Suite:
    if flags["command"] is None and flags["url"] is None:
        given = [
            f"--{option.replace('_', '-')}" for option in _ONLY_WITH_COMMAND if flags.get(option)
        ]
        if given or flags["variables"]:
            raise SuiteError(f"{', '.join(given) or '--env'} needs --command or --url")
        suite = load_suite(name or DEFAULT_SUITE)
        if flags["revision"]:
            if flags["revision"] not in (*REVISIONS, AUTO):
                raise SuiteError(
                    f"--revision: no revision {flags['revision']!r}; "
                    f"expected one of: {', '.join(REVISIONS)}, {AUTO}"
                )
            cells = tuple(replace(cell, revision=flags["revision"]) for cell in suite.cells)
            suite = replace(suite, cells=cells)
        return suite
    if name is not None:
        raise SuiteError(f"give either the suite {name!r} or --command or --url, not both")
    return _ad_hoc(flags)


def _ad_hoc(flags: Mapping[str, Any]) -> Suite:
    if not flags["tool"]:
        raise SuiteError("--command and --url need --tool, the name of the tool to call")
    try:
        arguments = parse_arguments(flags["arguments"]) if flags["arguments"] else {}
    except ValueError as error:
        raise SuiteError(f"--arguments: {error}") from None
    inherited = [n.strip() for n in (flags["inherit_environ"] or "").split(",") if n.strip()]
    if flags["copy_env"]:
        inherited = list(os.environ)
    target = replace(
        reach(flags["command"], flags["url"], flags["name"]),
        inherited=tuple(inherited),
        passed=parse_pairs(flags["variables"], "--env"),
        headers=checked_headers(parse_pairs(flags["headers"], "--header")),
    )
    transport = flags["transport"] or ("stdio" if flags["url"] is None else "http")
    cell = suites.make_cell(
        target,
        flags["tool"],
        arguments=arguments,
        transport=transport,
        client=flags["client"],
        revision=flags["revision"],
        wire=suites.Wire(reopen=flags["reopen"]),
    )
    cells = suites.with_unmarked_twins([cell]) if flags["marks"] else (cell,)
    return Suite(target.name, cells)


def _sized(suite: Suite, flags: Mapping[str, Any]) -> Suite:
    """Apply the flags that change how much is measured; what is given by number wins."""
    if flags["fast"] and flags["rigorous"]:
        raise SuiteError("--fast and --rigorous exclude each other")
    changes: dict[str, Any] = {}
    if flags["fast"]:
        changes = dict(zip(("sessions", "calls", "warmups"), suites.FAST, strict=True))
    elif flags["rigorous"]:
        changes = dict(zip(("sessions", "calls", "warmups"), suites.RIGOROUS, strict=True))
    for option, name in (
        ("sessions", "sessions"),
        ("calls", "calls"),
        ("warmups", "warmups"),
        ("pause", "pause_s"),
        ("timeout", "timeout_s"),
        ("close_grace", "close_grace_s"),
    ):
        if flags[option] is not None:
            changes[name] = flags[option]
    suite = replace(suite, **changes, strict=flags["strict"], probe_version=flags["probe_version"])
    if flags["no_marks"]:
        suite = suites.without_marks(suite)
    return suites.checked(suite, "options")


def _affinity(text: str | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if text is None:
        return (), ()
    if not hasattr(os, "sched_setaffinity"):
        raise SuiteError("--affinity: this system cannot pin processes to CPUs")
    client, colon, server = text.partition(":")
    return _cpus(client), _cpus(server if colon else client)


def _cpus(text: str) -> tuple[int, ...]:
    available = os.sched_getaffinity(0)
    cpus: set[int] = set()
    for part in text.split(","):
        numbers = part.split("-")
        if len(numbers) > 2 or not all(re.fullmatch(r"[0-9]{1,6}", number) for number in numbers):
            raise SuiteError(f"--affinity: {part!r} is no CPU; expected a list like 0,2 or 0-1")
        first, last = int(numbers[0]), int(numbers[-1])
        if first > last:
            raise SuiteError(f"--affinity: {part!r} runs backwards; expected {last}-{first}")
        cpus.update(range(first, last + 1))
    if missing := sorted(cpus - available):
        there = ", ".join(map(str, sorted(available)))
        raise SuiteError(f"--affinity: no CPU {missing[0]} here; expected some of {there}")
    return tuple(sorted(cpus))


@contextmanager
def _trace(path: Path | None) -> Iterator[int | None]:
    """Open where the wire is to be written: a file, stderr if the environment says so, or none."""
    if path is None:
        if os.environ.get(TRACE_VARIABLE, "").lower() != "debug":
            yield None
            return
        # A copy: descriptor 2 of a worker is the server's stderr, which is not shown.
        fd = os.dup(sys.stderr.fileno())
        try:
            yield fd
        finally:
            os.close(fd)
        return
    try:
        file = path.open("wb", buffering=0)
    except OSError as error:
        raise BenchError(f"--trace: {path}: cannot be written: {error.strerror}") from None
    with file:
        yield file.fileno()


def _command_line(suite: Suite) -> str:
    secrets = [secret for cell in suite.cells for secret in cell.target.secrets]
    # Word by word first: quoting changes how a secret reads.
    words = [redact(word, secrets) for word in sys.argv[1:]]
    return redact(shlex.join(["mcp-latency", *words]))


def _print_plan(suite: Suite, seed: int) -> None:
    click.echo(
        f"suite {suite.name}, seed {seed}: {len(suite.cells)} cells × {suite.sessions} sessions"
    )
    for slot in plan_of(suite, seed):
        click.echo(f"{slot.position + 1:4d}  round {slot.round:3d}  {suite.cells[slot.cell].name}")


def _report(result: Result, path: Path, *, interrupted: bool) -> None:
    if any(cell.sessions for cell in result.cells):
        report.print_report(result, tables.all_tables(result))
        click.echo(f"result: {path}")
    for line in _failures(result):
        click.echo(line, err=True)
    if interrupted:
        kept = (
            f"finished sessions are kept in {path}"
            if any(cell.sessions for cell in result.cells)
            else "no session was finished, so there is no result file"
        )
        click.echo(f"mcp-latency: interrupted; {kept}", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
    empty = [cell.name for cell in result.cells if not cell.n_calls]
    for name in empty:
        click.echo(f"mcp-latency: {name}: no call succeeded, so there are no statistics", err=True)
    if empty or result.failures:
        raise click.exceptions.Exit(FAILED)


def _failures(result: Result) -> list[str]:
    """Return one line for each way in which sessions of a cell failed, with its rounds."""
    rounds: dict[tuple[str, str, str], list[int]] = {}
    for name, failure in result.failures:
        rounds.setdefault((name, failure.phase, failure.text), []).append(failure.round)
    return [
        f"failed: {name}, round {', '.join(map(str, numbers))}, {phase}: {text}"
        for (name, phase, text), numbers in rounds.items()
    ]

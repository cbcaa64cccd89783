"""What ``mcp-latency run`` does: flags to a suite, a run with its progress, then the report."""

from __future__ import annotations

import os
import random
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from bench import noise_floor
from bench.adaptive import Goal
from bench.cli import FAILED, INTERRUPTED
from bench.compare_command import print_text
from bench.comparison import compare_two_targets
from bench.errors import BenchError
from bench.measure import Options, check_output, measure, plan_of
from bench.prepare import certificates, with_tickets, without_missing
from bench.redact import redact_words
from bench.render import report, tables
from bench.render.course import goal_in_words
from bench.render.units import counted, share
from bench.results import Result
from bench.run_flags import cpus_of, goal_of, suite_of
from bench.runner import Interrupted
from bench.show_progress import make_progress
from bench.storage import default_path
from bench.suite import AA, SUITE, Suite

TRACE_VARIABLE = "MCP_LOG_LEVEL"


def run(name: str | None, output: Path | None, flags: Mapping[str, Any]) -> None:
    """Run a suite and print its report; ends the program with its exit code."""
    suite = suite_of(name, flags)
    goal = goal_of(flags, suite)
    suite, skipped = without_missing(suite)
    for line in skipped:
        click.echo(f"mcp-latency: {line}", err=True)
    client_cpus, server_cpus = cpus_of(flags["affinity"])
    seed = random.SystemRandom().randrange(2**32) if flags["seed"] is None else flags["seed"]
    if flags["dry_run"]:
        _print_plan(suite, seed, goal)
        return
    path = output or default_path(suite.name)
    check_output(path, suite, force=flags["force"])
    suite = with_tickets(suite)
    with _trace(flags["trace"]) as trace_fd, certificates(suite) as suite:
        command = _command_line(suite)
        options = Options(seed, command, goal, client_cpus, server_cpus, trace_fd)
        slots = len(plan_of(suite, seed)) if goal is None else None
        with make_progress(suite, slots, quiet=flags["quiet"]) as progress:
            try:
                result, interrupted = measure(
                    suite, options, path, progress.update, progress.finished, progress.looked
                )
            except Interrupted:
                click.echo("mcp-latency: interrupted before the first session", err=True)
                raise click.exceptions.Exit(INTERRUPTED) from None
    _report(result, path, interrupted=interrupted)


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
    words = redact_words(sys.argv[1:], secrets, pairs=("--env", "--header"))
    return shlex.join(["mcp-latency", *words])


def _print_plan(suite: Suite, seed: int, goal: Goal | None) -> None:
    sessions = counted(suite.sessions, "session") if goal is None else goal_in_words(goal)
    cells = counted(len(suite.cells), "cell")
    click.echo(f"suite {suite.name}, seed {seed}: {cells} × {sessions}")
    for slot in plan_of(suite, seed):
        click.echo(f"{slot.position + 1:4d}  round {slot.round:3d}  {suite.cells[slot.cell].name}")
    if goal is not None:
        click.echo("and further rounds like these")


def _report(result: Result, path: Path, *, interrupted: bool) -> None:
    if any(cell.sessions for cell in result.cells):
        report.print_report(result, tables.all_tables(result))
        click.echo(f"result: {path}")
    if result.run["design"] != SUITE and all(cell.n_calls for cell in result.cells):
        floors = [] if result.run["design"] == AA else noise_floor.lines([result])
        found = compare_two_targets(result)
        print_text([] if found is None else [found], floors)
    for line in report.failures(result):
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
    if result.run["design"] == AA:
        _keep_noise_floor(result)


def _keep_noise_floor(result: Result) -> None:
    floor = noise_floor.measured_in(result)
    if floor is None:
        click.echo("noise floor: not kept; it takes two sessions or more, interleaved", err=True)
        return
    path = noise_floor.remember(floor, result.environment)
    for name, difference in floor.figures.items():
        width = f"±{share(difference.half_width)}"
        click.echo(f"noise floor: {name} differs by {share(difference.share)} ({width})")
    click.echo(f"noise floor: kept in {path}")

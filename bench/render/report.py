"""A result on the terminal: tables, what was noticed, and where the figures come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench import checks
from bench.checks import Finding
from bench.render import formats
from bench.render.course import amount_of, course
from bench.render.tables import Table
from bench.render.units import counted, duration
from bench.results import Result

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_OF_A_FILE = 400
_CELLS_NAMED = 4


def make_console() -> Console:
    """Return the terminal, or a page wide enough for any table where stdout goes elsewhere."""
    from rich.console import Console

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = PipedConsole(highlight=False)
    return console if console.is_terminal else PipedConsole(highlight=False, width=_WIDTH_OF_A_FILE)


def print_report(result: Result, tables: Sequence[Table]) -> None:
    """Print tables, findings and provenance on stdout."""
    console = make_console()
    formats.print_tables(console, tables)
    for line in (*findings(result), *provenance(result)):
        console.print(line, markup=False, soft_wrap=True)


def findings(result: Result) -> list[str]:
    """Return what was noticed: a line per cell and notice, one per check that failed, the course.

    Notices say in how many sessions.
    """
    lines = []
    for cell in result.cells:
        counts: dict[str, int] = {}
        for session in cell.sessions:
            for notice in session.notices:
                counts[notice] = counts.get(notice, 0) + 1
        total = len(cell.sessions)
        lines += [
            f"note: {cell.name}: {text} (in {count} of {counted(total, 'session')})"
            for text, count in counts.items()
        ]
    return [*lines, *_check_lines(result), *course(result)]


def _check_lines(result: Result) -> list[str]:
    """Return what the checks found, one line per check: its worst cell, and where else."""
    groups: dict[str, list[Finding]] = {}
    for finding in checks.findings(result):
        groups.setdefault(finding.code, []).append(finding)
    lines = []
    for found in groups.values():
        worst = max(found, key=lambda finding: next(iter(finding.facts.values())))
        others = [finding.cell for finding in found if finding is not worst]
        lines.append(f"check: {worst.cell}: {worst.sentence}{_likewise(others)}")
    return lines


def _likewise(cells: Sequence[str]) -> str:
    if not cells:
        return ""
    named, rest = ", ".join(cells[:_CELLS_NAMED]), len(cells) - _CELLS_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return f" (the worst of {len(cells) + 1} cells; also {named}{more})"


def failures(result: Result) -> list[str]:
    """Return one line for each way in which sessions of a cell failed, with its rounds."""
    rounds: dict[tuple[str, str, str], list[int]] = {}
    for name, failure in result.failures:
        rounds.setdefault((name, failure.phase, failure.text), []).append(failure.round)
    return [
        f"failed: {name}, round {', '.join(map(str, numbers))}, {phase}: {text}"
        for (name, phase, text), numbers in rounds.items()
    ]


def provenance(result: Result) -> list[str]:
    """Return where the figures come from: machine, versions, amount, overheads, order."""
    env, run = result.environment, result.run
    overheads = {
        "clock read": "overhead_clock_read_ns",
        "empty timed region": "overhead_empty_region_ns",
        "spawn of a no-op": "overhead_spawn_noop_ns",
        "Python without imports": "overhead_run_python_ns",
    }
    costs = [
        f"{text} {duration(ns)}"
        for text, key in overheads.items()
        if isinstance(ns := env.get(key), int | float)
    ]
    pause = f", a pause of {run['pause_s']:g} s between calls" if run.get("pause_s") else ""
    finished = sum(len(cell.sessions) for cell in result.cells)
    return [
        f"host {env.get('hostname', '?')}, {env.get('cpu_model_name', 'unknown CPU')} × "
        f"{env.get('cpu_count', '?')}, {env.get('platform', '?')}",
        f"mcp-latency {env.get('harness_version', '?')}, Python {env.get('python_version', '?')}, "
        f"mcp {env.get('mcp_version', '?')}",
        f"{run.get('created', '?')}, suite {run.get('suite', '?')}, "
        f"{amount_of(result, 'sessions')} × {amount_of(result, 'calls')} "
        f"({amount_of(result, 'warmups')}) per cell{pause}, "
        f"{counted(finished, 'session')} finished, seed {run.get('seed')}",
        f"harness: {', '.join(costs)}",
    ]


def markdown_provenance(result: Result) -> str:
    """Return findings and provenance as Markdown list items."""
    return "\n" + "".join(f"- {line}\n" for line in (*findings(result), *provenance(result)))


def as_fields(result: Result) -> dict[str, Any]:
    """Return what stands beside the tables in JSON."""
    return {
        "run": dict(result.run),
        "environment": dict(result.environment),
        "cells": [
            {
                "name": cell.name,
                **cell.fields,
                "sessions": len(cell.sessions),
                "outcomes": cell.outcomes,
                "failures": [
                    {"round": f.round, "phase": f.phase, "cause": f.cause, "text": f.text}
                    for f in cell.failures
                ],
            }
            for cell in result.cells
        ],
        "notices": findings(result),
        "checks": [asdict(finding) for finding in checks.findings(result)],
    }

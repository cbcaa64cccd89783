"""How ``show`` and ``compare`` end: gates, exports and the exit code, in that order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from bench import exports, gate_syntax
from bench.cli import FAILED, GATE_FAILED, NOT_COMPARABLE, reader_may_leave
from bench.errors import BenchError
from bench.exports import Export
from bench.exports.contents import Contents
from bench.gate_syntax import Gate
from bench.gates import Outcome, State
from bench.render.gate_lines import line

_CODES = {
    State.ERROR: FAILED,
    State.FAIL: GATE_FAILED,
    State.NOT_COMPARABLE: NOT_COMPARABLE,
}
"""The most serious first: it decides the exit code."""
_FOR_PROGRAMS = ("json", "csv")


@dataclass(frozen=True)
class Asked:
    """What the command line asks for beside the tables."""

    gates: Sequence[Gate]
    strict: bool
    exports: Sequence[Export]
    format: str

    @property
    def shown(self) -> bool:
        """Whether the report goes to standard output: not where an export goes there."""
        return not any(export.to_stdout for export in self.exports)


def read(options: Mapping[str, Any], files: Iterable[Path], *, relative: bool) -> Asked:
    """Read gates and exports before any file is. Raises BenchError."""
    gates = [gate_syntax.parse(text, relative=relative) for text in options["fail_if"]]
    if options["strict"] and not gates:
        raise BenchError("--strict: needs --fail-if, whose outcome it decides")
    wanted = exports.parse(options["export"], files)
    return Asked(gates, options["strict"], wanted, options["format_"])


def conclude(
    asked: Asked, contents: Contents, print_tables: Callable[[], None], *, otherwise: int = 0
) -> NoReturn:
    """Print tables and the outcomes of gates, write exports, end with the code of the gates.

    Without gates the code is ``otherwise``. Where standard output is for a program, outcomes go to
    standard error. A reader who leaves early changes neither exports nor code.
    """
    aside = not asked.shown or asked.format in _FOR_PROGRAMS
    with reader_may_leave():
        if asked.shown:
            print_tables()
        for outcome in contents.outcomes:
            click.echo(line(outcome), err=aside)
        sys.stdout.flush()
    for export in asked.exports:
        with reader_may_leave():
            export.write(contents)
    raise click.exceptions.Exit(exit_code(contents.outcomes) if asked.gates else otherwise)


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """Return 2 where a figure cannot be told, else 1 where a gate failed, else 3, else 0."""
    states = {outcome.state for outcome in outcomes}
    return next((code for state, code in _CODES.items() if state in states), 0)

"""What to measure: a suite file or flags, turned into cells. Every default stands here.

A suite file is TOML: ``sessions``, ``calls``, ``warmups`` and a list of ``[[cell]]`` tables. A
list as the value of ``server``, ``tool``, ``payload_bytes`` or ``revision`` stands for one cell
each.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench.errors import SuiteError
from bench.protocol.revisions import DEFAULT_REVISION, REVISIONS
from bench.spec import DEFAULT_CLOSE_GRACE_S, DEFAULT_TIMEOUT_S, SessionSpec
from bench.target import Target, command, shipped

T = TypeVar("T")

DEFAULT_SESSIONS, DEFAULT_CALLS, DEFAULT_WARMUPS = 10, 200, 20
FAST = (3, 100, 10)
"""Sessions, calls and warm-ups of ``--fast``."""
RIGOROUS = (30, 500, 50)
"""The same of ``--rigorous``."""
TICKET_TOOLS = frozenset({"search_tickets", "get_ticket"})

PIPE_SERVER = "floor"
PIPE_PAYLOAD_BYTES = 96
"""About the size of an empty call, so that the rungs of the ladder move like amounts of bytes."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_tickets": {"query": "refund", "status": "open", "limit": 10},
    "get_ticket": {"id": 1},
    "sleep": {"duration_ms": 10},
    "spin": {"duration_ms": 1},
}
"""Arguments of the shipped tools where a suite gives none."""


@dataclass(frozen=True)
class Cell:
    """One combination to measure; the unit of a suite. ``arguments`` is JSON text."""

    target: Target
    transport: str
    revision: str
    client: str
    handler: str
    arguments: str = "{}"
    payload_bytes: int | None = None
    marks: bool = False

    @property
    def name(self) -> str:
        """``TRANSPORT/SERVER/HANDLER``, then whatever differs from the defaults."""
        parts = [self.transport, self.target.name, self.handler]
        if self.payload_bytes is not None and self.transport != "pipe":
            parts.append(f"{self.payload_bytes}B")
        if self.revision != DEFAULT_REVISION and self.transport != "pipe":
            parts.append(self.revision)
        if self.transport != "pipe" and not self.marks:
            parts.append("no-marks")
        return "/".join(parts)


@dataclass(frozen=True)
class Suite:
    """Cells, and how often each is measured."""

    name: str
    cells: tuple[Cell, ...]
    sessions: int = DEFAULT_SESSIONS
    calls: int = DEFAULT_CALLS
    warmups: int = DEFAULT_WARMUPS
    timeout_s: float = DEFAULT_TIMEOUT_S
    close_grace_s: float = DEFAULT_CLOSE_GRACE_S
    strict: bool = False
    description: str = ""

    def spec(self, cell: Cell) -> SessionSpec:
        """Return what a worker is told to do for one session of ``cell``."""
        return SessionSpec(
            argv=cell.target.argv,
            tool=cell.handler,
            transport=cell.transport,
            client=cell.client,
            revision=cell.revision,
            arguments=_arguments(cell),
            env=cell.target.environment(),
            cwd=cell.target.cwd,
            calls=self.calls,
            warmups=self.warmups,
            marks=cell.marks,
            strict=self.strict,
            timeout_s=self.timeout_s,
            close_grace_s=self.close_grace_s,
        )


class CellTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A ``[[cell]]`` table of a suite file."""

    server: str | list[str] | None = None
    command: str | None = None
    name: str | None = None
    tool: str | list[str] = "noop"
    arguments: dict[str, Any] | None = None
    payload_bytes: int | list[int] | None = None
    revision: str | list[str] = DEFAULT_REVISION
    marks: bool = True
    env: dict[str, str] = {}
    inherit_environ: list[str] = []
    cwd: str | None = None


class SuiteTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A suite file."""

    cell: list[CellTable]
    description: str = ""
    sessions: int = DEFAULT_SESSIONS
    calls: int = DEFAULT_CALLS
    warmups: int = DEFAULT_WARMUPS
    timeout_s: float = DEFAULT_TIMEOUT_S
    close_grace_s: float = DEFAULT_CLOSE_GRACE_S


def shipped_suites() -> list[str]:
    """Return the names of the suites that come with the project."""
    folder = resources.files("bench.suites")
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def load_suite(name: str) -> Suite:
    """Return a shipped suite by its name, or one from a TOML file.

    Raises SuiteError with the file, the line or key, and what was expected.
    """
    if name in shipped_suites():
        text = (resources.files("bench.suites") / f"{name}.toml").read_text("utf-8")
        return parse_suite(text, f"{name}.toml", name)
    path = Path(name)
    if path.suffix != ".toml":
        raise SuiteError(
            f"no suite {name!r}; expected one of: {', '.join(shipped_suites())}, "
            "or the path of a .toml file"
        )
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SuiteError(f"{name}: cannot be read: {reason}") from None
    return parse_suite(text, name, path.stem)


def parse_suite(text: str, file: str, name: str) -> Suite:
    """Return the suite that a TOML text describes."""
    try:
        table = msgspec.convert(tomllib.loads(text), SuiteTable)
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"{file}: not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise SuiteError(f"{file}: {error}") from None
    cells: list[Cell] = []
    for number, cell in enumerate(table.cell, start=1):
        try:
            cells += _expand(cell)
        except SuiteError as error:
            raise SuiteError(f"{file}: cell {number}: {error}") from None
    suite = Suite(
        name=name,
        cells=with_unmarked_twins(cells),
        sessions=table.sessions,
        calls=table.calls,
        warmups=table.warmups,
        timeout_s=table.timeout_s,
        close_grace_s=table.close_grace_s,
        description=table.description,
    )
    return checked(suite, file)


def checked(suite: Suite, where: str) -> Suite:
    """Return the suite if it can be run; raise SuiteError naming what cannot."""
    if not suite.cells:
        raise SuiteError(f"{where}: no cells; expected at least one")
    for name, value, least in (
        ("sessions", suite.sessions, 1),
        ("calls", suite.calls, 1),
        ("warmups", suite.warmups, 0),
    ):
        if value < least:
            raise SuiteError(f"{where}: {name} is {value}; expected {least} or more")
    for name, limit_s in (("timeout_s", suite.timeout_s), ("close_grace_s", suite.close_grace_s)):
        if not 0.001 <= limit_s <= 86_400:
            raise SuiteError(f"{where}: {name} is {limit_s}; expected 0.001 to 86400 seconds")
    labels: dict[str, str] = {}
    for cell in suite.cells:
        if labels.setdefault(cell.target.name, cell.target.label) != cell.target.label:
            raise SuiteError(
                f"{where}: two different commands are called {cell.target.name!r}; "
                "give one of them another name"
            )
    names = [cell.name for cell in suite.cells]
    for name in names:
        if names.count(name) > 1:
            raise SuiteError(
                f"{where}: two cells are called {name!r}; give one of them another name"
            )
    return suite


def make_cell(
    target: Target,
    tool: str,
    *,
    arguments: dict[str, Any] | None = None,
    payload_bytes: int | None = None,
    revision: str = DEFAULT_REVISION,
    marks: bool = True,
) -> Cell:
    """Return a cell, checked, with the defaults filled in."""
    if revision not in REVISIONS:
        raise SuiteError(f"no revision {revision!r}; expected one of: {', '.join(REVISIONS)}")
    if payload_bytes is not None and payload_bytes < 1:
        raise SuiteError(f"payload_bytes is {payload_bytes}; expected 1 or more")
    pipe = target.label == f"serve {PIPE_SERVER}"
    if pipe:
        tool, marks = "echo", False
        payload_bytes = payload_bytes or PIPE_PAYLOAD_BYTES
    elif tool == "echo" and payload_bytes is None and not arguments:
        payload_bytes = PIPE_PAYLOAD_BYTES
    given = ARGUMENTS.get(tool, {}) if arguments is None else arguments
    return Cell(
        target=target,
        transport="pipe" if pipe else "stdio",
        revision=revision,
        client="raw",
        handler=tool,
        arguments=_json(given),
        payload_bytes=payload_bytes,
        marks=marks,
    )


def with_unmarked_twins(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Add, for the first marked cell of each server and revision, the same cell without marks.

    The two run interleaved in every round: their difference is the cost of marking.
    """
    result: list[Cell] = []
    seen: set[tuple[str, str]] = set()
    for cell in cells:
        result.append(cell)
        key = (cell.target.name, cell.revision)
        if cell.marks and key not in seen:
            seen.add(key)
            result.append(replace(cell, marks=False))
    return tuple(result)


def without_marks(suite: Suite) -> Suite:
    """Return the suite with no server writing marks."""
    plain = [replace(cell, marks=False) for cell in suite.cells]
    return replace(suite, cells=tuple({cell.name: cell for cell in plain}.values()))


def _expand(table: CellTable) -> list[Cell]:
    given: list[int] = _list(table.payload_bytes)
    payloads: Sequence[int | None] = given or [None]
    combinations = itertools.product(
        _targets(table),
        _list(table.tool),
        payloads,
        _list(table.revision),
    )
    return [
        make_cell(
            target,
            tool,
            arguments=table.arguments,
            payload_bytes=payload_bytes,
            revision=revision,
            marks=table.marks,
        )
        for target, tool, payload_bytes, revision in combinations
    ]


def _json(arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SuiteError(f"arguments have no form in JSON: {error}") from None


def _targets(table: CellTable) -> list[Target]:
    if (table.server is None) == (table.command is None):
        raise SuiteError("expected either server (a shipped one) or command, not both")
    if table.command is not None:
        targets = [command(table.command, table.name)]
    else:
        targets = [shipped(name) for name in _list(table.server)]
        if table.name is not None:
            if len(targets) > 1:
                raise SuiteError("name is for one server; expected one, or no name")
            targets = [replace(targets[0], name=table.name)]
    return [
        replace(
            target,
            passed=dict(table.env),
            inherited=tuple(table.inherit_environ),
            cwd=table.cwd,
        )
        for target in targets
    ]


def _list(value: T | list[T] | None) -> list[T]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _arguments(cell: Cell) -> dict[str, Any]:
    arguments: dict[str, Any] = json.loads(cell.arguments)
    if cell.payload_bytes is not None:
        arguments["payload"] = "x" * cell.payload_bytes
    return arguments

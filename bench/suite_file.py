"""Suite files: TOML to cells, with errors that name file, line or key.

``sessions``, ``calls``, ``warmups`` and a list of ``[[cell]]`` tables. A list as a value stands for
one cell each.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench.errors import SuiteError
from bench.spec import DEFAULT_CLOSE_GRACE_S, DEFAULT_TIMEOUT_S
from bench.suite import (
    DEFAULT_CALLS,
    DEFAULT_SESSIONS,
    DEFAULT_WARMUPS,
    Cell,
    Suite,
    Wire,
    checked,
    make_cell,
    own_client,
    with_unmarked_twins,
)
from bench.target import Place, Target, checked_headers, in_process, reach, shipped

T = TypeVar("T")

DEFAULT_SERVERS = {
    "stdio": "minimal",
    "pipe": "floor",
    "http": "minimal",
    "rest": "minimal",
    "sse": "sdk",
    "grpc": "grpcio",
    "lsp": "pygls",
}
"""The shipped server of a transport where a cell names none."""
IN_PROCESS = {"inproc": "handler", "memory": "sdk"}


class CellTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A ``[[cell]]`` table of a suite file."""

    transport: str | list[str] | None = None
    server: str | list[str] | None = None
    command: str | None = None
    url: str | None = None
    name: str | None = None
    client: str | list[str] | None = None
    tool: str | list[str] = "noop"
    arguments: dict[str, Any] | None = None
    payload_bytes: int | list[int] | None = None
    revision: str | list[str] | None = None
    answers: str | list[str] = "json"
    state: str | list[str] = "stateful"
    reopen: str | list[str] = "nothing"
    socket: str | list[str] = "tcp"
    tls: bool | list[bool] = False
    marks: bool = True
    capabilities: list[str] = []
    answer_input: bool = False
    headers: dict[str, str] = {}
    env: dict[str, str] = {}
    inherit_environ: list[str] = []
    cwd: str | None = None


class SuiteTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A suite file. ``marking_cost``: whether marked servers also run without marks."""

    cell: list[CellTable]
    description: str = ""
    marking_cost: bool = True
    sessions: int = DEFAULT_SESSIONS
    calls: int = DEFAULT_CALLS
    warmups: int = DEFAULT_WARMUPS
    pause_s: float = 0.0
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
        cells=with_unmarked_twins(cells) if table.marking_cost else tuple(cells),
        sessions=table.sessions,
        calls=table.calls,
        warmups=table.warmups,
        pause_s=table.pause_s,
        timeout_s=table.timeout_s,
        close_grace_s=table.close_grace_s,
        description=table.description,
    )
    return checked(suite, file)


def _expand(table: CellTable) -> Iterator[Cell]:
    combinations = itertools.product(
        _list(table.transport) or [_transport(table)],
        _choices(table.client),
        _choices(table.server),
        _list(table.tool),
        _choices(table.payload_bytes),
        _choices(table.revision),
        _wires(table),
    )
    for transport, client, server, tool, payload_bytes, revision, wire in combinations:
        target = replace(
            _target(table, transport, server, wire),
            passed=dict(table.env),
            inherited=tuple(table.inherit_environ),
            headers=checked_headers(table.headers),
            cwd=table.cwd,
        )
        yield make_cell(
            target,
            tool,
            transport=transport,
            client=client or own_client(transport),
            arguments=table.arguments,
            payload_bytes=payload_bytes,
            revision=revision,
            marks=table.marks,
            wire=wire,
            capabilities=table.capabilities,
            answer_input=table.answer_input,
        )


def _transport(table: CellTable) -> str:
    if table.url is not None:
        return "http"
    return "pipe" if table.server == "floor" else "stdio"


def _wires(table: CellTable) -> list[Wire]:
    for key, value, known in (
        ("answers", table.answers, ("json", "sse")),
        ("state", table.state, ("stateful", "stateless")),
        ("socket", table.socket, ("tcp", "unix")),
    ):
        for one in _list(value):
            if one not in known:
                raise SuiteError(f"{key} is {one!r}; expected one of: {', '.join(known)}")
    return [
        Wire(*values)
        for values in itertools.product(
            _list(table.answers),
            _list(table.state),
            _list(table.reopen),
            _list(table.socket),
            _list(table.tls),
        )
    ]


def _target(table: CellTable, transport: str, server: str | None, wire: Wire) -> Target:
    if table.command is not None or table.url is not None:
        if server is not None:
            raise SuiteError("expected either server (a shipped one), or command and url")
        return reach(table.command, table.url, table.name, unix=wire.socket == "unix")
    if transport in IN_PROCESS:
        return in_process(server or IN_PROCESS[transport])
    if server is None and table.transport is None:
        raise SuiteError("expected server (a shipped one), command, url or transport")
    name = server or DEFAULT_SERVERS.get(transport)
    if name is None:
        raise SuiteError(f"no transport {transport!r}")
    place = Place(wire.answers, wire.state == "stateless", wire.socket == "unix", wire.tls)
    target = shipped(name, (), transport, place)
    if table.name is None:
        return target
    if len(_list(table.server)) > 1:
        raise SuiteError("name is for one server; expected one, or no name")
    return replace(target, name=table.name)


def _list(value: T | list[T] | None) -> list[T]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _choices(value: Any) -> list[Any]:
    """Return the values of a key, or one None where it is not given."""
    return [*_list(value)] or [None]

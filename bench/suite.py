"""What to measure: cells, and how often each. Every default stands here.

``suite_file.py`` reads them from TOML; ``run_command.py`` makes them from flags.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from bench.arms import ARMS
from bench.errors import SuiteError
from bench.plan import INTERLEAVED
from bench.protocol.revisions import AUTO, DEFAULT_REVISION, REVISIONS, Era, era
from bench.spec import (
    DEFAULT_CLOSE_GRACE_S,
    DEFAULT_TIMEOUT_S,
    LISTENING,
    MCP_TRANSPORTS,
    SessionSpec,
)
from bench.target import IN_PROCESS_LABEL, Target

DEFAULT_SESSIONS, DEFAULT_CALLS, DEFAULT_WARMUPS = 10, 200, 20
FAST = (3, 100, 10)
"""Sessions, calls and warm-ups of ``--fast``."""
RIGOROUS = (30, 500, 50)
"""The same of ``--rigorous``."""
TICKET_TOOLS = frozenset({"search_tickets", "get_ticket"})

PIPE_PAYLOAD_BYTES = 96
"""About the size of an empty call, so that the rungs of the ladder move like amounts of bytes."""
OWN_CLIENTS = {"inproc": "direct", "memory": "sdk"}
"""The client of a transport that the raw client cannot use; ``raw`` elsewhere."""
LIBRARY_REVISIONS = frozenset({DEFAULT_REVISION, "2026-07-28", AUTO})
"""What client libraries can be told to offer."""
REOPEN = ("nothing", "connection", "session")
SUITE, AB, AA = "suite", "ab", "aa"
"""What a run is for; see :class:`Suite`."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_tickets": {"query": "refund", "status": "open", "limit": 10},
    "get_ticket": {"id": 1},
    "sleep": {"duration_ms": 10},
    "spin": {"duration_ms": 1},
}
"""Arguments of the shipped tools where a suite gives none."""


@dataclass(frozen=True)
class Wire:
    """How an HTTP cell uses the wire. The defaults are not part of a cell's name.

    ``answers``: ``json`` or ``sse``; ``state``: ``stateful`` or ``stateless`` sessions of the
    server; ``reopen``: what each call opens anew; ``socket``: ``tcp`` or ``unix``.
    """

    answers: str = "json"
    state: str = "stateful"
    reopen: str = "nothing"
    socket: str = "tcp"
    tls: bool = False

    @property
    def words(self) -> list[str]:
        """What differs from the defaults, as parts of a name."""
        differing = (
            ("event-stream", self.answers == "sse"),
            ("stateless", self.state == "stateless"),
            (f"new-{self.reopen}", self.reopen != "nothing"),
            ("unix", self.socket == "unix"),
            ("tls", self.tls),
        )
        return [word for word, differs in differing if differs]


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
    wire: Wire = field(default_factory=Wire)
    capabilities: tuple[str, ...] = ()
    answer_input: bool = False

    @property
    def name(self) -> str:
        """``TRANSPORT/SERVER/HANDLER``, then whatever differs from the defaults."""
        parts = [self.transport, self.target.name, self.handler]
        if self.payload_bytes is not None and self.transport != "pipe":
            parts.append(f"{self.payload_bytes}B")
        if self.revision != default_revision(self.transport) and self.speaks_mcp:
            parts.append(self.revision)
        parts += self.wire.words
        if self.client != own_client(self.transport):
            parts.append(f"{self.client}-client")
        if self.target.marks and not self.marks and self.markable:
            parts.append("no-marks")
        return "/".join(parts)

    @property
    def speaks_mcp(self) -> bool:
        """Whether the transport carries the protocol."""
        return self.transport in MCP_TRANSPORTS

    @property
    def markable(self) -> bool:
        """Whether there is a server process that could write marks."""
        return self.transport not in ("pipe", "inproc", "memory")

    def fields(self) -> dict[str, int | str | None]:
        """Return what results call this cell, flat; absent is None."""
        listens = self.transport in ("http", "sse")
        return {
            "transport": self.transport,
            "server": self.target.name,
            "command": self.target.label,
            "revision": self.revision if self.speaks_mcp else None,
            "mode": self.mode,
            "client": self.client,
            "handler": self.handler,
            "payload_bytes": self.payload_bytes,
            "answers": self.wire.answers if self.transport == "http" else None,
            "state": self.wire.state if self.transport == "http" else None,
            "reopen": self.wire.reopen if listens else None,
            "socket": self.wire.socket if listens else None,
            "tls": ("on" if self.wire.tls else "off") if listens else None,
            "marks": "on" if self.marks else "off",
        }

    @property
    def mode(self) -> str | None:
        """How the revision comes about: pinned, or found out first."""
        if not self.speaks_mcp:
            return None
        return "auto" if self.revision == AUTO else "pinned"


@dataclass(frozen=True)
class Suite:
    """Cells, and how often each is measured.

    ``order`` is one of :data:`~bench.plan.ORDERS`. ``design`` says what the cells are for: a
    ``suite``, two targets to be compared (``ab``), or one target under two names (``aa``);
    ``names`` are then the names of the two.
    """

    name: str
    cells: tuple[Cell, ...]
    sessions: int = DEFAULT_SESSIONS
    calls: int = DEFAULT_CALLS
    warmups: int = DEFAULT_WARMUPS
    pause_s: float = 0.0
    timeout_s: float = DEFAULT_TIMEOUT_S
    close_grace_s: float = DEFAULT_CLOSE_GRACE_S
    strict: bool = False
    probe_version: bool = False
    description: str = ""
    order: str = INTERLEAVED
    design: str = SUITE
    names: tuple[str, ...] = ()

    def spec(self, cell: Cell) -> SessionSpec:
        """Return what a worker is told to do for one session of ``cell``."""
        return SessionSpec(
            argv=cell.target.argv,
            tool=cell.handler,
            url=cell.target.url,
            unix=cell.target.unix,
            headers=dict(cell.target.headers),
            ca_file=cell.target.ca_file,
            reopen=cell.wire.reopen,
            capabilities=cell.capabilities,
            answer_input=cell.answer_input,
            transport=cell.transport,
            client=cell.client,
            revision=cell.revision,
            arguments=_arguments(cell),
            env=cell.target.environment(),
            cwd=cell.target.cwd,
            calls=self.calls,
            warmups=self.warmups,
            pause_s=self.pause_s,
            marks=cell.marks,
            strict=self.strict,
            probe_version=self.probe_version,
            timeout_s=self.timeout_s,
            close_grace_s=self.close_grace_s,
        )


def own_client(transport: str) -> str:
    """Return the client that a transport has unless told otherwise."""
    return OWN_CLIENTS.get(transport, "raw")


def default_revision(transport: str) -> str:
    """Return the revision that a transport has unless told otherwise."""
    return "2024-11-05" if transport == "sse" else DEFAULT_REVISION


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
    for name, span_s, least_s in (
        ("timeout_s", suite.timeout_s, 0.001),
        ("close_grace_s", suite.close_grace_s, 0.001),
        ("pause_s", suite.pause_s, 0),
    ):
        if not least_s <= span_s <= 86_400:
            raise SuiteError(f"{where}: {name} is {span_s}; expected {least_s} to 86400 seconds")
    _refuse_ambiguous_names(suite, where)
    return suite


def make_cell(
    target: Target,
    tool: str,
    *,
    transport: str = "stdio",
    client: str | None = None,
    arguments: dict[str, Any] | None = None,
    payload_bytes: int | None = None,
    revision: str | None = None,
    marks: bool = True,
    wire: Wire | None = None,
    capabilities: Iterable[str] = (),
    answer_input: bool = False,
) -> Cell:
    """Return a cell, checked, with the defaults filled in."""
    if payload_bytes is not None and payload_bytes < 1:
        raise SuiteError(f"payload_bytes is {payload_bytes}; expected 1 or more")
    if transport == "pipe":
        tool, payload_bytes = "echo", payload_bytes or PIPE_PAYLOAD_BYTES
    elif tool == "echo" and payload_bytes is None and not arguments:
        payload_bytes = PIPE_PAYLOAD_BYTES
    given = ARGUMENTS.get(tool, {}) if arguments is None else arguments
    cell = Cell(
        target=target,
        transport=transport,
        revision=revision or default_revision(transport),
        client=client or own_client(transport),
        handler=tool,
        arguments=_json(given),
        payload_bytes=payload_bytes,
        wire=wire or Wire(),
        capabilities=tuple(capabilities),
        answer_input=answer_input,
    )
    _check(cell)
    return replace(cell, marks=marks and cell.markable and target.marks)


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


def only(suite: Suite, filters: Iterable[str]) -> Suite:
    """Return the suite with the cells that fit one of the filters.

    A filter is ``field=value,field=value``: all of its parts must fit.
    """
    alternatives = [_parsed(text) for text in filters]
    if not alternatives:
        return suite
    kept = tuple(cell for cell in suite.cells if any(_fits(cell, one) for one in alternatives))
    if not kept:
        raise SuiteError(f"--only: no cell of suite {suite.name!r} fits; see mcp-latency suites")
    return replace(suite, cells=kept)


def _parsed(text: str) -> dict[str, str]:
    known = Cell(Target("", (), ""), "stdio", "", "", "").fields()
    parts: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        name = "handler" if name == "tool" else name
        if not equals or name not in known:
            raise SuiteError(
                f"--only: {part.strip()!r} is no filter; expected FIELD=VALUE with one of: "
                f"{', '.join(known)}"
            )
        parts[name] = value
    return parts


def _fits(cell: Cell, parts: dict[str, str]) -> bool:
    fields = cell.fields()
    return all(str(fields[name]) == value for name, value in parts.items())


def _check(cell: Cell) -> None:
    """Raise SuiteError for a combination that does not exist."""
    clients = [client for transport, client in ARMS if transport == cell.transport]
    if not clients:
        known = ", ".join(dict.fromkeys(transport for transport, _ in ARMS))
        raise SuiteError(f"no transport {cell.transport!r}; expected one of: {known}")
    if cell.client not in clients:
        raise SuiteError(
            f"transport {cell.transport!r} has no client {cell.client!r}; it has: "
            f"{', '.join(clients)}"
        )
    _check_target(cell)
    _check_revision(cell)
    wire = cell.wire
    if wire.reopen not in REOPEN:
        raise SuiteError(f"reopen is {wire.reopen!r}; expected one of: {', '.join(REOPEN)}")
    if wire != Wire() and cell.transport not in ("http", "sse", "rest"):
        raise SuiteError(f"{', '.join(wire.words)}: only for cells over HTTP")
    if wire.reopen != "nothing" and (cell.transport, cell.client) != ("http", "raw"):
        raise SuiteError(f"reopen = {wire.reopen!r} is for the raw client over http")
    if (wire.tls or wire.socket == "unix") and cell.client != "raw":
        raise SuiteError("tls and Unix sockets are for the raw client")


def _check_target(cell: Cell) -> None:
    """Raise SuiteError where the target is of another kind than the transport wants."""
    target, transport = cell.target, cell.transport
    inside = transport in OWN_CLIENTS
    if inside != (target.label == IN_PROCESS_LABEL):
        what = "is for the shipped tools alone" if inside else "needs a server"
        raise SuiteError(f"transport {transport!r} {what}")
    if transport in LISTENING and target.url is None:
        raise SuiteError(f"transport {transport!r} needs a URL, where the server answers")
    if transport not in LISTENING and target.url is not None:
        raise SuiteError(f"transport {transport!r} has no URL; expected one of: http, sse, rest")
    if target.headers and cell.client != "raw":
        raise SuiteError("headers are for the raw client")
    shipped = target.label.startswith("serve ")
    if not shipped and replace(cell.wire, reopen="nothing", socket="tcp") != Wire():
        raise SuiteError(
            "answers, state and tls say how a shipped server is started; a URL is measured as it is"
        )
    if target.unix and "{socket}" not in target.argv:
        raise SuiteError("socket = 'unix' needs {socket} in the command, where it is to listen")


def _check_revision(cell: Cell) -> None:
    revision = cell.revision
    if revision != AUTO and revision not in REVISIONS:
        raise SuiteError(
            f"no revision {revision!r}; expected one of: {', '.join(REVISIONS)}, {AUTO}"
        )
    if not cell.speaks_mcp:
        return
    if cell.client != "raw" and cell.transport != "sse" and revision not in LIBRARY_REVISIONS:
        raise SuiteError(
            f"client {cell.client!r} cannot be told to offer {revision}; it can: "
            f"{', '.join(sorted(LIBRARY_REVISIONS))}"
        )
    stateless = era(revision) is Era.STATELESS
    if cell.transport == "sse" and stateless:
        raise SuiteError(f"transport 'sse' has no revision {revision}: it opens with a handshake")
    if cell.wire.reopen == "session" and stateless:
        raise SuiteError(f"revision {revision} has no sessions to open anew")


def _refuse_ambiguous_names(suite: Suite, where: str) -> None:
    commands: dict[str, tuple[str, ...]] = {}
    for cell in suite.cells:
        target = cell.target
        # Shipped servers are told apart by transport and options; commands only by their name.
        if target.label.startswith("serve ") or target.label == IN_PROCESS_LABEL:
            continue
        if commands.setdefault(target.name, target.argv) != target.argv:
            raise SuiteError(
                f"{where}: two different commands are called {target.name!r}; "
                "give one of them another name"
            )
    names = [cell.name for cell in suite.cells]
    for name in names:
        if names.count(name) > 1:
            raise SuiteError(
                f"{where}: two cells are called {name!r}; give one of them another name"
            )


def _json(arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SuiteError(f"arguments have no form in JSON: {error}") from None


def _arguments(cell: Cell) -> dict[str, Any]:
    arguments: dict[str, Any] = json.loads(cell.arguments)
    if cell.payload_bytes is not None:
        arguments["payload"] = "x" * cell.payload_bytes
    return arguments

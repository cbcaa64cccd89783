"""The target: the server under test, as a command to spawn, and the environment it gets."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.errors import SuiteError
from bench.protocol.http import Url
from bench.redact import redact, redact_words, secrets_in
from servers import NODE_FOLDER, SERVERS, Program

DEFAULT_ENVIRONMENT = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What a server inherits unless told otherwise: the same as under the official SDK's client."""
DEFAULT_TICKETS = 10_000
TICKETS_VARIABLE = "MCP_LATENCY_TICKETS"
LAUNCHERS = frozenset(
    {"python", "python3", "node", "npx", "uvx", "uv", "bun", "deno", "sh", "bash"}
)


@dataclass(frozen=True)
class Target:
    """A command to spawn, a URL to reach, or both: a command that then listens there.

    ``label`` is what results call it: no path of this machine, no secret. ``{port}``, ``{socket}``,
    ``{cert}`` and ``{key}`` in ``argv`` and ``url`` are filled in when it is started. ``headers``
    go with each HTTP request; like ``passed`` they never reach a file, a log or a chart.
    ``missing`` is the sentence that says what has to be installed first.

    ``passed`` are variables given by value; they never reach a file, a log or a chart.
    ``provided`` are variables that the harness itself sets.
    """

    name: str
    argv: tuple[str, ...]
    label: str
    inherited: tuple[str, ...] = ()
    passed: Mapping[str, str] = field(default_factory=dict, repr=False)
    provided: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    unix: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    marks: bool = True
    missing: str | None = None
    ca_file: str | None = None

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the server."""
        wanted = (*DEFAULT_ENVIRONMENT, *self.inherited)
        env = {name: os.environ[name] for name in wanted if name in os.environ}
        return {**env, **self.provided, **self.passed}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        inherited = (os.environ.get(name, "") for name in self.inherited)
        given = (*self.passed.values(), *self.headers.values(), *inherited, *secrets_in(self.argv))
        return tuple(value for value in given if value)


def ticket_environment(count: int = DEFAULT_TICKETS) -> dict[str, str]:
    """Fill the ticket service's database if need be; return the variable that names it."""
    from servers import tickets

    path = tickets.cache_path(count)
    try:
        tickets.ensure(path, count)
    except OSError as error:
        raise SuiteError(f"{path}: the ticket database cannot be built: {error}") from None
    return {TICKETS_VARIABLE: str(path)}


IN_PROCESS_LABEL = "in process"
PATHS = {"http": "/mcp", "sse": "/sse", "rest": "/rest", "grpc": "/"}
"""Where the shipped servers answer, by transport."""


@dataclass(frozen=True)
class Place:
    """Where and in which form a shipped server is to listen."""

    answers: str = "json"
    stateless: bool = False
    unix: bool = False
    tls: bool = False

    def words(self, program: Program) -> list[str]:
        """Return the flags that put a program there."""
        words = ["--socket", "{socket}"] if self.unix else ["--port", "{port}"]
        words += program.json if self.answers == "json" else program.sse
        words += ["--stateless"] if self.stateless else []
        return words + (["--cert", "{cert}", "--key", "{key}"] if self.tls else [])

    def url(self, path: str) -> str:
        """Return the URL under which it answers then."""
        host = "localhost" if self.unix else "127.0.0.1:{port}"
        return f"{'https' if self.tls else 'http'}://{host}{path}"


def shipped(
    name: str, extra: Sequence[str] = (), transport: str = "stdio", place: Place | None = None
) -> Target:
    """Return a server that comes with the project. Raises SuiteError for an unknown name."""
    if name not in SERVERS:
        raise SuiteError(f"no shipped server {name!r}; expected one of: {', '.join(SERVERS)}")
    program = SERVERS[name]
    if transport not in program.words:
        offered = ", ".join(program.words)
        raise SuiteError(f"server {name!r} has no transport {transport!r}; it has: {offered}")
    words = [*program.words[transport], *extra]
    url = None
    if transport in PATHS:
        place = place or Place()
        words += place.words(program) if transport != "grpc" else ["--port", "{port}"]
        url = place.url(PATHS[transport])
    # -P: the current folder may hold packages of the same names.
    argv = ("node", *words) if program.node else (sys.executable, "-P", "-m", *words)
    shown = words[len(program.words[transport]) :]
    return Target(
        name,
        argv,
        " ".join(("serve", name, *shown)),
        url=url,
        unix=place.unix if place is not None else False,
        marks=program.marks,
        missing=_missing(program),
    )


def served_by_hand(name: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the command of a shipped server for a terminal: over HTTP if it is given a place."""
    if name not in SERVERS:
        raise SuiteError(f"no shipped server {name!r}; expected one of: {', '.join(SERVERS)}")
    program = SERVERS[name]
    listens = any(word.partition("=")[0] in ("--port", "--socket") for word in arguments)
    wanted = ("http", "grpc") if listens else ("stdio", "pipe", "lsp", "grpc")
    transport = next((one for one in wanted if one in program.words), None)
    if transport is None:
        raise SuiteError(f"server {name!r} does not serve there")
    words = (*program.words[transport], *arguments)
    return ("node", *words) if program.node else (sys.executable, "-P", "-m", *words)


def in_process(name: str) -> Target:
    """Return the target of an arm that starts nothing."""
    return Target(name, (), IN_PROCESS_LABEL, marks=False)


def _missing(program: Program) -> str | None:
    if program.node and not (NODE_FOLDER / "node_modules" / ".installed").exists():
        return "the packages of the Node servers are not installed; install with: make node"
    if program.node and shutil.which("node") is None:
        return "node is not on PATH; install Node.js 20 or newer"
    if program.needs is not None and importlib.util.find_spec(program.needs) is None:
        return f"{program.needs} is not installed; install with: pip install '.[{program.extra}]'"
    return None


def command(text: str, name: str | None = None) -> Target:
    """Return a command given as one line, split like a shell would (no shell runs)."""
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise SuiteError(f"command {redact(text)!r} cannot be split into words: {error}") from None
    if not argv:
        raise SuiteError("the command is empty; expected a program and its arguments")
    return Target(name or _name(argv), argv, _without_paths(argv))


def reach(text: str | None, url: str | None, name: str | None, *, unix: bool = False) -> Target:
    """Return a target given as a command, a URL, or a command that listens at a URL."""
    if url is None:
        if text is None:
            raise SuiteError("expected a command or a URL")
        return command(text, name)
    try:
        parts = Url.parse(url.replace("{port}", "1"))
    except ValueError as error:
        raise SuiteError(str(error)) from None
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise SuiteError("credentials in a URL are not sent; give them as a header, Authorization")
    if text is None and "{port}" in url:
        raise SuiteError("{port} in a URL is for a command that is started there; none was given")
    if text is None:
        label = redact(url)
        return Target(name or _safe(f"{parts.host}-{parts.port}"), (), label, url=url, unix=unix)
    return replace(command(text, name), url=url, unix=unix)


def parse_pairs(pairs: Sequence[str], option: str) -> dict[str, str]:
    """Return NAME=VALUE pairs as a mapping; the message of a bad one holds nothing of it."""
    values = {}
    for number, pair in enumerate(pairs, start=1):
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SuiteError(f"{option}, the one in place {number}: expected NAME=VALUE")
        values[name] = value
    return values


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers that can be sent; the message of a bad one holds no value (RFC 9110, 5.5)."""
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise SuiteError("a header's name holds a character that no header may have")
        if not value.isascii() or not value.isprintable() or value != value.strip():
            raise SuiteError(f"header {name}: its value is not plain ASCII on one line")
    return dict(headers)


def _name(argv: Sequence[str]) -> str:
    """Return a short word for a command: what is launched rather than its launcher."""
    words = [word for word in argv if not word.startswith("-")]
    program = Path(words[0]).name if words else Path(argv[0]).name
    base = program.rstrip("0123456789.") or program
    if base in LAUNCHERS and len(words) > 1:
        program = Path(words[1]).name
    scripts = (".py", ".js", ".mjs", ".ts")
    return _safe(program.rsplit(".", 1)[0] if program.endswith(scripts) else program)


def _safe(text: str) -> str:
    """Return a text fit to be a part of a cell's name."""
    return "".join(char if char.isalnum() or char in "-_.@" else "-" for char in text) or "server"


def _without_paths(argv: Sequence[str]) -> str:
    home = str(Path.home())
    here = str(Path.cwd())
    words = []
    for index, word in enumerate(redact_words(argv)):
        if index == 0 and os.path.isabs(word):
            words.append(Path(word).name)
        else:
            words.append(word.replace(here, ".").replace(home, "~"))
    return shlex.join(words)

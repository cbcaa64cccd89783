"""The target: the server under test, as a command to spawn, and the environment it gets."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import SuiteError
from bench.redact import redact

DEFAULT_ENVIRONMENT = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What a server inherits unless told otherwise: the same as under the official SDK's client."""
DEFAULT_TICKETS = 10_000
TICKETS_VARIABLE = "MCP_LATENCY_TICKETS"
LAUNCHERS = frozenset(
    {"python", "python3", "node", "npx", "uvx", "uv", "bun", "deno", "sh", "bash"}
)


@dataclass(frozen=True)
class Target:
    """A command to spawn. ``label`` is what results call it: no path of this machine, no secret.

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

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the server."""
        wanted = (*DEFAULT_ENVIRONMENT, *self.inherited)
        env = {name: os.environ[name] for name in wanted if name in os.environ}
        return {**env, **self.provided, **self.passed}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        inherited = (os.environ.get(name, "") for name in self.inherited)
        return tuple(value for value in (*self.passed.values(), *inherited) if value)


def ticket_environment(count: int = DEFAULT_TICKETS) -> dict[str, str]:
    """Fill the ticket service's database if need be; return the variable that names it."""
    from servers import tickets

    path = tickets.cache_path(count)
    try:
        tickets.ensure(path, count)
    except OSError as error:
        raise SuiteError(f"{path}: the ticket database cannot be built: {error}") from None
    return {TICKETS_VARIABLE: str(path)}


def shipped(name: str, extra: Sequence[str] = ()) -> Target:
    """Return a server that comes with the project. Raises SuiteError for an unknown name."""
    from servers import SERVERS

    if name not in SERVERS:
        raise SuiteError(f"no shipped server {name!r}; expected one of: {', '.join(SERVERS)}")
    # -P: the current folder may hold packages of the same names.
    argv = (sys.executable, "-P", "-m", *SERVERS[name], *extra)
    return Target(name, argv, " ".join(("serve", name, *extra)))


def command(text: str, name: str | None = None) -> Target:
    """Return a command given as one line, split like a shell would (no shell runs)."""
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise SuiteError(f"command {text!r} cannot be split into words: {error}") from None
    if not argv:
        raise SuiteError("the command is empty; expected a program and its arguments")
    return Target(name or _name(argv), argv, redact(_without_paths(argv)))


def parse_variables(pairs: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE pairs as a mapping; the message of a bad one holds no value."""
    variables = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SuiteError(f"variable {name!r} has no value; expected NAME=VALUE")
        variables[name] = value
    return variables


def _name(argv: Sequence[str]) -> str:
    """Return a short word for a command: what is launched rather than its launcher."""
    words = [word for word in argv if not word.startswith("-")]
    program = Path(words[0]).name if words else Path(argv[0]).name
    base = program.rstrip("0123456789.") or program
    if base in LAUNCHERS and len(words) > 1:
        program = Path(words[1]).name
    stem = program.rsplit(".", 1)[0] if program.endswith((".py", ".js", ".mjs", ".ts")) else program
    return "".join(char if char.isalnum() or char in "-_.@" else "-" for char in stem) or "server"


def _without_paths(argv: Sequence[str]) -> str:
    home = str(Path.home())
    here = str(Path.cwd())
    words = []
    for index, word in enumerate(argv):
        if index == 0 and os.path.isabs(word):
            words.append(Path(word).name)
        else:
            words.append(word.replace(here, ".").replace(home, "~"))
    return shlex.join(words)

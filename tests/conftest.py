"""What the tests that start real processes share: the faulty server, sessions, the command line."""

from __future__ import annotations

import os
import select
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.exchange import COLUMNS, KIND, OUTCOME, Kind, Outcome
from bench.journal import SessionEntry
from bench.notices import Notice
from bench.plan import Slot
from bench.records import as_table
from bench.runner import Job, Runner
from bench.spec import SessionSpec

FAULTY_SERVER = Path(__file__).parent / "cases" / "faulty_server.py"
LIMIT_S = 30.0
"""The one bound of every wait in these tests; nothing that works comes near it."""


def faulty_command(mode: str, *arguments: str | int) -> tuple[str, ...]:
    """Return the command of the faulty server in one of its modes."""
    return (sys.executable, "-S", str(FAULTY_SERVER), mode, *map(str, arguments))


@pytest.fixture(autouse=True, scope="session")
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what runs remember of this machine away from the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@dataclass
class Ended:
    """A session that has ended, as the runner hands it on."""

    entry: SessionEntry

    @property
    def failure(self) -> dict[str, str]:
        return self.entry.header["failure"]

    @property
    def facts(self) -> dict[str, Any]:
        return self.entry.header["facts"]

    @property
    def notices(self) -> dict[str, Notice]:
        notices = [Notice(**notice) for notice in self.entry.header["notices"]]
        return {notice.code: notice for notice in notices}

    @property
    def calls(self) -> NDArray[np.int64]:
        table = as_table(self.entry.rows)
        return table[table[:, KIND] == Kind.CALL]

    @property
    def outcomes(self) -> list[Outcome]:
        return [Outcome(int(value)) for value in self.calls[:, OUTCOME]]

    def column(self, name: str) -> list[int]:
        """Return one column of the calls."""
        return [int(value) for value in self.calls[:, COLUMNS.index(name)]]


Session = Callable[..., Ended]


@pytest.fixture
def session() -> Session:
    """Run one session against the faulty server in a mode: ``session("banner", calls=3)``."""

    def run(
        mode: str = "good",
        *arguments: str | int,
        argv: Sequence[str] | None = None,
        env: dict[str, str] | None = None,
        **changes: Any,
    ) -> Ended:
        values: dict[str, Any] = {
            "argv": faulty_command(mode, *arguments) if argv is None else tuple(argv),
            "tool": "probe",
            "env": os.environ | (env or {}),
            "timeout_s": LIMIT_S,
            "close_grace_s": 0.3,
            **changes,
        }
        runner = Runner(lambda _slot, _step, _done: None)
        (entry,) = runner.run([Job(Slot(0, 1, 0), SessionSpec(**values))])
        return Ended(entry)

    return run


@dataclass
class Cli:
    """The command line, run as a user would, in a folder of its own."""

    folder: Path

    def measure(self, mode: str, *arguments: str | int, options: str = "") -> list[str]:
        """Return the words of a run against the faulty server, with few and short sessions."""
        command = shlex.join(faulty_command(mode, *arguments))
        few = "--sessions 1 --calls 2 --warmup 0 --close-grace 0.3 -o out.json"
        words = ["run", "--command", command, "--tool", "probe"]
        return [*words, *shlex.split(few), *shlex.split(options)]

    def start(self, *words: str | Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "bench", *map(str, words)],
            cwd=self.folder,
            env=os.environ | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *words: str | Path, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.finish(self.start(*words, env=env))

    def finish(self, process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
        """Wait for the end of a command. Whatever happened, it shows no traceback."""
        with process:
            try:
                out, err = process.communicate(timeout=2 * LIMIT_S)
            finally:
                process.kill()
        assert "Traceback" not in out + err, err
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command ``mcp-latency`` in an empty folder."""
    return Cli(tmp_path)


class Alive:
    """Knows which processes of a server live, by the connections that they hold."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._said: dict[socket.socket, bytes] = {}
        self._gone = 0
        self.env = {"ALIVE_PORT": str(self._listener.getsockname()[1])}

    def wait_for_call(self) -> None:
        """Wait until a server says that it is in a call."""
        while b"in call" not in self._said.values():
            self._look()

    def all_gone(self, processes: int) -> bool:
        """Wait until so many processes have ended; return whether no other one lives."""
        while self._gone < processes:
            self._look()
        return not self._said

    def close(self) -> None:
        for connection in (*self._said, self._listener):
            connection.close()

    def _look(self) -> None:
        readable, _, _ = select.select([self._listener, *self._said], [], [], LIMIT_S)
        assert readable, f"nothing changed: {len(self._said)} processes live, {self._gone} are gone"
        for connection in readable:
            if connection is self._listener:
                self._said[connection.accept()[0]] = b""
            elif text := _received(connection):
                self._said[connection] += text
            else:
                self._gone += 1
                del self._said[connection]
                connection.close()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(64)
    except ConnectionResetError:
        return b""


@pytest.fixture
def alive() -> Iterator[Alive]:
    """Liveness of the server's processes: give ``alive.env`` to the server."""
    watcher = Alive()
    yield watcher
    watcher.close()


@pytest.fixture
def faulty() -> tuple[str, ...]:
    """The command of the faulty server; add a mode and its arguments."""
    return faulty_command("")[:-1]

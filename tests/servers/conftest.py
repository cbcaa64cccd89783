"""What the tests of the servers share: one small database and a starter of processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server_peer import Peer, command

from servers import tickets


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small ticket database, built once for all tests."""
    return tickets.ensure(tmp_path_factory.mktemp("tickets") / "tickets.sqlite3", count=300, seed=1)


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., Peer]]:
    """Start shipped servers by name; none of them outlives the module."""
    peers: list[Peer] = []

    def start_one(name: str, *options: str, **environment: str) -> Peer:
        process = subprocess.Popen(
            command(name, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ | environment,
        )
        peers.append(Peer(process))
        return peers[-1]

    yield start_one
    for peer in peers:
        peer.end()

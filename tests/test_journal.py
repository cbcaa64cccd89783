"""The journal: each finished session is safe at once, a torn last one is left out."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from bench import journal
from bench.errors import ResultFileError
from bench.journal import Journal, SessionEntry
from bench.plan import Slot


def entry(position: int) -> SessionEntry:
    header = {"setup": [["spawn", position]], "notices": []}
    return SessionEntry(Slot(0, 1, position), header, array("q", [position] * 30))


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "r.journal"
    writer = Journal(path, {"run": {"seed": 1}})
    for position in range(3):
        writer.append(entry(position))
    # Read before it is closed: a kill would leave it like this.
    description, entries = journal.read(path)
    assert description == {"run": {"seed": 1}}
    assert entries == [entry(0), entry(1), entry(2)]
    writer.discard()
    assert not path.exists()


@pytest.mark.parametrize("cut", [1, 7, 8, 200, 300])
def test_a_torn_last_session_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "r.journal"
    writer = Journal(path, {})
    writer.append(entry(0))
    writer.append(entry(1))
    writer.close()
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    assert journal.read(path)[1] == [entry(0)]


def test_a_journal_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ResultFileError, match="cannot be written"):
        Journal(tmp_path / "none" / "r.journal", {})


def test_a_full_disk_is_said_with_what_is_safe() -> None:
    with pytest.raises(ResultFileError, match="No space left"):
        Journal(Path("/dev/full"), {})


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.journal"
    path.write_text("hello\n")
    with pytest.raises(ResultFileError, match="not a journal"):
        journal.read(path)

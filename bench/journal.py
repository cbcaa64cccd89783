"""The journal of a run: every finished session, appended at once beside the result file.

A kill of the harness loses at most the session in flight. The layout is the worker's own: one
line of JSON (the first says what the run is, each further one is a session), followed by the
bytes of that session's rows.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from bench.errors import ResultFileError
from bench.plan import Slot

SUFFIX = ".journal"


@dataclass
class SessionEntry:
    """One session as it came from its worker: ``header`` says what, ``rows`` is flat int64."""

    slot: Slot
    header: dict[str, Any]
    rows: array[int] = field(default_factory=lambda: array("q"))


class Journal:
    """Appends entries to a file; raises ResultFileError where that fails."""

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        self.path = path
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise ResultFileError(f"{path}: cannot be written: {error.strerror}") from None
        try:
            self._write(json.dumps(description).encode() + b"\n")
        except ResultFileError:
            self._file.close()
            raise

    def append(self, entry: SessionEntry) -> None:
        """Write one session; it is in the hands of the system when this returns."""
        line = {**entry.header, "slot": asdict(entry.slot), "rows": len(entry.rows)}
        self._write(json.dumps(line).encode() + b"\n" + entry.rows.tobytes())

    def close(self) -> None:
        """Close the file and leave it where it is."""
        self._file.close()

    def discard(self) -> None:
        """Remove the file: the result file now holds what it held."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise ResultFileError(
                f"{self.path}: cannot be written: {error.strerror}; "
                "the sessions before this one are in it"
            ) from None


def unread_bytes(path: Path) -> int:
    """Return how many bytes at the end of a journal hold no whole session."""
    with path.open("rb") as file:
        file.readline()
        end = file.tell()
        for _ in _entries(file):
            end = file.tell()
        return file.seek(0, 2) - end


def read(path: Path) -> tuple[dict[str, Any], list[SessionEntry]]:
    """Return the description and the sessions of a journal; a torn last entry is left out."""
    try:
        with path.open("rb") as file:
            description = json.loads(file.readline())
            return description, list(_entries(file))
    except OSError as error:
        raise ResultFileError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise ResultFileError(f"{path}: not a journal of this program") from None


def _entries(file: IO[bytes]) -> Iterator[SessionEntry]:
    while line := file.readline():
        rows: array[int] = array("q")
        try:
            header = json.loads(line)
            slot = Slot(**header.pop("slot"))
            size_bytes = header.pop("rows") * rows.itemsize
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        data = file.read(size_bytes)
        if len(data) != size_bytes:
            return
        rows.frombytes(data)
        yield SessionEntry(slot, header, rows)

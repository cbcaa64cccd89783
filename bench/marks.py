"""Marks: time stamps taken inside a server, out of band, on the clock of the client.

The rule of this room: standard library only, nothing on the wire, nothing when switched off. A
server imports this module and calls :func:`mark` at the four points of a request; the client
creates the file before the server starts, names it in the environment variable
:data:`ENVIRONMENT_VARIABLE`, and reads it after the calls.

File layout (native byte order, memory-mapped by both sides, so nothing is lost on a kill): a
header of three int64 (magic, capacity in records, process id of the server that owns it), then
``capacity`` records of two int64 (mark, nanoseconds). A record whose time is 0 was not written.
"""

from __future__ import annotations

import itertools
import mmap
import os
import struct
import time
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

ENVIRONMENT_VARIABLE = "MCP_LATENCY_MARKS"

_MAGIC = 0x4D43504D41524B31  # "MCPMARK1"
_HEADER = struct.Struct("=qqq")
_RECORD = struct.Struct("=qq")
_OWNER = struct.Struct("=q")
_OWNER_OFFSET = 16


class Mark(IntEnum):
    """The four points inside a server that split its part of a call into five phases."""

    RECEIVED = 1  # the whole request is read, nothing of it is parsed
    HANDLER_START = 2
    HANDLER_END = 3
    REPLY = 4  # the answer is serialised, its write starts now


RECEIVED = int(Mark.RECEIVED)
HANDLER_START = int(Mark.HANDLER_START)
HANDLER_END = int(Mark.HANDLER_END)
REPLY = int(Mark.REPLY)


def create(path: Path, capacity: int) -> None:
    """Create an empty mark file for ``capacity`` records; sparse, so unused room costs nothing."""
    with path.open("wb") as file:
        file.write(_HEADER.pack(_MAGIC, capacity, 0))
        file.truncate(_HEADER.size + capacity * _RECORD.size)


def read(path: Path) -> list[tuple[int, int]]:
    """Return the written marks as ``(mark, nanoseconds)``, in order of time."""
    data = path.read_bytes()
    magic, capacity, _ = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError(f"{path}: not a mark file")
    body = data[_HEADER.size : _HEADER.size + capacity * _RECORD.size]
    written = [(mark, ns) for mark, ns in _RECORD.iter_unpack(body) if ns]
    return sorted(written, key=lambda record: record[1])


def _silent(mark: int) -> None:
    """Stand in for the recorder when nobody asked for marks."""


def _recorder(path: str) -> Callable[[int], None]:
    """Map the file and return the function that appends one record to it.

    The first process that maps the file owns it: a child that inherits the environment stays
    silent instead of writing over its parent's marks.
    """
    try:
        with open(path, "r+b") as file:
            view = mmap.mmap(file.fileno(), 0)
    except (OSError, ValueError):
        return _silent
    magic, capacity, owner = _HEADER.unpack_from(view)
    if magic != _MAGIC or owner not in (0, os.getpid()):
        return _silent
    _OWNER.pack_into(view, _OWNER_OFFSET, os.getpid())
    # Handing out slots from one counter keeps several threads from sharing a record.
    next_slot = itertools.count().__next__
    pack_into, now_ns = _RECORD.pack_into, time.perf_counter_ns
    offset, step = _HEADER.size, _RECORD.size

    def record(mark: int) -> None:
        ns = now_ns()
        slot = next_slot()
        if slot < capacity:
            pack_into(view, offset + slot * step, mark, ns)

    return record


_path = os.environ.get(ENVIRONMENT_VARIABLE)
active: bool = bool(_path)
"""True where the client asked for marks: a server may skip its wrappers when it is False."""
mark: Callable[[int], None] = _recorder(_path) if _path else _silent
"""Stamp one point of the request in hand: ``mark(RECEIVED)``, ``mark(HANDLER_START)``, …"""

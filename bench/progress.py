"""What a worker is doing right now, shared with the runner through 16 bytes of mapped memory.

One store of two integers per step or call: the runner can draw its bar, name the phase in which
a worker died, and see that a worker has stalled, while the timed path does no input or output.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from bench.phases import SETUP, Phase

STEPS = ("start", *SETUP, "first_call", "calls", Phase.CLOSE, "done")
_RECORD = struct.Struct("=qq")


class Progress:
    """The mapped file, for either side."""

    def __init__(self, path: Path) -> None:
        if not path.exists() or not path.stat().st_size:
            path.write_bytes(bytes(_RECORD.size))
        with path.open("r+b") as file:
            self._view = mmap.mmap(file.fileno(), _RECORD.size)

    def step(self, name: str) -> None:
        """Say that step ``name`` begins."""
        _RECORD.pack_into(self._view, 0, STEPS.index(name), 0)

    def exchanges(self, done: int) -> None:
        """Say how many exchanges of the calls are done."""
        _RECORD.pack_into(self._view, 0, _CALLS, done)

    def read(self) -> tuple[str, int]:
        """Return the step in hand and the exchanges done in it."""
        step, done = _RECORD.unpack_from(self._view)
        return STEPS[step], done

    def close(self) -> None:
        """Give the memory back."""
        self._view.close()


_CALLS = STEPS.index("calls")

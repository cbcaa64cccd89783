"""The floor: an echo over two pipes, no protocol.

The question: what does a round trip cost when nobody parses, routes or works? The lowest rung
of the ladder: every byte that arrives is written back, chunk by chunk. Lines are not even looked
for, so a line of any size costs no memory here and an answer starts to flow before its request has
ended. Exits when stdin ends.
"""

from __future__ import annotations

import os

CHUNK_BYTES = 65536
"""The capacity of a Linux pipe: one read takes all that can be waiting."""


def main() -> None:
    """Echo stdin to stdout until stdin ends or the reader of stdout is gone."""
    read, write = os.read, os.write
    try:
        while chunk := read(0, CHUNK_BYTES):
            written = write(1, chunk)
            while written < len(chunk):
                chunk = chunk[written:]
                written = write(1, chunk)
    except (BrokenPipeError, KeyboardInterrupt):
        pass


if __name__ == "__main__":
    main()

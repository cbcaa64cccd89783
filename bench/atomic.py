"""Files that appear whole or not at all: written beside their place, then moved there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_in_one_step(target: Path, data: bytes) -> None:
    """Write a file, in place of an older one of that name.

    A link is followed. What is no regular file (a terminal, a pipe, ``/dev/null``) is written to,
    never replaced. Raises OSError where that fails; an older file is then untouched.
    """
    # Asked before it is resolved: what /dev/stdout leads to may have no name in any folder.
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    place = target.resolve()
    fd, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise

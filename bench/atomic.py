"""Files that appear whole or not at all: written beside their place, then moved there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_in_one_step(target: Path, data: bytes) -> None:
    """Write a file, in place of an older one of that name.

    Raises OSError where that fails; an older file is then untouched.
    """
    fd, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise

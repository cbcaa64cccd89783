"""Results and comparisons as files for other programs, one module per format; durations in ns.

Formats are imported when they are asked for: some need packages that others do not.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.atomic import write_in_one_step
from bench.errors import BenchError

if TYPE_CHECKING:
    from bench.exports.contents import Contents

FORMATS: Final = ("markdown", "github", "junit", "hdr", "csv", "json")
STDOUT: Final = "-"


@dataclass(frozen=True)
class Export:
    """One file to write, or standard output. Raises BenchError where it cannot be."""

    format: str
    path: str

    @property
    def to_stdout(self) -> bool:
        """Whether it goes to standard output, where then nothing else may be."""
        return self.path == STDOUT

    def write(self, contents: Contents) -> None:
        """Write it in one step."""
        data = text(self.format, contents).encode("utf-8", "backslashreplace")
        if self.to_stdout:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            return
        try:
            write_in_one_step(Path(self.path), data)
        except OSError as error:
            raise BenchError(
                f"--export {self.format}: {self.path}: cannot be written: {error.strerror}"
            ) from None


def text(format_: str, contents: Contents) -> str:
    """Return the text of an export in one of the formats."""
    made: str = importlib.import_module(f"bench.exports.{format_}_").export(contents)
    return made


def parse(asked: Sequence[str], inputs: Iterable[Path]) -> list[Export]:
    """Return what ``FORMAT=PATH`` asks for; no path twice, and none that is read (``inputs``).

    Raises BenchError.
    """
    exports: list[Export] = []
    taken = {path.resolve() for path in inputs}
    for word in asked:
        format_, _, path = word.partition("=")
        if format_ not in FORMATS or not path:
            raise BenchError(
                f"--export: {word!r}: expected FORMAT=PATH with FORMAT one of "
                f"{', '.join(FORMATS)}, and - as PATH for standard output"
            )
        place = Path(path).resolve()
        if place in taken and not (path != STDOUT and place.exists() and not place.is_file()):
            raise BenchError(f"--export: {path}: is read or written already; give another path")
        taken.add(place)
        exports.append(Export(format_, path))
    return exports

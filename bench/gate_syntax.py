"""The grammar of gates: ``[CELLS:] SUBJECT.FIGURE OP LIMIT``. Text in, values out; no judgement.

``docs/gates.md`` has it as EBNF. What is wrong is said with a caret under the character at fault.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, NoReturn

from bench import stats, subjects
from bench.errors import BenchError

OPERATORS: Final = (">", ">=", "<", "<=")
MEDIAN: Final = "median"
"""What people call p50."""
UNITS_NS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 10**9}
"""Both characters that look like a micro sign are one."""

_SHOWN_UNITS = "ns, us, µs, ms or s"
_FIGURES = (*stats.FIGURES, MEDIAN)
_LONGEST_NUMBER = 15
"""Digits beyond this say nothing that a nanosecond or a share could."""


class Kind(StrEnum):
    """What a limit is held against."""

    FIGURE = "figure"
    """The figure itself, in ns."""
    DIFFERENCE = "difference"
    """right - left, in ns."""
    RATIO = "ratio"
    """right / left: ``+10%`` is 1.1."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition that must not be met: ``subject.figure`` ``operator`` ``limit``.

    ``cells`` is a shell pattern on the names of cells, None for every cell. ``text`` is the gate as
    it was written, on one line. ``limit`` is in ns, or a ratio.
    """

    text: str
    cells: str | None
    subject: str
    figure: str
    operator: str
    limit: float
    kind: Kind


class GateError(BenchError):
    """A gate cannot be read; the message shows where."""

    def __init__(self, text: str, at: int, expected: str) -> None:
        shown = "".join(sign if sign.isprintable() else " " for sign in text)
        super().__init__(f"--fail-if: expected {expected}\n  {shown}\n  {' ' * at}^")


def parse(text: str, *, relative: bool) -> Gate:
    """Return a gate. ``relative`` ones limit a change, the others a figure. Raises GateError."""
    cells, colon, _ = text.rpartition(":")
    scanner = _Scanner(text, len(cells) + len(colon))
    if colon and not cells.strip():
        scanner.fail("a pattern of cell names before the colon, like 'stdio/*'", 0)
    subject = scanner.word(r"\w+", subjects.NAMES, "a subject")
    scanner.take(r"\.", f"a dot and a figure, like {subject}.p50")
    figure = scanner.word(r"[\w.]+", _FIGURES, "a figure")
    operator = scanner.word(r"[<>=!]+", OPERATORS, "what fails the gate")
    limit, kind = _limit(scanner, f"{subject}.{figure} {operator}", relative=relative)
    scanner.end()
    figure = "p50" if figure == MEDIAN else figure
    return Gate(
        " ".join(text.split()), cells.strip() or None, subject, figure, operator, limit, kind
    )


def _limit(scanner: _Scanner, so_far: str, *, relative: bool) -> tuple[float, Kind]:
    example = f"{so_far} {'+10%' if relative else '3ms'}"
    begin = scanner.skip()
    sign = scanner.optional(r"[+\-−]")
    number = scanner.take(
        r"\d+(\.\d+)?", f"{'a limit' if begin == scanner.at else 'a number'}, like '{example}'"
    )
    if len(number) > _LONGEST_NUMBER:
        scanner.fail(f"a number of {_LONGEST_NUMBER} digits at most", scanner.at - len(number))
    percent = bool(scanner.optional("%"))
    if relative and not sign:
        scanner.fail(
            f"a sign, + or -: compare limits the change from left to right, like '{example}' "
            "(show limits the figure itself)",
            begin,
        )
    if not relative and (sign or percent):
        scanner.fail(
            f"a duration without a sign: show limits the figure itself, like '{example}' "
            "(compare limits changes)",
            begin,
        )
    units = f"{_SHOWN_UNITS}, or %" if relative else _SHOWN_UNITS
    size = 0 if percent else UNITS_NS[scanner.word(r"[^\W\d]+", UNITS_NS, "a unit", units)]
    value = Decimal(number) * (-1 if sign in ("-", "−") else 1)
    if percent:
        if value <= -100:
            scanner.fail("a percentage above -100%: nothing can become less than nothing", begin)
        return float(1 + value / 100), Kind.RATIO
    return float(value * size), Kind.DIFFERENCE if relative else Kind.FIGURE


class _Scanner:
    """Reads a text from left to right and knows where it is."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def skip(self) -> int:
        """Leave white space out; return where the next character is."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at

    def optional(self, pattern: str) -> str:
        """Return what fits here, or nothing."""
        found = re.compile(pattern).match(self.text, self.skip())
        if found is None:
            return ""
        self.at = found.end()
        return found.group()

    def take(self, pattern: str, expected: str) -> str:
        """Return what fits here; it must be there."""
        return self.optional(pattern) or self.fail(expected)

    def word(
        self, pattern: str, known: tuple[str, ...] | dict[str, int], what: str, shown: str = ""
    ) -> str:
        """Return a word that must be one of those known."""
        expected = f"{what}: one of {shown or ', '.join(known)}"
        begin = self.skip()
        found = self.take(pattern, expected)
        return found if found in known else self.fail(expected, begin)

    def end(self) -> None:
        """Nothing more may come."""
        if self.skip() < len(self.text):
            self.fail("the end of the gate (give --fail-if once for each)")

    def fail(self, expected: str, at: int | None = None) -> NoReturn:
        """Say what was expected and where."""
        raise GateError(self.text, self.at if at is None else at, expected)

"""Numbers for people: nanoseconds in one unit with three significant digits, shares, counts."""

from __future__ import annotations

UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


def choose(largest_ns: float) -> tuple[str, float]:
    """Return the name and the size in ns of the unit in which ``largest_ns`` is 1 or more."""
    size = abs(largest_ns)
    for name, unit_ns in UNITS:
        if size >= unit_ns:
            return name, unit_ns
    return UNITS[-1]


def number(value: float) -> str:
    """Return a number with three significant digits and no exponent."""
    size = abs(value)
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def duration(ns: float) -> str:
    """Return a duration with the unit that suits it."""
    name, unit_ns = choose(ns)
    return f"{number(ns / unit_ns)} {name}"


def share(value: float) -> str:
    """Return a share as a percentage, with two significant digits below 10%."""
    percent = 100 * value
    return f"{percent:.0f}%" if percent >= 10 or percent == round(percent) else f"{percent:.2g}%"


def counted(amount: int, noun: str, form: str = "") -> str:
    """Return how many there are of something; ``form`` writes the number, like "," for groups."""
    return f"{amount:{form}} {noun}" if amount == 1 else f"{amount:{form}} {noun}s"

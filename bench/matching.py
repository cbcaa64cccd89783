"""Which cells belong together in a comparison, and what makes two of them different experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.errors import BenchError
from bench.results import CellResult, Result

RATE_TOLERANCE: Final = 0.01
"""Success rates further apart than this belong to different experiments."""

_DECISIVE: Final = {
    "host": ("hostname", "cpu_model_name", "cpu_count"),
    "harness version": ("harness_version",),
}
_TOLD: Final = {
    "Python": ("python_version",),
    "platform": ("platform",),
    "mcp package": ("mcp_version",),
}
_TOLD_OF_RUN: Final = ("affinity", "pause_s", "calls", "warmups", "order_of_sessions")

_FOLLOWS: Final[dict[str, frozenset[str]]] = {
    "server": frozenset({"command"}),
    "command": frozenset({"server"}),
    "transport": frozenset({"command", "answers", "state", "reopen", "socket", "tls"}),
    "revision": frozenset({"mode"}),
    "answers": frozenset({"command"}),
    "state": frozenset({"command"}),
    "tls": frozenset({"command"}),
    "socket": frozenset({"command"}),
}
"""What changes with a field of itself, and so says nothing about a cell's counterpart."""


@dataclass(frozen=True)
class Pair:
    """Two cells under the name they have in common; ``obstacles`` forbid a verdict."""

    name: str
    left: CellResult
    right: CellResult
    obstacles: tuple[str, ...] = ()


@dataclass
class Matched:
    """Cells sorted into pairs and into what is left out, with the reason.

    ``met`` counts the cells that have a counterpart, with data or without; ``silent`` names those
    of them without.
    """

    labels: tuple[str, str]
    met: int = 0
    pairs: list[Pair] = field(default_factory=list)
    excluded: list[tuple[str, str]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)

    def add(
        self, name: str, left: CellResult, right: CellResult, obstacles: Sequence[str] = ()
    ) -> None:
        """Add two cells; those without a successful call on one side are left out."""
        self.met += 1
        sides = zip(self.labels, (left, right), strict=True)
        if silent := [label for label, cell in sides if not cell.n_calls]:
            self.silent.append(name)
            self.leave_out(name, f"no successful calls in {' and '.join(silent)}")
        else:
            self.pairs.append(Pair(name, left, right, tuple(obstacles)))

    def leave_out(self, name: str, reason: str) -> None:
        """Say why a cell is not compared."""
        self.excluded.append((name, reason))


def match(
    left: Result, right: Result, labels: tuple[str, str], obstacles: Sequence[str] = ()
) -> Matched:
    """Pair the cells of two runs that have the same name; ``obstacles`` hold for all of them."""
    matched = Matched(labels)
    by_name = {cell.name: cell for cell in right.cells}
    for cell in left.cells:
        other = by_name.pop(cell.name, None)
        if other is None:
            matched.leave_out(cell.name, f"only in {labels[0]}")
        else:
            differing = differences(cell, other, labels)
            matched.add(cell.name, cell, other, (*obstacles, *differing))
    for name in by_name:
        matched.leave_out(name, f"only in {labels[1]}")
    return matched


def match_within(result: Result, by: str, labels: tuple[str, str]) -> Matched:
    """Pair the cells of one run whose field ``by`` has the two values and that differ in it alone.

    Where several fit, the plainest is taken (the one with the shortest name).
    """
    matched = Matched(labels)
    sides = [_ways(result, by, value, matched) for value in labels]
    for rest, cell in sides[0].items():
        other = sides[1].get(rest)
        if other is None:
            matched.leave_out(cell.name, f"no counterpart with {by} {labels[1]}")
        else:
            name = _common_name(cell.name, other.name)
            matched.add(name, cell, other, differences(cell, other, labels, by))
    for rest, cell in sides[1].items():
        if rest not in sides[0]:
            matched.leave_out(cell.name, f"no counterpart with {by} {labels[0]}")
    return matched


def values_of(result: Result, by: str) -> list[str]:
    """Return the values that a field has in a run. Raises BenchError where there is no such."""
    known = {name for cell in result.cells for name in cell.fields}
    if by not in known:
        raise BenchError(f"--by: no field {by!r}; expected one of: {', '.join(sorted(known))}")
    values = list(dict.fromkeys(str(cell.fields.get(by)) for cell in result.cells))
    if len(values) < 2:
        same = f"has {by} {values[0]!r}" if values[0] != str(None) else f"is without {by}"
        raise BenchError(f"--by: every cell {same}; there is nothing to compare")
    return values


def success_rate(cell: CellResult) -> float:
    """Return the share of calls that were ok; sessions that failed count as calls that were not."""
    finished, sessions = sum(cell.outcomes.values()), len(cell.sessions)
    lost = len(cell.failures) * (finished / sessions if sessions else 1.0)
    return cell.n_calls / (finished + lost) if finished + lost else 0.0


def differences(
    left: CellResult, right: CellResult, labels: tuple[str, str], by: str | None = None
) -> list[str]:
    """Return what makes two cells different experiments."""
    found = [
        f"another {name.replace('_', ' ')} ({left.fields.get(name)} and {right.fields.get(name)})"
        for name in ("revision", "payload_bytes", "arguments")
        if name != by and left.fields.get(name) != right.fields.get(name)
    ]
    if by not in ("revision", "transport"):
        agreed = _agreed(left), _agreed(right)
        if all(agreed) and agreed[0] != agreed[1]:
            found.append(f"another revision in force ({agreed[0]} and {agreed[1]})")
    rates = success_rate(left), success_rate(right)
    if abs(rates[0] - rates[1]) > RATE_TOLERANCE:
        sides = zip(labels, rates, strict=True)
        found.append(f"success rates differ ({', '.join(f'{k} {v:.1%}' for k, v in sides)})")
    return found


def conditions(left: Result, right: Result) -> tuple[list[str], list[str]]:
    """Return what differs between two runs: what stands in the way, and what is only told."""
    told = _differing(left, right, _TOLD)
    told += [
        f"another {key.replace('_', ' ')} ({left.run[key]} and {right.run[key]})"
        for key in _TOLD_OF_RUN
        # What one of two files does not say (an older one) is not known to differ.
        if key in left.run and key in right.run and left.run[key] != right.run[key]
    ]
    made = [str(run.get("created", "at an unknown time")) for run in (left.run, right.run)]
    if left.run == right.run:
        told.append(
            f"both are one run ({made[0]}), compared with itself: no difference is no finding"
        )
        return _differing(left, right, _DECISIVE), told
    told.append(
        f"these are two runs ({made[0]} and {made[1]}): what the machine did between them is in "
        "every difference; run --ab measures both in one"
    )
    return _differing(left, right, _DECISIVE), told


def _differing(left: Result, right: Result, groups: Mapping[str, Sequence[str]]) -> list[str]:
    a, b = left.environment, right.environment
    return [
        f"another {name} ({_shown(a, keys)} and {_shown(b, keys)})"
        for name, keys in groups.items()
        if any(a.get(key) != b.get(key) for key in keys)
    ]


def _shown(environment: Mapping[str, object], keys: Sequence[str]) -> str:
    return ", ".join(str(environment.get(key, "unknown")) for key in keys)


def _agreed(cell: CellResult) -> str:
    facts = (session.facts.get("agreed_revision") for session in cell.sessions)
    return ", ".join(sorted({str(revision) for revision in facts if revision is not None}))


def _ways(
    result: Result, by: str, value: str, matched: Matched
) -> dict[tuple[str, ...], CellResult]:
    """Return the cells with a value of ``by`` under everything else that they are."""
    ways: dict[tuple[str, ...], CellResult] = {}
    cells = [cell for cell in result.cells if str(cell.fields.get(by)) == value]
    for cell in sorted(cells, key=lambda cell: cell.name.count("/")):
        rest = _rest(cell, by)
        if rest in ways:
            matched.leave_out(cell.name, f"{ways[rest].name} is compared in its place")
        else:
            ways[rest] = cell
    return ways


def _rest(cell: CellResult, by: str) -> tuple[str, ...]:
    left_out = _FOLLOWS.get(by, frozenset()) | {by}
    return tuple(f"{k}={v}" for k, v in sorted(cell.fields.items()) if k not in left_out)


def _common_name(left: str, right: str) -> str:
    parts = set(right.split("/"))
    return "/".join(part for part in left.split("/") if part in parts)

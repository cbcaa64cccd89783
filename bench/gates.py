"""Gates: conditions that a result or a comparison must not meet, held against whole intervals.

A gate fails where the value and its whole interval are beyond the limit, and passes where both are
within. Where the interval contains the limit the data does not tell: it ``straddles``, which is no
failure unless one asks for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from bench.comparison import Comparison
from bench.figures import figure
from bench.gate_syntax import Gate, Kind
from bench.matching import Pair
from bench.results import Result
from bench.stats import Estimate
from bench.subjects import measured

_BEYOND: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
STRADDLES: Final = "the interval straddles the limit"
ALONE: Final = "judged by the value alone: one session has no interval"


class State(StrEnum):
    """What became of a gate in one cell."""

    PASS = "pass"
    FAIL = "fail"
    STRADDLES = "straddles"
    NOT_COMPARABLE = "not comparable"
    ERROR = "error"


@dataclass(frozen=True)
class Outcome:
    """A gate in one cell. ``reason`` says what the state alone does not.

    ``estimate`` is what was held against the limit (ns or a ratio), None where it cannot be told;
    ``cell`` is empty where the gate fits none. ``sides`` names what was compared.
    """

    gate: Gate
    cell: str
    state: State
    estimate: Estimate | None = None
    reason: str = ""
    sides: tuple[str, str] | None = None


def check_result(result: Result, gates: Sequence[Gate], *, strict: bool = False) -> list[Outcome]:
    """Hold the figures of a run against absolute gates; ``strict`` fails what straddles."""
    return [outcome for gate in gates for outcome in _of_result(result, gate, strict=strict)]


def check_comparisons(
    comparisons: Sequence[Comparison], gates: Sequence[Gate], *, strict: bool = False
) -> list[Outcome]:
    """Hold the changes of comparisons against relative gates; ``strict`` fails what straddles."""
    return [
        outcome for gate in gates for outcome in _of_comparisons(comparisons, gate, strict=strict)
    ]


def judge(gate: Gate, cell: str, estimate: Estimate, *, strict: bool = False) -> Outcome:
    """Hold one figure with its interval against the limit of a gate."""
    beyond = _BEYOND[gate.operator]
    known = [end for end in (estimate.low, estimate.value, estimate.high) if end is not None]
    met = {beyond(end, gate.limit) for end in known}
    if len(met) > 1:
        return Outcome(gate, cell, State.FAIL if strict else State.STRADDLES, estimate, STRADDLES)
    reason = ALONE if estimate.low is None else ""
    return Outcome(gate, cell, State.FAIL if met == {True} else State.PASS, estimate, reason)


def _of_result(result: Result, gate: Gate, *, strict: bool) -> list[Outcome]:
    outcomes = []
    cells = [cell for cell in result.cells if _fits(gate, cell.name)]
    for cell in cells:
        found = figure(cell, gate.subject, gate.figure)
        if found.estimate is not None:
            outcomes.append(judge(gate, cell.name, found.estimate, strict=strict))
        elif found.n_samples or not cell.n_calls:
            outcomes.append(Outcome(gate, cell.name, State.ERROR, None, found.reason))
    names = [cell.name for cell in result.cells]
    return outcomes or [_nothing(gate, names, fits=bool(cells))]


def _of_comparisons(
    comparisons: Sequence[Comparison], gate: Gate, *, strict: bool
) -> list[Outcome]:
    pairs = [(one, pair) for one in comparisons for pair in one.pairs if _fits(gate, pair.name)]
    outcomes = [
        replace(outcome, sides=(one.left, one.right))
        for one, pair in pairs
        if (outcome := _of_pair(one, pair, gate, strict=strict)) is not None
    ]
    # A cell that only one side has is another suite; one whose calls all failed is a finding.
    outcomes += [
        Outcome(gate, cell, State.NOT_COMPARABLE, None, why, (one.left, one.right))
        for one in comparisons
        for cell, why in one.excluded
        if _fits(gate, cell) and (cell in one.silent or not pairs)
    ]
    names = dict.fromkeys(pair.name for one in comparisons for pair in one.pairs)
    return outcomes or [_nothing(gate, names, fits=bool(pairs))]


def _of_pair(comparison: Comparison, pair: Pair, gate: Gate, *, strict: bool) -> Outcome | None:
    """Return the outcome of one pair of cells; None where neither has the subject."""
    row = comparison.row(pair, gate.subject, gate.figure)
    if row is None:
        return None
    left, right = measured(pair.left, gate.subject), measured(pair.right, gate.subject)
    alike = left is not None and right is not None and left.estimated == right.estimated
    if row.contrast is None and alike:
        return Outcome(gate, pair.name, State.ERROR, None, row.reason)
    if row.contrast is None or pair.obstacles:
        return Outcome(gate, pair.name, State.NOT_COMPARABLE, None, row.reason)
    contrast = row.contrast
    estimate = contrast.ratio if gate.kind is Kind.RATIO else contrast.difference
    if estimate is None:
        reason = (
            f"{gate.subject}.{gate.figure} reaches 0, so a percentage of it means nothing; "
            "give a duration, like +1ms"
        )
        return Outcome(gate, pair.name, State.ERROR, None, reason)
    return judge(gate, pair.name, estimate, strict=strict)


def _fits(gate: Gate, cell: str) -> bool:
    return gate.cells is None or fnmatchcase(cell, gate.cells)


def _nothing(gate: Gate, names: Iterable[str], *, fits: bool) -> Outcome:
    """Return the outcome of a gate that speaks of nothing that is there: a slip, never a pass."""
    reason = f"no cell that it speaks of has {gate.subject}"
    if not fits:
        reason = f"no cell fits {gate.cells or '*'!r}; there are: {', '.join(names) or 'none'}"
    return Outcome(gate, "", State.ERROR, None, reason)

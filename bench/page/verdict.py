"""What a result says, in sentences made from its own figures. Values and words, no layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bench import accounts, stats
from bench.accounts import BELOW_MCP, Breakdown, Calls
from bench.comparison import compare_two_targets, median_ratio
from bench.phases import Phase
from bench.render import verdicts
from bench.render.formats import duration_parts, ratio_text
from bench.render.units import counted
from bench.results import CellResult, Result
from bench.stats import Estimate

T = TypeVar("T")

_MOST_HANDLERS = 3


@dataclass(frozen=True)
class Statement:
    """One thing to know first, in a few sentences. ``alarm``: something did not go well."""

    heading: str
    sentences: list[str]
    alarm: bool = False


def statements(result: Result) -> list[Statement]:
    """Return the verdict on one result: failures first, then calls, setup, and who is charged."""
    found = [_failed(result), _compared(result), _calls(result), _setup(result), *_charges(result)]
    return [statement for statement in found if statement.sentences]


def figure(estimate: Estimate) -> str:
    """Return an estimate with its interval."""
    text, interval = duration_parts(estimate)
    return _unbroken(f"{text} {interval}" if interval else text)


def ways(result: Result, handler: str) -> list[CellResult]:
    """Return one cell per way to reach a handler, the quickest median first.

    The floor (a bare pipe, a function call) is none where there is another; of a cell with marks
    and its twin without, the one that tells more.
    """
    chosen: dict[str, CellResult] = {}
    for cell in result.cells:
        if cell.handler == handler and cell.n_calls:
            known = chosen.get(cell.reach)
            if known is None or (cell.marked and not known.marked):
                chosen[cell.reach] = cell
    cells = _above_the_floor(list(chosen.values()))
    return sorted(cells, key=lambda cell: float(np.median(np.concatenate(cell.totals()))))


def handlers(result: Result) -> list[str]:
    """Return the handlers with successful calls, ``noop`` first: it shows what the way costs."""
    cells = _above_the_floor([cell for cell in result.cells if cell.n_calls])
    return sorted(dict.fromkeys(cell.handler for cell in cells), key=lambda name: name != "noop")


def _above_the_floor(cells: list[CellResult]) -> list[CellResult]:
    return [cell for cell in cells if cell.transport not in BELOW_MCP] or cells


def _failed(result: Result) -> Statement:
    silent = [cell.name for cell in result.cells if not cell.n_calls]
    wrong = sum(
        count
        for cell in result.cells
        for outcome, count in cell.outcomes.items()
        if outcome != "ok"
    )
    sentences = []
    if result.failures:
        cells = len({name for name, _ in result.failures})
        failed = counted(len(result.failures), "session", ",")
        sentences.append(f"{failed} failed, in {counted(cells, 'cell', ',')}.")
    if wrong:
        sentences.append(f"Not ended ok, and in no statistics: {counted(wrong, 'call', ',')}.")
    if len(silent) == len(result.cells):
        sentences.append("No call succeeded, so there are no statistics.")
    elif silent:
        sentences.append(f"No call succeeded in {', '.join(silent)}.")
    return Statement("What went wrong", sentences, alarm=True)


def _compared(result: Result) -> Statement:
    """Return what a run of two targets says of the second."""
    found = compare_two_targets(result)
    if found is None:
        return Statement("", [])
    return Statement(f"{found.right} against {found.left}", verdicts.sentences(found))


def _calls(result: Result) -> Statement:
    sentences: list[str] = []
    handler = next(iter(handlers(result)), "")
    found = ways(result, handler)
    told = [(c, e) for c in _ends(found) if (e := stats.quantile(c.totals(), 0.5))]
    if len(told) == 1:
        cell, median = told[0]
        calls = counted(cell.n_calls, "call", ",")
        sentences = [f"{cell.reach}: {figure(median)}, the median of {calls}."]
    elif told:
        (low, low_median), (high, high_median) = told
        sentences = [
            f"{low.reach}: {figure(low_median)}, the lowest median of {len(found)} ways.",
            f"{high.reach}: {figure(high_median)}, the highest; {_times(low, high)}.",
        ]
    return Statement(f"A call of {handler}", sentences)


def _times(low: CellResult, high: CellResult) -> str:
    """Return how much longer the second takes, compared within rounds as any two ways of a run."""
    ratio = median_ratio(low, high)
    if ratio is None or ratio.low is None:
        return "one session cannot tell whether they differ"
    if ratio.low <= 1:
        return "the interval of their ratio holds 1, so this run does not tell them apart"
    return f"{ratio_text(ratio)} times as long"


def _setup(result: Result) -> Statement:
    groups = _above_the_floor(accounts.setup_groups(result))
    found = [(g.name, bill) for g in groups if (bill := accounts.setup(g)) is not None]
    bills = sorted((f for f in found if f[1].parts), key=lambda f: f[1].total.value)
    which = [f"lowest mean of {len(bills)}", "highest"] if len(bills) > 1 else ["mean"]
    sentences = [
        f"{name}: {figure(bill.total)}, the {words}; {_largest(bill, 'setup')}."
        for words, (name, bill) in zip(which, _ends(bills), strict=False)
    ]
    return Statement("Setup of a session", sentences)


def _largest(bill: Breakdown, whole: str) -> str:
    """Return the phase with the largest mean, the handler left out: it is named anyway."""
    parts = {phase: part for phase, part in bill.parts.items() if phase is not Phase.HANDLER}
    phase = max(parts, key=lambda phase: parts[phase].value)
    part = parts[phase]
    share = _share(part, bill.total)
    return f"its largest phase is {phase}, {figure(part)} ({share} of the {whole})"


def _charges(result: Result) -> list[Statement]:
    """Return who is charged for a call, over the quickest way and over the slowest."""
    found = []
    for handler in handlers(result)[:_MOST_HANDLERS]:
        cells = ways(result, handler)
        cells = _ends([cell for cell in cells if cell.marked] or cells)
        told = [(cell, calls) for cell in cells if (calls := accounts.calls(cell)) is not None]
        sentences = [text for pair in told if (text := _charge(*pair)) is not None]
        found.append(Statement(f"Who is charged for {handler}", sentences))
    return found


def _charge(cell: CellResult, calls: Calls) -> str | None:
    bill = calls.breakdown
    if calls.boundary is not None and calls.handler is not None:
        share = _share(calls.boundary, bill.total)
        return (
            f"{cell.reach}: boundary {figure(calls.boundary)}, {share} of the mean call; "
            f"{_largest(bill, 'call')}; handler {figure(calls.handler)}."
        )
    if calls.bracket is not None:
        return (
            f"{cell.reach}: seen from outside, the handler takes {figure(calls.bracket.low)} (call "
            f"− unknown tool) or {figure(calls.bracket.high)} (call − ping) of the mean call, "
            f"{figure(bill.total)}."
        )
    return None


def _ends(items: Sequence[T]) -> list[T]:
    """Return the first and the last, or the only one."""
    return list(items) if len(items) < 2 else [items[0], items[-1]]


def _share(part: Estimate, total: Estimate) -> str:
    percent = 100 * part.value / total.value if total.value else 0.0
    return _unbroken(f"{percent:.3g} %" if abs(percent) >= 1 else f"{percent:.1g} %")


def _unbroken(text: str) -> str:
    """Return a figure that keeps its unit; a line may still end inside its interval."""
    return text.replace(" ", "\u00a0").replace("–\u00a0", "– ")

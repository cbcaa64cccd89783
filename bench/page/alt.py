"""What a chart shows, in one sentence for those who cannot see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bench import breakdown
from bench.render.units import duration
from bench.results import Result
from bench.stats import Estimate

_Rows = Sequence[tuple[str, Estimate]]


def _setups(result: Result) -> _Rows:
    bills = [(group.name, breakdown.setup(group)) for group in breakdown.setup_groups(result)]
    return [(name, bill.total) for name, bill in bills if bill is not None]


def _means(result: Result) -> _Rows:
    bills = [(cell.name, breakdown.call_phases(cell)) for cell in result.cells]
    return [(name, bill.total) for name, bill in bills if bill is not None]


def _rungs(result: Result) -> _Rows:
    return [(rung.label, rung.total) for rung in breakdown.ladder(result)]


_TITLES: Mapping[str, tuple[str, str, Callable[[Result], _Rows]]] = {
    "setup": ("Setup of a session, phase by phase", "mean setup", _setups),
    "setup-after-boot": ("Setup without the start of the server", "mean setup", _setups),
    "calls": ("Where a call goes, phase by phase", "mean call", _means),
    "calls-share": ("Shares of the phases in a call", "mean call", _means),
    "ecdf": ("Distribution of the calls", "mean call", _means),
    "ladder": ("Ladder: what each layer adds to a call", "median call", _rungs),
    "side-by-side": ("Ways to reach a handler, side by side", "mean call", _means),
    "cost-of-calls": ("Cost of a session over the number of its calls", "mean call", _means),
}


def alt_texts(result: Result, names: Iterable[str]) -> dict[str, str]:
    """Return title and extremes of charts of :func:`bench.charts.files.drawings`, by name."""
    known: dict[Callable[[Result], _Rows], _Rows] = {}
    texts = {}
    for name in names:
        title, what, rows = _TITLES.get(name, (name, "mean call", _means))
        found = known[rows] = known.get(rows) or rows(result)
        texts[name] = f"{title}: {_extremes(what, found)}."
    return texts


def _extremes(what: str, rows: _Rows) -> str:
    found = sorted((estimate.value, label) for label, estimate in rows)
    if not found:
        return "no data"
    (low_ns, low), (high_ns, high) = found[0], found[-1]
    if len(found) == 1:
        return f"{what} of {low}, {duration(low_ns)}"
    return f"{what} from {duration(low_ns)} ({low}) to {duration(high_ns)} ({high})"

"""Tables as a page shows them: text, interval, what to sort by, why a figure is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bench.phases import Phase
from bench.render.formats import MISSING, parts
from bench.render.tables import Table, Value
from bench.stats import Estimate

_PHASE = "this phase does not exist here, or could not be seen"
_PERCENTILE = "too few calls to tell"
_MARKS = "needs marks inside the server"
_TRAFFIC = "not counted by this client or on this transport"
_WHY: Mapping[str, str] = {
    **{f"{phase}_ns": _PHASE for phase in Phase},
    **dict.fromkeys(("p50_ns", "p90_ns", "p99_ns"), _PERCENTILE),
    **dict.fromkeys(("boundary_ns", "handler_ns"), _MARKS),
    **dict.fromkeys(("handler_low_ns", "handler_high_ns"), "not needed: the marks tell"),
    **dict.fromkeys(
        (
            *("setup_messages", "call_messages", "messages_sent", "messages_received"),
            *("request_bytes", "response_bytes", "connections"),
        ),
        _TRAFFIC,
    ),
    "first_call_ns": "no first call succeeded",
    **dict.fromkeys(("left_ns", "right_ns", "difference_ns"), "no data on a side"),
    "change_ratio": "no ratio: no data, or a signed figure near 0",
    "increment_ns": "nothing below it to compare with in the same rounds",
}
_OTHERWISE = "does not exist here"
_NUMBERS = re.compile(rf"[\d., {MISSING}]+")
"""A text of several counts, like messages each way."""


@dataclass(frozen=True)
class ShownCell:
    """One figure. ``sort`` is in ns for durations; None where there is only text, or nothing.

    ``why`` says why there is nothing.
    """

    text: str
    interval: str | None = None
    sort: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class ShownColumn:
    """A heading, and whether numbers stand under it."""

    heading: str
    numeric: bool


@dataclass(frozen=True)
class ShownTable:
    """A table with an id for the page; the first cell of a row names it."""

    id: str
    title: str
    columns: list[ShownColumn]
    rows: list[list[ShownCell]]
    notes: list[str]


def shown_table(table: Table, id_: str, otherwise: str = _OTHERWISE) -> ShownTable:
    """Return a table as it stands in the page.

    ``otherwise`` says why a figure is missing where nothing better is known of its column.
    """
    why = {key: _WHY.get(key, otherwise) for key in table.columns}
    return ShownTable(
        id=id_,
        title=table.title,
        columns=[
            ShownColumn(
                heading.replace("→ ←", "→\u00a0←"),
                all(_numeric(row.get(key)) for row in table.rows),
            )
            for key, heading in table.columns.items()
        ],
        rows=[[_cell(key, row.get(key), why[key]) for key in table.columns] for row in table.rows],
        notes=[*table.notes, *_reasons(table, why)],
    )


def _numeric(value: Value) -> bool:
    return not isinstance(value, str) or _NUMBERS.fullmatch(value) is not None


def _reasons(table: Table, why: Mapping[str, str]) -> list[str]:
    """Return why figures are missing, for those who cannot point at a dash."""
    columns: dict[str, list[str]] = {}
    for key, heading in table.columns.items():
        if any(row.get(key) is None for row in table.rows):
            columns.setdefault(why[key], []).append(heading)
    return [f"{MISSING} in {', '.join(found)}: {reason}." for reason, found in columns.items()]


def _cell(key: str, value: Value, why: str) -> ShownCell:
    text, interval = parts(key, value)
    if isinstance(value, Estimate):
        return ShownCell(text, interval, value.value)
    if isinstance(value, int):
        return ShownCell(text if key.endswith("_ns") else f"{value:,}", sort=value)
    return ShownCell(text, why=why if value is None else None)

"""Tables in the formats that people and programs read: terminal, Markdown, JSON, CSV.

People get three digits and the unit that suits them; programs get nanoseconds, with the unit in
the key.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.render import units
from bench.render.tables import Table, Value
from bench.stats import Estimate

if TYPE_CHECKING:
    from rich.console import Console

MISSING = "–"
_INTERVAL_KEYS = frozenset(
    {"setup_ns", "p50_ns", "mean_ns", "boundary_ns", "increment_ns", "cost_ns"}
)
"""Where the interval is printed beside the value; the other columns would not fit."""


def print_tables(console: Console, tables: Sequence[Table]) -> None:
    """Print tables on a terminal, as wide as they need to be."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    for table in tables:
        drawn = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD)
        for place, heading in enumerate(list(table.columns.values())):
            drawn.add_column(heading, justify="left" if place == 0 else "right", no_wrap=True)
        for row in table.rows:
            drawn.add_row(*(Text(text) for text in _texts(table, row)))
        console.print(drawn)
        for note in table.notes:
            console.print(Text(f"  {note}", style="dim"), soft_wrap=True)
        console.print()


def markdown(tables: Sequence[Table]) -> str:
    """Return tables as Markdown."""
    parts = []
    for table in tables:
        headings = list(table.columns.values())
        lines = [f"### {table.title}", "", _markdown_row(headings)]
        lines.append(_markdown_row([":--", *["--:"] * (len(headings) - 1)]))
        lines += [_markdown_row(_texts(table, row)) for row in table.rows]
        lines += ["", *table.notes]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def as_json(tables: Sequence[Table], extra: Mapping[str, Any]) -> str:
    """Return tables as strict JSON; an estimate is an object with its interval and counts."""
    document: dict[str, Any] = dict(extra)
    for table in tables:
        document[table.key] = [
            {key: _plain(row.get(key)) for key in table.columns} for row in table.rows
        ]
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(tables: Sequence[Table]) -> str:
    """Return tables in long form: one line per value, so that all tables share the columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["table", "row", "column", "value", "low", "high", "level", "n_sessions", "n_samples"]
    )
    for table in tables:
        first, *rest = table.columns
        for row in table.rows:
            for key in rest:
                writer.writerow([table.key, row[first], key, *_csv_value(row.get(key))])
    return out.getvalue()


def _texts(table: Table, row: Mapping[str, Value]) -> list[str]:
    return [
        _duration(key, row.get(key)) if key.endswith("_ns") else _text(row.get(key))
        for key in table.columns
    ]


def _duration(key: str, value: Value) -> str:
    """Return a duration in the unit that suits it, and its interval in the same unit."""
    if value is None:
        return MISSING
    name, unit_ns = units.choose(_number(value))
    text = f"{units.number(_number(value) / unit_ns)} {name}"
    if key in _INTERVAL_KEYS and isinstance(value, Estimate) and value.low is not None:
        assert value.high is not None
        low, high = units.number(value.low / unit_ns), units.number(value.high / unit_ns)
        text += f" [{low} – {high}]"
    return text


def _text(value: Value) -> str:
    return MISSING if value is None else str(value)


def _number(value: Value) -> float:
    if isinstance(value, Estimate):
        return value.value
    return float(value) if isinstance(value, int) else 0.0


def _plain(value: Value) -> Any:
    if isinstance(value, Estimate):
        return {
            "value": value.value,
            "low": value.low,
            "high": value.high,
            "level": value.level,
            "n_sessions": value.n_sessions,
            "n_samples": value.n_samples,
        }
    return value


def _csv_value(value: Value) -> list[Any]:
    if isinstance(value, Estimate):
        return [
            value.value, value.low, value.high, value.level, value.n_sessions, value.n_samples,
        ]  # fmt: skip
    return [value, None, None, None, None, None]


def _markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"

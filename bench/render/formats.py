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
    {
        "setup_ns",
        "p50_ns",
        "mean_ns",
        "boundary_ns",
        "increment_ns",
        "cost_ns",
        "difference_ns",
        "excess_ns",
    }
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
            {key: plain(row.get(key)) for key in table.columns} for row in table.rows
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
    return [_cell(key, row.get(key)) for key in table.columns]


def _cell(key: str, value: Value) -> str:
    if key.endswith("_ns"):
        return _duration(key, value)
    return ratio_text(value) if isinstance(value, Estimate) else _text(value)


def ratio_text(ratio: Estimate) -> str:
    """Return a ratio with its interval, fine enough to show a change of one in a thousand."""
    digits = 3 if ratio.value < 10 else 1
    text = f"{ratio.value:.{digits}f}"
    if ratio.low is None or ratio.high is None:
        return text
    return f"{text} [{ratio.low:.{digits}f} – {ratio.high:.{digits}f}]"


def _duration(key: str, value: Value) -> str:
    """Return a duration in the unit that suits it, and its interval in the same unit."""
    if value is None:
        return MISSING
    largest_ns = _number(value)
    if key == "difference_ns" and isinstance(value, Estimate) and value.low is not None:
        # Near 0 its interval says more than itself.
        largest_ns = max(abs(value.low), abs(value.high or 0.0))
    name, unit_ns = units.choose(largest_ns)
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


def plain(value: Value) -> Any:
    """Return a value for JSON: an estimate as an object with its interval and counts."""
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

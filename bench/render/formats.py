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
        lines = [f"### {table.title}", "", markdown_row(headings)]
        lines.append(markdown_row([":--", *["--:"] * (len(headings) - 1)]))
        lines += [markdown_row(_texts(table, row)) for row in table.rows]
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
    text, interval = parts(key, value)
    left_out = key.endswith("_ns") and key not in _INTERVAL_KEYS
    return f"{text} {interval}" if interval and not left_out else text


def parts(key: str, value: Value) -> tuple[str, str | None]:
    """Return a figure of a table as people read it, and its interval where it has one."""
    if value is None:
        return MISSING, None
    if key.endswith("_ns"):
        # Near 0 the interval of a difference says more than the difference.
        return duration_parts(value, unit_of_interval=key == "difference_ns")
    return _ratio_parts(value) if isinstance(value, Estimate) else (str(value), None)


def ratio_text(ratio: Estimate) -> str:
    """Return a ratio with its interval, fine enough to show a change of one in a thousand."""
    text, interval = _ratio_parts(ratio)
    return f"{text} {interval}" if interval else text


def _ratio_parts(ratio: Estimate) -> tuple[str, str | None]:
    digits = 3 if ratio.value < 10 else 1
    text = f"{ratio.value:.{digits}f}"
    if ratio.low is None or ratio.high is None:
        return text, None
    return text, f"[{ratio.low:.{digits}f} – {ratio.high:.{digits}f}]"


def duration_parts(
    value: Estimate | int | str, *, unit_of_interval: bool = False
) -> tuple[str, str | None]:
    """Return a duration in ns in the unit that suits it, and its interval in the same unit."""
    low, high = (value.low, value.high) if isinstance(value, Estimate) else (None, None)
    largest_ns = _number(value)
    if unit_of_interval and low is not None and high is not None:
        largest_ns = max(abs(low), abs(high))
    name, unit_ns = units.choose(largest_ns)
    text = f"{units.number(_number(value) / unit_ns)} {name}"
    if low is None or high is None:
        return text, None
    return text, f"[{units.number(low / unit_ns)} – {units.number(high / unit_ns)}]"


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


def markdown_row(texts: Sequence[str]) -> str:
    """Return one line of a Markdown table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"

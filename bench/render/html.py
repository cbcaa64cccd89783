"""Records and results as HTML for notebooks: every text escaped, no colours of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bench.render import report, units
from bench.render.formats import MISSING
from bench.results import Result

MOST_ROWS = 60
_STYLE = "text-align:{}; white-space:nowrap; padding:0.15em 0.7em; vertical-align:top"
_SMALL = "font-size:0.85em; opacity:0.75; margin:0.3em 0; text-align:left"


def table(records: Sequence[Mapping[str, Any]], title: str = "", notes: Sequence[str] = ()) -> str:
    """Return records as a table for people.

    An estimate and its interval share a column, in the unit that suits it. Empty columns are left
    out; a line below tells the texts that are the same in all rows, and of more than 60 rows how
    many are not shown.
    """
    if not records:
        return f"<p>{escape(title)}: none</p>" if title else "<p>no records</p>"
    keys = [key for key in records[0] if any(row[key] is not None for row in records)]
    same = [key for key in keys if len(records) > 1 and _same_text(records, key)]
    shown = [key for key in keys if _base(key) not in keys and key not in same]
    text = {key: any(isinstance(row[key], str) for row in records) for key in shown}
    head = "".join(_cell("th", _heading(key), left=text[key]) for key in shown)
    body = "".join(
        "<tr>" + "".join(_cell("td", _text(row, key), left=text[key]) for key in shown) + "</tr>"
        for row in records[:MOST_ROWS]
    )
    hidden = len(records) - MOST_ROWS
    lines = [f"{hidden} more rows are not shown"] if hidden > 0 else []
    if same:
        lines.append(f"in all rows: {', '.join(f'{key} {records[0][key]}' for key in same)}")
    caption = (
        f'<caption style="text-align:left; font-weight:bold">{escape(title)}</caption>'
        if title
        else ""
    )
    return (
        # Whoever uses no pointer scrolls what has the focus.
        f'<div style="overflow-x:auto" tabindex="0"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{_small([*lines, *notes])}"
    )


def result(shown: Result, records: Sequence[Mapping[str, Any]]) -> str:
    """Return a result: its cells in one table, what was noticed, and where it comes from."""
    keys = ("cell", "n_sessions", "n_calls", "setup", "p50", "p99", "handler", "boundary")
    wanted = {
        key: None
        for base in keys
        for key in (base, f"{base}_ns", f"{base}_low_ns", f"{base}_high_ns")
    }
    chosen = [{key: row[key] for key in wanted if key in row} for row in records]
    lines = [*report.failures(shown), *report.findings(shown), *report.provenance(shown)]
    return table(chosen, f"{shown.run.get('suite', 'result')}", lines)


def _cell(tag: str, text: str, *, left: bool) -> str:
    return f'<{tag} style="{_STYLE.format("left" if left else "right")}">{escape(text)}</{tag}>'


def _small(lines: Sequence[str]) -> str:
    return "".join(f'<p style="{_SMALL}">{escape(line)}</p>' for line in lines)


def _same_text(records: Sequence[Mapping[str, Any]], key: str) -> bool:
    first = records[0][key]
    return isinstance(first, str) and all(row[key] == first for row in records)


def _heading(key: str) -> str:
    return key.removesuffix("_ns")


def _base(key: str) -> str:
    """Return the column that the end of an interval belongs to; "" for any other column."""
    for end in ("_low", "_high"):
        if key.endswith(f"{end}_ns"):
            return f"{key.removesuffix(f'{end}_ns')}_ns"
        if key.endswith(end):
            return key.removesuffix(end)
    return ""


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if value is None:
        return MISSING
    if isinstance(value, str | bool):
        return str(value)
    name, unit = units.choose(value) if key.endswith("_ns") else ("", 1.0)
    if not name and isinstance(value, int):
        return f"{value:,}"
    stem, suffix = (key.removesuffix("_ns"), "_ns") if key.endswith("_ns") else (key, "")
    low, high = row.get(f"{stem}_low{suffix}"), row.get(f"{stem}_high{suffix}")
    text = f"{units.number(value / unit)} {name}".rstrip()
    if low is None or high is None:
        return text
    return f"{text} [{units.number(low / unit)} – {units.number(high / unit)}]"

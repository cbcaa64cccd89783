"""A comparison for people and programs: a table of verdicts, and the sentences above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench import stats
from bench.comparison import ROW_LEVEL, Comparison, Row, Verdict
from bench.render.formats import plain, ratio_text
from bench.render.tables import Table, Value
from bench.render.units import duration
from bench.subjects import BOUNDARY, CALL, HANDLER, SETUP

COLUMNS = {
    "row": "what",
    "left_ns": "left",
    "right_ns": "right",
    "change_ratio": "right / left",
    "difference_ns": "right − left",
    "verdict": "verdict",
}


def verdict_table(comparison: Comparison) -> Table:
    """Return the rows of a comparison, each with its ratio, difference and verdict."""
    left, right = comparison.left, comparison.right
    columns = {**COLUMNS, "left_ns": left, "right_ns": right}
    rows = [_row(row) for row in comparison.rows]
    notes = [
        f"[low – high] is the {100 * ROW_LEVEL:.3g} % interval over sessions"
        f"{', compared within rounds' if comparison.paired else ''}, so that all rows of a cell "
        f"together hold 95 times in 100: {stats.INTERVAL_METHOD}.",
        f"A verdict needs the whole interval of the ratio beyond ±{comparison.threshold:.3g}, and "
        f"that of the difference on the same side of 0: {right} is slower above "
        f"{1 + comparison.threshold:g}, faster below {1 - comparison.threshold:g}.",
    ]
    if any(row.estimated for row in comparison.rows):
        notes.append("(by difference): without marks, from calls of a tool that does not exist.")
    key = f"verdicts: {left} → {right}"
    return Table(key, f"{right} against {left}", columns, rows, notes)


def sentences(comparison: Comparison) -> list[str]:
    """Return what a reader wants to know first: one sentence per cell, then what was left out."""
    by_cell: dict[str, list[Row]] = {}
    for row in comparison.rows:
        by_cell.setdefault(row.cell, []).append(row)
    lines = [_sentence(comparison, cell, rows) for cell, rows in by_cell.items()]
    lines.append(comparison.counted)
    lines += [f"warning: {warning}" for warning in comparison.warnings]
    return lines


def row_sentence(row: Row) -> str:
    """Return the verdict of a row, with its amount or its reason."""
    return f"{_said(row)}{_amount(row)}"


def as_fields(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain values with units in the keys; what cannot be told is None."""
    return {
        "left": comparison.left,
        "right": comparison.right,
        "paired": comparison.paired,
        "threshold": comparison.threshold,
        "counted": comparison.counted,
        "excluded": [{"cell": cell, "reason": why} for cell, why in comparison.excluded],
        "warnings": list(comparison.warnings),
        "rows": [
            {
                "cell": row.cell,
                "subject": row.subject,
                "figure": row.figure,
                "left_ns": plain(_side(row, "left")),
                "right_ns": plain(_side(row, "right")),
                "ratio": plain(_side(row, "ratio")),
                "difference_ns": plain(_side(row, "difference")),
                "verdict": row.verdict.value,
                "reason": row.reason or None,
                "estimated": row.estimated,
            }
            for row in comparison.rows
        ],
    }


def _row(row: Row) -> dict[str, Value]:
    estimated = " (by difference)" if row.estimated else ""
    return {
        "row": f"{row.cell} {row.subject}.{row.figure}{estimated}",
        "left_ns": _side(row, "left"),
        "right_ns": _side(row, "right"),
        "change_ratio": _side(row, "ratio"),
        "difference_ns": _side(row, "difference"),
        "verdict": _said(row),
    }


def _side(row: Row, name: str) -> stats.Estimate | None:
    found: stats.Estimate | None = getattr(row.contrast, name, None)
    return found


def _said(row: Row) -> str:
    return f"{row.verdict}: {row.reason}" if row.reason else str(row.verdict)


def _sentence(comparison: Comparison, cell: str, rows: Sequence[Row]) -> str:
    found = {(row.subject, row.figure): row for row in rows}
    call = found.get((CALL, "p50"))
    parts = [] if call is None else [f"call.p50 {_said(call)}{_amount(call)}"]
    charged = [(HANDLER, "mean"), (BOUNDARY, "mean")]
    parts += [_phrase(found[key]) for key in charged if key in found and _judged(found[key])]
    setup = found.get((SETUP, "mean"))
    if setup is not None and _judged(setup):
        parts.append(_phrase(setup))
    return f"{cell}: {comparison.right} against {comparison.left}: {'; '.join(parts)}"


def _judged(row: Row) -> bool:
    return row.verdict is not Verdict.NOT_COMPARABLE


def _phrase(row: Row) -> str:
    return f"{row.subject} {row.verdict}{_amount(row)}"


def _amount(row: Row) -> str:
    """Return how much, where a difference is shown; a number beside "none" would be read as one."""
    contrast = row.contrast
    if contrast is None or row.verdict not in (Verdict.FASTER, Verdict.SLOWER):
        return ""
    change = duration(abs(contrast.difference.value))
    more = "more" if contrast.difference.value > 0 else "less"
    times = f"{ratio_text(contrast.ratio)} times, " if contrast.ratio is not None else ""
    return f" ({times}{change} {more})"

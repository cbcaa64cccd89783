"""The JSON that github-action-benchmark reads as ``customSmallerIsBetter``.

The unit of every value is ns, so that a series keeps its unit when a figure grows.
"""

from __future__ import annotations

import json

from bench.exports.contents import Contents
from bench.render.units import counted

UNIT = "ns"


def export(contents: Contents) -> str:
    """Return the figures that can be told; the format has no way to say that one cannot."""
    entries = [
        {
            "name": name,
            "unit": UNIT,
            "value": estimate.value,
            "range": _range(estimate.low, estimate.high),
            "extra": f"{counted(estimate.n_sessions, 'session')}, "
            + counted(estimate.n_samples, "sample")
            + (", by difference" if figure.estimated else ""),
        }
        for name, figure in contents.figures()
        if (estimate := figure.estimate) is not None
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _range(low: float | None, high: float | None) -> str:
    return "one session" if low is None or high is None else f"± {(high - low) / 2:.0f}"

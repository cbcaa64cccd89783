"""One table as a value: a title, columns and rows of numbers. Formats are elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.stats import Estimate

Value = Estimate | int | str | None


@dataclass(frozen=True)
class Table:
    """One table. ``columns`` maps keys to headings; durations are in ns.

    ``notes`` stand under it. A key that ends in ``_ns`` holds a duration.
    """

    key: str
    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Value]]
    notes: Sequence[str] = field(default=())

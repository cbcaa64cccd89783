"""The order of execution, as a value: randomised blocks.

Each round holds every cell once, shuffled, so that drift of the machine hits all cells alike and
comparisons can pair sessions within a round. Pure: the same seed gives the same plan, and a longer
plan begins with the shorter one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, islice, product

INTERLEAVED, BLOCKED = "interleaved", "blocked"
ORDERS = (INTERLEAVED, BLOCKED)
"""Round by round, or all sessions of one cell before those of the next. Blocked sessions let drift
of the machine look like a difference: that order is there to show it."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned session: which cell, in which round, and its place in the whole run."""

    cell: int
    round: int
    position: int


def rounds(cells: int, seed: int) -> Iterator[tuple[Slot, ...]]:
    """Yield rounds without end."""
    shuffler = random.Random(seed)
    for number in count(1):
        block = list(range(cells))
        shuffler.shuffle(block)
        first = (number - 1) * cells
        yield tuple(Slot(cell, number, first + place) for place, cell in enumerate(block))


def make_plan(cells: int, sessions: int, seed: int, order: str = INTERLEAVED) -> tuple[Slot, ...]:
    """Return ``cells × sessions`` slots in the order in which they are to run."""
    if order == BLOCKED:
        pairs = product(range(cells), range(1, sessions + 1))
        return tuple(Slot(cell, round_, place) for place, (cell, round_) in enumerate(pairs))
    return tuple(chain.from_iterable(islice(rounds(cells, seed), sessions)))

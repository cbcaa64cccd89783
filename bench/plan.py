"""The order of execution, as a value: randomised blocks.

Each round holds every cell once, shuffled, so that drift of the machine hits all cells alike and
comparisons can pair sessions within a round. Pure: the same seed gives the same plan.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned session: which cell, in which round, and its place in the whole run."""

    cell: int
    round: int
    position: int


def make_plan(cells: int, sessions: int, seed: int) -> tuple[Slot, ...]:
    """Return ``cells × sessions`` slots in the order in which they are to run."""
    shuffler = random.Random(seed)
    slots: list[Slot] = []
    for round_ in range(1, sessions + 1):
        block = list(range(cells))
        shuffler.shuffle(block)
        slots += [Slot(cell, round_, len(slots) + place) for place, cell in enumerate(block)]
    return tuple(slots)

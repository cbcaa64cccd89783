"""Figures that are estimated once per result, whoever asks for them first."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Subject = TypeVar("Subject")
Figures = TypeVar("Figures")


def once_each(estimate: Callable[[Subject], Figures]) -> Callable[[Subject], Figures]:
    """Keep what a function returns for an object with the object, for as long as that lives.

    As :class:`functools.cached_property` does, for functions that live apart from the class. The
    object must not change and needs a ``__dict__``; copies start anew.
    """

    @wraps(estimate)
    def remembered(subject: Subject) -> Figures:
        kept: dict[object, Figures] = subject.__dict__.setdefault("_remembered", {})
        if estimate not in kept:
            kept[estimate] = estimate(subject)
        return kept[estimate]

    return remembered

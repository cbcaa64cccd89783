"""What a chart is asked for, checked before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from bench.errors import SelectionError
from bench.results import Result, expect_result

Draw = TypeVar("Draw", bound=Callable[..., Any])


def of_a_result(draw: Draw) -> Draw:
    """Make a chart refuse what is no result, in a sentence."""

    @wraps(draw)
    def checked(result: Result, *arguments: Any, **options: Any) -> Any:
        expect_result(result)
        return draw(result, *arguments, **options)

    return cast("Draw", checked)


def one_of(name: str, wanted: str | None, there: Iterable[str]) -> None:
    """Raise SelectionError where something is wanted by a name that is not there."""
    known = list(dict.fromkeys(there))
    if wanted is not None and wanted not in known:
        names = ", ".join(known) or "none here"
        raise SelectionError(f"{name}: {wanted!r} is not there; expected one of: {names}")

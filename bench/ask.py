"""What a user asks to be measured: one server's tool, or a suite, and how much of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench import suite as suites
from bench.adaptive import LEAST_SESSIONS
from bench.errors import SuiteError
from bench.suite import Cell, Suite, Wire
from bench.target import Target

_AMOUNTS = ("sessions", "calls", "warmups")


def cell_of(
    target: Target,
    tool: str,
    arguments: dict[str, Any],
    *,
    transport: str | None = None,
    client: str | None = None,
    revision: str | None = None,
    reopen: str = "nothing",
) -> Cell:
    """Return the cell of a tool of a server that is no part of a suite.

    The transport is stdio for a command and http for a URL unless told otherwise. Raises
    SuiteError for a combination that does not exist.
    """
    return suites.make_cell(
        target,
        tool,
        arguments=arguments,
        transport=transport or ("stdio" if target.url is None else "http"),
        client=client,
        revision=revision,
        wire=Wire(reopen=reopen),
    )


def sized(
    suite: Suite,
    amounts: Mapping[str, Any],
    *,
    fast: bool = False,
    rigorous: bool = False,
    goes_on: bool = False,
) -> Suite:
    """Return the suite with other amounts and limits, checked; what is given by number wins.

    ``amounts`` has fields of the suite by name (``sessions``, ``calls``, ``timeout_s``, …); None
    leaves one as it is. A run that ``goes_on`` until a goal is met has the fewest sessions that can
    end it: what a suite plans is too many or too few. Raises SuiteError for what cannot be run.
    """
    if fast and rigorous:
        raise SuiteError("fast and rigorous exclude each other; give one of them")
    changes: dict[str, Any] = {}
    if fast:
        changes = dict(zip(_AMOUNTS, suites.FAST, strict=True))
    elif rigorous:
        changes = dict(zip(_AMOUNTS, suites.RIGOROUS, strict=True))
    if goes_on and not rigorous:
        changes["sessions"] = LEAST_SESSIONS
    changes |= {name: value for name, value in amounts.items() if value is not None}
    return suites.checked(replace(suite, **changes), "options")

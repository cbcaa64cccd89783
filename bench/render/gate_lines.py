"""Outcomes of gates for people: one line each, with the figure in the words of its limit."""

from __future__ import annotations

from bench.gate_syntax import Kind
from bench.gates import Outcome
from bench.render import units
from bench.stats import Estimate


def line(outcome: Outcome) -> str:
    """Return an outcome as ``gate: PASS  call.p99 > +10%  stdio/noop: +3.1 % [+1.0 – +5.2]``."""
    return f"gate: {outcome.state.upper()}  {outcome.gate.text}  {describe(outcome)}"


def describe(outcome: Outcome) -> str:
    """Return where, how much and why."""
    where = outcome.cell
    if outcome.sides is not None and where:
        where += f", {outcome.sides[1]} against {outcome.sides[0]}"
    amount = "" if outcome.estimate is None else held(outcome.estimate, outcome.gate.kind)
    said = "; ".join(part for part in (amount, outcome.reason) if part)
    return f"{where}: {said}" if where else said


def held(estimate: Estimate, kind: Kind) -> str:
    """Return what was held against a limit, with its interval in the same unit."""
    if kind is Kind.RATIO:
        value, *ends = (
            None if ratio is None else f"{(ratio - 1) * 100:+.1f}" for ratio in _three(estimate)
        )
        return _with_interval(f"{value} %", ends)
    known = [ns for ns in _three(estimate) if ns is not None]
    name, unit_ns = units.choose(max(map(abs, known)))
    plus = "+" if kind is Kind.DIFFERENCE else ""
    value, *ends = (
        None if ns is None else f"{plus if ns >= 0 else ''}{units.number(ns / unit_ns)}"
        for ns in _three(estimate)
    )
    return _with_interval(f"{value} {name}", ends)


def _three(estimate: Estimate) -> tuple[float | None, ...]:
    return (estimate.value, estimate.low, estimate.high)


def _with_interval(value: str, ends: list[str | None]) -> str:
    low, high = ends
    return value if low is None or high is None else f"{value} [{low} – {high}]"

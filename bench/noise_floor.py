"""What this machine shows as a difference where there is none, kept from the last A/A run.

The same target under two names differs by chance and by what the machine does: a difference between
two targets that is no larger than that is nothing to act on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.atomic import write_in_one_step
from bench.comparison import compare_two_targets
from bench.errors import ResultFileError
from bench.plan import INTERLEAVED
from bench.render.units import counted, share
from bench.results import Result

FILE: Final = "noise-floor.json"

OnNote = Callable[[str], None]


@dataclass(frozen=True)
class Difference:
    """What was found of one figure: |ratio - 1|, and half the interval of the ratio."""

    share: float
    half_width: float


@dataclass(frozen=True)
class NoiseFloor:
    """What an A/A run found, by figure (``call.p50``, ``setup.mean``, …)."""

    created: str
    cell: str
    sessions: int
    figures: Mapping[str, Difference]


def measured_in(result: Result) -> NoiseFloor | None:
    """Return what an A/A run found.

    None where it cannot say: one session, not interleaved, no run of two targets.
    """
    silent = not all(cell.n_calls for cell in result.cells)
    if silent or result.run.get("order_of_sessions") != INTERLEAVED:
        return None
    comparison = compare_two_targets(result)
    if comparison is None:
        return None
    cell = comparison.rows[0].cell
    ratios = {
        f"{row.subject}.{row.figure}": row.ratio for row in comparison.rows if row.cell == cell
    }
    figures = {
        name: Difference(abs(ratio.value - 1), (ratio.high - ratio.low) / 2)
        for name, ratio in ratios.items()
        if ratio is not None and ratio.low is not None and ratio.high is not None
    }
    if not figures:
        return None
    return NoiseFloor(str(result.run["created"]), cell, int(result.run["sessions"]), figures)


def remember(floor: NoiseFloor, environment: Mapping[str, Any]) -> Path:
    """Keep what was found for this host and CPU, in place of what was found before.

    Returns where it is kept. Raises ResultFileError where it cannot be.
    """
    path = state_path()
    floors = _read(path, lambda _note: None)
    floors[_machine(environment)] = floor
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_in_one_step(path, msgspec.json.format(msgspec.json.encode(floors), indent=1))
    except OSError as error:
        raise ResultFileError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def recall(
    environment: Mapping[str, Any], on_note: OnNote = lambda _note: None
) -> NoiseFloor | None:
    """Return what was found for this host and CPU; None where nothing is known.

    A file that cannot be read is no obstacle: it is ignored, and ``on_note`` is told so.
    """
    return _read(state_path(), on_note).get(_machine(environment))


def lines(results: Iterable[Result]) -> list[str]:
    """Return one sentence per machine of the results whose noise floor is known here."""
    floors = {_machine(result.environment): recall(result.environment) for result in results}
    return [_sentence(floor) for floor in floors.values() if floor is not None]


def _sentence(floor: NoiseFloor) -> str:
    within = ", ".join(
        f"{name} {share(found.share + found.half_width)}" for name, found in floor.figures.items()
    )
    return (
        f"noise floor of this machine (the same target twice, {floor.cell}, "
        f"{counted(floor.sessions, 'session')}, {floor.created[:10]}): {within}; "
        "what differs by less may be nothing"
    )


def state_path() -> Path:
    """Return the file in which it is kept for this user."""
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    # A relative one is to be ignored, says its specification.
    folder = configured if configured.is_absolute() else Path.home() / ".local" / "state"
    return folder / "mcp-latency" / FILE


def _machine(environment: Mapping[str, Any]) -> str:
    host, cpu = environment.get("hostname", "?"), environment.get("cpu_model_name", "?")
    return f"{host}, {cpu}"


def _read(path: Path, on_note: OnNote) -> dict[str, NoiseFloor]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, NoiseFloor])
    except FileNotFoundError:
        return {}
    except OSError as error:
        on_note(f"{path}: ignored: cannot be read: {error.strerror}")
    except msgspec.DecodeError as error:
        on_note(f"{path}: ignored: not a noise floor: {error}")
    return {}

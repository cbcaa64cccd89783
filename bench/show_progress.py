"""Progress of a run: a bar with the time left on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from bench.adaptive import Width
from bench.journal import SessionEntry
from bench.plan import Slot
from bench.render.units import duration, share
from bench.suite import Suite

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress(Protocol):
    """What a run tells while it is going on."""

    def update(self, slot: Slot, step: str, done: int) -> None:
        """Show that a session is at a step, with ``done`` exchanges of its calls made."""

    def finished(self, slot: Slot, entry: SessionEntry) -> None:
        """Show that a session has ended, well or not."""

    def looked(self, known: Sequence[Width]) -> None:
        """Show how well the figures are known after a round."""


@contextmanager
def make_progress(suite: Suite, slots: int | None, *, quiet: bool) -> Iterator[Progress]:
    """Give the kind of progress that fits where stderr goes; ``slots`` is None if not known."""
    if quiet:
        yield _Silent()
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
        )
        with RichProgress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield _Bar(suite, bar, bar.add_task("", total=slots))
    else:
        yield _Lines(suite, slots)


def widest(known: Sequence[Width]) -> str:
    """Return how wide the widest interval is, in a few words."""
    if not known:
        return ""
    width = max(known, key=lambda width: width.share)
    how = "unknown" if width.share == float("inf") else f"±{share(width.share)}"
    return f"widest interval {how} ({width.cell})"


class _Silent:
    def update(self, slot: Slot, step: str, done: int) -> None:
        pass

    def finished(self, slot: Slot, entry: SessionEntry) -> None:
        pass

    def looked(self, known: Sequence[Width]) -> None:
        pass


class _Bar:
    def __init__(self, suite: Suite, bar: RichProgress, task: TaskID) -> None:
        self._suite = suite
        self._bar = bar
        self._task = task
        self._known = ""

    def update(self, slot: Slot, step: str, done: int) -> None:
        text = f"{self._known}{self._suite.cells[slot.cell].name}  {step}"
        self._bar.update(self._task, description=f"{text} {done}" if done else text)

    def finished(self, slot: Slot, entry: SessionEntry) -> None:
        self._bar.advance(self._task)

    def looked(self, known: Sequence[Width]) -> None:
        text = widest(known)
        self._known = f"{text}; " if text else ""


class _Lines:
    def __init__(self, suite: Suite, slots: int | None) -> None:
        self._suite = suite
        self._slots = slots
        self._heard = True
        self._started_s = time.monotonic()

    def update(self, slot: Slot, step: str, done: int) -> None:
        pass

    def finished(self, slot: Slot, entry: SessionEntry) -> None:
        failure = entry.header.get("failure")
        outcome = "ok" if failure is None else f"failed in {failure['phase']}: {failure['cause']}"
        name = self._suite.cells[slot.cell].name
        done = slot.position + 1
        spent_s = time.monotonic() - self._started_s
        if self._slots is None:
            self._say(f"[{done}] {name}: {outcome} ({_time(spent_s)} spent)")
        else:
            left_s = spent_s / done * (self._slots - done)
            self._say(f"[{done}/{self._slots}] {name}: {outcome} ({_time(left_s)} left)")

    def looked(self, known: Sequence[Width]) -> None:
        if text := widest(known):
            self._say(text)

    def _say(self, line: str) -> None:
        if not self._heard:
            return
        try:
            click.echo(line, err=True)
        except OSError:
            # Nobody reads the progress any more: that is no reason to lose the run.
            self._heard = False


def _time(seconds: float) -> str:
    return duration(seconds * 1e9) if seconds else "0 s"

"""Progress of a run: a bar with the time left on a terminal or in a notebook, else plain lines.

Bar and lines of a terminal go to stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import click

from bench.adaptive import Width
from bench.journal import SessionEntry
from bench.plan import Slot
from bench.render.units import counted, duration, share
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
    elif _in_notebook():
        yield _Shown(suite, slots)
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


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Shown:
    """One display of a notebook, drawn anew; rich would need ipywidgets for it."""

    def __init__(self, suite: Suite, slots: int | None) -> None:
        notebook: Any = import_module("IPython.display")
        self._as_html = notebook.HTML
        self._suite = suite
        self._spent = _Spent(slots)
        self._done = 0
        self._text = self._known = ""
        self._display = notebook.display(notebook.HTML(self._html()), display_id=True)

    def update(self, slot: Slot, step: str, done: int) -> None:
        self._draw(f"{self._suite.cells[slot.cell].name}  {step}")

    def finished(self, slot: Slot, entry: SessionEntry) -> None:
        self._done = slot.position + 1
        over = self._done == self._spent.slots
        self._draw("" if over else self._spent.after(self._done))

    def looked(self, known: Sequence[Width]) -> None:
        self._known = widest(known)

    def _draw(self, text: str) -> None:
        text = "; ".join(part for part in (self._known, text) if part)
        if text != self._text:
            self._text = text
            self._display.update(self._as_html(self._html()))

    def _html(self) -> str:
        slots = self._spent.slots
        place = f'value="{self._done}" max="{slots}"' if slots is not None else ""
        done = "" if slots is None else f"{self._done}/"
        count = f"{done}{counted(self._done if slots is None else slots, 'session')}"
        return f"<progress {place}></progress> {count} {escape(self._text)}"


class _Spent:
    """Guesses the rest of a run from its sessions so far; without ``slots`` tells what is spent."""

    def __init__(self, slots: int | None) -> None:
        self.slots = slots
        self._started_s = time.monotonic()

    def after(self, done: int) -> str:
        """Return how long the sessions after the first ``done`` will take."""
        spent_s = time.monotonic() - self._started_s
        if self.slots is None:
            return f"{_time(spent_s)} spent"
        return f"{_time(spent_s / done * (self.slots - done))} left"


class _Lines:
    def __init__(self, suite: Suite, slots: int | None) -> None:
        self._suite = suite
        self._heard = True
        self._spent = _Spent(slots)

    def update(self, slot: Slot, step: str, done: int) -> None:
        pass

    def finished(self, slot: Slot, entry: SessionEntry) -> None:
        failure = entry.header.get("failure")
        outcome = "ok" if failure is None else f"failed in {failure['phase']}: {failure['cause']}"
        name = self._suite.cells[slot.cell].name
        done = slot.position + 1
        count = f"{done}/{self._spent.slots}" if self._spent.slots is not None else f"{done}"
        self._say(f"[{count}] {name}: {outcome} ({self._spent.after(done)})")

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

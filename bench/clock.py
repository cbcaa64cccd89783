"""The one clock of the project, and the watch that ends a wait.

``now_ns`` is ``time.perf_counter_ns``: monotonic and, on Linux, the same clock in every process
(CLOCK_MONOTONIC), so stamps of the client and marks of a server can be put in one row.
"""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Final

from bench.errors import TimedOut

now_ns = time.perf_counter_ns
cpu_ns = time.process_time_ns

IDLE: Final = 0


class Watch:
    """Ends a blocking wait that lasts longer than its limit, at no cost per call.

    One interval timer of the process serves all waits: when it fires it looks at
    ``started_ns``, raises :class:`TimedOut` if that wait is over its limit, and otherwise arms
    itself for the rest. A loop of quick calls therefore meets one signal per ``limit_s``, not a
    timer call per exchange. Main thread only (signals are delivered there).

    Set ``started_ns`` when a wait begins and back to :data:`IDLE` when it ends.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_ns = round(limit_s * 1e9)
        self.started_ns: int = IDLE
        self._limit_s = limit_s

    def start(self) -> None:
        """Take the timer; call :meth:`stop` when the session is over."""
        signal.signal(signal.SIGALRM, self._fire)
        signal.setitimer(signal.ITIMER_REAL, self._limit_s)

    def stop(self) -> None:
        """Give the timer back."""
        self.started_ns = IDLE
        signal.setitimer(signal.ITIMER_REAL, 0)

    def begin(self) -> None:
        """Start the limit of one wait from now."""
        self.started_ns = now_ns()

    def _fire(self, _signal: int, _frame: FrameType | None) -> None:
        started_ns = self.started_ns
        waited_ns = now_ns() - started_ns if started_ns else 0
        rest_ns = self.limit_ns - waited_ns
        if rest_ns > 0:
            signal.setitimer(signal.ITIMER_REAL, max(rest_ns / 1e9, 1e-6))
            return
        self.started_ns = IDLE
        signal.setitimer(signal.ITIMER_REAL, self._limit_s)
        raise TimedOut

"""Marks of a server, joined with the exchanges of the client."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from bench.exchange import KIND, MARKS, OUTCOME, RECEIVED_NS, SENT_NS, WIDTH, Kind, Outcome
from bench.marks import HANDLER_END, HANDLER_START, RECEIVED, REPLY

MarkRecord = tuple[int, int]
RECORDS_PER_EXCHANGE = 8
"""Room in the mark file: four for the answer, the rest for notifications and requests between."""
SPARE_RECORDS = 4096


def capacity(exchanges: int) -> int:
    """How many records a mark file needs for a session."""
    return exchanges * RECORDS_PER_EXCHANGE + SPARE_RECORDS


def assign(rows: array[int], marks: Sequence[MarkRecord]) -> tuple[int, int]:
    """Put the four marks of each successful call into its row; return (complete, calls).

    ``marks`` are in order of time. One request is in flight at a time, so the marks between the
    start of its write and the arrival of its answer are its own. A call whose set is not exactly
    received ≤ handler start ≤ handler end ≤ reply, with one handler, keeps no marks: a late
    handler of an abandoned request would otherwise be charged to it.
    """
    times = [ns for _, ns in marks]
    complete = calls = 0
    for start in range(0, len(rows), WIDTH):
        if rows[start + KIND] not in (Kind.CALL, Kind.WARMUP):
            continue
        if rows[start + OUTCOME] != Outcome.OK:
            continue
        calls += 1
        first = bisect_left(times, rows[start + SENT_NS])
        last = bisect_right(times, rows[start + RECEIVED_NS])
        four = choose(marks[first:last])
        if four is not None:
            complete += 1
            rows[start + MARKS.start : start + MARKS.stop] = array("q", four)
    return complete, calls


def requests_between(marks: Sequence[MarkRecord], start_ns: int, end_ns: int) -> int:
    """Return how many messages the server received in a span: hidden ones count too."""
    return sum(mark == RECEIVED and start_ns <= ns <= end_ns for mark, ns in marks)


def choose(window: Sequence[MarkRecord]) -> tuple[int, int, int, int] | None:
    """Return the four marks of the one request in a window, or None if they do not fit."""
    starts = [ns for mark, ns in window if mark == HANDLER_START]
    ends = [ns for mark, ns in window if mark == HANDLER_END]
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        return None
    received = [ns for mark, ns in window if mark == RECEIVED and ns <= starts[0]]
    replies = [ns for mark, ns in window if mark == REPLY and ns >= ends[0]]
    if not received or not replies:
        return None
    return received[0], starts[0], ends[0], replies[-1]

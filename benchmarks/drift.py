"""What the order of sessions does to a comparison while everything gets slower.

Method: a server whose handler takes 2 ms at the start of the run and 20 % more at its end, whoever
runs it, under two names. In the interleaved order both sides meet the same drift; in the blocked
order, which exists for this purpose, all of A comes first and all of B after it.

Bounds: in the interleaved order no row says anything but ``no difference shown``; in the blocked
order the call is called slower, though it is the same server.
"""

from __future__ import annotations

import time

from bench.comparison import Verdict
from bench.plan import BLOCKED, INTERLEAVED
from common import Report, quick
from two_sides import alarms, compared, delayed, facts, row, said

CALLS = 60
DRIFT = 0.2


def main() -> None:
    """Run the proof."""
    sessions = 16 if quick(__doc__) else 30
    report = Report("Drift: a server that gets 20 % slower while it is compared with itself")
    report.start(f"{sessions} sessions × {CALLS} calls on each side, twice")
    # A first run without drift says how long one takes here.
    _, took_s = compared((delayed("wait=1"),) * 2, "handler-2", sessions, CALLS, 0)
    report.say(f"the drift is spread over {took_s:.0f} s, what a run without it took")
    for order in (INTERLEAVED, BLOCKED):
        words = ("wait=1", f"drift={DRIFT}", f"drift_s={took_s}", f"drift_from_s={time.time()}")
        found, _ = compared((delayed(*words),) * 2, "handler-2", sessions, CALLS, 0, order)
        call = row(found, "call", "p50")
        if order == INTERLEAVED:
            loud = alarms(found)
            text = "; ".join(map(said, loud or [call]))
            report.judge("interleaved: stays silent", not loud, text, rows=[facts(call)])
        else:
            report.judge(
                "blocked: cries wolf",
                call.verdict is Verdict.SLOWER,
                said(call),
                rows=[facts(call)],
            )
    report.end()


if __name__ == "__main__":
    main()

"""Whether a handler made 5 % slower is found, and charged to the handler.

Method: a server whose handler waits for 2 ms, and the same with 2.1 ms, in one interleaved run,
again and again with another seed. A run counts where the handler is called slower and the boundary
shows no difference. What is said of the call as a whole is printed beside it.

Bound: at least 9 of 10 runs, each within 60 s. ``--quick`` makes 2 smaller runs and wants 1.
"""

from __future__ import annotations

from bench.comparison import Verdict
from common import Report, quick
from two_sides import compared, delayed, facts, row, said

CALLS = 60
HANDLER, SLOWER = "wait=1", "scale=1.05"
LIMIT_S = 60.0


def main() -> None:
    """Run the proof."""
    count, least, sessions = (2, 1, 20) if quick(__doc__) else (10, 9, 30)
    report = Report("Power: a handler of 2 ms made 5 % slower")
    report.start(f"{count} runs of {sessions} sessions × {CALLS} calls on each side")
    hits, slowest_s = 0, 0.0
    for seed in range(count):
        commands = (delayed(HANDLER), delayed(HANDLER, SLOWER))
        comparison, took_s = compared(commands, "handler-2", sessions, CALLS, seed)
        handler, boundary = row(comparison, "handler"), row(comparison, "boundary")
        call = row(comparison, "call", "p50")
        hit = (handler.verdict, boundary.verdict) == (Verdict.SLOWER, Verdict.NO_DIFFERENCE)
        hits += hit
        slowest_s = max(slowest_s, took_s)
        rows = (call, handler, boundary)
        words = "; ".join(map(said, rows))
        report.say(
            f"run {seed + 1}, {took_s:.0f} s: {'found' if hit else 'MISSED'}: {words}",
            run=seed + 1,
            rows=[facts(row) for row in rows],
        )
    report.check("runs in which it is found in its place", hits, least, "runs", least=True)
    report.check("longest run", slowest_s, LIMIT_S, "s")
    report.end()


if __name__ == "__main__":
    main()

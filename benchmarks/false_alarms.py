"""How often a server that is compared with itself is called faster or slower.

Method: ``servers.minimal`` under two names in one interleaved run, again and again with another
seed; every row of every comparison counts (setup, calls, boundary, handler).

Bound: at most 2 verdicts other than ``no difference shown`` in 20 comparisons. ``--quick`` makes 6
comparisons and allows 1.
"""

from __future__ import annotations

from common import Report, python, quick
from two_sides import alarms, compared, said

SERVER = python("-m", "servers.minimal")
SESSIONS, CALLS = 10, 200


def main() -> None:
    """Run the proof."""
    short = quick(__doc__)
    count, bound = (6, 1) if short else (20, 2)
    report = Report("False alarms: a server compared with itself")
    report.start(f"{count} comparisons of {SESSIONS} sessions × {CALLS} calls on each side")
    found = []
    rows = 0
    for seed in range(count):
        comparison, _ = compared((SERVER, SERVER), "noop", SESSIONS, CALLS, seed)
        rows += len(comparison.rows)
        for row in alarms(comparison):
            found.append(row)
            report.say(f"comparison {seed + 1}: {said(row)}")
    report.check(f"verdicts other than no difference, of {rows} rows", len(found), bound, "rows")
    report.end()


if __name__ == "__main__":
    main()

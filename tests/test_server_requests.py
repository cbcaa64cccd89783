"""What a server asks in the middle of a call: counted, timed apart, still a part of the call."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench import storage
from bench.exchange import Exchange, Kind, Outcome
from bench.journal import SessionEntry
from bench.phases import CALL_UNMARKED
from bench.plan import Slot
from bench.records import session_of
from bench.render.tables import all_tables
from bench.results import Session
from bench.stats import Estimate
from tests.make_results import make_cell, make_result

if TYPE_CHECKING:
    from conftest import Ended
    from conftest import Session as Run

ASKED = ("ping", "roots/list", "sampling/createMessage")
HEADER = {"setup": [["spawn", 1]], "close": [], "start_ns": 1, "facts": {}, "notices": []}


def test_a_call_in_which_the_server_asks_keeps_the_time_of_answering(session: Run) -> None:
    """C09: what a client library would do by itself, and a user would see as a slow tool."""
    ended: Ended = session("asks", *ASKED, calls=4, capabilities=("roots", "sampling"))
    assert ended.outcomes == [Outcome.OK] * 4
    assert ended.column("server_requests") == [len(ASKED)] * 4
    spans = zip(
        ended.column("sent_ns"),
        ended.column("answering_ns"),
        ended.column("received_ns"),
        strict=True,
    )
    assert all(0 < answering < received - sent for sent, answering, received in spans)
    kept = session_of(ended.entry)
    assert kept.answering_ns.tolist() == ended.column("answering_ns")
    totals = np.subtract(ended.column("decoded_ns"), ended.column("encode_ns"))
    assert np.array_equal(sum(kept.calls[phase] for phase in CALL_UNMARKED), totals)


def test_a_server_that_asks_nothing_has_no_such_series(session: Run) -> None:
    kept = session_of(session("good", calls=2).entry)
    assert not len(kept.answering_ns)
    assert "server_requests" not in kept.facts
    assert "server_requests" not in {t.key for t in all_tables(make_result())}


def made(*answering: tuple[int, int], round_: int = 1) -> Session:
    """Return a session with a call for each (requests of the server, time of answering them)."""
    rows = array("q")
    for place, (requests, ns) in enumerate(answering, start=1):
        start_ns = place * 10_000
        done = Exchange(Kind.CALL, start_ns, start_ns + 10, 50, start_ns + 900, start_ns + 950)
        done.server_requests, done.answering_ns = requests, ns
        rows.extend(done.row())
    return session_of(SessionEntry(Slot(0, round_, round_), HEADER, rows))


def test_requests_and_their_time_come_through_the_file_into_a_table(tmp_path: Path) -> None:
    sessions = [made((2, 300), (0, 0)), made((2, 500), (4, 800), round_=2), made((0, 0), round_=3)]
    path = tmp_path / "r.json"
    storage.save(make_result(make_cell("asking", sessions=sessions, marks=False)), path)
    loaded = storage.load(path)
    assert [s.answering_ns.tolist() for s in loaded.cells[0].sessions] == [[300, 0], [500, 800], []]
    (table,) = (table for table in all_tables(loaded) if table.key == "server_requests")
    (row,) = table.rows
    assert (row["requests"], row["one_ns"]) == ("1.6", 200)
    assert isinstance(row["answering_ns"], Estimate)

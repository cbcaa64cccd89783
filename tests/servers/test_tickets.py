"""The ticket service: what is built, what is found and what is said when it cannot be read."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers import tickets
from servers.errors import ToolError
from servers.ticket_texts import tickets as texts

WAIT_S = 60.0

_SENTENCE = re.compile(r"[A-Z][^.!?]*( \(.*\))?[^!?]*\.")


@pytest.fixture(autouse=True)
def _fresh_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tickets, "BUSY_TIMEOUT_S", 0)
    tickets.close()
    yield
    tickets.close()


@pytest.fixture
def served(database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database that the tools read in this test."""
    monkeypatch.setenv(tickets.ENVIRONMENT_VARIABLE, str(database))
    return database


def rows(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM tickets ORDER BY id").fetchall()


def search(query: str, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(tickets.search_tickets(query, **options))["tickets"]
    return found


def search_or_refusal(query: str) -> str:
    """Search; pass on no other error than that the query has no word."""
    try:
        return tickets.search_tickets(query)
    except ToolError as error:
        if "no word" in str(error):
            return str(error)
        raise


# -- what is built -------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_tickets_and_another_seed_others() -> None:
    assert list(texts(50, seed=1)) == list(texts(50, seed=1))
    assert list(texts(50, seed=1)) == list(texts(80, seed=1))[:50]
    assert list(texts(50, seed=1)) != list(texts(50, seed=2))


def test_the_words_of_the_default_seed_do_not_change_unnoticed() -> None:
    (first,) = texts(1, tickets.DEFAULT_SEED)
    assert first[:5] == (
        1,
        "Search finds nothing in Edge",
        "pending",
        "Tomás Moretti",
        "2025-01-06T09:11:00Z",
    )


def test_the_file_holds_exactly_the_tickets_of_its_seed(database: Path) -> None:
    assert rows(database) == list(texts(300, seed=1))


def test_an_intact_file_is_left_alone(database: Path) -> None:
    before = database.stat()
    assert tickets.ensure(database, count=300, seed=1) == database
    assert database.stat().st_ino == before.st_ino


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "hole", "other seed", "other count"])
def test_a_file_that_is_damaged_or_of_other_tickets_is_replaced(
    tmp_path: Path, database: Path, damage: str
) -> None:
    path, whole = tmp_path / "t.sqlite3", database.read_bytes()
    middle = len(whole) // 8192 * 4096
    contents = {
        "empty": b"",
        "text": b"not a database at all\n" * 400,
        "cut": whole[:middle],
        "hole": whole[:middle] + bytes(4096) + whole[middle + 4096 :],
    }
    path.write_bytes(contents.get(damage, whole))
    seed = 2 if damage == "other seed" else 1
    count = 30 if damage == "other count" else 300
    tickets.ensure(path, count, seed)
    assert rows(path) == list(texts(count, seed))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_somebody_works_on_is_not_taken_for_damaged(
    tmp_path: Path, database: Path
) -> None:
    path = tmp_path / "t.sqlite3"
    path.write_bytes(database.read_bytes())
    before = path.stat().st_ino
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        tickets.ensure(path, count=300, seed=1)
    assert path.stat().st_ino == before


def test_several_processes_may_build_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "t.sqlite3"
    program = (
        "import sys, pathlib; from servers.tickets import ensure; print('ready', flush=True);"
        "sys.stdin.readline(); ensure(pathlib.Path(sys.argv[1]), 400, 7)"
    )
    builders = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    try:
        for builder in builders:
            assert builder.stdout is not None
            assert builder.stdout.readline() == b"ready\n"
        for builder in builders:
            assert builder.stdin is not None
            builder.stdin.write(b"go\n")
            builder.stdin.flush()
        assert [builder.wait(WAIT_S) for builder in builders] == [0, 0, 0]
    finally:
        for builder in builders:
            builder.kill()
            builder.communicate(timeout=WAIT_S)
    assert rows(path) == list(texts(400, seed=7))
    assert list(path.parent.iterdir()) == [path]


def test_a_build_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(tickets, "_build", fail)
    with pytest.raises(OSError, match="no space"):
        tickets.ensure(tmp_path / "t.sqlite3", count=3, seed=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "cache_home", "folder"),
    [
        ("linux", "/caches", "/caches"),
        ("linux", None, "/home/somebody/.cache"),
        ("linux", "", "/home/somebody/.cache"),
        ("linux", "relative", "/home/somebody/.cache"),
        ("darwin", None, "/home/somebody/Library/Caches"),
        ("darwin", "/caches", "/caches"),
    ],
)
def test_the_database_is_kept_in_the_cache_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch, platform: str, cache_home: str | None, folder: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if cache_home is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", cache_home)
    path = tickets.cache_path(1234)
    assert path.parent == Path(folder, "mcp-latency")
    assert "1234" in path.name
    assert tickets.cache_path(1235) != path


# -- what is found -------------------------------------------------------------------------------


def test_a_search_finds_tickets_that_hold_every_word(served: Path) -> None:
    found = search("refund bank", limit=50)
    assert found
    bodies = {row[0]: f"{row[1]} {row[5]}".lower() for row in rows(served)}
    assert all("refund" in bodies[hit["id"]] and "bank" in bodies[hit["id"]] for hit in found)
    assert found[0].keys() == {"id", "subject", "status", "customer", "created_at", "snippet"}


def test_status_and_limit_narrow_a_search(served: Path) -> None:
    everything, closed = search("refund", limit=50), search("refund", status="closed", limit=50)
    assert {hit["status"] for hit in everything} > {"closed"}
    assert {hit["status"] for hit in closed} == {"closed"}
    assert search("refund", limit=2) == everything[:2]
    assert search("refund") == everything[:10]


def test_a_word_that_nobody_wrote_finds_nothing_which_is_no_error(served: Path) -> None:
    assert search("xylophone") == []


@pytest.mark.parametrize(
    "query",
    [
        'refund" OR "login',
        "refund AND",
        "NEAR(refund bank)",
        "subject: refund",
        "refund*",
        "(refund",
        "-refund ^login + {x}",
        '"',
        "'; DROP TABLE tickets; --",
        "refund\0bank",
        "re\ud800fund",
        "order " * 500,
    ],
)
def test_a_hostile_query_is_only_words(served: Path, query: str) -> None:
    assert search_or_refusal(query)
    assert len(rows(served)) == 300


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_searched_or_refused_for_having_no_word(database: Path, query: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(tickets.ENVIRONMENT_VARIABLE, str(database))
        assert search_or_refusal(query)


def test_a_ticket_is_read_in_full(served: Path) -> None:
    row = rows(served)[41]
    ticket = json.loads(tickets.get_ticket(42))
    assert tuple(ticket.values()) == row
    assert list(ticket) == ["id", "subject", "status", "customer", "created_at", "body"]


@pytest.mark.parametrize("ticket_id", [0, -1, 301, 2**63, -(2**70)])
def test_an_id_that_does_not_exist_is_an_error_of_the_tool(served: Path, ticket_id: int) -> None:
    with pytest.raises(ToolError, match=f"no ticket {ticket_id};"):
        tickets.get_ticket(ticket_id)


# -- what is said when it cannot be read ---------------------------------------------------------


def failure() -> str:
    """Return what both tools say, after a look at the form of it."""
    messages = []
    for call in (lambda: tickets.search_tickets("refund"), lambda: tickets.get_ticket(1)):
        with pytest.raises(ToolError) as caught:
            call()
        messages.append(str(caught.value))
    assert all(_SENTENCE.fullmatch(message) for message in messages)
    return " ".join(messages)


def test_a_locked_database_is_told_in_a_sentence_and_works_again_when_free(
    tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.sqlite3"
    path.write_bytes(database.read_bytes())
    monkeypatch.setenv(tickets.ENVIRONMENT_VARIABLE, str(path))
    assert search("refund")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert failure().count("locked") == failure().count("call the tool again") == 2
    assert search("refund")


def test_a_missing_database_is_told_in_a_sentence_and_never_built_by_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "odd name #1 50%?.sqlite3"
    monkeypatch.setenv(tickets.ENVIRONMENT_VARIABLE, str(path))
    assert failure().count("missing") == 2
    assert not path.exists()
    tickets.ensure(path, count=40, seed=1)
    assert json.loads(tickets.get_ticket(40))["id"] == 40


@pytest.mark.parametrize("content", [b"", b"no database\n" * 500])
def test_a_damaged_database_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "t.sqlite3"
    path.write_bytes(content)
    monkeypatch.setenv(tickets.ENVIRONMENT_VARIABLE, str(path))
    assert failure().count("rebuild") == 2

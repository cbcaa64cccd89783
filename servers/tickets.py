"""The support-ticket service: the real work behind the tools, over an SQLite full-text index.

Two halves. ``ensure`` fills the database once, before a server starts; ``search_tickets`` and
``get_ticket`` only ever read it, so that no call pays for building. Run as a program
(``python -m servers.tickets``) this module builds the database that the servers will read.

``sqlite3`` is imported where it is used: a server that only answers ``noop`` does not load it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servers.errors import ToolError

if TYPE_CHECKING:
    import sqlite3

ENVIRONMENT_VARIABLE = "MCP_LATENCY_TICKETS"
"""Names the database file; without it the servers read the default one in the cache folder."""

STATUSES = ("open", "pending", "closed")
MAX_RESULTS = 50
DEFAULT_COUNT = 10_000
DEFAULT_SEED = 20260728
SCHEMA_VERSION = 1
"""Part of the file name: a change of tables or texts never meets an older file."""

BUSY_TIMEOUT_S = 0.25
"""How long a call waits for a locked database: past a short write, before a caller gives up."""

_BUILD = "`python -m servers.tickets`"

_SCHEMA = """
CREATE TABLE tickets (
    id INTEGER PRIMARY KEY,
    subject TEXT NOT NULL,
    status TEXT NOT NULL,
    customer TEXT NOT NULL,
    created_at TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE VIRTUAL TABLE tickets_index USING fts5(
    subject, body, content='tickets', content_rowid='id', tokenize='porter unicode61'
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""

_SEARCH = """
SELECT t.id, t.subject, t.status, t.customer, t.created_at,
       snippet(tickets_index, 1, '', '', '…', 24)
FROM tickets_index JOIN tickets AS t ON t.id = tickets_index.rowid
WHERE tickets_index MATCH ?1 AND (?2 IS NULL OR t.status = ?2)
ORDER BY tickets_index.rank, t.id
LIMIT ?3
"""
_FOUND_KEYS = ("id", "subject", "status", "customer", "created_at", "snippet")

_GET = "SELECT id, subject, status, customer, created_at, body FROM tickets WHERE id = ?1"
_TICKET_KEYS = ("id", "subject", "status", "customer", "created_at", "body")

_MAX_ROWID = 2**63 - 1


# -- reading: what the tools do ------------------------------------------------------------------


def search_tickets(query: str, status: str | None = None, limit: int = 10) -> str:
    """Return the tickets that hold every word of the query as JSON, best match first.

    Raises ToolError where the query has no word or the database cannot be read.
    """
    expression = _quote(query)
    if not expression:
        raise ToolError("The query holds no word to search for; pass one or more plain words.")
    rows = _rows(_SEARCH, (expression, status, limit))
    return _json({"tickets": [dict(zip(_FOUND_KEYS, row, strict=True)) for row in rows]})


def get_ticket(id: int) -> str:  # noqa: A002 - the argument's name on the wire
    """Return one ticket in full as JSON.

    Raises ToolError where no ticket has this id or the database cannot be read.
    """
    rows = _rows(_GET, (id,)) if 0 <= id <= _MAX_ROWID else []
    if not rows:
        raise ToolError(f"There is no ticket {id}; take an id from a result of search_tickets.")
    return _json(dict(zip(_TICKET_KEYS, rows[0], strict=True)))


def _quote(query: str) -> str:
    """Turn words into a full-text expression in which nothing is an operator.

    A quoted string is a plain phrase to FTS5, so ``AND``, ``*`` or an open bracket are searched
    for instead of obeyed. A word without a letter or digit would be an empty phrase: left out.
    """
    # SQLite ends a text at NUL and refuses lone surrogates, which JSON can smuggle in.
    query = query.replace("\0", " ").encode("utf-8", "replace").decode()
    words = [word for word in query.split() if any(map(str.isalnum, word))]
    return " ".join('"' + word.replace('"', '""') + '"' for word in words)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# One connection per thread: a server may run its tools in several, and a connection that is
# shared would need a lock that the handler's time would then contain.
_local = threading.local()


def _rows(sql: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
    import sqlite3

    try:
        connection: sqlite3.Connection | None = getattr(_local, "connection", None)
        if connection is None:
            connection = _local.connection = _open_to_read(database_path())
        return connection.execute(sql, parameters).fetchall()
    except sqlite3.Error as error:
        # Closed, so that the next call sees a database that was built or repaired meanwhile.
        close()
        raise ToolError(_sentence(error)) from error


def close() -> None:
    """Close this thread's connection; the next call opens the database anew."""
    connection: sqlite3.Connection | None = getattr(_local, "connection", None)
    if connection is not None:
        del _local.connection
        connection.close()


def _open_to_read(path: Path) -> sqlite3.Connection:
    import sqlite3

    uri = path.absolute().as_uri() + "?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)


def _is_busy(error: sqlite3.Error) -> bool:
    import sqlite3

    # The low byte is the primary code; the rest tells which kind of busy.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _sentence(error: sqlite3.Error) -> str:
    import sqlite3

    if _is_busy(error):
        return (
            "The ticket database is locked by another program; "
            "wait a second and call the tool again."
        )
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN:
        return (
            "The ticket database is missing or may not be opened; "
            f"ask the operator to build it with {_BUILD}, then call the tool again."
        )
    return (
        f"The ticket database cannot be read ({error}); "
        f"ask the operator to rebuild it with {_BUILD}, then call the tool again."
    )


# -- building: what happens before a server starts -----------------------------------------------


def cache_path(count: int) -> Path:
    """Return where the database with ``count`` tickets is kept for this user."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if configured.is_absolute():  # a relative one is to be ignored, says its specification
        folder = configured
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches"
    else:
        folder = Path.home() / ".cache"
    return folder / "mcp-latency" / f"tickets-{count}-v{SCHEMA_VERSION}.sqlite3"


def database_path() -> Path:
    """Return the database that a server in this environment reads."""
    configured = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(configured) if configured else cache_path(DEFAULT_COUNT)


def ensure(path: Path, count: int = DEFAULT_COUNT, seed: int = DEFAULT_SEED) -> Path:
    """Make sure that ``path`` holds exactly the tickets of ``count`` and ``seed``; return it.

    A file that is missing, damaged or of other tickets is replaced in one step, so readers meet
    the old file or the whole new one. Several processes may do this at once: each builds its own
    copy and the last rename wins, with the same tickets.
    """
    import tempfile

    if _is_intact(path, count, seed):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        _build(temporary, count, seed)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _is_intact(path: Path, count: int, seed: int) -> bool:
    import sqlite3

    if not path.is_file():
        return False
    try:
        connection = _open_to_read(path)
        try:
            facts = dict(connection.execute("SELECT name, value FROM facts"))
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        # Somebody at work on it is no sign of damage.
        return _is_busy(error)
    return facts == {"count": count, "seed": seed} and verdict == "ok"


def _build(path: Path, count: int, seed: int) -> None:
    import sqlite3

    from servers.ticket_texts import tickets

    connection = sqlite3.connect(path, isolation_level=None)
    try:
        # Nobody reads the file before it is whole, so a journal would protect nothing.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO tickets VALUES (?,?,?,?,?,?)", tickets(count, seed))
        connection.execute("INSERT INTO tickets_index(tickets_index) VALUES ('rebuild')")
        connection.execute("INSERT INTO tickets_index(tickets_index) VALUES ('optimize')")
        connection.execute("INSERT INTO facts VALUES ('count', ?), ('seed', ?)", (count, seed))
        connection.execute("COMMIT")
    finally:
        connection.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())


def main() -> None:
    """Build the database that the servers read, unless it is there; print where it is."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m servers.tickets", description=main.__doc__)
    parser.add_argument("--count", type=int, default=DEFAULT_COUNT, help="how many tickets")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="which tickets")
    options = parser.parse_args()
    configured = os.environ.get(ENVIRONMENT_VARIABLE)
    path = database_path() if configured else cache_path(options.count)
    print(ensure(path, options.count, options.seed))


if __name__ == "__main__":
    main()

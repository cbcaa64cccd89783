"""The client's side of the protocol: no step runs ahead of the one before it."""

from __future__ import annotations

import json

import pytest

from bench.errors import LocalProtocolError
from bench.protocol.jsonrpc import ErrorResponse, Message, Request, Response, parse
from bench.protocol.mcp import ALLOWED, Connection, NegotiationError, State, page
from bench.protocol.revisions import REVISIONS, STATELESS_REVISION, Era

HANDSHAKE = [date for date, revision in REVISIONS.items() if revision.era is Era.HANDSHAKE]


def agree(connection: Connection, version: object) -> None:
    connection.initialize()
    result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s"}}
    connection.accept_initialize(Response(1, result))


@pytest.mark.parametrize("date", HANDSHAKE)
def test_the_handshake_goes_step_by_step(date: str) -> None:
    connection = Connection(date)
    for early in ("tools/list", "tools/call", "server/discover", "resources/list"):
        with pytest.raises(LocalProtocolError):
            connection.template(early)
    line = connection.initialize().encode(1)
    assert json.loads(line)["params"]["protocolVersion"] == date
    with pytest.raises(LocalProtocolError):
        connection.initialized()
    with pytest.raises(LocalProtocolError):
        connection.initialize()
    connection.accept_initialize(Response(1, {"protocolVersion": date}))
    with pytest.raises(LocalProtocolError):
        connection.template("tools/list")
    assert json.loads(connection.initialized()) == {
        "jsonrpc": "2.0",
        "method": "notifications/initialized",
    }
    connection.template("tools/list")
    assert connection.state is State.READY


def test_only_ping_is_allowed_in_every_state_before_the_end() -> None:
    for state, methods in ALLOWED.items():
        assert ("ping" in methods) is (state is not State.REFUSED)


@pytest.mark.parametrize("answered", HANDSHAKE)
def test_a_known_counter_offer_is_taken_and_recorded(answered: str) -> None:
    connection = Connection("2025-11-25")
    agree(connection, answered)
    assert connection.offered.date == "2025-11-25"
    assert connection.agreed is not None
    assert connection.agreed.date == answered


@pytest.mark.parametrize("answered", ["1999-01-01", None, 20251125, STATELESS_REVISION, ""])
def test_a_revision_that_we_do_not_speak_ends_the_connection(answered: object) -> None:
    connection = Connection("2025-11-25")
    with pytest.raises(NegotiationError, match="2025-11-25"):
        agree(connection, answered)
    assert connection.state is State.REFUSED
    with pytest.raises(LocalProtocolError):
        connection.initialized()


def test_an_error_answer_to_initialize_ends_the_connection_with_its_text() -> None:
    connection = Connection("2025-11-25")
    connection.initialize()
    with pytest.raises(NegotiationError, match="-32602 nope"):
        connection.accept_initialize(ErrorResponse(1, -32602, "nope"))


def test_the_stateless_era_describes_itself_in_every_request_and_never_initializes() -> None:
    connection = Connection(STATELESS_REVISION)
    with pytest.raises(LocalProtocolError):
        connection.initialize()
    params = json.loads(connection.template("tools/list").encode(1))["params"]
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == STATELESS_REVISION
    assert params["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}
    assert connection.protocol_probe().method == "server/discover"


def test_ids_are_never_used_twice() -> None:
    connection = Connection("2025-11-25")
    ids = [connection.next_id() for _ in range(100)]
    assert len(set(ids)) == 100


def test_a_server_that_asks_gets_the_smallest_legal_answer() -> None:
    connection = Connection("2025-11-25")
    pong = parse(connection.answer(Request("p", "ping", {})))
    assert pong == Response("p", {})
    refusal = parse(connection.answer(Request(3, "roots/list", {})))
    assert refusal == ErrorResponse(3, -32601, "Method not found")


def test_an_empty_cursor_is_a_cursor_and_an_absent_one_is_the_end() -> None:
    tool = {"name": "a"}
    assert page(Response(1, {"tools": [tool], "nextCursor": ""})) == ([tool], "")
    assert page(Response(1, {"tools": [tool]})) == ([tool], None)


@pytest.mark.parametrize(
    "answer",
    [
        ErrorResponse(1, -32601, "no"),
        Response(1, {}),
        Response(1, {"tools": 3}),
        Response(1, {"tools": [], "nextCursor": 5}),
        Response(1, None),
    ],
)
def test_what_is_no_page_of_tools_is_said_in_a_sentence(answer: Message) -> None:
    with pytest.raises(ValueError, match=r"tools|nextCursor"):
        page(answer)

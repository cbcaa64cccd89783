"""HTTP without a socket: any split of the same bytes gives the same events and messages."""

from __future__ import annotations

import base64
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.protocol.framing import Oversized, Refused
from bench.protocol.http import HttpBinding, Message, ResponseReader, Url, header_value
from bench.protocol.jsonrpc import Template
from bench.protocol.sse import Event, EventFraming

PLACES = st.lists(st.integers(min_value=0, max_value=10_000), max_size=30)
LINE_ENDS = [b"\n", b"\r\n", b"\r"]
PIECES = [b"data", b"event", b"id", b":", b" ", b"x", b"message", b"\n", b"\r", b"\r\n", b"\xff"]
STREAMS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join),
    st.binary(max_size=200),
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Cut at some places; parts may be empty."""
    edges = sorted([0, len(data), *(place % (len(data) + 1) for place in places)])
    return [data[a:b] for a, b in pairwise(edges)]


def events_of(chunks: list[bytes], limit_bytes: int = 1 << 20) -> list[Event]:
    framing = EventFraming(limit_bytes)
    return [event for chunk in chunks for event in framing.feed(chunk)]


def by_the_book(stream: bytes) -> list[Event]:
    """Read a whole stream, word by word as WHATWG HTML says (9.2.6)."""
    events = []
    name, data = b"", b""
    *lines, _unfinished = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    for line in lines:
        if not line:
            if data:
                events.append(Event((name or b"message").decode("utf-8", "replace"), data[:-1]))
            name, data = b"", b""
        elif not line.startswith(b":"):
            field, _, value = line.partition(b":")
            value = value[1:] if value.startswith(b" ") else value
            if field == b"event":
                name = value
            elif field == b"data":
                data += value + b"\n"
    return events


@given(STREAMS, PLACES)
def test_any_split_of_a_stream_gives_the_events_of_the_whole(
    stream: bytes, places: list[int]
) -> None:
    assert events_of(cut(stream, places)) == by_the_book(stream)


@given(STREAMS)
def test_byte_by_byte_is_the_same_as_the_whole(stream: bytes) -> None:
    assert events_of([bytes([byte]) for byte in stream]) == by_the_book(stream)


@given(
    st.lists(st.lists(st.sampled_from([b"data: a", b"data", b": c", b"event: e", b"retry: 1"]))),
    st.sampled_from(LINE_ENDS),
    PLACES,
)
def test_the_kind_of_line_end_changes_nothing(
    blocks: list[list[bytes]], line_end: bytes, places: list[int]
) -> None:
    lines = [line for block in blocks for line in (*block, b"")]
    plain, other = (b"".join(line + end for line in lines) for end in (b"\n", line_end))
    assert events_of(cut(other, places)) == events_of([plain])


@given(
    st.integers(min_value=0, max_value=40),
    st.integers(min_value=0, max_value=40),
    st.sampled_from([b"data: ", b"data:"]),
    PLACES,
)
def test_data_above_the_limit_is_counted_and_dropped_and_the_next_event_is_fine(
    first: int, second: int, field: bytes, places: list[int]
) -> None:
    limit = 16
    stream = field + b"y" * first + b"\n" + field + b"z" * second + b"\n\ndata: ok\n\n"
    size = first + 1 + second
    data = b"y" * first + b"\n" + b"z" * second
    expected: bytes | Oversized = data if size <= limit else Oversized(size)
    assert events_of(cut(stream, places), limit) == [
        Event("message", expected),
        Event("message", b"ok"),
    ]


def test_a_long_line_in_many_chunks_takes_no_more_time_than_its_length() -> None:
    framing = EventFraming()
    for _ in range(20_000):
        assert framing.feed(b"data" * 250) == []
    assert framing.feed(b"\n\n") == []  # a field that nobody knows
    assert framing.feed(b"data: 1\n\n") == [Event("message", b"1")]


ANSWERS = [b'{"jsonrpc":"2.0","id":%d,"result":{}}' % id_ for id_ in (1, 2)]
NOTICE = b'{"jsonrpc":"2.0","method":"notifications/message"}'


def response(body: bytes, kind: bytes, chunk_bytes: int, status: bytes = b"200 OK") -> bytes:
    """Return a recorded response; ``chunk_bytes`` of 0 stands for a length instead of chunks."""
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nMcp-Session-Id: s1\r\n" % (status, kind)
    if not chunk_bytes:
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    parts = [body[at : at + chunk_bytes] for at in range(0, len(body), chunk_bytes)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


def recorded(answer: bytes, chunk_bytes: int, stream: bool) -> tuple[bytes, list[Message]]:
    if not stream:
        return response(answer, b"application/json; charset=utf-8", chunk_bytes), [answer]
    body = b"id: 0\ndata:\n\n: c\n\ndata: %b\r\n\r\nevent: message\ndata: %b\n\n" % (NOTICE, answer)
    return response(body, b"text/event-stream", chunk_bytes), [NOTICE, answer]


SHAPES = list(product([0, 1, 7, 1000], [False, True]))


@given(st.sampled_from(SHAPES), st.sampled_from(SHAPES), PLACES)
def test_any_split_of_two_responses_gives_the_same_messages(
    first: tuple[int, bool], second: tuple[int, bool], places: list[int]
) -> None:
    (one, of_one), (two, of_two) = recorded(ANSWERS[0], *first), recorded(ANSWERS[1], *second)
    reader = ResponseReader()
    for chunk in cut(one + two, places):
        reader.feed(chunk)
    assert list(reader.ready) == of_one + of_two
    assert reader.response is not None
    assert (reader.response.status, reader.response.session) == (200, b"s1")
    assert reader.response.complete
    assert reader.response.keep_alive


@given(st.sampled_from(SHAPES), st.integers(min_value=0, max_value=10_000))
def test_a_response_that_breaks_off_gives_no_answer(shape: tuple[int, bool], place: int) -> None:
    """Only a stream may have given its events by then."""
    data, messages = recorded(ANSWERS[0], *shape)
    reader = ResponseReader()
    reader.feed(data[: place % len(data)])
    reader.end()
    got = list(reader.ready)
    assert got == messages[: len(got)]
    assert shape[1] or not got
    assert reader.response is None or not reader.response.complete


def read(*parts: bytes, limit_bytes: int = 1000) -> ResponseReader:
    reader = ResponseReader(limit_bytes)
    for part in parts:
        reader.feed(part)
    return reader


def test_the_end_of_the_connection_is_the_end_of_a_body_without_a_length() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    reader = read(head, ANSWERS[0])
    assert not reader.ready
    reader.end()
    assert list(reader.ready) == [ANSWERS[0]]


def test_an_acceptance_or_a_redirect_without_a_length_ends_with_its_head() -> None:
    accepted = read(b"HTTP/1.1 202 Accepted\r\n\r\n").response
    assert accepted is not None
    assert (accepted.complete, accepted.keep_alive) == (True, False)
    reader = read(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /mcp/\r\n\r\n")
    reader.end()
    text = "HTTP 307, a redirect to /mcp/; give that URL instead"
    assert list(reader.ready) == [Refused(307, text)]


def test_an_interim_response_is_none() -> None:
    reader = read(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert (reader.response, list(reader.ready)) == (None, [])
    reader.feed(response(ANSWERS[0], b"application/json", 0))
    assert list(reader.ready) == [ANSWERS[0]]


@pytest.mark.parametrize(("chunk_bytes", "stream"), SHAPES)
def test_an_answer_above_the_limit_is_counted_and_the_next_one_is_fine(
    chunk_bytes: int, stream: bool
) -> None:
    large, _ = recorded(b"{%b}" % (b" " * 2000), chunk_bytes, stream)
    small, messages = recorded(ANSWERS[1], chunk_bytes, stream)
    got = list(read(large, small).ready)
    assert got[-len(messages) :] == messages
    assert got[-len(messages) - 1] == Oversized(2002)


def test_a_json_rpc_error_under_any_status_is_an_answer() -> None:
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}'
    assert list(read(response(error, b"application/json", 0, b"400 Bad Request")).ready) == [error]


def test_other_json_under_an_error_status_is_a_refusal() -> None:
    data = response(b'{"detail":"no"}', b"application/json", 0, b"401 Unauthorized")
    (refused,) = read(data).ready
    assert isinstance(refused, Refused)
    assert refused.status == 401
    assert refused.text.endswith("""give it by --header: '{"detail":"no"}'""")


@given(st.binary(min_size=1, max_size=50))
def test_bytes_that_are_no_http_give_one_sentence(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^what came back is no HTTP \("):
        read(b"\x15" + data)


@given(st.text())
def test_a_header_value_is_safe_and_says_the_same(text: str) -> None:
    value = header_value(text)
    assert value.isascii()
    assert not value or value.isprintable()
    assert value == value.strip()
    if value.startswith("=?base64?"):
        assert base64.b64decode(value[9:-2]).decode() == text
    else:
        assert value == text


def test_a_plain_name_stands_in_a_header_as_it_is() -> None:
    assert header_value("search_tickets") == "search_tickets"
    assert header_value("Zürich") == "=?base64?WsO8cmljaA==?="
    assert header_value("=?base64?eA==?=") == "=?base64?PT9iYXNlNjQ/ZUE9PT89?="


@given(
    st.sampled_from(["http", "https"]),
    st.sampled_from(["127.0.0.1", "localhost", "[::1]", "mcp.example.com"]),
    st.one_of(st.none(), st.integers(min_value=1, max_value=65535)),
    st.sampled_from(["", "/", "/mcp", "/a/b?key=1&x=%20"]),
)
def test_the_parts_of_a_url_are_what_stands_in_it(
    scheme: str, host: str, port: int | None, path: str
) -> None:
    url = Url.parse(f"{scheme}://{host}{'' if port is None else f':{port}'}{path}")
    default = {"http": 80, "https": 443}[scheme]
    assert (url.scheme, url.host, url.port) == (scheme, host.strip("[]"), port or default)
    assert url.path == (path or "/")
    assert url.authority == (host if url.port == default else f"{host}:{port}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:8000/mcp",
        "ftp://127.0.0.1/mcp",
        "http://",
        "http:///mcp",
        "http://127.0.0.1:0/mcp",
        "http://127.0.0.1:65536/mcp",
        "http://127.0.0.1:{port}/mcp",
        "http://[::1/mcp",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/a\r\nX: y",
        "http://127.0.0.1/ü",
    ],
)
def test_what_is_no_url_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no URL of a server; expected http://HOST:PORT/PATH$"):
        Url.parse(text)


def test_a_request_is_one_piece_with_the_headers_that_are_in_force() -> None:
    binding = HttpBinding(Url.parse("http://h:1/mcp"), {"Authorization": "Bearer x"}, "2025-11-25")
    call = Template("tools/call", {"name": "probe"})
    before = binding.request(call).encode(7)
    binding.session = b"s1"
    binding.agree("2025-06-18")
    after = binding.request(call).encode(12345)
    head, _, body = after.partition(b"\r\n\r\n")
    assert body == call.encode(12345).rstrip(b"\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /mcp HTTP/1.1"
    assert set(lines[1:]) == {
        b"Host: h:1",
        b"Authorization: Bearer x",
        b"MCP-Protocol-Version: 2025-06-18",
        b"Mcp-Session-Id: s1",
        b"Content-Type: application/json",
        b"Accept: application/json, text/event-stream",
        b"Content-Length: %d" % len(body),
    }
    assert b"MCP-Protocol-Version" not in before
    assert b"Mcp-Session-Id" not in before


def test_a_stateless_request_says_in_its_head_what_it_is() -> None:
    binding = HttpBinding(Url.parse("http://h/"), {}, "2026-07-28")
    head = binding.request(Template("tools/call", {"name": "Zürich"})).encode(1)
    assert b"MCP-Protocol-Version: 2026-07-28\r\n" in head
    assert b"Mcp-Method: tools/call\r\nMcp-Name: =?base64?WsO8cmljaA==?=\r\n" in head

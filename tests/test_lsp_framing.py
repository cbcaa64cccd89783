"""LSP framing: any split of the same bytes gives the same messages, and a broken head is an end."""

from __future__ import annotations

import json
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.protocol.framing import Oversized
from bench.protocol.jsonrpc import Template, notification
from bench.protocol.lsp import HEAD_LIMIT_BYTES, HeadBinding, HeadFraming, frame
from tests.test_framing import cut

BODIES = st.lists(st.binary(max_size=40))
PLACES = st.lists(st.integers(min_value=0, max_value=10_000))
HEADS = st.sampled_from(
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length:%d\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: a:b\r\n\r\n",
    ]
)


@given(BODIES, HEADS, st.integers(min_value=0, max_value=60), PLACES)
def test_any_split_of_the_same_bytes_gives_the_same_messages(
    bodies: list[bytes], head: bytes, tail_bytes: int, places: list[int]
) -> None:
    tail = frame(b"x" * 60)[:tail_bytes]
    data = b"".join(head % len(body) + body for body in bodies) + tail
    framing = HeadFraming()
    got = [message for chunk in cut(data, places) for message in framing.feed(chunk)]
    assert got == bodies
    assert framing.pending == tail
    assert framing.pending_bytes == len(tail)


@given(BODIES)
def test_byte_by_byte_is_the_same_as_the_whole(bodies: list[bytes]) -> None:
    data = b"".join(map(frame, bodies))
    whole, bytewise = HeadFraming(), HeadFraming()
    one_by_one = [message for byte in data for message in bytewise.feed(bytes([byte]))]
    assert whole.feed(data) == one_by_one == bodies
    assert bytewise.pending_bytes == 0


@given(st.integers(min_value=1, max_value=64), PLACES)
def test_a_message_above_the_limit_is_counted_and_dropped_and_the_next_one_is_fine(
    excess: int, places: list[int]
) -> None:
    limit = 16
    data = frame(b"y" * (limit + excess)) + frame(b"z" * limit)
    framing = HeadFraming(limit)
    got = [message for chunk in cut(data, places) for message in framing.feed(chunk)]
    assert got == [Oversized(limit + excess), b"z" * limit]


@given(st.binary(min_size=1, max_size=40))
def test_the_size_on_the_wire_is_that_of_head_and_body(body: bytes) -> None:
    framing, data = HeadFraming(), frame(body)
    assert framing.size_on_wire(framing.feed(data)[0]) == len(data)
    small = HeadFraming(limit_bytes=0)
    assert small.size_on_wire(small.feed(data)[0]) == len(data)


BROKEN = [
    b'{"jsonrpc":"2.0"}\r\n\r\n',
    b"hello\r\nContent-Length: 2\r\n\r\n",
    b"Content-Type: x\r\n\r\n",
    b"Content-Length: -1\r\n\r\n",
    b"Content-Length: two\r\n\r\n",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
    b"hello\nContent-Length: 2\r\n\r\n",
    b"x" * (HEAD_LIMIT_BYTES + 1),
]


@pytest.mark.parametrize("head", BROKEN)
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_a_head_that_cannot_be_read_is_told(head: bytes, step: int) -> None:
    framing = HeadFraming()
    chunks = [head[place : place + step] for place in range(0, len(head), step)]
    with pytest.raises(ValueError, match="not the head of an LSP message"):
        deque(map(framing.feed, chunks), maxlen=0)


@given(
    st.integers(min_value=0), st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3)
)
def test_a_request_is_framed_by_its_length_in_bytes(id_: int, params: dict[str, str]) -> None:
    data = HeadBinding().request(Template("bench/echo", params)).encode(id_)
    (body,) = HeadFraming().feed(data)
    assert isinstance(body, bytes)
    assert json.loads(body)["id"] == id_
    assert json.loads(body).get("params") == params


def test_a_notification_loses_its_line_end() -> None:
    body = b'{"jsonrpc":"2.0","method":"initialized","params":{}}'
    assert HeadBinding().message(notification("initialized", {})) == frame(body)

"""Bytes of a connection become the same messages, however often their head was seen before."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.protocol.framing import Oversized, Refused
from bench.protocol.http import Message, ResponseReader


def json_response(body: bytes, *, extra: bytes = b"") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return b"%b%bContent-Length: %d\r\n\r\n%b" % (head, extra, len(body), body)


def chunked(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    return b"%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (head, len(body), body)


def read(reader: ResponseReader, *chunks: bytes) -> list[Message]:
    """Take one response as the transport does: forget the one before, then feed."""
    reader.response = None
    for chunk in chunks:
        reader.feed(chunk)
    taken = list(reader.ready)
    reader.ready.clear()
    return taken


bodies = st.sampled_from([b'{"id":1}', b'{"id":2}', b'{"id":10}', b" " * 8, b"\r\n\r\n12}"])
responses = st.builds(
    lambda wrap, body, cuts: (wrap(body), cuts),
    st.sampled_from(
        [json_response, chunked, lambda body: json_response(body, extra=b"Date: now\r\n")]
    ),
    bodies,
    st.lists(st.integers(0, 120), max_size=2),
)


@given(st.lists(responses, max_size=8))
def test_a_reader_that_has_seen_others_reads_as_a_fresh_one(
    sent: list[tuple[bytes, list[int]]],
) -> None:
    used = ResponseReader()
    for data, cuts in sent:
        edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
        chunks = [data[start:end] for start, end in pairwise(edges) if start < end]
        fresh = ResponseReader()
        assert read(used, *chunks) == read(fresh, *chunks)
        assert used.response is not None
        assert fresh.response is not None
        assert used.response.complete
        assert used.response.status == fresh.response.status
        assert used.response.keep_alive == fresh.response.keep_alive


def test_what_follows_a_known_head_is_not_taken_for_its_body() -> None:
    reader, one = ResponseReader(), json_response(b'{"id":1}')
    assert read(reader, one) == read(reader, one) == [b'{"id":1}']
    assert read(reader, one + one) == [b'{"id":1}', b'{"id":1}']
    with pytest.raises(ValueError, match="no HTTP"):
        read(reader, one[:-1] + b"x" + b"not HTTP")


def test_a_refusal_or_an_oversized_answer_is_one_again() -> None:
    refusal = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"
    reader = ResponseReader(limit_bytes=4)
    for _ in range(3):
        (refused,) = read(reader, refusal)
        assert isinstance(refused, Refused)
        assert refused.status == 404
        assert read(reader, json_response(b'{"id":1}')) == [Oversized(8)]

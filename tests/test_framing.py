"""Framing: any split of the same bytes gives the same messages, and a tail stays."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bench.protocol.framing import LineFraming, Oversized

LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"").rstrip(b"\r")))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


@given(LINES, st.binary(max_size=20), st.lists(st.integers(min_value=0, max_value=10_000)))
def test_any_split_of_the_same_bytes_gives_the_same_messages(
    lines: list[bytes], tail: bytes, places: list[int]
) -> None:
    tail = tail.replace(b"\n", b"")
    data = b"".join(line + b"\n" for line in lines) + tail
    framing = LineFraming()
    got = [message for chunk in cut(data, places) for message in framing.feed(chunk)]
    assert got == lines
    assert framing.pending == tail


@given(LINES)
def test_byte_by_byte_is_the_same_as_the_whole(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    whole, bytewise = LineFraming(), LineFraming()
    one_by_one = [message for byte in data for message in bytewise.feed(bytes([byte]))]
    assert whole.feed(data) == one_by_one == lines
    assert bytewise.pending_bytes == 0


@given(st.integers(min_value=1, max_value=64), st.lists(st.integers(min_value=0, max_value=10_000)))
def test_a_line_above_the_limit_is_counted_and_dropped_and_the_next_one_is_fine(
    excess: int, places: list[int]
) -> None:
    limit = 16
    data = b"y" * (limit + excess) + b"\nok\n"
    framing = LineFraming(limit)
    got = [message for chunk in cut(data, places) for message in framing.feed(chunk)]
    assert got == [Oversized(limit + excess), b"ok"]


def test_a_line_of_exactly_the_limit_passes() -> None:
    assert LineFraming(4).feed(b"abcd\n") == [b"abcd"]


def test_a_trailing_carriage_return_is_stripped() -> None:
    assert LineFraming().feed(b"a\r\nb\n") == [b"a", b"b"]


def test_unicode_line_separators_do_not_cut_a_message() -> None:
    line = "a\u2028b\u0085c".encode()
    assert LineFraming().feed(line + b"\n") == [line]

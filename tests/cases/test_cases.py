"""Public trouble cases over stdio, with real processes: an ok result or one clear sentence each."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bench
from bench.clients.raw import RawClient
from bench.clock import Watch, now_ns
from bench.exchange import Kind, Outcome
from bench.notices import Notices
from bench.protocol.jsonrpc import Message, Response, parse
from bench.protocol.mcp import Connection
from bench.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from conftest import Cli, Session

OK, LOST = Outcome.OK, Outcome.TRANSPORT_ERROR
KIB = 1024
PROMPTLY_S = 5.0
"""Far more than the second in which an exit is to be noticed, far less than the time limit."""


@pytest.mark.parametrize(("mode", "lag"), [("late-replies", [4]), ("until-eof", [])])
def test_a_server_that_does_not_flush_is_told_so(
    session: Session, mode: str, lag: list[int]
) -> None:
    """C02: replies held in a buffer come several requests late, or at the end of input."""
    failure = session(mode, *lag, timeout_s=0.7).failure
    assert (failure["phase"], failure["cause"]) == ("initialize", "timeout")
    assert failure["text"].startswith("no answer within 0.7 s (--timeout); output appeared only")
    assert "does not flush its stdout" in failure["text"]


def test_answers_that_lag_one_call_behind_are_credited_to_none(session: Session) -> None:
    """C02: a late answer belongs to its own request only."""
    failure = session("late-replies", 1, "tools/call", calls=9, timeout_s=0.5).failure
    assert (failure["phase"], failure["cause"]) == ("calls", "timeout")
    assert "no answer to 3 requests in a row" in failure["text"]
    assert "it was not credited to another call" in failure["text"]


def test_stderr_of_any_size_and_encoding_stops_nothing(session: Session) -> None:
    """C05: nobody reads stderr, so the server blocks: 256 KiB of byte 0xFF before each reply."""
    assert session("loud-stderr", calls=10).outcomes == [OK] * 10


def test_only_the_end_of_a_long_stderr_is_shown(session: Session) -> None:
    """C05: the tail of stderr is kept and shown with a failure."""
    text = session("exit", 7, 0, "x" * 100_000 + " the last words").failure["text"]
    assert text.endswith("xxx the last words")
    assert len(text) < 2000


def test_answers_around_64_kib_and_of_1_and_16_mib_arrive_whole(session: Session) -> None:
    """C10: a line limit of 64 KiB in the reader ends the session."""
    sizes = [65_535, 65_536, 65_537, KIB**2, 16 * KIB**2]
    between = [size for pair in zip(sizes, [100] * len(sizes), strict=True) for size in pair]
    ended = session("sizes", *between, calls=len(between))
    assert ended.outcomes == [OK] * len(between)
    assert ended.column("response_bytes") == [size + 1 for size in between]
    assert not ended.notices


def test_an_answer_above_the_cap_costs_that_call_only(session: Session) -> None:
    """C10: beyond the documented cap a message is counted and dropped."""
    big = 3 * KIB**2
    ended = session("sizes", big, 100, calls=4, limit_bytes=2 * KIB**2)
    assert ended.outcomes == [LOST, OK, LOST, OK]
    notice = ended.notices["message_too_large"]
    assert f"message too large ({big} bytes); the limit is {2 * KIB**2}" in notice.text


READ_AND_GONE = ("initialize", "boot")
"""A server may read and end between two looks at its stdin: then boot is the last that was seen."""
EXITS = {
    "exit 7": (READ_AND_GONE, "server_exited", "exit code 7; stderr ended with: no licence found"),
    "exit 7 0": (("boot",), "server_exited", "exit code 7; stderr ended with: no licence found"),
    "exit 0": (READ_AND_GONE, "server_exited", "exit code 0"),
    "exit 0 0": (("boot",), "server_exited", "exit code 0"),
    "kill-itself": (READ_AND_GONE, "server_exited", "killed by SIGKILL"),
    "close-stdout": (("boot",), "stdout_closed", "closed its stdout before boot was done but is"),
    "exit-in-call 2": (("calls",), "server_exited", "after 1 exchanges: exit code 3; stderr ended"),
}


@pytest.mark.parametrize("mode", EXITS)
def test_the_end_of_a_server_is_noticed_at_once(session: Session, mode: str) -> None:
    """C14: the process dies during start-up and the client waits out the clock."""
    phases, cause, words = EXITS[mode]
    started_s = time.monotonic()
    failure = session(*mode.split(), calls=3, timeout_s=30).failure
    assert time.monotonic() - started_s < PROMPTLY_S
    assert failure["phase"] in phases
    assert failure["cause"] == cause
    assert words in failure["text"]


SILENT = {
    "never-read": ("boot", "the server did not read its stdin within 0.7 s (--timeout)"),
    "never-answer": ("initialize", "no answer within 0.7 s (--timeout)"),
    "header-reader": ("initialize", "no answer within 0.7 s (--timeout)"),
}


@pytest.mark.parametrize("mode", SILENT)
def test_only_a_living_silent_server_is_a_timeout(session: Session, mode: str) -> None:
    """C14, C39: alive but silent, as a server that waits for Content-Length headers is."""
    failure = session(mode, timeout_s=0.7).failure
    assert failure["cause"] == "timeout"
    assert (failure["phase"], failure["text"]) == SILENT[mode]


def test_a_command_that_cannot_be_started_says_why(session: Session, tmp_path: Path) -> None:
    """C14: not found, not executable, no interpreter, no program: four sentences."""
    plain, orphan, nothing = (tmp_path / name for name in ("plain", "orphan", "nothing"))
    plain.write_text("x")
    orphan.write_text(f"#!{tmp_path}/gone\n")
    nothing.write_text("exit\n")
    for script in (orphan, nothing):
        script.chmod(0o755)
    expected = {
        "no-such-command": ("not_found", "command not found: no-such-command; expected a program"),
        str(plain): ("not_executable", f"not executable: {plain}; expected"),
        str(orphan): ("not_found", "the interpreter that its first line names does not exist"),
        str(nothing): ("spawn_failed", "neither a program of this machine nor a script"),
    }
    for command, (cause, words) in expected.items():
        failure = session(argv=[command]).failure
        assert (failure["phase"], failure["cause"]) == ("spawn", cause)
        assert words in failure["text"]
    assert session(cwd=str(tmp_path / "gone")).failure["text"].startswith("no such folder: ")


def test_notifications_are_counted_and_never_taken_for_the_answer(session: Session) -> None:
    """C28: notifications before the answer to initialize, and 100 in each call."""
    ended = session("notifications", calls=3)
    assert ended.outcomes == [OK] * 3
    assert ended.column("other_messages") == [100] * 3
    assert all(total > 100 * 50 for total in ended.column("other_bytes"))
    firsts = zip(
        ended.column("sent_ns"),
        ended.column("first_other_ns"),
        ended.column("received_ns"),
        strict=True,
    )
    assert all(sent < first <= received for sent, first, received in firsts)


def test_calls_at_once_get_their_own_payload_and_duration(faulty: tuple[str, ...]) -> None:
    """C28: five at once that a server answers in reverse order, told apart by their ids alone."""
    delays = [500, 400, 300, 200, 100]
    transport = StdioTransport([*faulty, "delays"])
    connection = Connection("2025-11-25")
    client = RawClient(connection, transport, Watch(30.0), Notices())
    transport.open(lambda _step: None)
    sent: dict[object, tuple[int, int]] = {}
    answers: dict[int, tuple[str, int]] = {}
    try:
        _, answer = client.exchange(connection.initialize(), Kind.WARMUP)
        assert answer is not None
        connection.accept_initialize(answer)
        client.notify(connection.initialized())
        for delay in delays:
            params = {"name": "probe", "arguments": {"delay_ms": delay}}
            id_ = connection.next_id()
            sent[id_] = delay, now_ns()
            transport.send(connection.template("tools/call", params).encode(id_))
        for _ in delays:
            line, received_ns = transport.receive()
            assert isinstance(line, bytes)
            answer = parse(line)
            assert isinstance(answer, Response)
            delay, sent_ns = sent[answer.id]
            answers[delay] = text_of(answer), received_ns - sent_ns
    finally:
        transport.close()
    for delay, (text, took_ns) in answers.items():
        assert text == str(delay)
        assert delay <= took_ns / 1e6 < delay + 5000


def text_of(answer: Message) -> str:
    assert isinstance(answer, Response)
    return str(answer.result["content"][0]["text"])


def test_invalid_utf8_costs_one_call_and_says_where(session: Session) -> None:
    """C36: a result in another encoding hangs the client or ends the session."""
    ended = session("bad-utf8", calls=3)
    assert ended.outcomes == [LOST, OK, OK]
    assert "invalid UTF-8 at byte 77" in ended.notices["broken_answer"].text
    assert ended.column("received_ns")[0] > ended.column("sent_ns")[0]


def test_a_character_may_be_split_over_two_writes(session: Session) -> None:
    """C36: bytes are joined before they are decoded."""
    ended = session("split-character", calls=2)
    assert ended.outcomes == [OK, OK]
    assert not ended.notices


MISFRAMED = {
    "bom": "a byte-order mark stands before the message",
    "glued-banner": "text stands before a message on one line, so that answer is lost: "
    "'Ticket server ready {",
    "header-writer": "Content-Length framing (LSP) on stdio, where MCP has one message per line",
    "pretty": "a message spans lines (pretty-printed JSON), where MCP has one message per line",
}


@pytest.mark.parametrize("mode", MISFRAMED)
def test_wrong_framing_is_named_at_once(session: Session, mode: str) -> None:
    """C36, C38, C39: a byte-order mark, a banner without line end, headers, pretty JSON."""
    started_s = time.monotonic()
    failure = session(mode, timeout_s=30).failure
    assert time.monotonic() - started_s < PROMPTLY_S
    assert (failure["phase"], failure["cause"]) == ("initialize", "protocol_error")
    assert MISFRAMED[mode] in failure["text"]


def test_text_on_stdout_is_noted_and_the_session_goes_on(session: Session) -> None:
    """C38: a banner with an emoji, a blank line, a log line in the middle of each call."""
    ended = session("banner", calls=3)
    assert ended.outcomes == [OK] * 3
    text = ended.notices["stdout_pollution"].text
    assert "line 1 of its output, before initialize was answered: '🚀 Ticket server ready'" in text
    assert ended.notices["stdout_pollution"].count == 4
    assert ended.notices["blank_line"].count == 1


def test_text_on_stdout_fails_a_strict_session(session: Session) -> None:
    """C38: the policy switch."""
    failure = session("banner", strict=True).failure
    assert failure["cause"] == "protocol_error"
    assert "Ticket server ready" in failure["text"]
    assert failure["text"].endswith("(--strict)")


def test_line_ends_of_windows_simply_work(session: Session) -> None:
    """C39: CRLF on stdout."""
    ended = session("crlf", calls=3)
    assert ended.outcomes == [OK] * 3
    assert not ended.notices


def test_every_way_in_which_a_call_can_end_has_its_own_bucket(session: Session) -> None:
    """C13: isError is no success, text that looks like an error is no failure."""
    ended = session("outcomes", calls=7)
    refused = [Outcome.TOOL_ERROR, Outcome.RPC_ERROR, Outcome.RPC_ERROR]
    assert ended.outcomes == [OK, OK, *refused, LOST, LOST]
    assert "both result and error" in ended.notices["broken_answer"].text


def test_a_late_answer_is_counted_and_the_session_goes_on(session: Session) -> None:
    """C35: an answer that comes after the time limit, then quick calls."""
    ended = session("slow-first-call", 1, calls=4, timeout_s=0.7)
    assert ended.outcomes == [Outcome.TIMEOUT, OK, OK, OK]
    assert ended.notices["late_answer"].count == 1


def test_a_request_of_the_server_is_refused_at_once(session: Session) -> None:
    """C09: the server asks for roots under the id of our own call and waits."""
    ended = session("asks", "roots/list", calls=3)
    assert ended.outcomes == [OK] * 3
    assert ended.notices["server_request"].count == 3


def test_a_run_tells_which_server_agrees_to_any_version(cli: Cli) -> None:
    """C44: asked in a session apart."""
    done = cli.run(*cli.measure("good", options="--probe-version"))
    assert done.returncode == 0, done.stderr
    assert "echoes unknown version: asked once for revision 1900-01-01" in done.stdout


def test_one_run_over_all_troubles_keeps_what_worked_and_names_what_did_not(
    cli: Cli, faulty: tuple[str, ...]
) -> None:
    """C02 to C39, by the command line: cell, phase and cause; exit code 2; nothing lost."""
    good = ["good", "crlf", "loud-stderr", "banner", "notifications", "split-character", "odd-name"]
    bad = {"until-eof": "initialize", "exit 7 0": "boot", "close-stdout": "boot"}
    bad |= {"bom": "initialize", "exit-in-call 2": "calls"}
    text = "sessions = 1\ncalls = 2\nwarmups = 0\ntimeout_s = 2\nclose_grace_s = 0.3\n"
    for mode in (*good, *bad):
        command = shlex.join((*faulty, *mode.split()))
        name = mode.replace(" ", "-")
        text += f'[[cell]]\ncommand = "{command}"\nname = "{name}"\ntool = "probe"\nmarks = false\n'
    (cli.folder / "troubles.toml").write_text(text)
    done = cli.run("run", "troubles.toml", "-o", "out.json")
    assert done.returncode == 2
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    assert len(failed) == len(bad)
    for mode, phase in bad.items():
        start = f"failed: stdio/{mode.replace(' ', '-')}/probe/no-marks, round 1, {phase}: "
        assert sum(line.startswith(start) for line in failed) == 1
    kept = {
        cell.name.split("/")[1]: len(cell.sessions)
        for cell in bench.load(cli.folder / "out.json").cells
    }
    assert [name for name, sessions in kept.items() if sessions] == good

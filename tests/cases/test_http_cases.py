"""Public trouble cases over HTTP, with real processes: an ok result or one clear sentence each."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from bench.errors import SessionError
from bench.exchange import Outcome
from bench.transports import sockets
from bench.transports.sockets import Endpoint

if TYPE_CHECKING:
    from conftest import Alive, Ended, Session

SERVER = Path(__file__).parent / "faulty_http_server.py"
OK, LOST = Outcome.OK, Outcome.TRANSPORT_ERROR
PROMPTLY_S = 5.0
"""Far less than the time limit of a session that has one of its own."""
Http = Callable[..., "Ended"]


@pytest.fixture
def http(session: Session, alive: Alive) -> Iterator[Http]:
    """Run a session against the faulty server in a mode; its process is gone afterwards."""
    started = 0

    def run(
        mode: str = "good",
        *arguments: str | int,
        url: str = "http://127.0.0.1:{port}/mcp",
        port: str = "{port}",
        servers: int = 1,
        **changes: Any,
    ) -> Ended:
        nonlocal started
        argv = (sys.executable, "-S", str(SERVER), port, mode, *map(str, arguments))
        values: dict[str, Any] = {"argv": argv, "transport": "http", "url": url, "timeout_s": 10}
        ended = session(env=alive.env, **{**values, **changes})
        started += servers
        assert alive.all_gone(started)
        return ended

    yield run
    assert started, "the server was never started"


def failed(ended: Ended) -> tuple[str, str, str]:
    failure = ended.failure
    return failure["phase"], failure["cause"], failure["text"]


def counts(ended: Ended) -> dict[str, int]:
    return {code: notice.count for code, notice in ended.notices.items()}


def test_a_good_server_is_measured_over_one_connection_and_told_once(http: Http) -> None:
    """C34: setup once, then calls: no connection and no session per call."""
    ended = http(calls=50, warmups=5)
    assert ended.outcomes == [OK] * 50
    assert not ended.notices
    assert ended.facts["connections"] == 1
    assert (ended.facts["delete_status"], ended.facts["escalation"]) == (200, "term")
    phases = [phase for phase, _ in ended.entry.header["setup"]]
    assert phases == ["spawn", "boot", "connect", "initialize", "initialized", "tools_list"]
    assert len(set(ended.column("response_bytes"))) <= 2  # the id has one or two digits


def test_errors_inside_http_200_are_no_successes(http: Http) -> None:
    """C01: failing calls are quicker than real ones and would lower every figure."""
    ended = http("third-fails", calls=30)
    assert ended.outcomes == [OK, OK, Outcome.RPC_ERROR] * 10


def test_head_and_body_leave_in_one_piece_without_delay(http: Http) -> None:
    """C03: two small writes under Nagle's algorithm cost 40 ms; ours are never two."""
    ended = http("one-piece", calls=20)
    assert ended.outcomes == [OK] * 20
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Endpoint(*listener.getsockname()).connect() as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("how", ["old", "empty", "not-found", "odd", "silent"])
def test_a_server_of_the_handshake_era_is_known_by_any_refusal_of_the_probe(
    http: Http, how: str
) -> None:
    """C16: HTTP 400 of old SDKs, 404, a list of old versions, silence."""
    ended = http("probe", how, revision="auto", calls=2, timeout_s=0.7)
    assert ended.outcomes == [OK, OK]
    assert ended.facts["agreed_revision"] == "2025-11-25"
    phases = [phase for phase, _ in ended.entry.header["setup"]]
    assert phases[-4:] == ["discover", "initialize", "initialized", "tools_list"]


def test_a_stateless_server_that_lists_our_version_is_never_asked_to_initialize(http: Http) -> None:
    """C16: HTTP 400 with -32022 is an answer of the stateless era."""
    ended = http("probe", "listed", revision="auto", calls=2)
    assert ended.outcomes == [OK, OK]
    assert ended.facts["agreed_revision"] == "2026-07-28"
    assert "initialize" not in dict(ended.entry.header["setup"])
    assert not ended.notices


RESULT_TYPES = {"complete": OK, "absent": OK, "banana": LOST}


@pytest.mark.parametrize("value", RESULT_TYPES)
def test_an_absent_result_type_is_complete_and_an_unknown_one_no_success(
    http: Http, value: str
) -> None:
    """C30: in the stateless era."""
    ended = http("result-type", value, revision="2026-07-28", calls=2)
    assert ended.outcomes == [RESULT_TYPES[value]] * 2
    missing = ended.notices.get("result_type_missing")
    assert (missing.count if missing else 0) == (2 if value == "absent" else 0)


def test_what_keeps_a_stream_alive_is_neither_answer_nor_fault(http: Http) -> None:
    """C32: comment, empty data, ping event, heartbeat; data in two lines, CRLF, byte by byte."""
    ended = http("noise", calls=3)
    assert ended.outcomes == [OK] * 3
    assert counts(ended) == {"not_a_message": 3}
    assert """{"type": "heartbeat"}""" in ended.notices["not_a_message"].text
    assert ended.facts["ignored_events"] == 3 * 3


def test_a_call_that_is_only_accepted_has_failed_at_once(http: Http) -> None:
    """C33: 202 to a request is no answer, and is never timed as one."""
    started_s = time.monotonic()
    ended = http("accept-call", calls=2)
    assert time.monotonic() - started_s < PROMPTLY_S
    assert ended.outcomes == [LOST, LOST]
    assert "HTTP 202 to a request" in ended.notices["refused"].text


@pytest.mark.parametrize("mode", ["say-close", "no-lengths"])
def test_a_connection_per_answer_is_reported_and_outside_the_calls(http: Http, mode: str) -> None:
    """C34: the server closes the connection after each answer."""
    ended = http(mode, calls=4)
    assert ended.outcomes == [OK] * 4
    messages = 3 + 4  # of setup, and the calls
    assert counts(ended).keys() == {"connection_not_reused"}
    assert counts(ended)["connection_not_reused"] >= messages - 1
    assert ended.facts["connections"] >= messages
    assert ended.column("start_ns") == ended.column("encode_ns")


@pytest.mark.parametrize(
    ("mode", "reopen"),
    [("good", "connection"), ("stream-late", "connection"), ("good", "session")],
)
def test_what_a_call_opens_anew_is_a_part_of_it(http: Http, mode: str, reopen: str) -> None:
    """C34: a connection or a session per call, where that is what was asked for."""
    ended = http(mode, calls=4, reopen=reopen)
    assert ended.outcomes == [OK] * 4
    assert not ended.notices
    stamps = zip(ended.column("start_ns"), ended.column("encode_ns"), strict=True)
    assert all(start < encode for start, encode in stamps)
    assert ended.facts["connections"] == (1 + 4 + 1 if reopen == "connection" else 1)


def test_a_dead_proxy_in_the_environment_changes_nothing(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C34: looking for proxies costs time, and a dead one costs the session."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    ended = http(calls=2)
    assert ended.outcomes == [OK, OK]
    assert ended.facts["connections"] == 1


@pytest.mark.parametrize("revision", ["2025-11-25", "auto"])
def test_a_forgotten_session_is_opened_again_once_and_outside_the_calls(
    http: Http, revision: str
) -> None:
    """C40: HTTP 404 to our session."""
    ended = http("forget", 404, 1, calls=6, revision=revision)
    assert ended.outcomes == [OK, OK, LOST, OK, OK, OK]
    assert counts(ended) == {"session_expired": 1, "refused": 1 + (revision == "auto")}
    assert ended.facts["reopened_setup_ns"] > 0


def test_a_session_that_is_forgotten_again_ends_the_measurement(http: Http) -> None:
    """C40: no loop of new sessions."""
    phase, cause, text = failed(http("forget", 404, 9, calls=9))
    assert (phase, cause) == ("calls", "session_expired")
    assert text.startswith("the server forgot our session again after it was opened anew")


@pytest.mark.parametrize(("status", "outcome"), [(400, LOST), (200, Outcome.RPC_ERROR)])
def test_a_forgotten_session_under_another_status_is_an_error_and_no_loop(
    http: Http, status: int, outcome: Outcome
) -> None:
    """C40: 400 or 200 with an error says nothing of the session."""
    ended = http("forget", status, 1, calls=4)
    assert ended.outcomes[:3] == [OK, OK, outcome]
    assert "session_expired" not in ended.notices


def test_an_idle_connection_that_the_server_closes_is_replaced_between_calls(http: Http) -> None:
    """C40: never found out by a call that fails."""
    ended = http("close-idle", calls=4)
    assert ended.outcomes == [OK] * 4
    assert counts(ended)["connection_ended"] >= 3 + 4
    assert "refused" not in ended.notices


BROKEN_OFF = {
    "before": "before any byte of the answer",
    "inside": "in the middle of the answer",
    "stream": "in the middle of the answer",
}


@pytest.mark.parametrize("where", BROKEN_OFF)
def test_a_reset_costs_one_call_and_the_request_is_not_sent_again(http: Http, where: str) -> None:
    """C40: the tool may have run."""
    ended = http("reset", where, calls=4)
    assert ended.outcomes == [OK, LOST, OK, OK]
    assert counts(ended) == {"connection_reset": 1}
    text = ended.notices["connection_reset"].text
    assert f"the server closed the connection {BROKEN_OFF[where]} (connection_reset)" in text
    assert ended.facts["connections"] == 2


@pytest.mark.parametrize(
    ("how", "second", "code", "least"),
    [("close", OK, "connection_ended", 3), ("reset", LOST, "connection_reset", 2)],
)
def test_calls_slower_than_the_idle_limit_of_the_server_are_never_sent_twice(
    http: Http, how: str, second: Outcome, code: str, least: int
) -> None:
    """C40: an end seen in time is told, one that meets the request costs the call and is counted.

    The faulty server refuses a request that comes twice, so a silent retry would show.
    """
    ended = http("idle-limit", 0.02, how, calls=4, pause_s=0.4)
    assert ended.outcomes == [OK, second, OK, second]
    assert counts(ended).keys() == {code}
    assert counts(ended)[code] >= least


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18"])
def test_an_older_version_is_spoken_and_named_in_each_request(http: Http, version: str) -> None:
    """C44: the header carries what was negotiated, from the revision on that knows it."""
    ended = http("version", f'"{version}"', calls=2)
    assert ended.outcomes == [OK, OK]
    assert ended.facts["agreed_revision"] == version


@pytest.mark.parametrize("version", ['"1999-01-01"', '"2026-07-28"', "20251125", "none"])
def test_a_version_that_nobody_speaks_ends_the_session(http: Http, version: str) -> None:
    """C44: nothing is timed under it."""
    phase, cause, text = failed(http("version", version))
    assert (phase, cause) == ("initialize", "protocol_error")
    shown = version.replace('"', "'").replace("none", "None")
    assert f"asked for revision 2025-11-25, the server answered {shown}" in text


ECHO = ("good",)
COUNTER_OFFER = ("version", '"2025-06-18"')


@pytest.mark.parametrize("mode", [ECHO, COUNTER_OFFER, ("probe", "old")])
def test_a_server_that_agrees_to_any_version_is_told_so(http: Http, mode: tuple[str, ...]) -> None:
    """C44: asked apart, so that nothing of it is timed."""
    ended = http(*mode, calls=2, probe_version=True, servers=2)
    assert ended.outcomes == [OK, OK]
    assert counts(ended) == ({} if mode is COUNTER_OFFER else {"echoes_unknown_version": 1})


@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_is_not_followed_but_its_target_named(http: Http, status: int) -> None:
    """C48: following would double every call, or lead to a dead port."""
    target = "http://127.0.0.1:9/mcp/"
    phase, cause, text = failed(http("redirect", status, target))
    assert (phase, cause) == ("initialize", "protocol_error")
    assert text == f"HTTP {status}, a redirect to {target}; give that URL instead"


def test_localhost_is_looked_up_and_connected_outside_the_calls(http: Http) -> None:
    """C49: each attempt is told, and the calls hold none of it."""
    ended = http(url="http://localhost:{port}/mcp", calls=3)
    assert ended.outcomes == [OK] * 3
    phases = [phase for phase, _ in ended.entry.header["setup"]]
    assert phases[:4] == ["spawn", "boot", "resolve", "connect"]
    assert "127.0.0.1 connected after" in ended.facts["connect_attempts"]
    assert ended.facts["connections"] == 1


def test_a_dead_address_is_given_up_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """C49: one address swallows packets, one refuses, the third answers."""
    monkeypatch.setattr(sockets, "ATTEMPT_S", 0.1)
    with ExitStack() as stack:
        # A listener with a full queue lets every further connection hang.
        swallower = stack.enter_context(socket.socket())
        swallower.bind(("127.0.0.1", 0))
        swallower.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(swallower.getsockname())
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        dead = ("127.0.0.1", sockets.free_port())
        places = [swallower.getsockname(), dead, server.getsockname()]
        endpoint = Endpoint("localhost", 0, addresses=[(socket.AF_INET, p) for p in places])
        endpoint.connect().close()
        outcomes = [outcome for _, outcome, _ in endpoint.attempts]
        assert outcomes == ["TimeoutError", "Connection refused", "connected"]
        endpoint.connect().close()
        assert [outcome for _, outcome, _ in endpoint.attempts] == ["connected"]


ODD = {
    "text": "HTTP 200 with content type text/plain, where JSON or an event stream was expected: '{",
    "html": "HTTP 200 with an HTML page, where JSON or an event stream was expected: '<!doctype",
    "empty": "HTTP 200 with an empty body",
    "no-type": "HTTP 200 with an empty body (content type none)",
    "not-rpc": "HTTP 200: the response ended without an answer; the server sent what is no message",
    "stream-without": "HTTP 200: the response ended without an answer",
    "garbage": "what came back is no HTTP (",
}


@pytest.mark.parametrize("how", ODD)
def test_a_success_that_is_none_is_named_at_once(http: Http, how: str) -> None:
    """C50: another content type, no body, an HTML page, a stream without the answer."""
    started_s = time.monotonic()
    phase, cause, text = failed(http("odd", how))
    assert time.monotonic() - started_s < PROMPTLY_S
    assert (phase, cause) == ("initialize", "protocol_error")
    assert text.startswith(ODD[how])


SILENT = {
    "silent": "no answer within 0.5 s (--timeout)",
    "pings": "no answer within 0.5 s (--timeout); HTTP 200 came, but no answer in it",
}


@pytest.mark.parametrize("how", SILENT)
def test_a_server_that_does_not_answer_is_a_timeout(http: Http, how: str) -> None:
    """C50: heartbeats are no answer."""
    assert failed(http("odd", how, timeout_s=0.5)) == ("initialize", "timeout", SILENT[how])


REFUSED = {
    401: "HTTP 401: authorization is missing or refused; give it by --header: 'about 401'",
    403: "HTTP 403: the server forbids the request",
    404: "HTTP 404: there is no MCP endpoint at this path, or the session is not known",
    405: "HTTP 405: this path does not take POST",
    406: "HTTP 406: the server cannot answer in JSON or as an event stream",
    413: "HTTP 413: the request is larger than the server takes",
    500: "HTTP 500: the server failed: 'about 500'",
    503: "HTTP 503: the server failed",
}


@pytest.mark.parametrize("status", REFUSED)
def test_a_refused_session_says_status_and_remedy(http: Http, status: int) -> None:
    phase, cause, text = failed(http("status", status))
    assert (phase, cause) == ("initialize", "protocol_error")
    assert text.startswith(REFUSED[status])


@pytest.mark.parametrize("status", [401, 500])
def test_a_refused_call_is_counted_and_the_session_goes_on(http: Http, status: int) -> None:
    ended = http("status", status, "tools/call", calls=3)
    assert ended.outcomes == [LOST] * 3
    assert REFUSED[status] in ended.notices["refused"].text
    assert ended.facts["connections"] == 1


@pytest.mark.parametrize(
    ("method", "phase"),
    [("notifications/initialized", "initialized"), ("tools/list", "tools_list")],
)
def test_a_refusal_in_setup_names_its_step(http: Http, method: str, phase: str) -> None:
    got, cause, text = failed(http("status", 403, method))
    assert (got, cause) == (phase, "protocol_error")
    assert "HTTP 403" in text


def test_a_large_request_that_is_refused_unread_is_no_deadlock(http: Http) -> None:
    """The server answers 413 to the head and never takes the body."""
    payload = {"payload": "x" * 20_000_000}
    ended = http("refuse-unread", calls=2, arguments=payload)
    assert ended.outcomes == [LOST, LOST]
    assert counts(ended) == {"refused": 2}
    assert "HTTP 413" in ended.notices["refused"].text


def test_a_taken_port_is_named_before_anything_is_started(session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        argv = (sys.executable, "-S", str(SERVER), port, "good")
        url = f"http://127.0.0.1:{port}/mcp"
        phase, cause, text = failed(session(argv=argv, transport="http", url=url))
    assert (phase, cause) == ("spawn", "port_taken")
    assert text.startswith(f"port {port} is taken: another program listens on it")


def test_a_server_that_never_listens_is_a_timeout_of_its_boot(http: Http) -> None:
    phase, cause, text = failed(http("never-listen", timeout_s=0.5))
    assert (phase, cause) == ("boot", "timeout")
    assert text == "the server did not accept a connection within 0.5 s (--timeout)"


def test_a_server_that_ends_before_it_listens_is_noticed_at_once(http: Http) -> None:
    started_s = time.monotonic()
    phase, cause, text = failed(http("exit", timeout_s=30))
    assert time.monotonic() - started_s < PROMPTLY_S
    assert (phase, cause) == ("boot", "server_exited")
    assert text.endswith("exit code 7; stderr ended with: no licence found")


@pytest.mark.parametrize(
    ("method", "phase"),
    [("initialize", "initialize"), ("tools/list", "tools_list"), ("tools/call", "calls")],
)
def test_a_server_that_dies_ends_the_session_with_its_words(
    http: Http, method: str, phase: str
) -> None:
    got, cause, text = failed(http("end-at", method, calls=4))
    assert (got, cause) == (phase, "server_exited")
    assert "exit code 3" in text
    assert text.endswith("stderr ended with: out of paper")


def test_a_server_that_is_not_there_is_unreachable(session: Session) -> None:
    port = sockets.free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    phase, cause, text = failed(session(argv=(), transport="http", url=url))
    assert (phase, cause) == ("connect", "unreachable")
    assert text == f"no connection to 127.0.0.1:{port}: Connection refused"


def test_a_name_that_leads_nowhere_is_said_so(session: Session) -> None:
    url = "http://no-such-host.invalid:80/mcp"
    phase, cause, text = failed(session(argv=(), transport="http", url=url))
    assert (phase, cause) == ("resolve", "not_resolved")
    assert text.startswith("the name 'no-such-host.invalid' leads nowhere: ")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 with its key, and the authority that signed it."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    authority.cert_pem.write_to_path(folder / "authority.pem")
    return folder / "server.pem", folder / "authority.pem"


HTTPS = "https://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("size", [0, 1_000_000])
def test_a_trusted_certificate_gives_a_phase_of_its_own(
    http: Http, certificates: tuple[Path, Path], size: int
) -> None:
    """And what TLS sends by itself (session tickets) is no end of a connection."""
    server, authority = certificates
    given = {"payload": "x" * size}
    ended = http("tls", server, url=HTTPS, ca_file=str(authority), calls=3, arguments=given)
    assert ended.outcomes == [OK] * 3
    assert not ended.notices
    assert ended.facts["connections"] == 1
    phases = [phase for phase, _ in ended.entry.header["setup"]]
    assert phases[:4] == ["spawn", "boot", "connect", "tls"]


def test_each_call_may_open_its_own_connection_under_tls(
    http: Http, certificates: tuple[Path, Path]
) -> None:
    server, authority = certificates
    changes: dict[str, Any] = {"url": HTTPS, "ca_file": str(authority), "reopen": "connection"}
    ended = http("tls", server, calls=3, **changes)
    assert ended.outcomes == [OK] * 3
    assert not ended.notices


def test_an_untrusted_certificate_is_refused(http: Http, certificates: tuple[Path, Path]) -> None:
    phase, cause, text = failed(http("tls", certificates[0], url=HTTPS))
    assert (phase, cause) == ("tls", "tls_refused")
    assert text.startswith("the server's certificate is not trusted: ")


def test_a_certificate_for_another_name_is_refused(
    http: Http, certificates: tuple[Path, Path]
) -> None:
    server, authority = certificates
    url = "https://localhost:{port}/mcp"
    phase, cause, text = failed(http("tls", server, url=url, ca_file=str(authority)))
    assert (phase, cause) == ("tls", "tls_refused")
    assert "localhost" in text


def test_plain_http_where_tls_is_expected_is_named(http: Http) -> None:
    phase, cause, text = failed(http(url=HTTPS, timeout_s=1))
    assert (phase, cause) == ("tls", "tls_refused")
    assert text == "no TLS with the server: it answers in another protocol, plain HTTP?"


def test_tls_where_plain_http_is_expected_is_named(
    http: Http, certificates: tuple[Path, Path]
) -> None:
    phase, cause, text = failed(http("tls", certificates[0]))
    assert phase == "initialize"
    assert cause in ("protocol_error", "unreachable")  # an alert of TLS, or the end alone
    assert text.startswith(("what came back is no HTTP", "the server closed the connection"))


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    for text in (None, "nothing\n"):
        if text is not None:
            nothing.write_text(text)
        endpoint = Endpoint("127.0.0.1", 443, tls=True, ca_file=str(nothing))
        with pytest.raises(SessionError, match="no certificates can be read there") as raised:
            endpoint.prepare()
        assert raised.value.phase == "tls"


def test_a_connection_that_breaks_in_the_handshake_is_named() -> None:
    ours, theirs = socket.socketpair()
    endpoint = Endpoint("127.0.0.1", 443, tls=True)
    endpoint.prepare()
    theirs.shutdown(socket.SHUT_WR)
    with ours, theirs, pytest.raises(SessionError, match="no TLS with the server: "):
        endpoint.secure(ours)


def test_requests_of_the_server_are_answered_at_once_over_a_second_connection(http: Http) -> None:
    """C09: priming event, comment, notifications, ping and roots/list stand before the answer."""
    ended = http("asks", calls=3)
    assert ended.outcomes == [OK] * 3
    assert ended.column("other_messages") == [4] * 3
    assert ended.column("server_requests") == [2] * 3
    assert all(ns > 0 for ns in ended.column("answering_ns"))
    assert counts(ended) == {"server_request": 6}
    assert ended.facts["connections"] == 2


@pytest.mark.parametrize("reopen", ["nothing", "connection"])
def test_the_rounds_of_one_call_share_its_connection(http: Http, reopen: str) -> None:
    """A stateless server asks for input within each call."""
    changes: dict[str, Any] = {"revision": "2026-07-28", "capabilities": ("elicitation",)}
    ended = http("input", calls=3, reopen=reopen, answer_input=True, **changes)
    assert ended.outcomes == [OK] * 3
    assert ended.facts["input_rounds"] == 3
    assert not ended.notices


def test_a_large_stream_answer_arrives_whole(http: Http) -> None:
    """C10: over HTTP."""
    ended = http("large", 2**20, calls=2)
    assert ended.outcomes == [OK, OK]
    assert all(size > 2**20 for size in ended.column("response_bytes"))


def test_an_answer_above_the_cap_costs_that_call_only(http: Http) -> None:
    """C10: and the message names the limit."""
    ended = http("large", 2**20, calls=2, limit_bytes=2**19)
    assert ended.outcomes == [LOST, LOST]
    assert f"the limit is {2**19}" in ended.notices["message_too_large"].text
    assert ended.facts["connections"] == 1


def test_a_stream_that_stays_open_behind_its_answer_is_left(http: Http) -> None:
    ended = http("stream-open", calls=3)
    assert ended.outcomes == [OK] * 3
    assert counts(ended) == {"response_not_ended": 3}
    assert ended.facts["connections"] == 3 + 1


def test_the_rest_of_a_stream_is_taken_between_the_calls(http: Http) -> None:
    ended = http("stream-late", calls=3)
    assert ended.outcomes == [OK] * 3
    assert ended.column("other_messages") == [0] * 3
    assert ended.facts["connections"] == 1


def test_an_interim_response_is_passed_over(http: Http) -> None:
    assert http("continue", calls=3).outcomes == [OK] * 3


def test_a_call_that_was_given_up_leaves_its_connection_and_the_session_goes_on(http: Http) -> None:
    """C35: even where the server does not want to hear of it."""
    ended = http("slow-once", calls=3, timeout_s=0.5)
    assert ended.outcomes == [Outcome.TIMEOUT, OK, OK]
    assert ended.facts["connections"] == 2

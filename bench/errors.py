"""The exceptions of the project, in one small tree. Standard library only.

Each message says what happened, where, what was expected and what to do; only the command line
prints them.
"""

from __future__ import annotations


class BenchError(Exception):
    """Base of everything a user can meet: its text is fit to print as it stands."""


class SuiteError(BenchError):
    """A suite file or the flags that stand for one cannot be used; nothing was run."""


class ResultFileError(BenchError):
    """A result file cannot be read or written."""


class SelectionError(BenchError):
    """A result holds nothing of the kind that was asked for."""


class MeasurementError(BenchError):
    """A run ended without what it was asked for."""


class PublishError(BenchError):
    """A notebook cannot be executed or written."""


class ClockError(BenchError):
    """A stamp ran backwards: the phases of that exchange mean nothing."""


class LocalProtocolError(BenchError):
    """Our own code tried a step that the protocol does not allow yet: a bug, never the server's."""


class SessionError(BenchError):
    """A session ended early: ``phase`` says where, ``cause`` is a short stable word.

    Causes: ``not_found``, ``not_executable``, ``spawn_failed``, ``server_exited``,
    ``stdout_closed``, ``timeout``, ``protocol_error``, ``worker_died``, ``worker_stalled``.
    """

    def __init__(self, phase: str, cause: str, text: str) -> None:
        super().__init__(text)
        self.phase = phase
        self.cause = cause
        self.text = text


class TimedOut(Exception):
    """A wait reached its limit. Raised by the watch, translated where the phase is known."""


class PeerClosed(Exception):
    """The other side closed its end of the byte stream."""

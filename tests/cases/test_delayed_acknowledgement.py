"""C03: head and body in two small writes without TCP_NODELAY, on a real server and a real kernel.

Linux puts the acknowledgement of the head off by 40 ms on a connection over which both sides talk
in turn, also on the loopback: no call of such a server is quicker.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import bench
from bench.accounts import calls
from bench.checks import DELAYED_ACK_NS, findings
from bench.phases import Phase

if TYPE_CHECKING:
    from conftest import Cli

SERVER = Path(__file__).with_name("two_writes_server.py")
NOTE = "the signature of a delayed acknowledgement"
SUITE = """
sessions = 1
calls = 10
warmups = 0
marking_cost = false
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how long it is put off is Linux's own")
def test_the_time_of_a_delayed_acknowledgement_is_told_and_is_not_the_handlers(cli: Cli) -> None:
    text = SUITE
    for name, marks, writes in (("late", 1, "two"), ("unmarked", 0, "two"), ("prompt", 1, "one")):
        command = shlex.join([sys.executable, str(SERVER), "{port}", writes])
        text += f"[[cell]]\nname = '{name}'\ncommand = '''{command}'''\ntool = 'probe'\n"
        text += "transport = 'http'\nurl = 'http://127.0.0.1:{port}/mcp'\n"
        text += f"marks = {'true' if marks else 'false'}\n"
    (cli.folder / "writes.toml").write_text(text)
    done = cli.run("run", "writes.toml", "-o", "out.json")
    assert done.returncode == 0, done.stderr
    result = bench.load(cli.folder / "out.json")
    found = [finding.cell for finding in findings(result) if finding.code == "delayed_ack"]
    assert found == ["http/late/probe", "http/unmarked/probe/no-marks"]
    assert NOTE in cli.run("show", "out.json").stdout
    late, unmarked, prompt = result.cells
    (session,) = late.sessions
    assert np.median(session.calls[Phase.RESPONSE]) > DELAYED_ACK_NS[0] / 2
    assert np.median(session.calls[Phase.HANDLER]) < DELAYED_ACK_NS[0] / 10
    estimate = calls(unmarked)
    assert estimate is not None
    assert estimate.bracket is not None
    assert abs(estimate.bracket.low.value) < DELAYED_ACK_NS[0] / 2
    assert np.median(prompt.totals()[0]) < DELAYED_ACK_NS[0]

"""The command line in this process, for tests; an exception that escapes from it is a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from bench.cli import cli


def invoke(*words: str | Path) -> Result:
    """Run ``mcp-latency`` with these words."""
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def strict_json(text: str) -> Any:
    """Parse JSON as its standard has it: NaN and infinity are refused."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)

"""The quick form of each proof of comparison: it prints figures, and ends with 0 if they hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.mark.truth
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["coverage", "agreement", "false_alarms", "power", "drift"])
def test_the_quick_form_of_a_proof_holds(name: str) -> None:
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=390)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout

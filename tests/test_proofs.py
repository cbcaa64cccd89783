"""What proofs have found: written by their programs, read back, drawn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import charts, proofs
from bench.errors import ResultFileError
from bench.proofs import Proof
from tests.charts.drawn import extents, overlaps

ROOT = Path(__file__).parent.parent
PROGRAM = """
from common import Report, quick
quick("A proof")
report = Report("A proof")
report.start("3 trials")
report.say("run 1", run=1, rows=[
    {"row": "call.p50", "verdict": "slower", "ratio": 1.05, "low": 1.04, "high": 1.06},
    {"row": "handler.mean", "verdict": "not comparable", "ratio": None, "low": None, "high": None},
])
report.check("boot", 0.5, 2.0, "ms", name="boot", put_in_us=300.0, found_us=300.5)
report.check("hits", 9, 9, "runs", least=True)
report.judge("held", False, "80 %", case="10 × 20", figure_of="p99", share_percent=80.0,
    pooled_percent=60.0, low_percent=92.0, high_percent=98.0)
report.end()
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Return a file that a program has written twice: once with other words."""
    program, file = tmp_path / "small.py", tmp_path / "proofs.json"
    program.write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'benchmarks'}"}
    command = [sys.executable, "-P", str(program), "--quick", "--json", str(file)]
    for _ in range(2):
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, done.stderr
        assert "FAIL  held: 80 %" in done.stdout
    return file


def test_a_proof_is_read_back_as_it_was_found(recorded: Path) -> None:
    found = proofs.load(recorded)
    assert list(found) == ["small"]
    proof = found["small"]
    assert isinstance(proof, Proof)
    assert (proof.title, proof.verdict, proof.source) == ("A proof", "FAIL", str(recorded))
    assert proof.run["command"] == "python benchmarks/small.py --quick"
    assert proof.run["amount"] == "3 trials"
    assert proof.environment["harness_version"]
    assert [line["verdict"] for line in proof.judged()] == ["PASS", "PASS", "FAIL"]
    assert proof.lines[1]["bound"] == 2.0
    assert [ratio.label for ratio in proof.ratios] == ["run 1 call.p50", "run 1 handler.mean"]
    assert proof.ratios[1].ratio is None
    assert "A proof" in proof._repr_html_()
    assert str(recorded.parent) not in recorded.read_text("utf-8")


def test_several_proofs_become_one_without_what_differs(recorded: Path) -> None:
    (proof,) = proofs.load(recorded).values()
    entry = json.loads(recorded.read_text("utf-8"))["proofs"][0]
    entry["environment"]["hostname"] = "another"
    recorded.write_text(json.dumps({"proofs": [entry]}))
    (other,) = proofs.load(recorded).values()
    both = proofs.joined(proof, other)
    assert len(both.lines) == 2 * len(proof.lines)
    assert "hostname" not in both.environment
    assert "cpu_count" in both.environment


@pytest.mark.parametrize("text", ["{]", "[]", "{}", '{"proofs": [{}]}', '{"proofs": [1]}'])
def test_a_file_of_something_else_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(ResultFileError, match=r"other\.json: not a file of proofs"):
        proofs.load(file)
    with pytest.raises(ResultFileError, match=r"none\.json: cannot be read"):
        proofs.load(tmp_path / "none.json")


@pytest.mark.parametrize("draw", [charts.delays, charts.bounds, charts.coverage])
@pytest.mark.parametrize("dark", [False, True])
def test_charts_of_proofs_say_what_they_show_and_no_text_lies_on_another(
    recorded: Path, draw: object, dark: bool
) -> None:
    assert callable(draw)
    proof = proofs.load(recorded)["small"]
    with charts.style(dark=dark):
        chart = draw(proof.lines)
        _, found = extents(chart)
    assert not list(overlaps(found))
    assert charts.alt_text(chart)
    assert "proof small" in charts.parts.caption(proof)
    nothing = draw([])
    assert "no" in charts.alt_text(nothing)


def test_a_bound_that_is_not_met_reaches_beyond_the_line(recorded: Path) -> None:
    lines = [
        {"what": "at most", "figure": 3.0, "bound": 2.0, "unit": "ms", "sign": "≤"},
        {"what": "at least", "figure": 1.0, "bound": 2.0, "unit": "runs", "sign": "≥"},
        {"what": "never", "figure": 0.0, "bound": 2.0, "unit": "runs", "sign": "≥"},
        {"what": "none", "figure": 0.0, "bound": 0.0, "unit": "rows", "sign": "≤"},
    ]
    widths = [patch.get_width() for patch in charts.bounds(lines).patches]
    assert widths == [150.0, 200.0, 200.0, 0.0]

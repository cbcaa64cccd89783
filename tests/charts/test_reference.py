"""Charts against pictures of them: what no list of artists would notice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.testing.compare import compare_images

from tests.charts.drawn import bars
from tests.charts.make_reference import DARK, FOLDER, NAMES, draw, picture

TOLERANCE = 10.0
"""Root mean square of the differences, of 255: edges that are smoothed otherwise stay below, a bar
that is missing does not (see the last test)."""


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_looks_like_its_picture(name: str, tmp_path: Path) -> None:
    picture(draw(name), tmp_path / "drawn.png")
    drawn, reference = str(tmp_path / "drawn.png"), str(FOLDER / f"{name}.png")
    assert compare_images(reference, drawn, TOLERANCE) is None


def test_the_comparison_sees_another_ground_and_a_bar_that_is_gone(tmp_path: Path) -> None:
    chart = draw("waterfall")
    assert isinstance(chart, Axes)
    max(bars(chart), key=lambda bar: bar.get_width()).remove()
    picture(chart, tmp_path / "gone.png")
    # A copy: the comparison writes the difference beside it.
    shutil.copy(FOLDER / f"{DARK}.png", tmp_path / "dark.png")
    for name in ("gone.png", "dark.png"):
        other = str(tmp_path / name)
        assert compare_images(str(FOLDER / "waterfall.png"), other, TOLERANCE) is not None

"""Charts as files: which are written, what they say in words, that they are the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from bench import charts
from bench.errors import SelectionError
from tests.charts.drawn import CHARTS, cells, crossed
from tests.make_results import make_cell, make_result

SVG = "{http://www.w3.org/2000/svg}"
ALWAYS = ["setup", "calls", "calls-share", "ecdf", "percentiles", "timeline", "sequence"]


@pytest.mark.parametrize("format_", ["svg", "png", "pdf"])
def test_files_hold_the_charts_with_their_provenance(tmp_path: Path, format_: str) -> None:
    files = charts.save_all(cells(3), tmp_path, format_=format_)
    assert [path.name for path in files] == [f"{name}.{format_}" for name in (*ALWAYS, "ladder")]
    assert all(path.stat().st_size > 1000 for path in files)
    if format_ == "svg":
        text = files[0].read_text("utf-8")
        assert "host host" in text
        assert "3 sessions × 20 calls" in text


def test_a_chart_that_a_result_has_nothing_for_is_not_written(tmp_path: Path) -> None:
    one = charts.save_all(make_result(make_cell()), tmp_path)
    assert [path.stem for path in one] == ALWAYS
    many = charts.save_all(crossed(), tmp_path)
    assert {path.stem for path in many} > {"small-multiples", "side-by-side", "cost-of-calls"}


def test_a_folder_is_made_and_a_path_may_be_text(tmp_path: Path) -> None:
    result = make_result(make_cell())
    assert charts.save_all(result, f"{tmp_path}/new/one", format_="png")[0].is_file()
    charts.save(charts.ecdf(result), result, f"{tmp_path}/chart.PNG")
    with Image.open(tmp_path / "chart.PNG") as image:
        assert image.format == "PNG"


@pytest.mark.parametrize("name", ["chart.jpg", "chart"])
def test_a_format_that_is_not_drawn_is_refused(tmp_path: Path, name: str) -> None:
    result = make_result(make_cell())
    with pytest.raises(SelectionError, match=r"ends in \.svg, \.png, \.pdf"):
        charts.save(charts.ecdf(result), result, tmp_path / name)


@pytest.mark.parametrize("name", CHARTS)
def test_an_svg_tells_its_chart_in_words_and_keeps_text_as_text(tmp_path: Path, name: str) -> None:
    result = crossed()
    chart = CHARTS[name](result)
    charts.save(chart, result, tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert root.get("role") == "img"
    title, text = root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")
    assert f"{title}. {text}" == charts.alt_text(chart)
    drawn = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert any("mcp-latency 0.1.0" in words for words in drawn)


def test_words_survive_characters_that_mark_up(tmp_path: Path) -> None:
    result = make_result(make_cell("a<b>&amp;'\""))
    charts.save(charts.ecdf(result), result, tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert "a<b>&amp;'\"" in (root.findtext(f"{SVG}desc") or "")


def test_a_png_carries_its_words(tmp_path: Path) -> None:
    result = make_result()
    ax = charts.waterfall(result)
    charts.save(ax, result, tmp_path / "chart.png")
    with Image.open(tmp_path / "chart.png") as image:
        assert f"{image.info['Title']}. {image.info['Description']}" == charts.alt_text(ax)


@pytest.mark.parametrize("dark", [False, True])
def test_a_file_has_the_ground_of_its_style(tmp_path: Path, dark: bool) -> None:
    result = make_result()
    with charts.style(dark=dark):
        charts.save_all(result, tmp_path, format_="png")
    for path in tmp_path.iterdir():
        with Image.open(path) as image:
            red, *_ = image.convert("RGB").getpixel((2, 2))  # type: ignore[misc]
        assert (red < 40) is dark, path


DRAW = """
import sys
from pathlib import Path
from bench import charts
from tests.charts.drawn import crossed
charts.save_all(crossed(), Path(sys.argv[1]))
"""


def test_the_same_result_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    charts.save_all(crossed(), here)
    env = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-P", "-c", DRAW, str(there)]
    subprocess.run(command, env=env, timeout=100, check=True)
    for path in here.iterdir():
        assert path.read_bytes() == (there / path.name).read_bytes(), path.name

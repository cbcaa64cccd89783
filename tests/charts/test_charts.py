"""What every chart keeps to: words, legible labels, colours of its ground, no global state."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from bench import charts
from bench.api import Run
from bench.charts.style import COLOURS, DARK, LIGHT
from bench.errors import SelectionError
from bench.phases import CALL, CALL_UNMARKED, SETUP, Phase
from bench.results import Failure, Result
from tests.charts.drawn import CHARTS, cells, crossed, extents, figure_of, overlaps, words
from tests.make_results import STDIO_SETUP, make_cell, make_result, make_session

EVERY = pytest.mark.parametrize("name", CHARTS)
OF_A_RESULT = [
    name for name in CHARTS if hasattr(charts, name.replace("-", "_")) and name != "compare"
]
NOTHING = {
    "no-sessions": make_result(make_cell(sessions=[])),
    "no-cells": Result([], {}, {}),
    "all-failed": make_result(
        make_cell(sessions=[], failures=[Failure(1, "boot", "timeout", "nothing came")])
    ),
}


@EVERY
@pytest.mark.parametrize("kind", NOTHING)
def test_without_data_a_chart_says_why_it_is_empty(name: str, kind: str) -> None:
    chart = CHARTS[name](NOTHING[kind])
    said = [text for text in words(chart) if text.startswith(("no call", "no session", "nothing"))]
    assert said
    assert said[0] in charts.alt_text(chart)


@EVERY
def test_equal_and_zero_calls_are_drawn(name: str) -> None:
    session = make_session(1, calls=5, marked=False)
    for column in session.calls.values():
        column[:] = 0
    figure_of(CHARTS[name](make_result(make_cell(sessions=[session], marks=False)))).canvas.draw()


@EVERY
def test_one_call_is_drawn(name: str) -> None:
    result = make_result(make_cell(sessions=[make_session(1, calls=1)]))
    figure_of(CHARTS[name](result)).canvas.draw()


@EVERY
@pytest.mark.parametrize("count", [1, 9, 24])
def test_no_label_is_cut_off_or_lies_on_another(name: str, count: int) -> None:
    figure, found = extents(CHARTS[name](cells(count)))
    width, height = figure.canvas.get_width_height()
    for text, box in found:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text
    assert list(overlaps(found)) == []


@EVERY
def test_a_run_is_drawn_like_its_result(name: str) -> None:
    result = cells(3)
    one, other = CHARTS[name](result), CHARTS[name](Run.of(result))
    assert charts.alt_text(one) == charts.alt_text(other)
    assert words(one) == words(other)


@EVERY
def test_the_words_of_a_chart_name_what_is_drawn(name: str) -> None:
    result = crossed()
    text = charts.alt_text(CHARTS[name](result))
    assert text.endswith(".")
    assert "server-0" in text
    # A figure of a cell, in a unit or as a ratio.
    assert any(unit in text for unit in (" ms", " µs", "1.0"))


def test_what_is_no_chart_has_no_words() -> None:
    assert charts.alt_text(Figure()) == ""
    assert charts.alt_text(Figure().add_subplot()) == ""


def drawn_colours(chart: Axes | Figure) -> set[str]:
    figure = figure_of(chart)
    figure.canvas.draw()
    found = {text.get_color() for text in figure.findobj(Text) if text.get_text().strip()}
    found |= {line.get_color() for line in figure.findobj(Line2D) if line.get_visible()}
    for collection in figure.findobj(Collection):
        found |= {mpl.colors.to_hex(colour) for colour in collection.get_edgecolor()}
    return {mpl.colors.to_hex(colour) for colour in found if colour != "none"}


@EVERY
def test_on_a_dark_ground_nothing_is_drawn_in_the_ink_of_a_light_one(name: str) -> None:
    with charts.style(dark=True):
        chart = CHARTS[name](crossed())
    # Drawn outside the style, as a notebook does: ticks that are made now keep it too.
    found = drawn_colours(chart)
    assert mpl.colors.to_hex(figure_of(chart).get_facecolor()) == DARK.ground
    assert DARK.ink in found
    assert not found & {LIGHT.ink, LIGHT.muted, LIGHT.grid, "#000000"}


def test_a_style_inside_another_keeps_its_ground() -> None:
    with charts.style(dark=True), charts.style():
        assert mpl.rcParams["figure.facecolor"] == DARK.ground
    with charts.style(dark=True), charts.style(dark=False):
        assert mpl.rcParams["figure.facecolor"] == LIGHT.ground


@EVERY
def test_charts_leave_the_global_style_alone(name: str) -> None:
    before = dict(mpl.rcParams)
    CHARTS[name](make_result())
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    "draw",
    [
        charts.waterfall, charts.call_breakdown, charts.ladder, charts.ecdf, charts.percentiles,
        charts.timeline, charts.sequence, charts.amortisation,
    ],
)  # fmt: skip
def test_a_chart_is_drawn_on_the_axis_that_it_is_given(draw: charts.style) -> None:
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    assert draw(crossed(), left) is left
    assert left.get_title(loc="left")
    assert not right.has_data()


@pytest.mark.parametrize("name", ["ecdf", "percentiles", "amortisation", "waterfall", "ladder"])
def test_on_a_plain_figure_nothing_lies_outside_of_it(name: str) -> None:
    figure = Figure()
    FigureCanvasAgg(figure)
    getattr(charts, name)(cells(3) if name == "ecdf" else crossed(), figure.subplots())
    figure.draw_without_rendering()
    whole = figure.get_tightbbox()
    assert whole.x0 >= -0.1
    assert whole.y0 >= -0.1
    assert whole.x1 <= figure.get_figwidth() + 0.1


def test_a_figure_with_a_layout_keeps_it() -> None:
    figure = Figure(layout="tight")
    before = figure.get_layout_engine()
    charts.ecdf(crossed(), figure.subplots())
    assert figure.get_layout_engine() is before


@pytest.mark.parametrize("name", OF_A_RESULT)
def test_what_is_no_result_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(SelectionError, match=r"'a\.gz' is a str; expected a run, as bench\.load"):
        getattr(charts, name.replace("-", "_"))("a.gz")


@pytest.mark.parametrize(
    ("draw", "wanted"),
    [
        (charts.amortisation, {"handler": "nope"}),
        (charts.amortisation, {"server": "nope"}),
        (charts.side_by_side, {"handler": "nope"}),
        (charts.small_multiples, {"kind": "nope"}),
    ],
)
def test_a_name_that_is_not_there_is_refused_with_those_that_are(
    draw: Any, wanted: dict[str, str]
) -> None:
    (name,) = wanted
    with pytest.raises(SelectionError, match=f"{name}: 'nope' is not there; expected one of: "):
        draw(crossed(), **wanted)


def test_an_empty_chart_of_a_run_with_calls_does_not_say_that_none_succeeded() -> None:
    alone = make_result(make_cell(sessions=[make_session(1, setup={})], transport="inproc"))
    assert "no setup was seen" in words(charts.waterfall(alone))
    assert "no session of the raw client over a wire" in words(charts.amortisation(alone))


def luminance(colour: str) -> float:
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4
              for v in mpl.colors.to_rgb(colour)]  # fmt: skip
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_phase_has_its_colour_and_neighbours_differ_in_grey() -> None:
    assert set(COLOURS) == set(Phase)

    def grey(phase: Phase) -> float:
        red, green, blue = mpl.colors.to_rgb(COLOURS[phase])
        return 0.299 * red + 0.587 * green + 0.114 * blue

    seen = [p for p in SETUP if p in STDIO_SETUP]
    for phases in (CALL, CALL_UNMARKED, tuple(seen)):
        for left, right in pairwise(phases):
            assert abs(grey(left) - grey(right)) > 0.12, (left, right)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_inks_and_phases_stand_out_from_their_ground(palette: object) -> None:
    assert palette in (LIGHT, DARK)
    chosen = LIGHT if palette is LIGHT else DARK
    assert contrast(chosen.ink, chosen.ground) > 7
    assert contrast(chosen.muted, chosen.ground) > 4.5
    # 3:1 is what WCAG 2.1 (1.4.11) asks of graphics; pink and ochre on white fall a little short.
    assert min(contrast(line, chosen.ground) for line in chosen.lines) > 2.2
    for phase, colour in COLOURS.items():
        if phase is not Phase.INITIALIZED:
            assert contrast(colour, chosen.ground) > 1.6, phase


def test_neighbouring_lines_differ_in_dash_and_no_two_of_96_are_alike() -> None:
    looks = [tuple(LIGHT.line(place).values()) for place in range(96)]
    assert len(set(looks)) == 96
    dashes = [LIGHT.line(place)["linestyle"] for place in range(32)]
    assert all(one != other for one, other in pairwise(dashes))


def test_drawing_needs_no_pyplot_and_no_display() -> None:
    program = "import sys; from bench import charts; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "False"

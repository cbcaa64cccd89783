"""Reference pictures, one per chart: ``python -m tests.charts.make_reference`` draws them anew.

Look at what has changed before committing it. They are without text and with fixed margins: letters
differ between font rasterisers and move all else; labels are held by the other tests.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from bench import charts
from tests.charts.drawn import CHARTS, crossed, figure_of

FOLDER = Path(__file__).parent / "reference"
DOTS_PER_INCH = 40
DARK = "dark"
NAMES = (*CHARTS, DARK)


def draw(name: str) -> Axes | Figure:
    """Draw a chart of a synthetic result; ``dark`` is a waterfall on dark ground."""
    with charts.style(dark=name == DARK):
        return charts.waterfall(crossed()) if name == DARK else CHARTS[name](crossed())


def picture(chart: Axes | Figure, path: Path) -> None:
    """Write what is drawn, without its texts, as a small PNG."""
    figure = figure_of(chart)
    figure.set_layout_engine("none")
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    for artist in (*texts, *figure.findobj(Legend)):
        artist.set_visible(False)
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for one in NAMES:
        picture(draw(one), FOLDER / f"{one}.png")

"""Charts shown in notebooks: the picture that ``save`` writes, and beside it what it says.

A shown chart is an ordinary output of its cell. Its metadata hold title, caption, words and source
under ``mcp-latency``, so that whoever reads the notebook (:mod:`bench.publish`) has the picture and
all that belongs to it in one place. The formats are those that the kernel is set to, as for any
figure of matplotlib: ``%config InlineBackend.figure_formats = ["svg"]``.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Collection
from pathlib import PurePath
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.charts import alt, parts
from bench.charts.files import picture
from bench.errors import BenchError
from bench.results import Result

WORDS: Final = "mcp-latency"
"""The key of what a chart says in the metadata of its output."""
DOTS_PER_INCH: Final = 100
"""Of a PNG in a notebook: one dot for each pixel of a page."""
_FORMATS: Final = {
    "png": ("image/png", "png", DOTS_PER_INCH),
    "retina": ("image/png", "png", 2 * DOTS_PER_INCH),
    "png2x": ("image/png", "png", 2 * DOTS_PER_INCH),
    "svg": ("image/svg+xml", "svg", DOTS_PER_INCH),
    "pdf": ("application/pdf", "pdf", DOTS_PER_INCH),
}
"""Names of the inline backend: media type, format, dots per inch."""


def show(chart: Axes | Figure, result: Result) -> None:
    """Show a chart of a result under the cell that is running, with its provenance under it.

    Raises BenchError outside a notebook's Python; ``save`` writes files anywhere.
    """
    shell = _shell()
    if shell is None:
        raise BenchError("show: this is no notebook; charts.save writes files")
    from matplotlib_inline.config import InlineBackend

    formats = InlineBackend.instance(parent=shell).figure_formats
    data, metadata = output(chart, result, formats)
    shell.display_pub.publish(data, metadata)


def _shell() -> Any:
    """Return what runs the cells of a notebook; None where nothing does."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def output(
    chart: Axes | Figure, result: Result, formats: Collection[str] = ("png",)
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return data and metadata of the output that shows a chart.

    ``formats`` are names of the inline backend; one that it knows and we do not is a png.
    """
    title, text = alt.title_and_text(chart)
    data = {"text/plain": f"{title}. {text}" if text else repr(chart)}
    for name in sorted(formats):
        media_type, format_, dots_per_inch = _FORMATS.get(name, _FORMATS["png"])
        drawn = picture(chart, result, format_, dots_per_inch=dots_per_inch)
        binary = format_ != "svg"
        data[media_type] = base64.b64encode(drawn).decode() if binary else drawn.decode("utf-8")
    width_in, height_in = parts.figure_of(chart).get_size_inches()
    metadata = {
        "image/png": {
            "width": round(width_in * DOTS_PER_INCH),
            "height": round(height_in * DOTS_PER_INCH),
            "alt": text,
        },
        WORDS: {
            "title": title,
            "caption": f"{title}. {parts.caption(result)}",
            "alt": text,
            "source": source_of(result.source),
        },
    }
    return data, metadata


def source_of(path: str | None) -> str | None:
    """Return the file of a result as others may read it: no folders of this machine."""
    return None if path is None else PurePath(path).name if PurePath(path).is_absolute() else path

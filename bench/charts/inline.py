"""Charts as SVG elements that can stand many in one HTML page: own ids, no style of their own."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.charts import parts
from bench.charts.style import style

_PX_PER_PT = 4 / 3
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = frozenset({f"{_SVG}metadata", f"{_SVG}style"})
"""What would act on the whole page (a style for every element) or is of no use in one."""
_COORDINATES = frozenset({"d", "x", "y", "transform"})
_REFERENCE = re.compile(r"(?<=url\(#)[^)]+")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_FONT = "'DejaVu Sans'"
_FONTS = f"{_FONT}, Verdana, sans-serif"
"""Verdana is as wide: where DejaVu is not there, no text runs into another."""


def inline_svg(chart: Axes | Figure, prefix: str, alt_text: str) -> str:
    """Return a chart as one ``<svg>`` element with every id after ``prefix``.

    Its text stays text; its natural width in pixels is in the style variable ``--natural``.
    """
    root = ElementTree.fromstring(_drawn(chart))
    kept = set(_references(root))
    for element in root.iter():
        for child in [child for child in element if child.tag in _LEFT_OUT]:
            element.remove(child)
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = _attributes(element.attrib, kept, prefix)
        element.tail = None
        if element.text is not None and not element.text.strip():
            element.text = None
    width_px = float(root.attrib.pop("width").removesuffix("pt")) * _PX_PER_PT
    del root.attrib["height"]
    root.set("style", f"--natural: {width_px:.0f}px")
    root.set("role", "img")
    root.set("aria-label", alt_text)
    return ElementTree.tostring(root, encoding="unicode")


def _drawn(chart: Axes | Figure) -> bytes:
    figure = parts.figure_of(chart)
    file = io.BytesIO()
    with style(), warnings.catch_warnings():
        # The reader's browser has fonts for what is missing here.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _references(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == _HREF:
                yield value.removeprefix("#")
            yield from _REFERENCE.findall(value)


def _attributes(old: dict[str, str], kept: set[str], prefix: str) -> dict[str, str]:
    new = {}
    for name, value in old.items():
        if name == _HREF:
            new["href"] = f"#{prefix}{value.removeprefix('#')}"
        elif name == "id":
            if value in kept:
                new["id"] = prefix + value
        elif name in _COORDINATES:
            new[name] = _LONG_NUMBER.sub(lambda m: f"{float(m[0]):.2f}", " ".join(value.split()))
        else:
            value = _REFERENCE.sub(lambda m: prefix + m[0], value)
            new[name] = value.replace(_FONT, _FONTS)
    return new

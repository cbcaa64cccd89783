"""The page as HTML: the template, its style and its script in one text, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bench import __version__
from bench.page.context import page
from bench.render.units import counted
from bench.results import Result


def as_html(files: Sequence[tuple[str, Result]]) -> str:
    """Return one HTML document for some results, each with the name of its file."""
    environment = Environment(
        loader=PackageLoader("bench.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    environment.filters["counted"] = counted
    script = _part("page.js")
    return environment.get_template("page.html.j2").render(
        page=page(files),
        version=__version__,
        style=Markup(_part("page.css")),
        script=Markup(script),
        script_hash=_hash(script),
    )


def _breakable(text: str) -> Markup:
    """Return escaped text whose lines may end after a slash: names of cells are long."""
    return Markup("/<wbr>").join(text.split("/"))


def _part(name: str) -> str:
    return (resources.files("bench.page") / "templates" / name).read_text("utf-8")


def _hash(script: str) -> str:
    """Return the source expression that lets this script run and no other (CSP level 2)."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

"""What is written of an executed notebook: its page, its figures, and the list of all figures."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nbconvert.exporters.html import HTMLExporter
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter
from traitlets.config import Config

from bench.atomic import write_in_one_step
from bench.charts.show import WORDS
from bench.errors import PublishError

LIST: Final = "figures.json"
MEDIA_TYPES: Final = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
_TEMPLATES: Final = Path(__file__).parent / "template"
_NO_WORDS: Final = {"title": "", "caption": "", "alt": "", "source": None}


def prepare(folder: Path) -> None:
    """Make the folder, before anything is executed. Raises PublishError where it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PublishError(f"{folder}: cannot be written: {error.strerror}") from None


def write(notebook: NotebookNode, path: Path, folder: Path) -> tuple[Path, list[str]]:
    """Write page, figures and list; return the page and what a reader would miss.

    Figures of other notebooks in the list stay. Raises PublishError where a file cannot be written.
    """
    figures, notes = [], []
    page = folder / f"{path.stem}.html"
    try:
        for number, (code_cell, output) in enumerate(_figures(notebook), 1):
            files = _write_figure(output, folder, f"{path.stem}-{number}")
            words = {**_NO_WORDS, **output.metadata.get(WORDS, {})}
            if not words["alt"]:
                notes.append(
                    f"{path}: code cell {code_cell}: a figure without alt text; "
                    "bench.charts.show gives one"
                )
            figures.append({"notebook": path.name, "cell": code_cell, **words, "files": files})
        write_in_one_step(page, _html(notebook, path.stem).encode())
        others = [figure for figure in _listed(folder) if figure["notebook"] != path.name]
        listed = sorted([*others, *figures], key=lambda figure: str(figure["notebook"]))
        write_in_one_step(folder / LIST, _encoded(listed))
    except OSError as error:
        raise PublishError(f"{error.filename or folder}: {error.strerror}") from None
    return page, notes


def _figures(notebook: NotebookNode) -> Iterator[tuple[int, NotebookNode]]:
    """Yield every output that is a figure, with the number of its code cell."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        for output in cell.outputs:
            if any(media_type in output.get("data", {}) for media_type in MEDIA_TYPES.values()):
                yield number, output


def _write_figure(output: NotebookNode, folder: Path, stem: str) -> dict[str, str]:
    """Write a figure in the formats that it has; leave in its output what the page shows."""
    files = {}
    for format_, media_type in MEDIA_TYPES.items():
        if (data := output.data.get(media_type)) is not None:
            name = f"{stem}.{format_}"
            is_text = format_ == "svg"
            write_in_one_step(
                folder / name, data.encode("utf-8") if is_text else base64.b64decode(data)
            )
            files[format_] = name
    if "png" in files:
        output.data.pop(MEDIA_TYPES["svg"], None)
    output.data.pop(MEDIA_TYPES["pdf"], None)
    return files


def _listed(folder: Path) -> list[dict[str, Any]]:
    """Return the figures that the folder lists already; none where the list is not ours."""
    try:
        figures = json.loads((folder / LIST).read_text("utf-8"))["figures"]
        return [dict(figure) for figure in figures if isinstance(figure["notebook"], str)]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return []


def _encoded(figures: Sequence[Mapping[str, Any]]) -> bytes:
    text = json.dumps({"figures": figures}, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _html(notebook: NotebookNode, name: str) -> str:
    """Return a notebook as one page that fetches nothing and runs nothing."""
    config = Config()
    config.NbConvertBase.display_data_priority = [
        "text/html", "text/markdown", "image/png", "image/svg+xml", "image/jpeg", "text/plain",
    ]  # fmt: skip
    exporter = HTMLExporter(
        config=config,
        extra_template_basedirs=[str(_TEMPLATES)],
        template_name="article",
        exclude_anchor_links=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    resources = {
        "title": _title(notebook, name),
        "colours_of_code": HtmlFormatter(style="xcode").get_style_defs(".highlight"),
        "colours_of_code_on_dark": HtmlFormatter(style="github-dark").get_style_defs(".highlight"),
    }
    page, _ = exporter.from_notebook_node(notebook, resources=resources)
    return page


def _title(notebook: NotebookNode, name: str) -> str:
    """Return the first heading of a notebook, or its name."""
    lines = (line for cell in notebook.cells for line in cell.source.splitlines())
    return next((line[2:].strip() for line in lines if line.startswith("# ")), name)

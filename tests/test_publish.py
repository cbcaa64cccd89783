"""Publishing notebooks: pages without network, figures as files, errors in one sentence."""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest

from bench import charts, storage
from bench.charts.show import output
from bench.errors import BenchError
from bench.publish import files, notebooks
from tests.command import invoke
from tests.conftest import Alive, Cli
from tests.make_results import make_result

SIGNATURES = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a notebook of code cells under a heading: ``write("name", "x = 1", …)``."""

    def write(name: str, *cells: str, kernel: str = "python3") -> Path:
        v4 = nbformat.v4
        made = [v4.new_markdown_cell("# About <calls>\n\nSome `prose`.")]
        made += [v4.new_code_cell(source) for source in cells]
        notebook = v4.new_notebook(cells=made)
        notebook.metadata.kernelspec = {"name": kernel, "display_name": kernel}
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(notebook, path)
        return path

    return write


class Page(HTMLParser):
    """What a page holds: tags, what it fetches, alt texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.alts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "data") or (tag == "link" and name == "href"):
                self.fetched.append((value or "")[:10])
            if name == "alt":
                self.alts.append(value or "")


def test_a_notebook_becomes_a_page_and_figures_with_their_words(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    storage.save(make_result(), tmp_path / "r.json.gz")
    write(
        "small",
        "import bench\nrun = bench.load('r.json.gz')",
        "bench.charts.show(bench.charts.waterfall(run), run)\n"
        "bench.charts.show(bench.charts.ecdf(run), run)",
        "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])",
    )
    done = cli.run("publish", "small.ipynb", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"page: {Path('out/small.html')}\n"
    assert done.stderr == (
        "mcp-latency: small.ipynb: code cell 3: a figure without alt text; bench.charts.show "
        "gives one\n"
    )
    out = tmp_path / "out"
    figures = json.loads((out / "figures.json").read_text("utf-8"))["figures"]
    assert [figure["cell"] for figure in figures] == [2, 2, 3]
    assert [figure["source"] for figure in figures] == ["r.json.gz", "r.json.gz", None]
    first = figures[0]
    assert first["notebook"] == "small.ipynb"
    assert first["title"] == "Setup, once per session (mean phases)"
    assert "calls per cell" in first["caption"]
    assert "stdio/minimal" in first["alt"]
    for number, figure in enumerate(figures, 1):
        for format_, start in SIGNATURES.items():
            assert figure["files"][format_] == f"small-{number}.{format_}"
            assert (out / f"small-{number}.{format_}").read_bytes().startswith(start)
    assert f"<desc>{first['alt']}" in (out / "small-1.svg").read_text("utf-8")
    text = (out / "small.html").read_text("utf-8")
    page = Page(text)
    assert set(page.fetched) == {"data:image"}
    assert "script" not in page.tags
    assert "default-src 'none'" in text
    assert "<title>About &lt;calls&gt;</title>" in text
    assert page.alts[0] == first["alt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "r.json.gz", "small.ipynb"]


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("x = 1\n1 / 0", "", "code cell 2: ZeroDivisionError: division by zero"),
        ("raise ValueError('one\\ntwo')", "", "code cell 2: ValueError: one"),
        ("import os; os._exit(1)", "", "code cell 2: its Python ended before the cell did"),
        (
            "while True: pass", "--time-limit 2",
            "the notebook is not done after 2 s; --time-limit allows more",
        ),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("default")
def test_what_stops_a_notebook_is_said_in_one_line(
    write: Write, tmp_path: Path, source: str, options: str, words: str
) -> None:
    path = write("bad", "ok = True", source)
    done = invoke("publish", path, "-o", tmp_path / "out", *options.split())
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"mcp-latency: {path}: code cell ")
    assert words in line
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.filterwarnings("default")
def test_what_is_no_notebook_is_named(write: Write, tmp_path: Path) -> None:
    junk, other = tmp_path / "junk.ipynb", tmp_path / "none.ipynb"
    junk.write_text("{]")
    foreign = write("foreign", "1", kernel="no-such-kernel")
    place = tmp_path / "file"
    place.write_text("")
    for name, folder, words in (
        (other, "out", f"{other}: no such notebook"),
        (junk, "out", f"{junk}: not a notebook: "),
        (foreign, "out", f"{foreign}: there is no kernel named 'no-such-kernel' here"),
        (foreign, "file", f"{place}: cannot be written: "),
    ):
        done = invoke("publish", name, "-o", tmp_path / folder)
        assert done.exit_code == 2
        assert done.stderr.startswith(f"mcp-latency: {words}")


def test_an_interrupted_publication_leaves_no_kernel_behind(
    cli: Cli, write: Write, alive: Alive
) -> None:
    write(
        "waits",
        "import os, socket\n"
        "peer = socket.create_connection(('127.0.0.1', int(os.environ['ALIVE_PORT'])))\n"
        "peer.sendall(b'in call')\n"
        "peer.recv(1)",
    )
    process = cli.start("publish", "waits.ipynb", "-o", "out", env=alive.env)
    alive.wait_for_call()
    process.send_signal(signal.SIGINT)
    done = cli.finish(process)
    assert (done.returncode, done.stderr) == (130, "mcp-latency: interrupted\n")
    assert alive.all_gone(1)


def shown() -> Any:
    """Return a notebook with one figure, as if it had been executed."""
    result = make_result()
    data, metadata = output(charts.waterfall(result), result, ("svg", "png", "pdf"))
    v4 = nbformat.v4
    cell = v4.new_code_cell("show(…)")
    cell.outputs = [v4.new_output("display_data", data, metadata=metadata)]
    return v4.new_notebook(cells=[cell])


@pytest.mark.filterwarnings("default")
def test_the_list_keeps_the_figures_of_other_notebooks_and_one_entry_of_each(
    tmp_path: Path,
) -> None:
    for name in ("b.ipynb", "a.ipynb", "b.ipynb"):
        page, notes = files.write(shown(), Path(name), tmp_path)
        assert (page.suffix, notes) == (".html", [])
    listed = json.loads((tmp_path / "figures.json").read_text("utf-8"))["figures"]
    assert [figure["notebook"] for figure in listed] == ["a.ipynb", "b.ipynb"]


def test_a_shown_chart_is_what_is_saved(tmp_path: Path) -> None:
    result = make_result()
    chart = charts.waterfall(result)
    data, metadata = output(chart, result, ("svg", "retina", "pdf"))
    for format_, media_type in files.MEDIA_TYPES.items():
        charts.save(chart, result, tmp_path / f"c.{format_}")
        text = data[media_type]
        drawn = text.encode() if format_ == "svg" else base64.b64decode(text)
        assert drawn == (tmp_path / f"c.{format_}").read_bytes()
    assert metadata["image/png"]["width"] == 720


def test_outside_a_notebook_showing_says_what_to_do() -> None:
    result = make_result()
    with pytest.raises(BenchError, match=r"no notebook; charts\.save writes files"):
        charts.show(charts.waterfall(result), result)


def test_all_stands_for_the_notebooks_here(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BenchError, match=r"no \*\.ipynb is here"):
        notebooks(["all"])
    (tmp_path / "notebooks").mkdir()
    for name in ("b", "a"):
        write(f"notebooks/{name}", "1")
    assert [path.name for path in notebooks(["all"])] == ["a.ipynb", "b.ipynb"]
    write("a", "1")
    with pytest.raises(BenchError, match="another notebook has this name"):
        notebooks(["all", "a.ipynb"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("notebooks/02-two", "notebooks/02-two.ipynb"),
        ("02-two", "notebooks/02-two.ipynb"),
        ("02-two.ipynb", "notebooks/02-two.ipynb"),
        ("here", "here.ipynb"),
    ],
)
def test_a_name_without_its_ending_or_folder_is_answered_with_the_notebook_that_is_there(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").mkdir()
    for there in ("notebooks/02-two", "here", "notebooks/here"):
        write(there, "1")
    with pytest.raises(BenchError) as refused:
        notebooks([name])
    expected = f"{Path(name)}: no such notebook; did you mean {Path(meant)}?"
    assert str(refused.value) == expected


def test_nothing_is_guessed_where_no_notebook_is_like_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BenchError) as refused:
        notebooks(["gone"])
    assert str(refused.value) == "gone: no such notebook"

"""The page as text: what stands in it, in which order, and that all of it stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import storage
from bench.cli import cli as command_line
from bench.page import as_html
from bench.page.context import page
from bench.page.shown import shown_table
from bench.page.verdict import Statement, statements, ways
from bench.render import tables
from bench.results import Failure, Result
from tests.make_results import make_cell, make_result, make_session
from tests.page.hostile import CONTROL, IMAGE, MARKUP, TEMPLATE, hostile_result

FILE = f"{MARKUP}.json"


class Seen(HTMLParser):
    """What a browser would make of a page: elements, attributes, text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        (self.scripts if inside == "script" else self.texts).append(data)

    def handle_endtag(self, tag: str) -> None:
        self._open.append("")

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]


@pytest.fixture(scope="module")
def hostile() -> str:
    return as_html([(FILE, hostile_result())])


def test_what_others_have_named_stays_text(hostile: str) -> None:
    seen = Seen(hostile)
    assert seen.elements.count("script") == 1
    assert "img" not in seen.elements
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    for text in (MARKUP, IMAGE, TEMPLATE):
        assert text in seen.text


def test_characters_that_no_page_may_hold_are_escaped(hostile: str) -> None:
    assert not set(CONTROL) & set("\x00\x1b\u202e") & set(hostile)
    assert r"a\x1b[31m\x00\u202eb" in Seen(hostile).text


def test_the_page_refers_to_nothing_outside_it(hostile: str) -> None:
    seen = Seen(hostile)
    ids = seen.values("id")
    assert len(ids) == len(set(ids))
    for target in seen.values("href"):
        assert target == "data:," or target.removeprefix("#") in ids
    assert not seen.values("src")
    assert not re.search(r"@import|url\((?!#)", hostile)


def test_only_the_script_of_the_page_may_run(hostile: str) -> None:
    seen = Seen(hostile)
    (script,) = seen.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [value for value in seen.values("content") if value.startswith("default-src")]
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}';" in policy


def test_the_verdict_stands_first_and_the_method_last() -> None:
    result = make_result(make_cell(), make_cell("sdk", "noop", [make_session(1, scale=9)]))
    html = as_html([("run.json.gz", result)])
    headings = re.findall(r"<h[23][^>]*>([^<]+)</h[23]>", html)
    order = [
        "run.json.gz", "A call of noop", "Setup of a session", "Who is charged for noop",
        "Setup, once per session", "Calls", "Where a call goes (mean)", "How to read it",
        "Where the figures of run.json.gz come from", "Cells", "Run and environment",
    ]  # fmt: skip
    assert [heading for heading in headings if heading in order] == order


def test_the_same_results_give_the_same_page() -> None:
    files = [("run.json.gz", make_result())]
    assert as_html(files) == as_html(files)


def test_a_figure_has_its_interval_and_sorts_by_nanoseconds() -> None:
    table = shown_table(tables.setup_table(make_result(make_cell())), "id")
    (row,) = table.rows
    setup = row[[column.heading for column in table.columns].index("setup")]
    assert (setup.text, setup.sort) == ("41.6 ms", 41_560_000)
    assert setup.interval == "[41.6 – 41.6]"


def test_a_missing_figure_says_why() -> None:
    few = make_cell("minimal", "noop", [make_session(1, calls=5, marked=False)], marks=False)
    table = shown_table(tables.calls_table(make_result(few)), "id")
    why = {c.heading: cell.why for c, cell in zip(table.columns, table.rows[0], strict=True)}
    assert why["p99"] == "too few calls to tell"
    assert why["handler"] == "needs marks inside the server"
    assert why["p50"] is None
    assert "– in p90, p99: too few calls to tell." in table.notes


def test_every_chart_stands_under_a_table_or_after_them() -> None:
    section = page([("run", make_result(make_cell(), make_cell(transport="http")))]).sections[0]
    found = [chart.id for topic in section.topics for chart in topic.charts]
    assert sorted(found) == [
        f"f1-chart-{name}"
        for name in [
            "calls",
            "calls-share",
            "cost-of-calls",
            "ecdf",
            "percentiles",
            "sequence",
            "setup",
            "setup-after-boot",
            "side-by-side",
            "timeline",
        ]
    ]
    assert all(topic.table is not None for topic in section.topics)


def said(result: Result) -> dict[str, Statement]:
    return {statement.heading: statement for statement in statements(result)}


def test_the_quickest_and_the_slowest_way_are_told_apart_where_they_can_be() -> None:
    slow = [make_session(round_, scale=10) for round_ in (1, 2, 3)]
    cells = [
        make_cell("floor", "noop", transport="pipe"),
        make_cell(),
        make_cell("sdk", "noop", slow),
    ]
    quick, other = said(make_result(*cells))["A call of noop"].sentences
    assert quick.startswith("stdio/minimal: ")
    assert quick.endswith("the lowest median of 2 ways.")
    assert re.fullmatch(r"stdio/sdk: .* the highest; 10\.0 \[.*\] times as long\.", other)


def test_overlapping_intervals_and_single_sessions_tell_no_order() -> None:
    near = [make_session(round_, seed=1) for round_ in (1, 2, 3)]
    text = said(make_result(make_cell(), make_cell("sdk", "noop", near)))["A call of noop"]
    assert text.sentences[1].endswith("so this run does not tell them apart.")
    alone = [make_session(1, seed=1)]
    text = said(make_result(make_cell(), make_cell("sdk", "noop", alone)))["A call of noop"]
    assert text.sentences[1].endswith("one session cannot tell whether they differ.")


def test_who_is_charged_is_said_with_marks_and_without() -> None:
    (marked,) = said(make_result(make_cell()))["Who is charged for noop"].sentences
    assert re.search(
        r"boundary .* % of the mean call; its largest phase is response,",
        marked.replace("\u00a0", " "),
    )
    plain = make_result(make_cell(marks=False))
    (outside,) = said(plain)["Who is charged for noop"].sentences
    assert "seen from outside" in outside


def test_a_twin_with_marks_tells_more() -> None:
    result = make_result(make_cell(marks=False), make_cell())
    assert [cell.name for cell in ways(result, "noop")] == ["stdio/minimal/noop"]


def test_what_went_wrong_comes_before_every_figure() -> None:
    failure = Failure(2, "boot", "timeout", "no answer")
    result = make_result(make_cell(failures=[failure]), make_cell("sdk", "noop", []))
    first = statements(result)[0]
    assert first.alarm
    assert first.sentences == [
        "1 session failed, in 1 cell.",
        "No call succeeded in stdio/sdk/noop.",
    ]
    assert (
        "stdio/minimal/noop, round 2, boot: no answer"
        in page([("run", result)]).sections[0].failures
    )


def test_without_any_call_the_page_says_so() -> None:
    failure = Failure(1, "spawn", "not_found", "command not found: x")
    html = as_html([("run", make_result(make_cell(sessions=[], failures=[failure])))])
    assert "No call succeeded, so there are no statistics." in html
    assert "command not found: x" in html


def test_several_files_are_compared_first_and_then_shown_one_by_one() -> None:
    quick = [make_session(round_, scale=0.1) for round_ in (1, 2, 3)]
    results = [make_result(make_cell()), make_result(make_cell(sessions=quick), make_cell("sdk"))]
    made = page([("old.json", results[0]), ("new.json", results[1])])
    assert [section.name for section in made.sections] == ["A: old.json", "B: new.json"]
    assert made.together is not None
    assert made.together.base == ""
    (compared,) = made.together.comparisons
    assert "B against A: call.p50 faster" in compared.sentences[0]
    assert compared.table is not None
    assert made.together.overview is not None
    overview = {row[0].text: row for row in made.together.overview.rows}
    assert overview["stdio/sdk/noop"][1].why == "not in this file"


def together_of(*results: Result) -> str:
    """Return the section in which the page has several results together."""
    html = as_html([(f"{place}.json", result) for place, result in enumerate(results)])
    return html.split('<section aria-labelledby="files">')[1].split("</section>")[0]


def test_of_more_than_two_files_the_page_says_that_the_first_is_the_measure() -> None:
    said = "All are compared with the first file, A."
    assert said in together_of(make_result(), make_result(), make_result())
    assert said not in together_of(make_result(), make_result())


def test_files_without_a_common_cell_get_a_sentence_and_no_empty_table_or_chart() -> None:
    names = ("minimal", "sdk", "fastmcp")
    section = Seen(together_of(*(make_result(make_cell(name)) for name in names)))
    assert "B and A have no cell in common, so nothing is compared." in section.text
    assert "C and A have no cell in common, so nothing is compared." in section.text
    assert not {"table", "figure", "svg", "h3"} & set(section.elements)


def test_files_that_share_a_cell_are_compared_beside_one_that_shares_none() -> None:
    results = [make_result(make_cell(name)) for name in ("minimal", "sdk", "minimal")]
    section = Seen(together_of(*results))
    assert "B and A have no cell in common, so nothing is compared." in section.text
    ids = section.values("id")
    assert {"compared-C", "compared-C-chart", "together"} < set(ids)
    assert not [value for value in ids if value.startswith("compared-B")]


def test_cells_that_two_later_files_share_stand_side_by_side() -> None:
    results = [make_result(make_cell(name)) for name in ("minimal", "sdk", "sdk")]
    section = Seen(together_of(*results))
    assert section.elements.count("table") == 1
    assert "together" in section.values("id")


def test_a_common_cell_without_a_call_is_named_and_not_drawn() -> None:
    silent = make_result(make_cell(sessions=[]))
    section = Seen(together_of(make_result(), silent))
    assert "B against A: 0 of 1 cell compared; " in section.text
    assert "no successful calls in B" in section.text
    assert "svg" not in section.elements


def run(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(command_line, ["report", *map(str, words)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.output


def test_the_page_stands_beside_the_first_file_and_replaces_an_older_one(tmp_path: Path) -> None:
    storage.save(make_result(), tmp_path / "run.json.gz")
    target = tmp_path / "run.html"
    target.write_text("old")
    assert run(tmp_path / "run.json.gz") == (0, f"page: {target}\n")
    assert target.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.html", "run.json.gz"]


@pytest.mark.parametrize("name", ["page.html", "PAGE.HTML", "page.htm"])
def test_the_name_of_a_page_ends_as_those_of_pages_do(tmp_path: Path, name: str) -> None:
    storage.save(make_result(), tmp_path / "run.json")
    assert run(tmp_path / "run.json", "-o", tmp_path / name)[0] == 0
    assert (tmp_path / name).read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("name", ["precious.txt", "other.json.gz", "page", "html"])
def test_a_file_that_is_no_page_is_never_replaced_by_one(tmp_path: Path, name: str) -> None:
    storage.save(make_result(), tmp_path / "run.json")
    (tmp_path / name).write_text("precious")
    code, output = run(tmp_path / "run.json", "-o", tmp_path / name)
    assert code == 2
    assert "expected one that ends in .html or .htm" in output
    assert (tmp_path / name).read_text() == "precious"


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        storage.save(make_result(), tmp_path / folder / "run.json")
    files = [tmp_path / folder / "run.json" for folder in ("a", "b")]
    assert run(*files, "-o", tmp_path / "page.html")[0] == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    assert all(str(file).replace("/", "/<wbr>") in text or str(file) in text for file in files)


def test_a_result_without_calls_is_shown_and_is_no_success(tmp_path: Path) -> None:
    silent = make_session(1, calls=0, marked=False)
    storage.save(make_result(make_cell(sessions=[silent], marks=False)), tmp_path / "run.json")
    code, output = run(tmp_path / "run.json")
    assert code == 2
    assert "no call succeeded, so there are no statistics" in output
    assert (tmp_path / "run.html").exists()

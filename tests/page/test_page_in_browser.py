"""Pages in headless Chromium: no error, no request, sorting, no overflow, axe-core, print."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from bench.page import as_html
from bench.publish.files import write
from tests.keep_notebooks import ROOT
from tests.make_results import make_cell, make_result, make_session
from tests.page.hostile import MARKUP, hostile_result

webdriver = pytest.importorskip("selenium.webdriver")
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
PHONE_PX, DESK_PX = 360, 1200
A4_PX = 1031
"""Landscape, without its margins."""

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="needs chromium and chromedriver; make browser installs them",
)
EVERY = pytest.mark.parametrize("name", ["hostile", "two", "article"])
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


class Browser:
    """A page in Chromium, at a width, in light or dark."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, file: Path, width_px: int = DESK_PX, *, dark: bool = False) -> None:
        self.driver.get_log("browser")
        self.show(width_px, dark=dark)
        self.driver.get(file.as_uri())

    def show(self, width_px: int, *, dark: bool = False, media: str = "screen") -> None:
        size = {"width": width_px, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        wanted = {"media": media, "features": [scheme]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)

    def ask(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(f"return {script}", *arguments)

    def overflow_px(self) -> int:
        """How much wider the page is than the screen."""
        root = "document.documentElement"
        return int(self.ask(f"{root}.scrollWidth - {root}.clientWidth"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of a hostile result, one that compares it with another, one of a notebook."""
    folder = tmp_path_factory.mktemp("pages")
    cells = [make_cell(f"server-{n}", "noop", [make_session(1, scale=n)]) for n in (3, 1, 2)]
    plain = ("plain.json", make_result(*cells, make_cell(marks=False)))
    hostile = (f"{MARKUP}.json", hostile_result())
    made = {"hostile": [hostile], "two": [plain, hostile]}
    files = {name: folder / f"{name}.html" for name in made}
    for name, file in files.items():
        file.write_text(as_html(made[name]), "utf-8")
    notebook = ROOT / "notebooks" / "03-eras.ipynb"
    files["article"], _ = write(nbformat.read(notebook, as_version=4), notebook, folder)
    return files


@EVERY
def test_it_opens_from_disk_without_an_error_or_a_request(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.open(pages[name])
    assert browser.driver.get_log("browser") == []
    assert browser.ask("performance.getEntriesByType('resource').map((entry) => entry.name)") == []


def test_a_hostile_name_is_shown_and_does_nothing(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    assert browser.ask("window.hacked === undefined")
    assert MARKUP in browser.driver.title
    assert MARKUP in browser.driver.find_element("css selector", "main").text
    assert browser.ask("document.images.length + document.querySelectorAll('iframe').length") == 0
    found = "[...document.querySelectorAll('svg text')].map((text) => text.textContent)"
    assert any(MARKUP in text for text in browser.ask(found))


def test_a_script_that_got_in_would_not_run(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    browser.driver.execute_script(
        "const script = document.createElement('script'); script.textContent = 'window.hacked = 1';"
        "document.body.append(script)"
    )
    assert browser.ask("window.hacked === undefined")
    (entry,) = browser.driver.get_log("browser")
    assert "Content Security Policy" in entry["message"]


COLUMN = """((table, column) => Array.from(
  document.getElementById(table).nextElementSibling.querySelectorAll('tbody tr'),
  (row) => row.cells[column].dataset.value === undefined
    ? row.cells[column].textContent : Number(row.cells[column].dataset.value)
))(...arguments)"""


def press(browser: Browser, table: str, column: int) -> str:
    """Sort by a heading as one without a mouse does; return what it says of its order."""
    head = f"#{table} + div thead th:nth-child({column + 1})"
    browser.driver.find_element("css selector", f"{head} button").send_keys("\ue007")
    return str(browser.driver.find_element("css selector", head).get_attribute("aria-sort"))


def test_headings_sort_by_value_and_by_name(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["two"])
    before = browser.ask(COLUMN, "f1-calls", 3)
    assert before != sorted(before)
    assert press(browser, "f1-calls", 3) == "ascending"
    assert browser.ask(COLUMN, "f1-calls", 3) == sorted(before)
    assert press(browser, "f1-calls", 3) == "descending"
    assert browser.ask(COLUMN, "f1-calls", 3) == sorted(before, reverse=True)
    assert press(browser, "f1-calls", 0) == "ascending"
    names = browser.ask(COLUMN, "f1-calls", 0)
    assert names == sorted(names)
    assert browser.ask("document.querySelectorAll('[aria-sort]').length") == 1


def test_what_is_missing_stays_at_the_end(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["two"])
    handler = 8
    for order in ("ascending", "descending"):
        assert press(browser, "f1-calls", handler) == order
        *figures, last = browser.ask(COLUMN, "f1-calls", handler)
        assert last == "–"
        assert figures == sorted(figures, reverse=order == "descending")


@EVERY
@pytest.mark.parametrize("width_px", [320, PHONE_PX, DESK_PX])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, pages: dict[str, Path], name: str, width_px: int
) -> None:
    browser.open(pages[name], width_px)
    assert browser.overflow_px() == 0


def test_on_paper_no_table_and_no_chart_is_cut_off(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["two"])
    browser.show(A4_PX, media="print")
    assert browser.overflow_px() == 0
    cut = "[...document.querySelectorAll('svg')].filter((svg) => svg.clientWidth > innerWidth)"
    assert browser.ask(f"{cut}.length") == 0
    browser.show(DESK_PX)


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core; make browser installs it from npm")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width_px", [PHONE_PX, DESK_PX])
@pytest.mark.parametrize("name", ["two", "article"])
def test_axe_finds_no_serious_fault(
    browser: Browser, pages: dict[str, Path], name: str, width_px: int, dark: bool
) -> None:
    browser.open(pages[name], width_px, dark=dark)
    browser.driver.execute_script(AXE.read_text("utf-8"))
    found = browser.driver.execute_async_script(
        "const done = arguments[0];"
        "axe.run({ resultTypes: ['violations'] }).then((result) => done(result.violations))"
    )
    assert [
        (fault["id"], fault["nodes"][0]["html"])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ] == []

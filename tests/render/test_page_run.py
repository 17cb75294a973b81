"""The page of a run, in a real Chromium: its title, notes, stale files, changed inputs, and the legend."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import browsers
import documents
import pytest
from browsers import Browser
from conftest import Project

from provio.render.page import render

pytestmark = pytest.mark.integration
ITEMS = "given.handle.items()"
PANEL = "document.querySelector('.details').innerText"
LEGEND = "[...document.querySelectorAll('.legend .kinds li')].map((one) => one.innerText.replaceAll('\\n', ' '))"
HEADER = "document.querySelector('header').innerText"
ON_CLICK = ["on a click: came from", "on a click: went into"]


@pytest.fixture(autouse=True)
def silent(browser: Browser) -> Iterator[None]:
    browser.window()
    yield
    assert browser.complaints() == []
    assert browser.requests() == []


def show(browser: Browser, project: Project, *arguments: str) -> None:
    project.provio("view", *arguments, "-o", "page.html")
    browser.go((project.path / "page.html").as_uri())


def spoken(browser: Browser, name: str, kind: str = "file") -> str:
    """Choose an item, and return its name with its marks, as a screen reader gets them."""
    one = next(item for item in browser.ask(ITEMS) if item["name"] == name and item["kind"] == kind)
    browser.ask("given.handle.choose(args[0])", one["id"])
    return str(browser.ask("document.querySelector('.spoken').textContent"))


def test_a_run_has_the_marks_of_its_files(browser: Browser, project: Project) -> None:
    """`view RUN` marks the stale files that `view FILE` marks, and both the input that was edited."""
    project.env["PROVIO_HASH"] = "auto"
    (project.path / "raw.csv").write_text("2\n1\n")
    project.run("sort raw.csv > sorted.csv; cp sorted.csv copy.csv")
    show(browser, project, "last")
    assert not [entry for entry in browser.ask(LEGEND) if "changed" in entry]
    (project.path / "raw.csv").write_text("3\n2\n1\n")
    for target in ("last", "copy.csv"):
        show(browser, project, target)
        assert {name: spoken(browser, name) for name in ("raw.csv", "sorted.csv", "copy.csv")} == {
            "raw.csv": "file raw.csv, changed",
            "sorted.csv": "file sorted.csv, stale",
            "copy.csv": "file copy.csv, stale",
        }
        legend = browser.ask(LEGEND)
        assert "stale an input has changed since (dashed border)" in legend
        assert "changed the file itself has changed since it was used" in legend
        spoken(browser, "raw.csv")
        assert re.search(r"Changed\s+changed since \d{4}-", str(browser.ask(PANEL)))
    (project.path / "copy.csv").unlink()
    show(browser, project, "last")
    assert spoken(browser, "copy.csv") == "file copy.csv"


def test_an_input_of_a_replaced_product_is_marked(browser: Browser, project: Project) -> None:
    """In the page of the earlier run; its product, which is no longer there, is not stale."""
    project.env["PROVIO_HASH"] = "auto"
    for text in ("2\n1\n", "3\n1\n"):
        (project.path / "raw.csv").write_text(text)
        project.run("sort raw.csv > sorted.csv")
    show(browser, project, "last~1")
    assert (spoken(browser, "raw.csv"), spoken(browser, "sorted.csv")) == ("file raw.csv, changed", "file sorted.csv")
    show(browser, project, "last")
    found = (spoken(browser, "raw.csv"), spoken(browser, "sorted.csv"))
    assert found == ("file raw.csv, something was not observed", "file sorted.csv")


def test_pages_of_runs_have_their_names(browser: Browser, project: Project) -> None:
    """The name, if there is one, and the id: also two runs of one second have different titles."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--name", "first <b>", "--", "cp", "a", "b")
    project.provio("run", "--quiet", "--", "cp", "a", "b")
    titles = []
    for run, title in (("last~1", "first <b>: cp a b – "), ("last", "cp a b – ")):
        show(browser, project, run)
        question, head = browser.ask("[...document.querySelectorAll('.title > *')].map((one) => one.innerText)")
        assert re.fullmatch(r"Run [0-9a-f-]{36}", question) and head.startswith(title)
        titles.append(str(browser.driver.title))
        assert titles[-1] == f"{head} ({question[4:]}) – provio"
    assert titles[0] != titles[1]
    show(browser, project, "b")
    assert str(browser.ask(HEADER)).split()[:5] == ["Where", "it", "came", "from", "b"]


def test_notes_on_a_run_are_in_the_first_view(browser: Browser, project: Project) -> None:
    """Text, time and user in the header; a mark on the run and its first step. Of many notes the newest."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--name", "copy", "--", "bash", "-c", "cp a b; cp b c")
    show(browser, project, "last")
    assert browser.ask("document.querySelectorAll('header .note, .legend .runs').length") == 0
    project.provio("note", "last", "detector <b>off</b>\nuntil noon")
    show(browser, project, "last")
    line = r"\d{4}-\d\d-\d\d [\d:]{8} UTC \S+: detector <b>off</b> until noon"
    assert re.search(rf"note on this run, {line}", str(browser.ask(HEADER)))
    runs = str(browser.ask("document.querySelector('.legend .runs').innerText"))
    assert re.match(r"copy, \d{4}-.* UTC\s*note", runs) and "detector <b>off</b>" in runs
    assert "note has a note" in browser.ask(LEGEND)
    svg = str(browser.ask("given.handle.image('svg').then((blob) => blob.text())"))
    assert svg.count(">note</text>") == 1
    for level in ("process", "file"):
        browser.ask("given.handle.level(args[0])", level)
        assert "note has a note" in browser.ask(LEGEND)
    for number in range(4):
        project.provio("note", "last", f"number {number}")
    show(browser, project, "c")
    header = str(browser.ask(HEADER))
    assert re.findall(r"note on copy, .*: (.*)", header) == ["number 3", "number 2", "number 1"]
    assert "and 2 earlier notes" in header
    browser.window(browsers.NARROW)
    box = "document.querySelector('header .note').getBoundingClientRect()"
    assert browser.ask(f"{box}.height > 10 && {box}.right <= innerWidth")


def test_the_legend_has_only_what_is_drawn(browser: Browser) -> None:
    browser.open(render(documents.lone_document(), "x"))
    assert browser.ask(LEGEND) == ["file", "target of the query"]
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    seen = browser.ask(LEGEND)
    assert seen == ["file", "step", "program", "target of the query", *ON_CLICK, "data: read or written", "ran"]
    browser.ask("given.handle.level('process')")
    assert browser.ask(LEGEND) == ["file", "step", "target of the query", *ON_CLICK, "data: read or written"]
    browser.open(render(documents.wide_document(), "all.h5"))
    assert "fold: ×N, click to open" in browser.ask(LEGEND)


def test_an_opened_fold_stays_in_its_place(browser: Browser) -> None:
    """Also if the legend, or the window, then leaves another room."""
    browser.open(render(documents.wide_document(), "all.h5"))
    fold = next(one for one in browser.ask(ITEMS) if one["fold"] and one["kind"] == "file")
    browser.ask("given.handle.open(args[0])", fold["id"])
    before = browser.ask(ITEMS)
    browser.window((1280, 700))
    browser.until("document.querySelector('canvas.graph').height < 560")
    assert browser.ask(ITEMS) == before


def test_each_tie_has_its_own_line(browser: Browser) -> None:
    """In the picture and in the legend, without regard to colours."""
    browser.open(render(documents.lone_document(), "x"))
    patterns = browser.ask("Object.values(provioLineage.LOOKS).map(([, , dashes]) => dashes.join(' '))")
    assert len(set(patterns)) == len(patterns) == 10
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    samples = browser.ask("[...document.querySelectorAll('.tie')].map((one) => getComputedStyle(one).backgroundImage)")
    assert samples[0] == "none" and samples[1].count("px") == 12


def test_a_configuration_shows_its_values(browser: Browser, project: Project) -> None:
    """Its name, and below it the settings, cut at the end; the panel has all."""
    settings = {f"degree{number:02}": number for number in range(20)}
    (project.path / "params.json").write_text(str(settings).replace("'", '"'))
    project.watch(sys.executable, "-c", "open('b', 'w').write(open('params.json').read())")
    show(browser, project, "b")
    one = next(item for item in browser.ask(ITEMS) if item["kind"] == "declared")
    assert one["label"] == "params.json, version 1"
    svg = str(browser.ask("given.handle.image('svg').then((blob) => blob.text())"))
    assert re.search(r">degree00 0, degree01 1, degree02 2[^<]*…</text>", svg)
    browser.ask("given.handle.choose(args[0])", one["id"])
    assert ", ".join(f"{name} {value}" for name, value in settings.items()) in str(browser.ask(PANEL))


def test_forks_that_opened_nothing_are_left_out(browser: Browser, project: Project) -> None:
    """The shell takes their place; `--all` shows them. The data stay the same."""
    (project.path / "a").write_text("1\n")
    (project.path / "all.sh").write_text("x=$(echo hi)\ncp a b\n(cat b; echo $x) > c\nsort < c > d\n")
    project.provio("run", "--quiet", "--", "bash", "all.sh")
    show(browser, project, "last")
    steps = [item["name"] for item in browser.ask(ITEMS) if item["kind"] == "process"]
    assert {"cp", "cat", "sort"} <= set(steps)
    assert not re.search(r"gap", str(browser.ask(HEADER)))
    few = steps.count("all.sh")
    assert "launched" in browser.ask(LEGEND)
    iri = next(item["id"] for item in browser.ask(ITEMS) if item["name"] == "d")
    names = (
        "[...given.handle.ways(args[0]).back].map((one) => given.handle.items().find((item) => item.id === one)?.name)"
    )
    ways = set(browser.ask(names, iri))
    show(browser, project, "last", "--all")
    every = [item["name"] for item in browser.ask(ITEMS) if item["kind"] == "process"].count("all.sh")
    assert few < every
    assert {"a", "b", "c", "cp", "cat", "sort"} <= ways

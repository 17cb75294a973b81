"""The page of `provio diff --as html`: its content, and the page in a real Chromium; names stay text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browsers import NARROW, Browser
from conftest import Project, new_project
from workers import made_once

from provio.compare.side import Activity
from provio.render.page import comparison_boxes
from provio.render.page.comparison_times import Bar
from provio.render.page.lineage import check_offline

pytestmark = pytest.mark.integration
EVIL = '<script>alert("1")</script>'
SMALL = """sort raw.txt > sorted.txt
sed 's/x/@/' sorted.txt > sum.txt
cat sum.txt > "$(printf '<b>"q\\047 &amp;\\n\\377.txt')"
cat '<b>'* > final.txt
cat sorted.txt > other.txt
"""
MORE = "head sum.txt > more.txt\n"
MANY = """for n in $(seq 40); do m=$n; [ $n = 7 ] && m=@
    sed "s/x/$m/" raw.txt > a$n.txt; tail -n 1 a$n.txt > b$n.txt; done
cat b*.txt > all.txt
"""


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text of each isolated part."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags = Counter[str]()
        self.rows: list[dict[str, str | None]] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self._inside = tag
        if tag == "tr":
            self.rows.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "bdi":
            self.texts.append(data)


def record(project: Project, folder: str, name: str, script: str) -> None:
    """Run a script in a folder of its own."""
    path = project.path / folder
    path.mkdir()
    (path / "raw.txt").write_text("x 1\nx 2\n")
    (path / "job.sh").write_text(script)
    one = Project(path, project.env)
    one.provio("run", "--hash", "--quiet", "--name", name, "--", "bash", "job.sh")


def made(folder: Path) -> None:
    """Two small runs with hostile names, of which the second differs in one argument and has one process more; and two
    runs of many processes, of which one differs."""
    project = new_project(folder)
    (project.path / "provio-diff.toml").write_text('expected = ["other.txt", "final.txt"]\n')
    record(project, "one", "one", SMALL.replace("@", "1"))
    record(project, "two", EVIL, SMALL.replace("@", EVIL.replace("/", "\\/")) + MORE)
    record(project, "many", "many", MANY.replace("@", "7"))
    record(project, "changed", "changed", MANY.replace("@", "seven"))
    project.provio("merge", "--quiet")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """The project of `made`."""
    return new_project(made_once(tmp_path_factory, "comparison", made))


@pytest.fixture(scope="module")
def small(recorded: Project) -> str:
    return page_of(recorded, "one", EVIL)


@pytest.fixture(scope="module")
def many(recorded: Project) -> str:
    return page_of(recorded, "many", "changed")


def page_of(project: Project, first: str, second: str, code: int = 1) -> str:
    """Return the page of two runs."""
    name = f"{first}-{second}".replace("/", "_") + ".html"
    project.provio("diff", first, second, "--as", "html", "-o", name, code=code)
    return (project.path / name).read_text(encoding="utf-8")


def nodes(page: str) -> dict[str, dict[str, Any]]:
    """Return the nodes of the graph, files by name, steps by label and command."""
    given = page[page.rindex("const given") :]
    start = re.search(r"\bnodes: \[", given)
    assert start
    found = json.JSONDecoder().raw_decode(given[start.end() - 1 :])[0]
    return {one["label"] if "path" in one else one["argv"]: one for one in found}


def test_it_states_the_result(small: str) -> None:
    """The verdict, both runs, the first divergence with its cause and its files; expected ones are hidden."""
    page = Page(small)
    check_offline(small)
    assert "default-src 'none'" in small
    assert '<p class="verdict differs">' in small
    assert "one" in page.texts and EVIL in page.texts
    assert "cause</dt>" in small and "results that differ</dt>" in small
    kinds = [row["data-kind"] for row in page.rows if "data-kind" in row]
    assert {"code", "parameters", "graph", "results"} <= set(kinds)
    hidden = [row for row in page.rows if "data-expected" in row]
    assert hidden and all("hidden" in row for row in hidden)
    assert sum("hidden" in row for row in page.rows) == len(hidden)
    assert len(small.encode()) < 500_000


def test_the_graph_has_the_divergence_and_all_that_it_reached(small: str) -> None:
    found = nodes(small)
    marks = {name: one.get("compared") for name, one in found.items()}
    differs = {"sed s/x/1/ sorted.txt", "sum.txt", "bash job.sh", "job.sh"}  # one program more is in the script
    assert {name for name, mark in marks.items() if mark == "differs"} == differs
    reached = {name for name, mark in marks.items() if mark == "reached"}
    assert {"cat sum.txt", "final.txt"} < reached and len(reached) == 4
    assert {name for name, mark in marks.items() if mark == "second"} == {"head sum.txt", "more.txt"}
    assert marks["other.txt"] is None and marks["raw.txt"] is None
    assert found["sum.txt"]["comparison"].startswith("differs first; other content: 8 B and ")
    assert found["raw.txt"]["comparison"] == "equal content"
    assert found["more.txt"]["comparison"] == "only in run B"


def test_hostile_names_stay_text(small: str, many: str) -> None:
    """A name makes no element; both pages have the same scripts."""
    assert EVIL not in small
    assert Page(small).tags["script"] == Page(many).tags["script"] == 2
    assert '<b>"q' not in small
    texts = Page(small).texts
    assert any(text.startswith("<b>\"q' &amp;\\n") and text.endswith(".txt") for text in texts)
    small.encode("utf-8")


def test_many_activities_are_folded(many: str) -> None:
    """A lane for each kind, with the place where the runs differ in a lane of its own; the page states the folds."""
    lanes = re.findall(r'<div class="lane" title="([^"]*)">', many[many.index('id="times"') : many.index('id="boxes"')])
    assert lanes[0].startswith("sed: ")
    assert sorted(lanes[1:]) == ["cat", "job.sh", "sed", "seq", "tail"]
    assert "activities are drawn by kind" in many
    assert "equal kinds of activities and files are folded" in many
    assert len(nodes(many)) > 150
    alone = {name for name, one in nodes(many).items() if one.get("alone")}
    assert {"a7.txt", "b7.txt", "all.txt"} <= alone and "a8.txt" not in alone


def test_equal_runs_are_identical(recorded: Project) -> None:
    page = page_of(recorded, "many", "many", code=0)
    assert '<p class="verdict same">no unexpected difference found</p>' in page
    assert "No result of activities with equal inputs differs" in page
    assert not any("compared" in one for one in nodes(page).values())


@pytest.mark.parametrize("form", ["text", "json", "csv", "tsv", "html"])
def test_a_file_has_the_printed_text(recorded: Project, form: str) -> None:
    """In every form, and nothing else is printed; the file is complete or not there."""
    printed = recorded.provio("diff", "one", EVIL, "--as", form, code=1).stdout
    assert recorded.provio("diff", "one", EVIL, "--as", form, "-o", f"out.{form}", code=1).stdout == ""
    assert (recorded.path / f"out.{form}").read_bytes().decode().replace("\r\n", "\n") == printed
    assert printed.startswith({"text": "code", "json": "[", "csv": "configuration,key", "tsv": "configuration\tkey",
                               "html": "<!DOCTYPE html>"}[form])  # fmt: skip
    failed = recorded.provio("diff", "one", EVIL, "--as", form, "-o", f"none/out.{form}", code=1)
    assert "there is no folder none: create it" in failed.stderr


def test_first_has_no_table(recorded: Project) -> None:
    assert "omit --as csv" in recorded.provio("diff", "one", "many", "--first", "--as", "csv", code=2).stderr


def test_box_plots() -> None:
    """Five values are points; of more, the quartiles, the whiskers and the points outside."""

    def bars(*lengths: float) -> list[Bar | None]:
        one = Activity("", "work", (), (), "work", False, "s", "e", "", "")
        return [Bar(one, 1.0, 1.0 + length) for length in lengths]

    (row,), left = comparison_boxes.rows([bars(1, 2, 4), bars(*range(1, 10), 97)])
    assert left == ""
    few, more = row["sides"]
    assert (few["box"], few["points"]) == (None, [2.0, 3.0, 5.0])
    assert more["box"] == {"from": 2.0, "low": 4.25, "middle": 6.5, "high": 8.75, "to": 10.0, "width": 4.5}
    assert more["points"] == [98.0]
    assert row["text"] == "A 3 × 2.0 s · B 10 × 5.5 s"


@pytest.fixture
def silent(browser: Browser) -> Iterator[Browser]:
    """A browser; during the test the console stays empty, and the page makes no network request."""
    browser.window()
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == []


ROWS = (
    "[...document.querySelectorAll('#differences tbody tr')].filter((row) => !row.hidden).map((row) => row.innerText)"
)


def test_the_filter(silent: Browser, small: str) -> None:
    """By text, by kind, with the expected ones; by the keyboard alone; a button of the summary selects its kind."""
    silent.open(small)
    whole = silent.ask(ROWS)
    assert not any("final.txt" in row for row in whole)
    silent.ask("document.getElementById('expected').focus()")
    silent.press(" ")
    every = silent.ask(ROWS)
    assert len(every) > len(whole) and any("final.txt" in row for row in every)
    silent.ask("document.getElementById('wanted').focus()")
    silent.press(*"FINAL.txt")
    (row,) = silent.ask(ROWS)
    assert row.startswith("results")
    assert silent.ask("document.getElementById('shown').textContent") == f"1 of {len(every)} shown"
    silent.ask("(() => { wanted.value = ''; document.querySelector('button[data-kind=parameters]').click(); })()")
    assert {row.split("\t")[0] for row in silent.ask(ROWS)} == {"parameters"}


def test_the_graph_is_drawn_and_shows_a_divergence(silent: Browser, many: str) -> None:
    """The divergence has its colour; the button chooses it; arrow keys go on; the theme is that of the whole page."""
    silent.open(many)
    silent.ask("document.getElementById('graph').scrollIntoView()")
    assert silent.colours()["#b3123f"] > 200
    silent.ask("document.querySelector('button[data-iri]').click()")
    panel = "document.querySelector('.details').innerText"
    assert "differs first; in both runs" in silent.ask(panel)
    silent.ask("document.querySelector('canvas.graph').focus()")
    silent.press("\ue014")
    assert "other content: " in silent.ask(panel)
    assert {item["name"] for item in silent.ask("given.handle.items()")} >= {"a7.txt", "b7.txt", "all.txt"}
    silent.press("d")
    assert silent.ask("[document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]") == [
        "dark", "rgb(18, 23, 31)"]  # fmt: skip


def test_it_fits_a_narrow_screen(silent: Browser, small: str) -> None:
    silent.window(NARROW, dark=True)
    silent.open(small)
    assert silent.ask("document.documentElement.scrollWidth") == NARROW[0]
    assert silent.ask("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 31)"

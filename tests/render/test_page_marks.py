"""Facts of the nodes on the page, in a real Chromium: marks, runs, notes, contents, and the panel's words."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterator

import documents
import pytest
from browsers import Browser
from conftest import Project

from provio.render.page import render

pytestmark = pytest.mark.integration
ITEMS = "given.handle.items()"
PANEL = "document.querySelector('.details').innerText"
LEGEND = "document.querySelector('.legend').innerText"


@pytest.fixture(autouse=True)
def silent(browser: Browser) -> Iterator[None]:
    browser.window()
    yield
    assert browser.complaints() == []
    assert browser.requests() == []


def show(browser: Browser, project: Project, *arguments: str) -> None:
    project.provio("view", *arguments, "-o", "page.html")
    browser.go((project.path / "page.html").as_uri())


def choose(browser: Browser, name: str, kind: str = "file") -> str:
    """Choose an item, and return the text of its panel."""
    one = next(item for item in browser.ask(ITEMS) if item["name"] == name and item["kind"] == kind)
    browser.ask("given.handle.choose(args[0])", one["id"])
    return str(browser.ask(PANEL))


def picture() -> bytes:
    """A PNG of 8 × 8 black pixels."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))  # noqa: E731
    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 72)) + chunk(b"IEND", b"")


def test_the_panel_has_the_words_of_its_reader(browser: Browser) -> None:
    """A file was made and read by steps; terms of PROV and IRIs are behind "Details", which stays open."""
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    file, step = choose(browser, "WestSac.h5"), choose(browser, "decimate.py", "process")
    assert re.sub(r"\s+", " ", file) == (
        "✕ File WestSac.h5 Path /data/WestSac.h5 Size 52 MB (52,431,200 bytes) Made by (1) "
        "tdms2h5.py /data/WestSac.bin /data/WestSac.h5 Read by (1) decimate.py --factor 10 /data/WestSac.h5 "
        "/data/decimate.h5 Came from 2 in all · went into 4 in all Details"
    )
    assert re.findall(r"^(?:Reads|Makes|Program) \(1\)$", step, re.MULTILINE) == [
        "Reads (1)",
        "Program (1)",
        "Makes (1)",
    ]
    assert not re.search(r"Phase|SPARQL|http", file + step)
    browser.ask("document.querySelector('.details .technical summary').click()")
    browser.ask("1")
    assert re.search(r"Type\s+Phase[^$]*12 on node07[^$]*/phase/1[^$]*SELECT", str(browser.ask(PANEL)))
    assert "FileVersion" in choose(browser, "WestSac.h5")


def test_stale_and_failed_files_are_marked(browser: Browser, project: Project) -> None:
    """In the picture, the legend and the panel; a fold counts them."""
    project.env["PROVIO_HASH"] = "auto"
    (project.path / "raw.csv").write_text("2\n1\n")
    project.run("sort raw.csv > sorted.csv; cp sorted.csv copy.csv")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat sorted.csv > part.csv; exit 3", code=3)
    show(browser, project, "copy.csv", "part.csv")
    assert "stale" not in str(browser.ask(LEGEND))
    (project.path / "raw.csv").write_text("3\n2\n1\n")
    show(browser, project, "copy.csv", "part.csv")
    legend = str(browser.ask(LEGEND))
    assert "an input has changed since" in legend and "the step failed, or the one that made the file" in legend
    assert "raw.csv has changed since" in choose(browser, "sorted.csv")
    assert "sorted.csv is stale" in choose(browser, "copy.csv")
    assert "made by a step that failed (exit 3)" in choose(browser, "part.csv")
    assert browser.ask("document.querySelector('.spoken').textContent") == "file part.csv, failed, stale"
    browser.ask("given.handle.choose(null)")
    seen = browser.colours()
    assert seen["#b4460f"] > 100 and seen["#a3161b"] > 100


def test_a_fold_counts_its_marked_files(browser: Browser) -> None:
    document = documents.samples_document(40)
    for node in document["nodes"]:
        if node.get("path") in ("/data/raw/s001.fq", "/data/raw/s002.fq"):
            node["stale"] = "x has changed since"
        if node["label"] == "trim" and node["type"] == "Phase" and "s007" in node["argv"]:
            node["failed"] = "exit 2"
    browser.open(render(document, "all.csv"))
    svg = str(browser.ask("given.handle.image('svg').then((blob) => blob.text())"))
    assert re.findall(r">([^<]* (?:stale|failed))</text>", svg) == ["1 failed", "2 stale"]


def test_runs_have_numbers_and_colours(browser: Browser, project: Project) -> None:
    """Of a page of several runs: on the steps and their products, and in the legend with name and time."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--name", "copy", "--", "cp", "a", "b")
    show(browser, project, "b")
    assert browser.ask("document.querySelectorAll('.legend .runs').length") == 0
    project.provio("run", "--quiet", "--", "sort", "-o", "c", str(project.path / "b"))
    show(browser, project, "c")
    runs = browser.ask("[...document.querySelectorAll('.legend .runs li')].map((one) => one.innerText)")
    assert [re.sub(r"\d{4}-.* UTC", "TIME", one.replace("\n", "")) for one in runs] == [
        "1copy, TIME",
        "2sort -o c b, TIME",
    ]
    seen = browser.colours()
    assert seen["#0072b2"] > 200 and seen["#e69f00"] > 200
    assert re.search(r"Run\s+copy, \d{4}-", choose(browser, "cp", "process"))


def test_notes_are_shown(browser: Browser, project: Project) -> None:
    """In the panel, as text, and as a mark on the noted file."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--", "cp", "a", "b")
    project.provio("note", "b", "check <b>this</b>")
    show(browser, project, "b")
    assert re.search(r"Note\s+\d{4}-.* UTC .*: check <b>this</b>", choose(browser, "b"))
    assert "has a note" in str(browser.ask(LEGEND))
    assert "Note" not in choose(browser, "a")


def test_small_contents_are_shown(browser: Browser, project: Project) -> None:
    """A picture, the head of a table and of a text; a drawing runs no script; not of files that changed since."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="hurt = 1" width="9" height="9"><script>hurt = 1</script>'
    (project.path / "in.csv").write_text("name,value\n<img src=x onerror=hurt=1>,=1+1\n")
    (project.path / "in.png").write_bytes(picture())
    (project.path / "in.svg").write_text(svg + "</svg>")
    (project.path / "in.json").write_text('{"a": "fetch(1) @import"}\n')
    project.run("for f in csv png svg json; do cp in.$f out.$f; done; cat out.* > all.bin")
    show(browser, project, "all.bin")
    choose(browser, "out.csv")
    cells = browser.ask("[...document.querySelectorAll('.preview th, .preview td')].map((one) => one.textContent)")
    assert cells == ["name", "value", "<img src=x onerror=hurt=1>", "=1+1"]
    choose(browser, "out.png")
    assert browser.until("document.querySelector('.preview img').naturalWidth") == 8
    choose(browser, "out.svg")
    assert browser.until("document.querySelector('.preview img').naturalWidth") == 9
    choose(browser, "out.json")
    assert browser.ask("document.querySelector('.preview pre').textContent") == '{"a": "fetch(1) @import"}'
    assert browser.ask("String(window.hurt)") == "undefined"
    (project.path / "out.csv").write_text("name,value\nother,2\n")
    show(browser, project, "all.bin")
    choose(browser, "out.csv")
    assert browser.ask("document.querySelectorAll('.preview').length") == 0
    assert base64.b64encode(b"other,2") not in (project.path / "page.html").read_bytes()


def move(browser: Browser, x: float, y: float) -> None:
    event = {"type": "mouseMoved", "x": x, "y": y}
    browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def test_a_pointer_that_rests_marks_the_lineage(browser: Browser) -> None:
    """Until it leaves, if nothing is chosen."""
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    one = next(item for item in browser.ask(ITEMS) if item["name"] == "decimate.h5")
    move(browser, one["x"], one["y"])
    browser.until("given.handle.marked().back.length === 4 && given.handle.marked().on.length === 2")
    assert browser.ask("given.handle.chosen()") is None
    move(browser, 640, 640)
    browser.until("given.handle.marked().back.length === 0")


def test_an_overview_moves_a_large_picture(browser: Browser) -> None:
    """It is there only if a part of the picture is outside of the window; a press shows another part."""
    there = "!document.querySelector('canvas.overview').hidden"
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    assert not browser.ask(there)
    browser.open(render(documents.long_document(40), "end", most=1000))
    assert browser.ask(there)
    last = lambda: next(one for one in browser.ask(ITEMS) if one["name"] == "step0040")  # noqa: E731
    first = lambda: next(one for one in browser.ask(ITEMS) if one["name"] == "step0000")  # noqa: E731
    assert 0 < last()["x"] < 1280 and last()["width"] > 60
    assert first()["x"] < 0
    box = browser.ask(
        "(({ left, top, height }) => [left, top + height / 2])"
        "(document.querySelector('canvas.overview').getBoundingClientRect())"
    )
    browser.driver.execute_cdp_cmd(
        "Input.dispatchMouseEvent",
        {"type": "mousePressed", "x": box[0] + 2, "y": box[1], "button": "left", "buttons": 1, "clickCount": 1},
    )
    assert 0 < browser.until("given.handle.items().find((one) => one.name === 'step0000').x") < 1280

"""The picture saved from the page as SVG and PNG, in a real Chromium: valid files with all labels, no network."""

from __future__ import annotations

import base64
import struct
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import documents
import pytest
from browsers import Browser, pixels

from provio.ask.document import LineageDocument
from provio.render.page import render

pytestmark = pytest.mark.integration
SVG = "{http://www.w3.org/2000/svg}"
RUNS = {documents.RUN + str(n): {"title": title, "start": "2026-11-20T08:00:00Z"} for n, title in
        ((1, "first <run>"), (2, "second & last"))}  # fmt: skip


def saved(browser: Browser, form: str, folder: Path) -> Path:
    """Press the button, and return the file that the browser wrote."""
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    browser.ask(f"document.querySelector('button.save.{form}').click()")
    end = time.monotonic() + 60
    while not (found := list(folder.glob(f"*.{form}"))):
        assert time.monotonic() < end, [*folder.iterdir()]
        time.sleep(0.05)
    return found[0]


def of_two_runs() -> LineageDocument:
    document = documents.chain_document()
    phases = [node for node in document["nodes"] if node["type"] == "Phase"]
    for node, run in zip(phases, (*RUNS, [*RUNS][1]), strict=True):
        node["run"] = run
    return {**document, "runNames": RUNS}  # type: ignore[typeddict-item]


@pytest.mark.parametrize("make", [of_two_runs, documents.hostile_document, lambda: documents.samples_document(60)])
def test_the_svg_has_all_labels(browser: Browser, tmp_path: Path, make) -> None:
    """Well-formed, with the names, second lines and numbers of all items; it opens by itself, without a request."""
    browser.window()
    browser.open(render(make(), "a/b: c"))
    items = browser.ask("given.handle.items()")
    path = saved(browser, "svg", tmp_path)
    assert path.name == "a_b_c.svg"
    root = ET.fromstring(path.read_bytes())  # written here
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert {one["label"] for one in items} <= set(texts)
    assert {f"×{one['count']}" for one in items if one["fold"]} <= set(texts)
    assert root.find(f"{SVG}title").text == "a/b: c"
    assert {one.tag for one in root.iter()} == {SVG + tag for tag in ("svg", "title", "rect", "path", "text")}
    if "runNames" in make():
        assert {"first <run>, 2026-11-20 08:00:00 UTC", "second & last, 2026-11-20 08:00:00 UTC"} <= set(texts)
    browser.driver.get_log("performance")
    browser.driver.get(path.as_uri())
    seen = browser.colours()
    assert seen["#e3eefb"] > 100 and seen["#fdeccf"] > 100
    assert browser.requests() == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_png_is_the_whole_picture(browser: Browser, tmp_path: Path, dark: bool) -> None:
    """Also its parts outside of the window; twice as sharp, in the colours of the page."""
    browser.window(dark=dark)
    browser.open(render(of_two_runs(), "xcorr.h5"))
    items = browser.ask("(given.handle.fit(), given.handle.items())")
    wide = max(one["x"] + one["width"] / 2 for one in items) - min(one["x"] - one["width"] / 2 for one in items)
    scale = items[0]["height"] / 46
    for _ in range(6):
        browser.press("+")
    picture = saved(browser, "png", tmp_path).read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert abs(width - 2 * (wide / scale + 64)) < 8 and height > 200
    seen = pixels(picture)
    wanted = {"#14273c", "#33260f"} if dark else {"#e3eefb", "#fdeccf"}
    assert {colour for colour in wanted if seen[colour] < 5_000} == set()


def test_a_very_large_picture_is_still_a_png(browser: Browser, tmp_path: Path) -> None:
    """No longer than a canvas can be."""
    browser.window()
    browser.open(render(documents.long_document(300), "end", most=1000))
    script = "given.handle.image('png').then((blob) => blob.arrayBuffer()).then((all) => btoa(String.fromCharCode(...new Uint8Array(all).slice(0, 24))))"  # noqa: E501
    width, height = struct.unpack(">II", base64.b64decode(browser.ask(script))[16:24])
    assert 8_000 < max(width, height) <= 16_384

"""The page in a real Chromium beyond mouse and screen: on paper, with two fingers, on the clipboard; moved while
painting is slow; and removed from its element."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from typing import Any

import documents
import pytest
from browsers import Browser

from provio.render.page import render

pytestmark = pytest.mark.integration
ITEMS = "given.handle.items()"
CHOSEN = next(node for node in documents.chain_document()["nodes"] if node["label"] == "decimate.h5")
PAPER, SCREEN = {"e3eefb", "fdeccf"}, {"0c1117", "12171f", "14273c"}  # of a file and a process; in the dark
SPARQL = "[...document.querySelectorAll('.details button.copy')].find((one) => one.textContent === 'Copy SPARQL')"


@pytest.fixture
def shown(browser: Browser) -> Browser:
    """A chain of files and processes, one file of which is chosen."""
    browser.window()
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    assert browser.ask("given.handle.choose(args[0])", CHOSEN["iri"])
    browser.ask("document.querySelector('.details .technical').open = true")
    return browser


def printed(browser: Browser) -> tuple[str, set[str]]:
    """Return the text of a print, and its colours: of fillings (ISO 32000: `rg`), and of pixels where
    this browser prints a canvas as those."""
    pypdf = pytest.importorskip("pypdf")
    sheet = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    pages = pypdf.PdfReader(io.BytesIO(base64.b64decode(sheet))).pages
    drawn = [page.get_contents().get_data() for page in pages]
    inner = [one for page in pages for one in inside(page["/Resources"])]
    drawn += [one.get_data() for one in inner if one["/Subtype"] == "/Form"]
    colours = {
        bytes(round(255 * float(part)) for part in parts).hex()
        for parts in re.findall(rb"([0-9.]+) ([0-9.]+) ([0-9.]+) rg", b"\n".join(drawn))
    }
    for picture in (one.get_data() for one in inner if one["/Subtype"] == "/Image"):
        colours |= {colour for colour in (*PAPER, *SCREEN) if picture.count(bytes.fromhex(colour)) > 500}
    return "\n".join(page.extract_text() for page in pages), colours


def inside(resources: Any) -> Iterator[Any]:
    """Return an element of a page by its name, and its effect."""
    for entry in resources.get("/XObject", {}).values():
        one = entry.get_object()
        yield one
        yield from inside(one.get("/Resources", {}))


@pytest.mark.parametrize("dark", [False, True])
def test_a_print_shows_the_graph_and_the_details(browser: Browser, shown: Browser, dark: bool) -> None:
    """In the colours of paper, for any setting of the screen; without buttons, which have no use there."""
    if dark:
        browser.press("d")
    text, colours = printed(browser)
    panel = ("Where it came from", "xcorr.h5", "decimate.h5", "Came from", "SPARQL", "SELECT ?from", CHOSEN["iri"][:40])
    assert [said for said in panel if said not in text] == []
    assert [pressed for pressed in ("Time line", "Copy", "from node to node") if pressed in text] == []
    assert colours >= PAPER
    assert not colours & SCREEN
    if dark:  # and the screen is as it was
        assert browser.colours()["#0c1117"] > 100_000


def test_two_fingers_enlarge(browser: Browser, shown: Browser) -> None:
    """The point between them stays there; one finger moves it, and a tap selects."""
    touch = lambda kind, *points: browser.driver.execute_cdp_cmd(  # noqa: E731
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)]},
    )
    browser.ask("given.handle.choose(null)")
    before = {one["id"]: one for one in browser.ask(ITEMS)}
    middle = before[CHOSEN["iri"]]
    x, y = middle["x"], middle["y"]
    touch("touchStart", (x - 50, y), (x + 50, y))
    for apart in range(60, 101, 10):
        touch("touchMove", (x - apart, y), (x + apart, y))
    touch("touchEnd")
    after = {one["id"]: one for one in browser.ask(ITEMS)}[CHOSEN["iri"]]
    assert after["width"] > 1.6 * middle["width"]
    assert abs(after["x"] - x) < 25 and abs(after["y"] - y) < 5
    touch("touchStart", (300, 500))
    touch("touchMove", (340, 520))
    touch("touchMove", (380, 540))
    touch("touchEnd")
    moved = {one["id"]: one for one in browser.ask(ITEMS)}[CHOSEN["iri"]]
    assert moved["width"] == after["width"]
    assert moved["x"] - after["x"] > 35 and moved["y"] - after["y"] > 15
    assert browser.ask("given.handle.chosen()") is None
    touch("touchStart", (moved["x"], moved["y"]))
    touch("touchEnd")
    assert browser.ask("given.handle.chosen()") == CHOSEN["iri"]


# A button reports a press only for a moment, and a press counts as a person's for five seconds (HTML,
# transient activation): on a busy machine both may be over before a test checks, or before the button is released.
WATCHED = f"""void (window.presses = [], window.words = [],
    addEventListener("click", () => presses.push(navigator.userActivation.isActive), true),
    new MutationObserver((all) => words.push(all[0].target.textContent)).observe({SPARQL}, {{ childList: true }}))"""


def press_to_copy(browser: Browser) -> str:
    """Press the button until the press counts as a person's; return the button's report."""
    browser.ask(f"{SPARQL}.scrollIntoView()")
    box = browser.ask(f"(({{ x, y }}) => [x, y])({SPARQL}.getBoundingClientRect())")
    for _ in range(10):
        browser.ask(WATCHED)
        browser.click(box[0] + 8, box[1] + 8)
        word = str(browser.until("words[0]"))
        if browser.ask("presses[0]"):
            return word
        browser.until(SPARQL)  # it has its name again
    raise AssertionError("no press of ten was let go within five seconds")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_query_is_copied(browser: Browser, shown: Browser, allowed: bool) -> None:
    """The pasted text is that of the panel, also if a page may not write to the clipboard directly."""
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": permissions})
    browser.driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    browser.ask("navigator.clipboard.writeText('before')")
    if not allowed:
        browser.ask("void (navigator.clipboard.writeText = async () => { throw new Error('denied') })")
    assert press_to_copy(browser) == "Copied"
    assert browser.ask("navigator.clipboard.readText()") == browser.ask(
        "document.querySelector('pre.sparql').textContent"
    )
    browser.driver.execute_cdp_cmd("Browser.resetPermissions", {})


def test_what_is_dear_to_paint_is_painted_whole_when_it_rests(browser: Browser) -> None:
    """During a move the last picture moves along; afterwards the picture is the same as without the move."""
    browser.window()
    browser.open(render(documents.wide_document(900), "all.h5"))
    picture = "document.querySelector('canvas.graph')"
    turned = "{ deltaY: -200, clientX: 500, clientY: 400, cancelable: true }"
    event = f"{picture}.dispatchEvent(new WheelEvent('wheel', {turned}))"
    before = browser.ask(f"{picture}.toDataURL()")
    assert (
        browser.ask(f"{event}; return new Promise((done) => requestAnimationFrame(() => done({picture}.toDataURL())))")
        != before
    )
    browser.ask("new Promise((done) => setTimeout(done, 400))")
    rests = browser.ask(f"{picture}.toDataURL()")
    browser.ask("given.handle.theme('auto')")
    assert browser.ask(f"{picture}.toDataURL()") == rests
    assert rests != before


def test_a_component_that_goes_lets_go_of_the_page(browser: Browser) -> None:
    """The explorer and notebooks show one after the other: the page keeps no reference to a removed one."""
    browser.window()
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    browser.ask(
        "void (window.more = () => { const one = document.body.appendChild(document.createElement('div'));"
        " one.style.height = '300px';"
        " provioLineage(one, {...given.head, nodes: given.nodes, edges: given.edges}); return one })"
    )
    assert listeners(browser, "beforeprint") == 1
    for _ in range(3):
        browser.ask("void (window.one = more())")
        assert listeners(browser, "beforeprint") == 2
        browser.ask("window.one.remove()")
        assert listeners(browser, "beforeprint") == 1
    browser.ask("document.body.append(window.one)")  # as in notebooks, which move their output
    assert listeners(browser, "beforeprint") == 2
    browser.ask("window.one.remove()")


def listeners(browser: Browser, kind: str) -> int:
    """How many the page's window has of an event."""
    command = browser.driver.execute_cdp_cmd
    window = command("Runtime.evaluate", {"expression": "window"})["result"]["objectId"]
    browser.ask("1")
    found = command("DOMDebugger.getEventListeners", {"objectId": window})["listeners"]
    return [one["type"] for one in found].count(kind)

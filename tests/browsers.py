"""Drives a real Chromium with selenium: checks elements, the console and requests of pages."""

from __future__ import annotations

import contextlib
import shutil
import struct
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-sync",
    "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
WIDE, NARROW = (1280, 800), (390, 844)


class Browser:
    """One session. `driver` is selenium's; the methods query provio's pages."""

    def __init__(self, folder: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for option in (*QUIET, f"--user-data-dir={folder / 'profile'}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.folder = folder
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.set_script_timeout(100)  # less than selenium waits for its driver, more than a busy machine takes
        self.window()

    def window(self, size: tuple[int, int] = WIDE, *, dark: bool = False) -> None:
        """So many pixels; as on a system that is set to light or to dark."""
        device = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, page: str, ready: str = "window.given && given.drawn") -> None:
        """Show a page from a file; returns when the expression `ready` is true there."""
        path = self.folder / "page.html"
        path.write_text(page, encoding="utf-8")
        self.go(path.as_uri(), ready)

    def go(self, address: str, ready: str = "window.given && given.drawn") -> None:
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.driver.get(address)
        self.until(ready.replace("window.given && given", "typeof given === 'object' && given"))

    def until(self, expression: str, seconds: float = 60) -> Any:
        end = time.monotonic() + seconds
        while not (found := self.driver.execute_script(f"return {expression}")):
            assert time.monotonic() < end, f"not in {seconds} s: {expression}; {self.driver.get_log('browser')}"
            time.sleep(0.02)
        return found

    def ask(self, expression: str, *given: Any) -> Any:
        """Return the value of an expression in the page, after the next paint."""
        script = (
            "const [...args] = arguments, done = args.pop(); (async () => { try { const value = await (async () => { "
            f"return {expression} }})(); requestAnimationFrame(() => requestAnimationFrame(() => done([value]))) }}"
            " catch (error) { done(String(error)) } })()"
        )
        found = self.driver.execute_async_script(script, *given)
        assert isinstance(found, list), f"{expression}: {found}"
        return found[0]

    def press(self, *keys: str) -> None:
        self.press_to_leave(*keys)
        self.ask("1")

    def press_to_leave(self, *keys: str) -> None:
        """Execute a click that loads another page, without waiting in this one."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def arrived(self, without: str) -> None:
        """Wait for a page that is loaded and has no such element."""
        from selenium.common.exceptions import WebDriverException

        deadline = time.monotonic() + 60
        there = "return document.readyState === 'complete' && !document.querySelector(arguments[0])"
        while time.monotonic() < deadline:
            with contextlib.suppress(WebDriverException):  # between two pages
                if self.driver.execute_script(there, without):
                    return
            time.sleep(0.05)
        raise AssertionError(f"{without} is still there")

    def click(self, x: float, y: float) -> None:
        """The mouse goes to a point of the page and presses."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.driver.execute_cdp_cmd(
                "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            )
        self.ask("1")

    def complaints(self) -> list[str]:
        """Return the lines of the console since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that the page requested, without its own."""
        import json

        found = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [one["params"]["request"]["url"] for one in found if one["method"] == "Network.requestWillBeSent"]
        return [address for address in asked if not address.startswith(("file:", "data:", "blob:"))]

    def colours(self) -> Counter[str]:
        """How often each colour (`#rrggbb`) is on the screen."""
        return pixels(self.driver.get_screenshot_as_png())


def started(folder: Path) -> Iterator[Browser]:
    """A session for a fixture, or the reason why there is none."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium with its driver here (Debian: apt install chromium chromium-driver)")
    pytest.importorskip("selenium")
    session = Browser(folder)
    yield session
    session.driver.quit()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One session for the tests of a module."""
    yield from started(tmp_path_factory.mktemp("browser"))


def pixels(picture: bytes) -> Counter[str]:
    """How often each colour (`#rrggbb`) is in a PNG of 8-bit RGB or RGBA without interlacing (PNG, W3C 2003)."""
    place, packed = 8, b""
    while place < len(picture):
        length, kind = struct.unpack(">I4s", picture[place : place + 8])
        body = picture[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            packed += body
        place += 12 + length
    assert depth == 8
    step = {2: 3, 6: 4}[colour]
    raw, before, counts = zlib.decompress(packed), bytearray(width * step), Counter()
    for row in range(height):
        start = row * (width * step + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + width * step]), before, step)
        counts.update(line[at : at + 3].hex() for at in range(0, len(line), step))
        before = line
    return Counter({"#" + colour: count for colour, count in counts.items()})


def unfiltered(kind: int, line: bytearray, before: bytearray, step: int) -> bytearray:
    for at in range(len(line)):
        left, up = line[at - step] if at >= step else 0, before[at]
        corner = before[at - step] if at >= step else 0
        if kind == 4:
            guess = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
        else:
            guess = (0, left, up, (left + up) // 2)[kind]
        line[at] = (line[at] + guess) & 255
    return line

"""The cost of the explorer's queries in a store of 1,000,000 quads: over the loopback, as sent by the page; and by the
browser's own clock, from the key or the click to the picture."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import synthetic_store
from case import Place
from measure import Spread
from measurement import Figure, Measurement

from provio.lineage.identity import version_iri
from provio.settings.home import Home

STEPS = 56  # runs: 1,000,000 quads
PROVIO = Path(sys.executable).with_name("provio")
BOUND = 300  # milliseconds
WAYS = {"backward": "back", "forward": "on"}
SEARCHED = """
const [text, done] = arguments, input = document.getElementById('words'), found = document.getElementById('found');
found.replaceChildren();
input.focus();
input.value = text;
const start = performance.now();
input.dispatchEvent(new Event('input'));
const look = () => found.querySelector('[role=option]') ? setTimeout(() => done(performance.now() - start))
  : requestAnimationFrame(look);
requestAnimationFrame(look);
"""
STEPPED = """
const [way, done] = arguments, one = document.querySelector(`button.expand.${way}`), start = performance.now();
one.click();
const look = () => one.textContent.endsWith(' more')
  ? setTimeout(() => done(one.textContent === '0 more' ? 0 : performance.now() - start)) : requestAnimationFrame(look);
requestAnimationFrame(look);
"""


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Yield the address of `provio serve` for the record of a folder."""
    env = {**os.environ, "PROVIO_HOME": str(folder / ".provio")}
    command = [PROVIO, "serve", "--bind", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        yield re.match(r"(http://\S+?)/ ", process.stderr.readline())[1]  # type: ignore[index]
    finally:
        process.terminate()
        process.wait()


def _query(address: str, kind: str, **values: object) -> tuple[float, dict]:  # type: ignore[type-arg]
    """Return the duration of a query in milliseconds, and its result."""
    began = time.perf_counter()
    with urllib.request.urlopen(f"{address}/api/{kind}?{urlencode(values)}", timeout=60) as answer:
        body = answer.read()
    return 1000 * (time.perf_counter() - began), json.loads(body)


def _measured(place: Place, rounds: int) -> Sequence[Figure]:
    """Search for a rare and for a frequent name; expand a step back, and forward."""
    home: Home = synthetic_store.store(place.data / "explored", synthetic_store.chapters(STEPS, STEPS))
    middle = [version_iri("5e1f", synthetic_store.made(STEPS // 2, number)[1]) for number in range(rounds)]
    with _served(home.project) as address:
        quads = _query(address, "runs")[1]["count"]
        few = [_query(address, "search", words=f"{STEPS // 2}/{number}7") for number in range(1, rounds + 1)]
        many = [_query(address, "search", words=f"data {number}") for number in range(rounds)]
        back = [_query(address, "lineage", target=iri, direction="backward") for iri in middle]
        on = [_query(address, "lineage", target=iri, direction="forward") for iri in middle]
        seen = list(_seen(address, middle))
    if not all(answer["found"] for _, answer in few + many) or not all(len(a["nodes"]) > 2 for _, a in back):
        raise AssertionError("nothing was found")
    where = f"{quads} runs, {STEPS * synthetic_store.MADE:,} files made"
    return [
        _figure(f"{where}: search for a rare part of a name", few),
        _figure("search for a frequent part of a name", many),
        _figure("one step back from a file", back),
        _figure("one step on", on),
        *(Figure(f"in the browser: {title}", Spread.of(took), "ms", BOUND, 0) for title, took in seen),
    ]


def _seen(address: str, files: Sequence[str]) -> Iterator[tuple[str, list[float]]]:
    """Yield the times from a key or click to the frame after the result is drawn; a search waits 120 ms for the next
    key."""
    sys.path.append(str(Path(__file__).parents[2] / "tests"))
    import browsers

    ready = "window.provioExplorer && provioExplorer.handle && !('busy' in document.body.dataset)"
    with tempfile.TemporaryDirectory() as folder:
        for browser in browsers.started(Path(folder)):
            browser.go(f"{address}/", "window.provioExplorer && !('busy' in document.body.dataset)")
            ask = browser.driver.execute_async_script
            yield (
                "a search, from the last key to the result",
                [ask(SEARCHED, f"{STEPS // 2}/{number}7") for number in range(1, len(files) + 1)],
            )
            steps: dict[str, list[float]] = {"backward": [], "forward": []}
            for iri in files:
                for way, took in steps.items():
                    browser.go("about:blank", "true")
                    browser.go(f"{address}/#file={quote(iri, safe='')}", ready)
                    ends = browser.ask("[...provioExplorer.handle.ways(args[0])[args[1]]]", iri, WAYS[way])
                    for end in (one for one in ends if "/version/" in one):
                        browser.ask("provioExplorer.handle.choose(args[0])", end)
                        if grown := ask(STEPPED, way):
                            took.append(grown)
                            break
            yield "one more step back, from the click to the picture", steps["backward"]
            yield "one more step on", steps["forward"]


def _figure(title: str, took: Sequence[tuple[float, object]]) -> Figure:
    return Figure(title, Spread.of([milliseconds for milliseconds, _ in took]), "ms", BOUND, 0)


MEASUREMENTS = [Measurement("explorer", _measured, only_named=True)]

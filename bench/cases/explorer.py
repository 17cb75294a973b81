"""What the explorer's questions cost in a store of 1,000,000 quads: asked over the loopback, as the page asks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import invented
from case import Place
from measure import Spread
from question import Figure, Question

from provio.home import Home
from provio.identity import version_iri

STEPS = 56  # runs: 1,000,000 quads
PROVIO = Path(sys.executable).with_name("provio")
BOUND = 300  # milliseconds


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """The address of `provio serve`, over the record of a folder."""
    env = {**os.environ, "PROVIO_HOME": str(folder / ".provio")}
    command = [PROVIO, "serve", "--bind", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        yield re.match(r"(http://\S+?)/ ", process.stderr.readline())[1]  # type: ignore[index]
    finally:
        process.terminate()
        process.wait()


def _asked(address: str, what: str, **values: object) -> tuple[float, dict]:  # type: ignore[type-arg]
    """How many milliseconds an answer took, and it."""
    began = time.perf_counter()
    with urllib.request.urlopen(f"{address}/api/{what}?{urlencode(values)}", timeout=60) as answer:
        body = answer.read()
    return 1000 * (time.perf_counter() - began), json.loads(body)


def _measured(place: Place, rounds: int) -> Sequence[Figure]:
    """Search for names that few and that many things have; expand a step back, and on."""
    home: Home = invented.store(place.data / "explored", invented.chapters(STEPS, STEPS))
    middle = [version_iri("5e1f", invented.made(STEPS // 2, number)[1]) for number in range(rounds)]
    with _served(home.project) as address:
        quads = _asked(address, "runs")[1]["count"]
        few = [_asked(address, "search", words=f"{STEPS // 2}/{number}7") for number in range(1, rounds + 1)]
        many = [_asked(address, "search", words=f"data {number}") for number in range(rounds)]
        back = [_asked(address, "lineage", target=iri, direction="backward") for iri in middle]
        on = [_asked(address, "lineage", target=iri, direction="forward") for iri in middle]
    if not all(answer["found"] for _, answer in few + many) or not all(len(a["nodes"]) > 2 for _, a in back):
        raise AssertionError("nothing was found")
    where = f"{quads} runs, {STEPS * invented.MADE:,} files made"
    return [
        _figure(f"{where}: search for what few names have", few),
        _figure("search for what most names have", many),
        _figure("one step back from a file", back),
        _figure("one step on", on),
    ]


def _figure(title: str, took: Sequence[tuple[float, object]]) -> Figure:
    return Figure(title, Spread.of([milliseconds for milliseconds, _ in took]), "ms", BOUND, 0)


QUESTIONS = [Question("explorer", _measured, only_named=True)]

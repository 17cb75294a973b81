"""The page of a run with 100,000 files: the time to write it, its size, and, by the browser's own clock, the times of
the first picture and of each interaction."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from case import Place
from measure import Spread
from measurement import Figure, Measurement
from variants import plain_environment

PROVIO = Path(sys.executable).with_name("provio")
FOLDERS, FILES = 100, 1000
MAKE = f"""
import os
for folder in range({FOLDERS}):
    os.makedirs(f"shots/line-{{folder:03}}")
    for shot in range({FILES}):
        with open(f"shots/line-{{folder:03}}/shot-{{shot:05}}.segy", "wb") as file:
            file.write(b"x" * (shot + 1))
"""
FOLD = "given.handle.items().find((one) => one.fold && one.kind === 'file').id"
FILE = "window.sought"
STEPS = {
    "a fold opened": f"given.handle.open({FOLD})",
    "the first search": "given.handle.search('shot-00778')",
    "a file chosen, its ancestors and descendants marked": f"given.handle.choose({FILE})",
    "a search after it": "given.handle.search('shot-00779')",
    "the whole picture fitted": "given.handle.fit()",
}
AT_THE_LIMIT = 1420  # files: as many nodes as are drawn without folds
LEVELS = {
    "the level of processes": "given.handle.level('process')",
    "the level of files again": "given.handle.level('file')",
}
SOUGHT = "(await provioLineage.unpack(given.packed)).nodes.find((one) => one.label === 'shot-00777.segy').iri"
# Between the frames while the picture is moved and enlarged, by the browser's own clock.
MOVED = """
const done = arguments[0], canvas = document.querySelector('canvas.graph'), box = canvas.getBoundingClientRect();
const at = (x, y) => ({ clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true, button: 0 });
canvas.setPointerCapture = () => {};
let last = null, frames = [], step = 0;
canvas.dispatchEvent(new PointerEvent('pointerdown', at(300, 300)));
const frame = (now) => {
  if (last !== null) frames.push(now - last);
  last = now;
  step += 1;
  if (step > 60) { canvas.dispatchEvent(new PointerEvent('pointercancel', at(300, 300))); return done(frames); }
  if (step <= 30) canvas.dispatchEvent(new PointerEvent('pointermove', at(300 + 6 * step, 300 + 3 * step)));
  else {
    const turned = { ...at(500, 300), deltaY: step % 20 < 10 ? -120 : 120, cancelable: true };
    canvas.dispatchEvent(new WheelEvent('wheel', turned));
  }
  requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
"""
TIMED = """
const done = arguments[0], start = performance.now(), value = (() => %s)();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
"""


def _page(place: Place, rounds: int) -> Sequence[Figure]:
    sys.path.append(str(Path(__file__).parents[2] / "tests"))
    import browsers
    import documents

    from provio.render.page import render

    frames: list[float] = []
    made: list[float] = []
    drawn: list[float] = []
    steps: dict[str, list[float]] = {step: [] for step in (STEPS | LEVELS)}
    with tempfile.TemporaryDirectory(dir=place.data) as folder:
        environment = {**plain_environment(), "PROVIO_HOME": f"{folder}/.provio"}
        recorded = [PROVIO, "run", "--quiet", "--", sys.executable, "-c", MAKE]
        subprocess.run(recorded, cwd=folder, env=environment, check=True)
        page = Path(folder, "page.html")
        for browser in browsers.started(Path(folder)):
            for _ in range(rounds):
                start = time.perf_counter()
                subprocess.run([PROVIO, "view", "-o", page], cwd=folder, env=environment, check=True)
                made.append(time.perf_counter() - start)
                browser.go(page.as_uri())
                drawn.append(browser.ask("given.drawn.stood"))
                browser.ask(f"void (window.sought = {SOUGHT})")
                for step, script in (STEPS | LEVELS).items():
                    steps[step].append(browser.driver.execute_async_script(TIMED % script))
            browser.open(render(documents.wide_document(AT_THE_LIMIT), "all.h5", most=1500))
            drawn_at_once = browser.ask("given.handle.items().length")
            for _ in range(rounds):
                browser.ask("given.handle.fit()")
                frames += browser.driver.execute_async_script(MOVED)
        size = page.stat().st_size / 1e6
    title = f"page of a run that wrote {FOLDERS * FILES:,} files"
    return [
        Figure(f"{title}: made", Spread.of(made), "s", 10),
        Figure(f"{title}: its size", Spread.of([size]), "MB", 5),
        Figure(f"{title}: the first picture stands", Spread.of(drawn), "ms", 2000, 0),
        *(Figure(f"{title}: {step}", Spread.of(steps[step]), "ms", 100, 0) for step in STEPS | LEVELS),
        Figure(
            f"{drawn_at_once:,} nodes drawn: from frame to frame while moved and enlarged",
            Spread.of(frames),
            "ms",
            100,
            0,
        ),
    ]


MEASUREMENTS = [Measurement("page", _page, only_named=True)]

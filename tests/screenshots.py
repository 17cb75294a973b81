"""The pictures of the documentation, from a real browser: `python tests/screenshots.py` writes docs/*.png.

Each is of a real record: the fibre pipeline of examples/dassa, run here.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import browsers
from browsers import Browser
from conftest import ROOT, Project
from serve_process import Site, serving

DOCS = ROOT / "docs"
PLACE = Path("/tmp/fibre")  # as the pictures show it
STEPS = (
    "tdms2h5.py WestSac.bin WestSac.h5", "decimate.py WestSac.h5 decimate.h5", "xcorr.py decimate.h5 xcorr.h5",
    "summarise.py WestSac.h5 xcorr.h5 summary.h5",
)  # fmt: skip
SIZES = {"": browsers.WIDE, "-narrow": browsers.NARROW}
READY = "window.provioExplorer && !('busy' in document.body.dataset)"


def pipeline(folder: Path) -> Project:
    """Record the example with its programs in the folder of the data, so that no picture shows installation paths."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PROVIO")}
    env |= {"HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{env['PATH']}"}
    project = Project(folder, env)
    for program in (ROOT / "examples/dassa").glob("*.py"):
        shutil.copy(program, folder)
    project.provio("init")
    project.sh(f"{sys.executable} synthesise.py WestSac.bin")
    for line in STEPS:
        project.provio("run", "--quiet", "--campaign", "fibre", "--", "python3", *line.split())
    return project


def explorer(browser: Browser, site: Site, where: str, *then: Callable[[], object]) -> None:
    browser.driver.get("about:blank")
    browser.driver.get(site.url + where)
    browser.until(READY)
    for step in then:
        step()
        browser.until(READY)
    browser.ask("new Promise((done) => setTimeout(done, 600))")


def of_serve(browser: Browser, project: Project) -> None:
    """The views of `provio serve`."""
    with serving(project) as site:
        for ending, size in SIZES.items():
            browser.window(size)

            def kept(name: str, ending: str = ending) -> None:
                (DOCS / f"serve{name}{ending}.png").write_bytes(browser.driver.get_screenshot_as_png())

            explorer(browser, site, "#runs")
            browser.until("document.querySelector('#list tbody input')")
            kept("-home")
            explorer(browser, site, "#compare=last~1,last~2")
            kept("-compare")
            explorer(browser, site, "#runs")
            browser.press("/", "xcorr")
            browser.until("document.querySelector('#found [role=option]')")
            kept("-search")
            browser.press("\ue007")
            iri = site.iri(project.path / "xcorr.h5")
            explorer(browser, site, f"#file={browser.ask('encodeURIComponent(args[0])', iri)}")
            kept("")
            browser.window(size, dark=True)
            explorer(browser, site, f"#file={browser.ask('encodeURIComponent(args[0])', iri)}")
            kept("-dark")
            browser.window(size)
            explorer(browser, site, "#sums=last")
            kept("-statistics")
            asks = "document.querySelector('#name').value = 'io-by-api'"
            explorer(
                browser, site, "#ask", lambda: browser.ask(asks),  # noqa: B023
                lambda: browser.ask("document.querySelector('#name').dispatchEvent(new Event('change'))"),
                lambda: browser.ask("document.querySelector('#named').requestSubmit()"),
                lambda: browser.until("document.querySelector('#took').innerText.includes('row')"),
            )  # fmt: skip
            kept("-ask")


def of_view(browser: Browser, project: Project) -> None:
    """The views of `provio view`: a file's lineage, a chosen node, levels, the time line, folds; light and dark."""
    project.sh("mkdir shots; for n in $(seq 1 200); do echo $n > shots/shot-$n.txt; done")
    project.provio("run", "--quiet", "--", "bash", "-c", "sort -n shots/*.txt > sorted.txt; gzip -k sorted.txt")
    project.provio("view", "summary.h5", "-o", "page.html")
    project.provio("view", "-o", "many.html", "--max-nodes", "60")
    known = "given.handle.items().find((one) => one.name === 'decimate.py' && one.kind === 'process')"
    choose = f"given.handle.choose({known}.id)"
    views = {
        "": ("page", choose),
        "-processes": ("page", "given.handle.level('process')"),
        "-datasets": ("page", "given.handle.level('dataset')"),
        "-io": ("page", "given.handle.level('io')"),
        "-times": ("page", "given.handle.tab('times')"),
        "-folds": ("many", "given.handle.open(given.handle.items().find((one) => one.fold && one.kind === 'file').id)"),
        "-dark": ("page", choose),
    }
    for ending, size in SIZES.items():
        for name, (page, then) in views.items():
            browser.window(size, dark=name == "-dark")
            browser.go((project.path / f"{page}.html").as_uri())
            browser.ask(then)
            browser.ask("new Promise((done) => setTimeout(done, 300))")
            (DOCS / f"view{name}{ending}.png").write_bytes(browser.driver.get_screenshot_as_png())


def main() -> None:
    PLACE.mkdir()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for browser in browsers.started(Path(folder)):
                project = pipeline(PLACE)
                of_serve(browser, project)
                of_view(browser, project)
    finally:
        shutil.rmtree(PLACE)


if __name__ == "__main__":
    main()

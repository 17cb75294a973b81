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
from serving import Site, serving

DOCS = ROOT / "docs"
PLACE = Path("/tmp/fibre")  # as the pictures show it
STEPS = (
    "tdms2h5.py WestSac.bin WestSac.h5", "decimate.py WestSac.h5 decimate.h5", "xcorr.py decimate.h5 xcorr.h5",
    "summarise.py WestSac.h5 xcorr.h5 summary.h5",
)  # fmt: skip
SIZES = {"": browsers.WIDE, "-narrow": browsers.NARROW}
READY = "window.provioExplorer && !('busy' in document.body.dataset)"


def pipeline(folder: Path) -> Project:
    """The example's record, its programs beside the data: no picture shows where anything is installed."""
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
            browser.press("/", "xcorr")
            browser.until("document.querySelector('#found [role=option]')")
            kept("-search")
            browser.press("\ue007")
            iri = site.iri(project.path / "xcorr.h5")
            explorer(browser, site, f"#file={browser.ask('encodeURIComponent(args[0])', iri)}")
            kept("")
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


def main() -> None:
    PLACE.mkdir()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for browser in browsers.started(Path(folder)):
                of_serve(browser, pipeline(PLACE))
    finally:
        shutil.rmtree(PLACE)


if __name__ == "__main__":
    main()

"""The explorer in a real Chromium keeps itself up to date while a run goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import Browser
from conftest import Project, new_project, provio_command
from serve_process import Site, serving

pytest.importorskip("waitress")
pytestmark = pytest.mark.integration
ITEMS = "provioExplorer.handle.items()"
WAIT = "until [ -e go%s ]; do sleep 0.1; done"
SCRIPT = f"cat raw.txt > one.txt; {WAIT % 1}; cat one.txt > two.txt; {WAIT % 2}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    project = new_project(tmp_path_factory.mktemp("live"))
    (project.path / "raw.txt").write_text("raw\n")
    project.watch("cp", "raw.txt", "copy.txt")
    return project


@pytest.fixture(scope="module")
def site(recorded: Project) -> Iterator[Site]:
    with serving(recorded) as started:
        yield started


def test_a_run_grows_on_its_page_and_in_the_list(recorded: Project, site: Site, browser: Browser) -> None:
    """No page is loaded again: its own variable stays. The positions of drawn nodes stay, too."""
    browser.window()
    browser.driver.get(site.url)
    browser.until("document.querySelectorAll('#list tbody tr').length === 1")
    browser.driver.execute_script("window.sameDocument = true")
    run = subprocess.Popen(
        [*provio_command(), "run", "--quiet", "--name", "growing", "--", "sh", "-c", SCRIPT],
        cwd=recorded.path, env=recorded.env,
    )  # fmt: skip
    browser.until("document.querySelectorAll('#list tbody tr').length === 2")
    browser.until("document.querySelector('#list tbody').textContent.includes('in progress')")
    browser.until("/^last event 20[0-9-]+ [0-9:]+ UTC$/.test(document.querySelector('#live').textContent)")
    browser.driver.execute_script(
        "[...document.querySelectorAll('#list a')].find((a) => a.textContent.includes('one.txt')).click()"
    )
    browser.until(f"provioExplorer.handle && {ITEMS}.some((one) => one.name === 'one.txt')")
    assert not browser.ask(f"{ITEMS}.some((one) => one.name === 'two.txt')")
    (recorded.path / "go1").touch()
    browser.until(f"{ITEMS}.some((one) => one.name === 'two.txt')")
    (recorded.path / "go2").touch()
    assert run.wait() == 0
    browser.until("document.querySelector('#as-of').hidden")
    browser.driver.execute_script("location.hash = location.hash.replace('run', 'sums')")
    browser.until(
        "document.querySelector('#sums dl') && document.querySelector('#sums').textContent.includes('two.txt')"
    )
    assert browser.ask("window.sameDocument") is True
    assert browser.complaints() == []

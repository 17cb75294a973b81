"""The explorer in a real Chromium with a real server: search, graph, statistics, queries, and hostile names as text."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import browsers
import pytest
from browsers import Browser
from conftest import Project, new_project
from hostile_names import NAMES
from serve_process import Site, serving

pytest.importorskip("waitress")
pytestmark = pytest.mark.integration
FILE, TARGET = "#e3eefb", "#2b6cb0"
ITEMS = "provioExplorer.handle.items()"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Record a chain of four runs, and files with hostile names."""
    project = new_project(tmp_path_factory.mktemp("explorer"))
    (project.path / "raw.txt").write_text("raw\n")
    for before, after in (("raw", "clean"), ("clean", "middle"), ("middle", "done"), ("done", "report")):
        project.provio("run", "--quiet", "--name", after, "--", "cp", f"{before}.txt", f"{after}.txt")
    folder = os.fsencode(project.path) + b"/hostile"
    os.mkdir(folder)
    for name in NAMES.values():
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"x")
    project.watch("sh", "-c", "cd hostile && find . -type f -exec cat {} + > ../all.txt")
    deep = "/".join(["d" * 250] * 3)
    project.sh(f"mkdir -p {deep}")
    project.watch("cp", "raw.txt", f"{deep}/{'n' * 250}")
    return project


@pytest.fixture(scope="module")
def site(recorded: Project) -> Iterator[Site]:
    with serving(recorded) as started:
        yield started


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from browsers.started(tmp_path_factory.mktemp("browser"))


@pytest.fixture
def browser(session: Browser, site: Site) -> Iterator[Browser]:
    """Check that the console is empty, no policy was violated, and only the server received requests."""
    session.window()
    session.driver.get("about:blank")
    session.requests()
    view(session, site, "")
    yield session
    assert session.complaints() == []
    assert [address for address in session.requests() if not address.startswith(site.url)] == []


def view(browser: Browser, site: Site, where: str) -> None:
    """Show a view, from a fresh page."""
    browser.driver.get("about:blank")
    browser.driver.get(site.url + where)
    settled(browser)


def settled(browser: Browser) -> None:
    browser.until("window.provioExplorer && !('busy' in document.body.dataset)")


def drawn(browser: Browser, count: int) -> list[str]:
    """Return the names of the drawn nodes, when the expected number is drawn."""
    browser.until(f"provioExplorer.handle && {ITEMS}.length >= {count}")
    return sorted(item["name"] for item in browser.ask(ITEMS))


def chosen(browser: Browser, words: str) -> None:
    """Search for words with the keyboard alone, and take the first that is found."""
    browser.press("/")
    browser.driver.execute_script("document.activeElement.value = ''")
    browser.press(words)
    browser.until("!document.getElementById('found').hidden")
    browser.until("document.querySelector('#found [aria-selected=true]')")
    browser.press("\ue007")
    settled(browser)


def shown(browser: Browser, selector: str) -> str:
    return str(browser.ask("document.querySelector(args[0]).innerText", selector))


def downloaded(browser: Browser, sparql: str | None = None) -> str:
    """The csv of an answer that is shown, or of a query."""
    if sparql is not None:
        browser.ask("document.querySelector('#text').value = args[0]", sparql)
        browser.ask("document.querySelector('#sparql').requestSubmit()")
        browser.until("document.querySelector('#took').innerText.includes('row')")
    where = {"behavior": "allow", "downloadPath": str(browser.folder)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    file = browser.folder / "answer.csv"
    file.unlink(missing_ok=True)
    browser.ask("document.querySelector('#csv').click()")
    end = time.monotonic() + 60
    while not (file.exists() and file.stat().st_size):
        assert time.monotonic() < end, sorted(browser.folder.iterdir())
        time.sleep(0.05)
    return file.read_bytes().decode()


@pytest.mark.slow
def test_a_file_is_found_and_walked_both_ways(browser: Browser, recorded: Project) -> None:
    """One step in both directions at first; further ones on request. Checks pixels, not only elements."""
    chosen(browser, "middle.txt")
    assert shown(browser, "#graph h1") == str(recorded.path / "middle.txt")
    names = drawn(browser, 5)
    assert {"clean.txt", "middle.txt", "done.txt"} < set(names) and not {"raw.txt", "report.txt"} & set(names)
    seen = browser.colours()
    assert seen[FILE] > 500 and seen[TARGET] > 500
    for name, direction, new in (("clean.txt", "back", "raw.txt"), ("done.txt", "on", "report.txt")):
        iri = next(item["iri"] for item in browser.ask(ITEMS) if item["name"] == name)
        browser.ask("provioExplorer.handle.choose(args[0])", iri)
        word = "came from" if direction == "back" else "went into"
        buttons = browser.ask("[...document.querySelectorAll('.details button')].map((one) => one.innerText)")
        place = next(place for place, text in enumerate(buttons) if word in text.lower() or direction in text.lower())
        browser.ask("document.querySelectorAll('.details button')[args[0]].click()", place)
        browser.until(f"{ITEMS}.some((one) => one.name === '{new}')")
    of_chosen = "[...document.querySelectorAll('#graph .of-chosen')]"
    browser.ask(f"{of_chosen}.find((one) => one.innerText === 'Start from here').click()")
    settled(browser)
    assert shown(browser, "#graph h1") == str(recorded.path / "done.txt")


def test_two_tabs_do_not_meet(browser: Browser, recorded: Project, site: Site) -> None:
    """Each view shows its result, and continues from there."""
    chosen(browser, "middle.txt")
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    try:
        view(browser, site, "")
        chosen(browser, "report.txt")
        assert shown(browser, "#graph h1") == str(recorded.path / "report.txt")
        assert "middle.txt" not in drawn(browser, 2)
    finally:
        browser.driver.close()
        browser.driver.switch_to.window(first)
    assert shown(browser, "#graph h1") == str(recorded.path / "middle.txt")
    assert "middle.txt" in drawn(browser, 5)


SLOWLY = """void (window.fetch = ((real) => async (address, ...rest) => {
    const answer = await real(address, ...rest);
    if (address.startsWith("/api/run?")) await new Promise((done) => { window.letGo = done; });
    return answer;
})(window.fetch))"""


def test_a_late_result_of_a_previous_view_is_not_shown(browser: Browser, site: Site) -> None:
    browser.ask(SLOWLY)
    browser.ask("location.hash = '#run=clean'")
    browser.until("!!window.letGo")
    browser.ask("location.hash = '#ask'")
    browser.until("document.querySelector('#name').options.length > 1")
    settled(browser)
    browser.ask("letGo()")
    browser.ask("new Promise((done) => setTimeout(done, 300))")
    assert browser.ask("[...document.querySelectorAll('main > section:not([hidden])')].map((one) => one.id)") == ["ask"]


def test_runs_and_their_statistics(browser: Browser, site: Site, recorded: Project) -> None:
    assert shown(browser, "#list .facts") == "6 runs"
    rows = browser.ask("[...document.querySelectorAll('#list tbody tr')].map((one) => one.innerText)")
    assert "cp raw.txt clean.txt" in rows[-1] and "clean" in rows[-1]
    browser.ask("document.querySelector('#list tbody tr:last-child a').click()")
    settled(browser)
    assert {"raw.txt", "clean.txt"} < set(drawn(browser, 3))
    browser.ask("document.querySelector('#graph .doing button').click()")
    browser.until("document.querySelector('#sums:not([hidden]) table')")
    text = shown(browser, "#sums")
    assert "cp raw.txt clean.txt" in text and str(recorded.path / "clean.txt") in text and "4 B" in text
    chosen(browser, "bin/cp")
    assert shown(browser, "#list h1").endswith("/cp") and shown(browser, "#list .facts") == "5 runs"


def test_a_named_query_is_filled_in_run_and_downloaded(browser: Browser, site: Site, recorded: Project) -> None:
    view(browser, site, "#ask")
    browser.ask("document.querySelector('#name').value = 'users-of-file'")
    browser.ask("document.querySelector('#name').dispatchEvent(new Event('change'))")
    browser.ask("document.querySelector('#value-path').value = args[0]", str(recorded.path / "clean.txt"))
    browser.ask("document.querySelector('#named button').click()")
    browser.until("document.querySelector('#took').innerText.includes('row')")
    said = recorded.provio("query", "users-of-file", "clean.txt", "--as", "csv").stdout.splitlines()
    assert shown(browser, "#took").startswith(f"{len(said) - 1} rows in ")
    assert browser.ask("[...document.querySelectorAll('#answer th')].map((one) => one.innerText).join()") == said[0]
    assert downloaded(browser).splitlines() == said


def test_errors_of_the_endpoint_are_shown(browser: Browser, site: Site) -> None:
    view(browser, site, "#ask")
    made = "CONSTRUCT { ?r a prov:Activity } { ?r a provio:Run }"
    for text, answer in (("ASK { ?run a provio:Run }", "yes"), (made, "prov#Activity")):
        browser.ask("document.querySelector('#text').value = args[0]", text)
        browser.ask("document.querySelector('#text').focus()")
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(browser.driver).key_down("\ue009").send_keys("\ue007").key_up("\ue009").perform()
        browser.until("document.querySelector('#took').innerText.startsWith('finished')")
        assert answer in shown(browser, "#answer")
    browser.ask("document.querySelector('#text').value = 'SELECT * {'")
    browser.ask("document.querySelector('#sparql').requestSubmit()")
    browser.until("!document.querySelector('#said').hidden")
    assert "line 1, column 10: { is not closed" in shown(browser, "#said")
    browser.complaints()  # that a request was answered with 400


def test_hostile_names_stay_text(browser: Browser, site: Site, recorded: Project) -> None:
    """In search, graph, lists and queries: no name becomes an element, and no script runs."""
    before = browser.ask("document.querySelectorAll('script, img, iframe').length")
    for words in ("<script>alert", "onerror=alert", "hostile/evil", "n" * 200):
        chosen(browser, words)
        drawn(browser, 2)
    view(browser, site, "#ask")
    text = "SELECT DISTINCT ?path { ?f a provio:File ; provio:path ?path FILTER(CONTAINS(?path, '/hostile/')) }"
    browser.ask("document.querySelector('#text').value = args[0]", text)
    browser.ask("document.querySelector('#sparql').requestSubmit()")
    browser.until("document.querySelector('#took').innerText.includes('row')")
    assert "<script>alert(1)" in shown(browser, "#answer")
    text = (
        "SELECT DISTINCT ?name { ?f provio:path ?path BIND(STRAFTER(?path, '/hostile/') AS ?name) FILTER(?name != '') }"
    )
    said = recorded.provio("query", text, "--as", "csv").stdout
    lines = set(downloaded(browser, text).replace("\r\n", "\n").split("\n"))
    assert {line for line in said.split("\n") if line.startswith("'")} == {line for line in lines if line[:1] == "'"}
    assert sum(line.startswith("'") for line in lines) >= 5
    assert browser.ask("document.querySelectorAll('script, img, iframe').length") == before
    assert browser.ask("document.querySelectorAll('#answer td *:not(bdi):not(a)').length") == 0


@pytest.mark.slow
def test_light_dark_and_narrow(browser: Browser, site: Site) -> None:
    """The system's choice, and one's own; nothing is wider than the window."""
    browser.window(browsers.NARROW)
    for where in ("#runs", "#ask", "#sums=clean", "#run=clean"):
        view(browser, site, where)
        assert browser.ask("document.documentElement.scrollWidth <= innerWidth"), where
    browser.window(dark=True)
    view(browser, site, "#runs")
    assert browser.colours()["#12171f"] > 500_000
    browser.ask("document.querySelector('#theme').click()")
    assert browser.colours()["#ffffff"] > 500_000
    browser.ask("localStorage.clear()")


def test_a_token_is_requested_once(session: Browser, recorded: Project, tmp_path: Path) -> None:
    token = tmp_path / "token"
    with serving(recorded, "--token", str(token)) as site:
        session.window()
        session.driver.get(site.url)
        session.until("document.activeElement.id === 'token'")
        session.press_to_leave(token.read_text().strip(), "\ue007")
        session.arrived(without="#token")
        settled(session)
        session.until("document.querySelectorAll('#list tbody tr').length === 6")
        assert session.complaints() == []


def test_a_server_that_has_ended_is_reported(session: Browser, recorded: Project) -> None:
    """In each view; the drawn graph stays."""
    with serving(recorded) as site:
        session.window()
        session.driver.get("about:blank")
        view(session, site, "#runs")
        rows = session.ask("document.querySelectorAll('#list tbody tr').length")
        site.end(signal.SIGKILL)
        session.ask("location.hash = '#run=clean'")
        session.until("!document.getElementById('said').hidden")
        assert "is the server still running?" in shown(session, "#said")
        assert session.ask("document.querySelectorAll('#list tbody tr').length") == rows
    session.complaints()  # that nothing answered

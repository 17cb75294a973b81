"""The home of the explorer: a table of runs with metrics and parameters, the state of the files, two runs compared."""

from __future__ import annotations

import json
import os
import pwd
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import browsers
import pytest
from browsers import Browser
from conftest import Project, new_project
from serve_process import Site, serving
from synthetic_traces import File, Run

from provio.settings.home import Home

pytest.importorskip("waitress")
pytestmark = pytest.mark.integration
IDS = [f"01a1fe26-0000-7000-8000-{number:012}" for number in range(70)]
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """60 trainings with parameters and metrics, the names of which are markup in some; one more with a secret."""
    project = new_project(tmp_path_factory.mktemp("home"))
    home = Home(project.path / ".provio")
    raw = File("/data/raw.bin")
    for number in range(1, 61):
        run = Run(home, number, f"train.py --lr {number}", name=f"train{number}", exitCode=0)
        run.environment("VIRTUAL_ENV", f"/venv{number % 2}")
        process = run.process("train.py")
        process.configure("args", lr=number / 8, seed=7, **{HOSTILE: number % 3})
        process.plain(raw).read().close()
        process.plain(File(f"/data/{number}.npy"), "w").write().close()
        process.metric("loss", 100 - number)
        process.metric(HOSTILE, 0.5)
        run.write()
    run = Run(home, 61, "secret.py")
    run.process("secret.py").configure("args", password="hunter2-planted")
    run.write()
    project.provio("note", "train60", "the best one")
    return project


@pytest.fixture(scope="module")
def site(recorded: Project) -> Iterator[Site]:
    with serving(recorded) as started:
        yield started


def test_the_table_of_runs(site: Site) -> None:
    """A page of 50, sorted by any column, numbers by value; at first the columns of two metrics and two parameters."""
    answer = site.api("table")
    assert (len(answer["runs"]), answer["count"]) == (50, 61)
    assert [one["name"] for one in answer["columns"]] == [HOSTILE, "loss", HOSTILE, "lr"]
    assert answer["chosen"] == [one["key"] for one in answer["columns"]]
    assert [row["run"] for row in answer["runs"][:2]] == [IDS[61], IDS[60]]
    rows = site.api("table", sort="metric:loss", descending=0, **{"c.metric:loss": ""})["runs"]
    assert [(row["run"], row["values"]) for row in rows[:2]] == [
        (IDS[60], {"metric:loss": 40}), (IDS[59], {"metric:loss": 41}),
    ]  # fmt: skip
    assert rows[0]["wrote"] == 1
    for descending in (0, 1):
        rows = site.api("table", sort="metric:loss", descending=descending, skip=50)["runs"]
        assert rows[-1]["run"] == IDS[61]  # it has no value
    assert [row["name"] for row in site.api("table", sort="parameter:lr", skip=58)["runs"]] == [
        "train2",
        "train1",
        None,
    ]


def test_the_state_is_that_of_status(tmp_path: Path, shim: Path) -> None:
    """The number of files in each state."""
    project = new_project(tmp_path)
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    project.watch("cp", "a", "c")
    project.sh("echo more >> c; echo 2 > d")
    project.watch("false", code=1)
    rows = json.loads(project.provio("status", "--as", "json", code=1).stdout)["files"]
    with serving(project) as site:
        counts = site.api("state")["counts"]
    assert counts == Counter(row["state"] for row in rows) and counts["changed"] == 1


def test_two_runs_side_by_side(site: Site) -> None:
    """The differences, in parts; the address of two runs leads to the view."""
    answer = site.api("compare", a="train1", b="train2")
    assert [one["run"] for one in answer["runs"]] == IDS[1:3]
    parts = {part["title"]: (part["rows"], part["same"]) for part in answer["parts"]}
    assert parts["Parameters"] == ([[HOSTILE, 1, 2], ["lr", 0.125, 0.25]], 1)
    assert parts["Metrics"] == ([["loss", 99, 98]], 1)
    assert parts["Environment"] == ([["VIRTUAL_ENV", "/venv1", "/venv0"]], 0)
    assert parts["Inputs"] == ([], 1)
    outputs, same = parts["Outputs"]
    assert same == 0 and [[path, first is None, second is None] for path, first, second in outputs] == [
        ["/data/1.npy", False, True], ["/data/2.npy", True, False],
    ]  # fmt: skip
    assert re.fullmatch(r"\d+ B, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", outputs[0][1])
    assert [one["name"] for one in answer["runs"]] == ["train1", "train2"]
    assert answer["runs"][0]["title"].startswith("train1: train.py --lr 1 – ")
    assert ["command", "train.py --lr 1", "train.py --lr 2"] in parts["Run"][0]
    assert site.ask("/api/compare?a=none&b=last")[0] == 404
    assert site.ask("/api/compare?a=last")[0] == 400
    assert site.ask("/compare?a=last")[0] == 400


def test_files_of_two_runs_are_compared_by_content(tmp_path: Path, shim: Path) -> None:
    """Equal SHA-256 is equal; others have size and time on both sides. No parameters: not recorded."""
    project = new_project(tmp_path)
    project.env["PROVIO_HASH"] = "auto"
    for text in ("1", "22"):
        project.watch("sh", "-c", f"rm -f same other; echo x > same; echo {text} > other")
        project.provio("merge")  # the next run replaces the files
    with serving(project) as site:
        answer = site.api("compare", a="last~1", b="last")
    parts = {part["title"]: part for part in answer["parts"]}
    assert (parts["Outputs"]["same"], [row[0] for row in parts["Outputs"]["rows"]]) == (1, [f"{project.path}/other"])
    first, second = parts["Outputs"]["rows"][0][1:]
    assert first.startswith("2 B, ") and second.startswith("3 B, ") and second.endswith("; another size")
    assert [parts[title]["recorded"] for title in ("Parameters", "Metrics", "Outputs")] == [False, False, True]
    assert all(one["name"] == one["title"] and one["name"].startswith("sh -c ") for one in answer["runs"])


def test_the_page_of_a_run(site: Site) -> None:
    answer = site.api("statistics", run="train60")
    assert answer["parameters"] == [[HOSTILE, "0"], ["lr", "7.5"], ["seed", "7"]]
    assert answer["metrics"] == [[HOSTILE, 0.5], ["loss", 40]]
    assert answer["environment"] == [["VIRTUAL_ENV", "/venv0"]]
    assert [line.endswith("the best one") for line in answer["notes"]] == [True]
    facts, figures = (site.api("statistics", run="train60", part=part) for part in ("facts", "figures"))
    assert facts | figures == answer and not (facts.keys() & figures.keys()) - {"run"}


def test_the_user_and_the_software_of_a_run(project: Project) -> None:
    """As far as the record has them: an installed package with its version, Python, a loaded module."""
    packages = project.path / "lib/python3.11/site-packages"
    (packages / "tiny").mkdir(parents=True)
    (packages / "tiny/__init__.py").write_text("")
    (packages / "Tiny-1.5.dist-info").mkdir()
    (packages / "Tiny-1.5.dist-info/METADATA").write_text("")
    (project.path / "fit.py").write_text("import tiny")
    project.env |= {"PYTHONPATH": str(packages), "LOADEDMODULES": "hdf5/1.14.3"}
    project.provio("run", "--quiet", "--", sys.executable, "-B", "fit.py")
    with serving(project) as site:
        answer = site.api("statistics", run="last")
    software = dict(answer["packages"])
    assert software["tiny"] == "1.5" and software["hdf5"] == "1.14.3" and "3.11" in software["python"]
    assert ["user", pwd.getpwuid(os.getuid()).pw_name, None] in answer["facts"]


def test_no_secret_and_no_answer_without_token(site: Site, recorded: Project) -> None:
    for path in ("table", "statistics?run=last", "compare?a=last&b=train1", "state"):
        assert "hunter2" not in site.ask(f"/api/{path}")[1]
    with serving(recorded, PROVIO_TOKEN="a-token-of-enough-length") as closed:
        for path in ("/api/table", "/api/state", "/api/compare?a=last&b=last~1", "/compare?a=last&b=last~1"):
            assert closed.ask(path)[0] == 401


@pytest.mark.slow
@pytest.mark.parametrize("size", [browsers.WIDE, browsers.NARROW])
def test_in_a_browser(site: Site, browser: Browser, size: tuple[int, int]) -> None:
    """Sorted by a click, two runs chosen and compared; names are text, and the page is not wider than the window."""
    browser.window(size)
    browser.driver.get("about:blank")
    browser.driver.get(site.url)
    browser.until("document.querySelectorAll('#list tbody input').length === 50")
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    button = "[...document.querySelectorAll('th .sort')].find((one) => one.innerText.startsWith('loss'))"
    browser.ask(f"({button}.focus(), {button}.click())")
    browser.until("document.querySelector('#list tbody tr').innerText.includes('train1 ') || "
                  "document.querySelector('#list tbody tr').innerText.includes('--lr 1')")  # fmt: skip
    assert browser.ask("document.activeElement.dataset.focus") == "sort:metric:loss"
    assert "mark two runs" in str(browser.ask("document.querySelector('#both').title"))
    assert "train1" in str(browser.ask("document.querySelector('#list tbody tr').innerText"))
    for place in (0, 1):
        browser.ask(f"document.querySelectorAll('#list tbody input')[{place}].click()")
    browser.until("!document.querySelector('#both').disabled")
    browser.ask("document.querySelector('#both').click()")
    browser.until("document.querySelectorAll('#compare h2').length >= 5")
    shown = str(browser.ask("document.querySelector('#compare').innerText"))
    assert HOSTILE in shown and "0.125" in shown and "First" not in shown.replace("First: ", "")
    heads = browser.ask("[...document.querySelector('#compare thead tr').children].map((one) => one.innerText).join()")
    assert str(heads).startswith("Name,train")
    assert browser.ask("document.querySelectorAll('main img').length") == 0
    browser.driver.get(f"{site.url}#sums={IDS[60]}")
    browser.until("document.querySelectorAll('#sums dl dt').length > 0")
    facts = str(browser.ask("document.querySelector('#sums dl').innerText"))
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$", facts, re.M) and "concluded" not in facts
    assert not re.search(r"\dT\d\d:", facts)
    assert browser.complaints() == []

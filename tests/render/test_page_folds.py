"""Many files on the page, in a real Chromium: folds of repeated steps, chains, and names of files that are
short and distinct."""

from __future__ import annotations

import re

import documents
import pytest
from browsers import Browser

from provio.render.page import render

pytestmark = pytest.mark.integration
ITEMS = "given.handle.items()"


def drawn(browser: Browser) -> dict[str, int]:
    """Return the names of the drawn files and steps, each with its number."""
    return {one["name"]: one["count"] for one in browser.ask(ITEMS) if one["kind"] != "program"}


def test_repeated_steps_are_one_each(browser: Browser) -> None:
    """Files of one folder, or of one name in sibling folders, and the steps between them, each with its number."""
    browser.open(render(documents.samples_document(40), "all.csv"))
    assert drawn(browser) == {
        "raw/": 40, "trim": 40, "trimmed/": 40, "count": 40, "results/…/out.csv": 40, "gather.py": 1, "all.csv": 1,
    }  # fmt: skip
    fold = next(one for one in browser.ask(ITEMS) if one["name"] == "results/…/out.csv")
    browser.click(fold["x"], fold["y"])
    found = drawn(browser)
    assert {f"s{n:03}/out.csv" for n in range(40)} <= found.keys()
    assert found["raw/"] == 40


def test_all_folds_open_and_close_by_a_key(browser: Browser) -> None:
    """If the nodes can be drawn."""
    document = documents.samples_document(40)
    browser.open(render(document, "all.csv"))
    for number in (40 * 5 + 2, 7, 40 * 5 + 2):
        browser.press("g")
        assert len([one for one in browser.ask(ITEMS) if one["kind"] != "program"]) == number


def test_a_few_files_are_not_folded(browser: Browser) -> None:
    browser.open(render(documents.samples_document(10), "all.csv"))
    assert {one["count"] for one in browser.ask(ITEMS)} == {1}


def test_a_long_chain_is_one_step_that_opens_in_order(browser: Browser) -> None:
    browser.open(render(documents.long_document(40), "end"))
    assert drawn(browser) == {"step0000": 1, "cp": 40, "step0040": 1}
    browser.ask("given.handle.open(given.handle.items().find((one) => one.fold).id)")
    parts = [one for one in browser.ask(ITEMS) if one["fold"]]
    assert [one["count"] for one in sorted(parts, key=lambda one: (one["x"], one["y"]))] == [30, 10]
    browser.ask("given.handle.open(args[0])", parts[0]["id"])
    chain = [one for one in browser.ask(ITEMS) if one["name"].startswith("step")]
    along = sorted(chain, key=lambda one: (round(one["x"]), round(one["y"])))
    assert [one["name"] for one in along] == sorted(one["name"] for one in chain)


def test_names_are_the_shortest_distinct_paths(browser: Browser) -> None:
    """One `out.csv` is just that; of several, as many folders as make them distinct; of two versions, the same name."""
    paths = ("/a/x/out.csv", "/a/y/out.csv", "/b/y/out.csv", "/c/log", "/out.csv", "/d/a b\n.txt")
    browser.open(render(documents.named_document(*paths), "joined"))
    names = {one["name"] for one in browser.ask(ITEMS) if one["kind"] == "file"}
    assert names == {"joined", "x/out.csv", "a/y/out.csv", "b/y/out.csv", "log", "/out.csv", "a b\\x0a.txt"}


def test_versions_of_a_file_differ_in_their_times(browser: Browser) -> None:
    document = documents.named_document("/data/a", "/data/b")
    old = {**document["nodes"][2], "iri": documents.VERSION + "1", "size": 5, "modified": "2026-11-20T07:00:00.5Z"}
    document["nodes"][2] |= {"size": 6, "modified": "2026-11-20T08:00:00.5Z"}
    document["nodes"][3]["size"] = 7
    document["nodes"].append(old)  # type: ignore[arg-type]
    document["edges"].append(documents.edge(document["nodes"][1], "used", old))  # type: ignore[arg-type]
    browser.open(render(document, "joined"))
    svg = str(browser.ask("given.handle.image('svg').then((blob) => blob.text())"))
    assert {"5 B, 2026-11-20 07:00:00", "6 B, 2026-11-20 08:00:00", "7 B"} <= set(re.findall(r">([^<]*)</text>", svg))


def test_no_two_names_are_cut_to_the_same(browser: Browser) -> None:
    """Only their common part is left out."""
    long = "a-very-long-name-of-an-experiment-with-a-number-{}-and-the-rest-of-its-name.csv"
    browser.open(render(documents.named_document(*(f"/data/{long.format(n)}" for n in (107, 108, 118))), "joined"))
    labels = browser.ask("given.handle.items().filter((one) => one.kind === 'file').map((one) => one.label)")
    assert sorted(labels) == ["a-very-l…er-107-and…name.csv", "a-very-l…er-108-and…name.csv",
                              "a-very-l…er-118-and…name.csv", "joined"]  # fmt: skip

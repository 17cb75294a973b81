"""The page and its lineage component in a real Chromium: drawn, searched, folded, chosen, switched, walked by keys."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import browsers
import documents
import pytest
from browsers import Browser
from conftest import Project

from provio.render.page import render

pytestmark = pytest.mark.integration
ITEMS = "given.handle.items()"
FILL = {"file": "#e3eefb", "process": "#fdeccf", "program": "#ece4f9", "target": "#2b6cb0"}


@pytest.fixture(autouse=True)
def silent(browser: Browser) -> Iterator[None]:
    """During each test the console stays empty, and the page makes no network request."""
    browser.window()
    yield
    assert browser.complaints() == []
    assert browser.requests() == []


def names(browser: Browser) -> list[str]:
    return sorted(item["name"] for item in browser.ask(ITEMS))


def item(browser: Browser, name: str, **more: object) -> dict:
    found = [one for one in browser.ask(ITEMS) if one["name"] == name and more.items() <= one.items()]
    assert found, names(browser)
    return found[0]


@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        (documents.chain_document, {"file", "process", "program", "target"}),
        (documents.hostile_document, {"file", "process", "program", "target"}),
        (documents.wide_document, {"file", "process", "program", "target"}),
        (documents.long_document, {"file", "process", "target"}),
        (documents.lone_document, {"target"}),
    ],
)
@pytest.mark.slow
def test_it_is_drawn(browser, make, kinds):
    """Pixels, not only elements."""
    browser.open(render(make(), "title"))
    seen = browser.colours()
    assert {kind for kind in kinds if seen[FILL[kind]] < 100} == set()
    assert seen["#f8fafc"] > 200_000


@pytest.mark.slow
def test_it_is_dark_if_the_system_is_and_on_request(browser):
    page = render(documents.wide_document(), "title")
    browser.open(page)
    browser.press("d")
    assert browser.colours()["#0c1117"] > 200_000
    browser.window(dark=True)
    browser.open(page)
    assert browser.colours()["#0c1117"] > 200_000


def test_a_packed_document_is_the_very_document(browser):
    """The page unpacks the packed text to the original, including hostile names and large numbers."""
    for document in (documents.wide_document(2100), documents.hostile_document()):
        document["nodes"][0]["start"] = "2026-11-20T08:00:00.000120Z"
        document["nodes"][0]["source"] = "0 00 1 01 " * 700
        document["nodes"][0]["iri"] += "/0012.1795296625900658661.007"
        document["target"] = document["nodes"][0]["iri"]
        from provio.render.page.compact import packed

        browser.open(render(documents.lone_document(), "x"))
        found = browser.ask(f"JSON.stringify(await provioLineage.unpack({json.dumps(packed(document))}))")
        again = json.loads(found)
        key = lambda node: json.dumps(node, sort_keys=True)  # noqa: E731
        assert sorted(again["nodes"], key=key) == sorted(document["nodes"], key=key)
        known = {node["iri"] for node in document["nodes"]}
        edges = [one for one in document["edges"] if {one["subject"], one["object"]} <= known]
        assert sorted(again["edges"], key=key) == sorted(edges, key=key)


def test_search_finds(browser):
    """By name, path or command; Enter chooses the first, the arrow keys the next; folds with results are opened."""
    browser.open(render(documents.wide_document(), "all.h5"))
    assert "shot-01234.segy" not in names(browser)
    browser.press("/", *"shot-01234")
    assert browser.ask("[...document.querySelectorAll('.results b')].map((one) => one.textContent)") == [
        "shot-01234.segy"
    ]
    browser.press("\ue007")
    assert "shot-01234.segy" in names(browser)
    assert browser.ask("document.querySelector('.details h2').textContent") == "shot-01234.segy"
    found = item(browser, "shot-01234.segy")
    assert 0 < found["x"] < 1280 - 340
    assert 100 < found["y"] < 800
    assert browser.ask("given.handle.search('make.py 40').length") == 2
    assert browser.ask("given.handle.search('no such thing')") == []


def test_a_click_shows_details_and_exactly_the_ancestors(browser):
    """Command line, times, bytes, IRIs and a query; the lineage of the selected node is highlighted."""
    document = documents.chain_document()
    browser.open(render(document, "xcorr.h5"))
    one = item(browser, "decimate.py", kind="process")
    browser.click(one["x"], one["y"])
    browser.ask("document.querySelector('.details .technical summary').click()")
    panel = browser.ask("document.querySelector('.details').innerText")
    for said in (
        "python3 decimate.py --factor 10",
        "2026-11-20 12:16:02 UTC",
        "412 ms",
        "12 on node07",
        "/phase/1",
        "SELECT",
    ):
        assert said in panel
    labels = {node["iri"]: node["label"] for node in document["nodes"]}
    marked = browser.ask("given.handle.marked()")
    assert {labels[iri] for iri in marked["back"]} == {"WestSac.h5", "tdms2h5.py", "WestSac.bin"}
    assert {labels[iri] for iri in marked["on"]} == {"decimate.h5", "xcorr.py", "xcorr.h5"}
    browser.click(640, 640)
    assert browser.ask("document.querySelector('.details').hidden")
    file = item(browser, "WestSac.h5")
    browser.click(file["x"], file["y"])
    assert "52 MB (52,431,200 bytes)" in browser.ask("document.querySelector('.details').innerText")


def test_what_is_carried_is_an_ancestor_and_what_launched_is_none(browser):
    document = documents.carried_document()
    document["nodes"].append(documents.phase(40, document["nodes"][3], "sh", "", ""))
    document["edges"].append(documents.edge(document["nodes"][1], "launchedBy", document["nodes"][-1]))
    browser.open(render(document, "y"))
    ways = browser.ask(f"[...given.handle.ways({json.dumps(document['target'])}).back]")
    assert set(ways) == {node["iri"] for node in document["nodes"] if node["label"] in ("a", "b", "y-yesterday")} | {
        documents.RUN + "31/phase/1",
        documents.RUN + "32/phase/1",
    }


@pytest.mark.slow
def test_ancestors_are_those_that_lineage_names(browser, project: Project):
    """For each file of a run, the page marks the nodes of `provio lineage`, backward and forward, except pipes,
    through which it is drawn."""
    (project.path / "in").write_text("3\n1\n2\n")
    project.run(
        "sort in > s; python3 -c \"a = open('in').read(); open('x', 'w').write(a); b = open('s').read(); "
        "open('y', 'w').write(b)\"; cat x y | gzip > z.gz; cp -p y kept; sort -o s s; cat s kept > end; echo 1 >> end"
    )
    project.provio("view", "-o", "run.html")
    browser.go((project.path / "run.html").as_uri())
    for name in ("s", "x", "y", "z.gz", "kept", "end", "in"):
        for way, option in (("back", []), ("on", ["--forward"])):
            answer = json.loads(project.provio("lineage", name, *option, "--as", "json").stdout)
            wanted = {node["iri"] for node in answer["nodes"] if node["type"] not in ("Program", "Pipe")}
            wanted -= {answer["target"]}
            found = browser.ask(f"[...given.handle.ways({json.dumps(answer['target'])}).{way}]")
            assert set(found) == wanted, (name, way)


def test_folds_open_and_close(browser):
    """By click, by key and by the button of an open fold; a fold shows its number; the limit is never exceeded."""
    browser.open(render(documents.wide_document(), "all.h5"))
    assert names(browser) == ["all.h5", "gather.py", "gather.py", "make.py", "make.py", "shots/", "shots/"]
    fold = item(browser, "shots/", count=1805)
    browser.click(fold["x"], fold["y"])
    inner = [one for one in browser.ask(ITEMS) if one["fold"] and "…" in one["name"]]
    assert sum(one["count"] for one in inner) == 1805
    browser.ask(f"given.handle.choose({json.dumps(inner[0]['id'])})")
    browser.press("\ue007")
    assert sum(not one["fold"] and one["name"].startswith("shot-") for one in browser.ask(ITEMS)) == inner[0]["count"]
    assert browser.ask("document.querySelectorAll('.chips button').length") == 2
    browser.ask("document.querySelector('.chips button').click()")
    assert item(browser, "shots/", count=1805)["fold"]
    browser.press("g")
    assert len(browser.ask(ITEMS)) == 7
    small = render(documents.wide_document(), "all.h5", most=90)
    browser.open(small)
    for one in browser.ask(ITEMS):
        if one["fold"]:
            browser.ask(f"given.handle.open({json.dumps(one['id'])})")
            assert len(browser.ask(ITEMS)) <= 90 + 2


def test_ranks_of_a_record_fold_by_rank(browser, project: Project):
    """The processes of each rank of a parallel program are a separate fold inside the program's."""
    (project.path / "in").write_text("1")
    job = "OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=$r sh -c 'for i in $(seq 13); do sort in -o o-$r-$i; done'"
    project.run(f"for r in 0 1 2; do export r; {job}; done")
    project.provio("view", "--max-nodes", "20", "-o", "ranks.html")
    browser.go((project.path / "ranks.html").as_uri())
    browser.ask(f"given.handle.open({json.dumps(item(browser, 'sort', count=39)['id'])})")
    found = {one["name"]: one["count"] for one in browser.ask(ITEMS) if one["name"].startswith("rank ")}
    assert found == {"rank 0": 13, "rank 1": 13, "rank 2": 13}


def test_a_small_graph_folds_when_asked(browser):
    browser.open(render(documents.hostile_document(), "x"))
    before = len(browser.ask(ITEMS))
    browser.ask("document.querySelector('button.fold').click()")
    assert len(browser.ask(ITEMS)) < before
    browser.ask("document.querySelector('button.fold').click()")
    assert len(browser.ask(ITEMS)) == before


def test_levels(browser):
    """Processes alone keep the order of the data; files come back; objects inside files have their own level."""
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    browser.ask("document.querySelector('[data-id=process]').click()")
    assert names(browser) == ["decimate.py", "tdms2h5.py", "xcorr.h5", "xcorr.py"]
    first = item(browser, "tdms2h5.py", kind="process")
    on = browser.ask(f"[...given.handle.ways({json.dumps(first['id'])}).on].length")
    assert on == 3
    browser.press("l")
    assert "WestSac.h5" in names(browser)
    browser.open(render(documents.chain_document(), "xcorr.h5", level="process"))
    assert "WestSac.h5" not in names(browser)


def test_an_object_whose_name_has_points_is_described(browser):
    """No part of its name is taken for the time of its file."""
    document = documents.lone_document()
    node = document["nodes"][0]
    node["iri"] = document["target"] = node["iri"] + "#/encoder.layer.crossattention"
    node["type"], node["label"] = "Dataset", "encoder.layer.crossattention"
    browser.open(render(document, "x", level="dataset"))
    assert browser.ask("given.handle.choose(args[0])", node["iri"])
    assert browser.ask("document.querySelector('.details h2').textContent") == "encoder.layer.crossattention"


def test_a_job_of_a_workflow_has_the_name_of_its_rule(browser):
    """In the graph and in the details, with the command line as the user wrote it."""
    document = documents.chain_document()
    for node in document["nodes"]:
        if node["type"] == "Phase":
            node |= {"rule": "correlate", "label": "rule correlate", "command": "xcorr.py typed"}
    browser.open(render(document, "xcorr.h5"))
    assert browser.ask("given.handle.choose(args[0])", item(browser, "rule correlate")["id"])
    details = browser.ask("document.querySelector('.details').textContent")
    assert "rule correlate" in details
    assert "xcorr.py typed" in details


@pytest.mark.slow
def test_time_line(browser):
    """Each process has its bar, in the order of their starts; a click on one chooses it."""
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    assert browser.colours()["#a8670c"] < 2_000
    browser.press("t")
    assert browser.ask("document.querySelector('.provio-lineage').dataset.tab") == "times"
    assert browser.colours()["#e9eef5"] + browser.colours()["#f8fafc"] > 200_000
    top = browser.ask("document.querySelector('canvas.times').getBoundingClientRect().top")
    browser.click(40, top + 26 + 24 * 2 + 12)
    assert browser.ask("document.querySelector('.details h2').textContent") == "xcorr.py"
    browser.press("\ue013")
    assert browser.ask("document.querySelector('.details h2').textContent") == "decimate.py"
    browser.open(render(documents.wide_document(6000), "all.h5"))
    browser.press("t")
    browser.click(40, top + 26 + 12)
    assert browser.ask("given.handle.chosen()") is None


def test_keys_walk_along_the_data(browser):
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    heading = "document.querySelector('.details h2')?.textContent"
    browser.ask("document.querySelector('canvas.graph').focus()")
    walked = []
    for key in ("\ue012", "\ue012", "\ue012", "\ue014"):
        browser.press(key)
        walked.append(browser.ask(heading))
    assert walked == ["xcorr.h5", "xcorr.py", "decimate.h5", "xcorr.py"]
    assert browser.ask("document.querySelector('.spoken').textContent") == "step xcorr.py"
    browser.press("\ue00c")
    assert browser.ask("given.handle.chosen()") is None
    browser.press("f")
    width = item(browser, "xcorr.h5")["width"]
    browser.press("+")
    assert item(browser, "xcorr.h5")["width"] > width * 1.2
    browser.press("f")
    assert abs(item(browser, "xcorr.h5")["width"] - width) < 0.1


def test_it_says_what_it_is_to_a_screen_reader(browser):
    """Each control has a name; switches show the active button."""
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    controls = "[...document.querySelectorAll('button, input, canvas, [role]')]"
    nameless = f"{controls}.filter((one) => !one.ariaLabel && !one.textContent.trim() && !one.title)"
    assert browser.ask(f"{nameless}.map((one) => one.outerHTML)") == []
    pressed = browser.ask("[...document.querySelectorAll('[aria-pressed=true]')].map((one) => one.textContent)")
    assert pressed == ["Graph", "Files"]


def test_hostile_names_stay_text(browser):
    """No script runs, no name becomes an element, and details show names literally, with escaped control characters."""
    document = documents.hostile_document()
    browser.open(render(document, documents.HOSTILE[1]))
    for node in document["nodes"]:
        browser.ask(f"given.handle.choose({json.dumps(node['iri'])})")
        assert browser.ask("document.querySelectorAll('img, .provio-lineage b i, h2 *, dd *, script').length") == 2
    assert browser.ask("String(window.hurt)") == "undefined"
    path = next(node for node in document["nodes"] if "\u202e" in node.get("path", ""))
    browser.ask(f"given.handle.choose({json.dumps(path['iri'])})")
    assert "right\\u202etfel\\u202c" in browser.ask("document.querySelector('dd.path').textContent")
    browser.press("/", *"script>")
    assert browser.ask("document.querySelector('.results b').textContent") == "script>"


def test_more_is_added_as_one_walks(browser):
    """Results of an explorer's request: nodes and edges join the picture, and the selection stays."""
    document = documents.chain_document()
    near = {document["target"]} | {node["iri"] for node in document["nodes"][:3]}
    first = {
        **document,
        "nodes": [node for node in document["nodes"] if node["iri"] in near],
        "edges": [edge for edge in document["edges"] if {edge["subject"], edge["object"]} <= near],
    }
    browser.open(render(first, "xcorr.h5"))
    more = json.dumps({key: document[key] for key in ("nodes", "edges")})
    browser.ask(
        "provioLineage(document.getElementById('graph'), {...given.head, nodes: given.nodes, edges: given.edges}, "
        f"{{ expand: async (iri, way) => {{ window.asked = [iri, way]; return {more} }} }})"
        f".choose({json.dumps(document['target'])})"
    )
    browser.ask("document.querySelector('button.expand.backward').click()")
    assert browser.ask("window.asked") == [document["target"], "backward"]
    assert browser.ask("document.querySelector('.spoken').textContent") == "7 more"
    assert "4 in all" not in browser.ask("document.querySelector('.details').innerText")
    assert "6 in all" in browser.ask("document.querySelector('.details').innerText")


SHAPES = {
    "one": (1, []),
    "none joined": (30, []),
    "chain": (7, [(n, n + 1) for n in range(6)]),
    "long chain": (2000, [(n, n + 1) for n in range(1999)]),
    "star": (2000, [(n, 0) for n in range(1, 2000)]),
    "diamond": (4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "cycle": (3, [(0, 1), (1, 2), (2, 0), (0, 0)]),
    "complete": (12, list(combinations(range(12), 2))),
    "web": (2000, [(n, (n * 7 + k * 131) % 2000) for n in range(2000) for k in (1, 2)]),
}


def overlaps(x, y, sizes):
    """Return pairs of nodes with overlapping boxes, by sweeping along x."""
    boxes = sorted((x[n] - w / 2, x[n] + w / 2, y[n], h) for n, (w, h) in enumerate(sizes))
    active, found = [], 0
    for left, right, at, height in boxes:
        active = [box for box in active if box[0] > left]
        found += sum(abs(at - other) < (height + tall) / 2 for _, other, tall in active)
        active.append((right, at, height))
    return found


def arranged(browser: Browser, sizes, edges, light=()) -> dict:
    given = ", ".join(json.dumps(one) for one in (sizes, edges))
    return browser.ask(f"provioLineage.arrange({given}, new Set({json.dumps(list(light))}))")


def test_layout(browser):
    """Every node has a place, no two overlap, twice is the same, and data goes one way where there is room."""
    browser.open(render(documents.lone_document(), "x"))
    for shape, (count, edges) in SHAPES.items():
        sizes = [(90.0 + n % 5 * 30, 46.0) for n in range(count)]
        layout = arranged(browser, sizes, edges)
        assert len(layout["x"]) == count
        assert overlaps(layout["x"], layout["y"], sizes) == 0, shape
        assert arranged(browser, sizes, edges) == layout
        if shape in ("chain", "diamond"):
            axis = layout["x" if layout["across"] else "y"]
            assert all(axis[a] < axis[b] for a, b in edges)


@pytest.mark.parametrize("room", [(380, 500), (1240, 640)])
def test_a_picture_is_never_wrapped(browser, room):
    """In any window, each step of a chain is beyond the one before it; lines that pass layers pass behind no node."""
    browser.open(render(documents.lone_document(), "x"))
    chain = [(n, n + 1) for n in range(29)]
    for edges in (chain, [*chain, (2, 27), (3, 14)], [(n // 3, n) for n in range(1, 30)]):
        sizes = [(90.0 + n % 5 * 30, 46.0) for n in range(30)]
        made = browser.ask("provioLineage.arrange(args[0], args[1], new Set(), args[2])", sizes, edges, room)
        axis = made["x" if made["across"] else "y"]
        assert all(axis[a] < axis[b] for a, b in edges)
        assert [
            point
            for points in made["bends"]
            for point in points
            for x, y, (width, height) in zip(made["x"], made["y"], sizes, strict=True)
            if abs(point[0] - x) < width / 2 and abs(point[1] - y) < height / 2
        ] == []


def test_an_opened_fold_is_one_column(browser):
    """No line passes behind another node of its layer."""
    browser.open(render(documents.lone_document(), "x"))
    edges = [edge for n in range(1, 63) for edge in ((0, n), (n, 63))]
    made = arranged(browser, [(150, 46)] * 64, edges)
    assert made["across"]
    assert len({*made["x"][1:63]}) == 1


def test_a_chain_is_straight(browser):
    """Files and processes on one line; a light node next to it does not bend it."""
    browser.open(render(documents.lone_document(), "x"))
    y = arranged(browser, [(100, 46)] * 4, [(0, 1), (1, 2), (3, 1)], [3])["y"]
    assert max(y[:3]) - min(y[:3]) < 1
    assert abs(y[3] - y[1]) > 40


def test_layers_and_crossings(browser):
    """Long links get bends; a crossing that need not be is undone; a source stands just before its user."""
    browser.open(render(documents.lone_document(), "x"))
    found = browser.ask("provioLineage.layered(4, [[0, 1], [1, 2], [0, 2], [3, 2]])")
    assert [[n for n in layer if n < 4] for layer in found["layers"]] == [[0], [1, 3], [2]]
    assert len(found["bent"]) == 5
    assert browser.ask("provioLineage.uncrossed([[0, 1], [2, 3]], [[0, 3], [1, 2]], 4)") in (
        [[0, 1], [3, 2]],
        [[1, 0], [2, 3]],
    )


def test_narrow(browser):
    """On a telephone nothing is wider than the window, and details leave room for the graph."""
    browser.window(browsers.NARROW)
    browser.open(render(documents.chain_document(), "xcorr.h5"))
    browser.ask(f"given.handle.choose({json.dumps(documents.chain_document()['target'])})")
    assert browser.ask("document.documentElement.scrollWidth") <= 390
    assert browser.ask("document.querySelector('.stage').clientHeight") > 150
    assert re.search("xcorr", browser.ask("document.querySelector('.details').innerText"))


def test_levels_of_a_record(browser, project: Project):
    """One page of a run contains its files, processes, datasets and I/O activities; it starts with the given level."""
    (project.path / "in").write_text("3\n1\n2\n")
    copy = "import h5py; f = h5py.File('x.h5', 'w'); f['a/b'] = [1, 2]; f.close(); g = h5py.File('x.h5'); "
    project.run(f"sort in > s; python3 -c \"{copy} h = h5py.File('y.h5', 'w'); h['c'] = g['a/b'][:]; h.close()\"")
    project.provio("view", "-o", "run.html")
    browser.go((project.path / "run.html").as_uri())
    assert browser.ask("[...document.querySelectorAll('[aria-label=Level] button')].map((one) => one.dataset.id)") == [
        "file",
        "process",
        "dataset",
        "io",
    ]
    found = {}
    for level in ("file", "process", "dataset", "io"):
        browser.ask(f"given.handle.level('{level}')")
        found[level] = Counter(names(browser))
    assert {"in", "s", "x.h5", "y.h5"} <= found["file"].keys()
    assert not {"in", "s", "x.h5", "y.h5"} & found["process"].keys()
    assert {"in", "s", "x.h5#/a/b", "y.h5#/c"} <= found["dataset"].keys()
    assert not {"x.h5", "y.h5"} & found["dataset"].keys()
    assert {"in", "s"} < found["io"].keys()
    onward = browser.ask("[...given.handle.ways(args[0]).on].length", item(browser, "y.h5")["id"])
    assert onward == 0  # the phase that opened and made it is placed before it
    done = [one for one in browser.ask(ITEMS) if one["kind"] == "io"]
    assert len(done) == found["io"].total() - found["file"].total()
    for arguments, first in (
        (("y.h5#/c",), {"x.h5#/a/b", "y.h5#/c"}),
        (("y.h5", "--level", "dataset"), {"x.h5#/a/b", "y.h5#/c"}),
        (("y.h5",), {"x.h5", "y.h5"}),
        (("s", "--level", "io"), {"in", "s"}),
    ):
        project.provio("view", *arguments, "-o", "some.html")
        browser.go((project.path / "some.html").as_uri())
        assert first <= set(names(browser)), arguments


def test_a_page_is_opened_where_it_is_asked_for(project: Project):
    (project.path / "in").write_text("1\n")
    project.run("cp in out")
    project.env["BROWSER"] = "sh -c 'echo $0 > opened' %s"
    project.provio("view", "out", "-o", "my page.html", "--open")
    assert (project.path / "opened").read_text() == (project.path / "my page.html").as_uri() + "\n"

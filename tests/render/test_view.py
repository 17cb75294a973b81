"""The page as text: no request to any network, hostile names inert, large ones small (test_page drives a browser)."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import documents
import pytest
from browsers import CHROMIUM
from conftest import Project

from provio.ask import bulk_fetch, runs, walk, whole_run
from provio.base.errors import ProvioError
from provio.render.page import compact, render
from provio.render.page.compact import carried, packed
from provio.render.page.lineage import check_offline
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader


class Page(HTMLParser):
    """The elements of a page, and the text of its title and heading."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self._open = tag

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        if self._open in ("title", "bdi") and data.strip():
            self.texts.setdefault(self._open, data)


def data_of(page: str, name: str) -> list[dict]:
    """The list that the page's script is given under a name."""
    given = page[page.rindex("const given") :]
    start = re.search(rf"\b{name}: \[", given).end() - 1
    return json.JSONDecoder().raw_decode(given[start:])[0]


def test_page_says_what_the_document_says():
    """The page contains the document itself in readable form, and a summary in words."""
    document = documents.chain_document()
    page = render(document, "xcorr.h5")
    assert data_of(page, "nodes") == document["nodes"]
    assert data_of(page, "edges") == document["edges"]
    started = "1 input of the programs that started these not shown"
    for said in ("4 files", "3 steps", "3 programs", "412 system files hidden", started):
        assert f"<span>{said}</span>" in page
    assert Page(page).texts == {"title": "xcorr.h5 – provio", "bdi": "xcorr.h5"}


def test_page_shows_gaps_and_change():
    carried, lone = render(documents.carried_document(), "y"), render(documents.lone_document(), "only.txt")
    assert "<li><bdi>coarse clock</bdi> <span>(<bdi>a</bdi>)</span></li>" in carried
    assert "changed since it was recorded at 2026-11-20 12:00:00 UTC" in lone


@pytest.mark.parametrize("make", [documents.lone_document, documents.chain_document, documents.hostile_document])
def test_page_asks_no_network(make):
    """No tag with an address, no import, under a policy that forbids to fetch anything; small."""
    page = render(make(), "x")
    check_offline(page)
    assert not re.search(r"<(link|img|iframe|script[^>]* src)", re.sub(r"(?s)<script>.*?</script>", "", page))
    assert "default-src 'none'" in page
    assert "bootstrap" not in page
    assert len(page.encode()) < 2_000_000


@pytest.mark.parametrize(
    "bad",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        "<link rel=stylesheet href=//cdn.example.org/x.css>",
        "<style>@import 'http://example.org/x.css';</style>",
        "<style>a{background:url(http://example.org/x.png)}</style>",
        "<style>a{background:url('http://example.org/x.png')}</style>",
        "<img src=x.png>",
        "<script>fetch('x')</script>",
        '<p style="background:url(//example.org/x)">',
        "<iframe src='https://example.org/'></iframe>",
    ],
)
def test_a_page_that_would_fetch_is_refused(bad):
    with pytest.raises(ProvioError, match="would fetch"):
        check_offline(f"<html>{bad}</html>")


def test_hostile_names_stay_text():
    """The page of hostile names has the elements of the page of plain names; the data keeps the names."""
    title = documents.HOSTILE[1]
    hostile, plain = documents.hostile_document(), documents.hostile_document()
    for number, node in enumerate(plain["nodes"]):
        node["label"] = f"plain{number}"
        node.update({key: f"/data/plain{number}" for key in ("path",) if key in node})
        node.update({key: "python3 plain.py" for key in ("argv",) if key in node})
    plain["gaps"][0]["reason"] = "plain"
    page = render(hostile, title)
    assert Page(page).tags == Page(render(plain, "plain")).tags
    assert Page(page).texts["bdi"] == title
    script = page[page.rindex("const given") :]
    assert "<" not in script[: script.index("options:")]
    assert {node.get("path") for node in data_of(page, "nodes")} == {node.get("path") for node in hostile["nodes"]}
    page.encode("utf-8")


@pytest.mark.integration
def test_page_is_the_same_in_any_locale(tmp_path):
    """Under LC_ALL=C, without UTF-8 mode, the very same bytes."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import documents; from provio.render.page import render\n"
        "open(sys.argv[2], 'w', encoding='utf-8').write(render(documents.hostile_document(), '\\xe9\\u65e5'))"
    )
    pages = []
    for locale in ("C", "C.UTF-8"):
        out = tmp_path / f"{locale}.html"
        environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent.parent), str(out)], env=environment, check=True
        )
        pages.append(out.read_bytes())
    assert pages[0] == pages[1]


def test_import_is_cheap():
    """`provio.render.page` itself brings neither pyvis nor networkx: most commands draw nothing."""
    code = "import sys, provio.render.page; print(sorted({'pyvis', 'networkx', 'IPython'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def browse(page: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a headless Chromium with a profile of its own."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-dev-shm-usage", "--disable-sync", "--hide-scrollbars",
             "--window-size=1280,800", "--virtual-time-budget=4000", "--enable-logging=stderr"]  # fmt: skip
    command = [CHROMIUM, "--headless", "--no-sandbox", *quiet, f"--user-data-dir={folder / 'profile'}", *options]
    return subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=180, cwd=folder)


browser = functools.partial(
    pytest.mark.skipif, CHROMIUM is None, reason="no Chromium here (Debian: apt install chromium)"
)


def test_names_that_have_no_form_in_common_are_packed_as_they_are():
    """Nothing is worked out for each of them that only their like would use."""
    compact._pattern.cache_clear()
    names = [hashlib.md5(str(number).encode()).hexdigest() for number in range(400)]
    compact._texts(names)
    assert compact._pattern.cache_info().misses < 10
    compact._texts([f"shot-{number}.h5" for number in range(400)])
    assert compact._pattern.cache_info().misses < 12


@pytest.mark.parametrize("number", [7, 2001])
def test_a_large_document_is_packed(number):
    """As small as a few dozen bytes a file; a browser gets the very document out of it (test_page)."""
    document = documents.wide_document(number)
    text = packed(document)
    assert len(text) < 40 * number + 2_000
    whole = json.loads(zlib.decompress(base64.b64decode(text)))
    assert whole["count"] == len(document["nodes"])
    assert 'packed: ""' in render(document, "x") if number == 7 else data_of(render(document, "x"), "nodes") == []


def test_beyond_what_a_page_holds_files_stand_for_many():
    """Nothing is omitted silently: each fold shows its number and the way to see its nodes; the target stays."""
    document = documents.wide_document(400)
    short = carried(document, 200)
    folds = [node for node in short["nodes"] if node["type"] == "Fold"]
    assert len(short["nodes"]) <= 200
    assert sum(fold["count"] for fold in folds) + len(short["nodes"]) - len(folds) == len(document["nodes"])
    assert all(fold["command"].startswith("provio lineage /data/shots/") for fold in folds)
    known = {node["iri"] for node in short["nodes"]}
    assert short["target"] in known
    assert all({edge["subject"], edge["object"]} <= known for edge in short["edges"])
    assert carried(document) is document


def test_a_page_of_a_file_and_of_a_run(project: Project) -> None:
    """Each shows its subject."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    for what, title in (("b", "b"), ("last", "cp a b")):
        project.provio("view", what, "-o", "page.html")
        assert f"<title>{title} \u2013 " in (project.path / "page.html").read_text(encoding="utf-8")


@pytest.mark.integration
def test_a_run_among_files_and_a_page_without_a_name_are_wrong_calls(project: Project) -> None:
    """A run is drawn by itself; a file of such a name is one; no page, no table and no graph is written to nowhere."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "b")
    run = project.provio("runs", "--as", "tsv").stdout.splitlines()[1].split("\t")[0].strip('"')
    for what in (["last", "b"], ["b", "last"], [run, "b"]):
        said = project.provio("view", *what, "-o", "page.html", code=2).stderr
        assert "a run is drawn without files: omit them" in said and not (project.path / "page.html").exists()
    project.watch("cp", "b", "last")
    project.provio("view", "b", "last", "-o", "page.html")
    for verb in ("view", "stats", "export"):
        assert "the file name is empty" in project.provio(verb, "-o", "", code=2).stderr


@pytest.mark.integration
def test_what_is_swept_is_what_is_looked_up(project: Project, monkeypatch: pytest.MonkeyPatch):
    """A run of very many files is read word by word: the very same document."""
    for name in ("a", "b,c", "d\u00e9"):
        (project.path / name).write_text("1\n")
    project.run(
        "cat a b,c d\u00e9 > out; cp -p out kept; mkdir sub; mv kept sub; ls sub; ln -s out link; cat link > end"
    )
    project.provio("merge")
    reader = StoreReader(Home(project.path / ".provio"))  # for any record that the environment names
    run = runs.find(reader, "last")
    one = whole_run.document(reader, run)
    monkeypatch.setattr(walk, "MANY", 0)
    monkeypatch.setattr(bulk_fetch, "MOST_STATEMENTS", 1_000_000)
    again = whole_run.document(reader, run)
    assert again == one
    assert {"out", "end", "b,c"} <= {node["label"] for node in one["nodes"]}


@pytest.mark.integration
def test_a_page_loads_of_pyvis_what_it_needs():
    """The removed modules are available to other users of pyvis."""
    code = (
        "import sys; from provio.render.page import lineage; network = lineage.network_class(); "
        "import pyvis.network as one; "
        "loaded = [name for name in sys.modules if name.startswith(('IPython', 'networkx', 'jsonpickle'))]; "
        "print(loaded, type(one.IFrame('x.html', 5, 5)).__module__, one.nx.path_graph(3).number_of_edges())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] IPython.lib.display 2\n"

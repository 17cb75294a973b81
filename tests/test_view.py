"""The page: no request to any network, hostile names inert, and a real browser that draws it."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from collections import Counter
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import documents
import pytest

from provio.errors import ProvioError
from provio.view import render
from provio.view.layout import arrange, layered, uncrossed
from provio.view.offline import check_offline
from provio.view.page import KINDS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


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
    start = re.search(rf"\b{name}: \[", page).end() - 1
    return json.JSONDecoder().raw_decode(page[start:])[0]


def test_page_says_what_the_document_says():
    page = render(documents.chain_document(), "xcorr.h5")
    nodes = data_of(page, "nodes")
    assert Counter(node["kind"] for node in nodes) == {"file": 4, "process": 3, "program": 3}
    assert [node["name"] for node in nodes if node["target"]] == ["xcorr.h5"]
    facts = next(node["facts"] for node in nodes if node["kind"] == "process" and node["name"] == "xcorr.py")
    assert facts == [
        ["Phase", "xcorr.py"],
        ["Program", "/home/ada/das/xcorr.py"],
        ["Command", "python3 xcorr.py --stack 30 --title 'my stack' /data/decimate.h5 /data/xcorr.h5"],
        ["Folder", "/data"],
        ["Started", "2026-11-20 12:17:00 UTC, 2 min 5 s"],
        ["Process", "13 on node07"],
    ]
    names = {node["id"]: node["name"] for node in nodes}
    flows = [(names[edge["from"]], names[edge["to"]]) for edge in data_of(page, "edges") if edge["relation"] == "data"]
    assert sorted(flows) == [
        ("WestSac.bin", "tdms2h5.py"), ("WestSac.h5", "decimate.py"), ("decimate.h5", "xcorr.py"),
        ("decimate.py", "decimate.h5"), ("tdms2h5.py", "WestSac.h5"), ("xcorr.py", "xcorr.h5"),
    ]  # fmt: skip
    for said in ("4 files", "3 processes", "3 programs", "412 system files hidden", "1 control ancestor not shown"):
        assert f"<span>{said}</span>" in page
    assert Page(page).texts == {"title": "xcorr.h5 – provio", "bdi": "xcorr.h5"}


def test_page_shows_gaps_and_change():
    carried, lone = render(documents.carried_document(), "y"), render(documents.lone_document(), "only.txt")
    assert "<li><bdi>coarse clock</bdi> <span>(<bdi>a</bdi>)</span></li>" in carried
    assert [node["name"] for node in data_of(carried, "nodes") if node["gap"]] == ["a"]
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
    """The page of hostile names has the elements of the page of plain names; the data keeps what the names say."""
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
    facts = [dict(node["facts"]) for node in data_of(page, "nodes")]
    paths = {fact.get("Path") for fact in facts}
    assert "/data/<script>window.hurt=1</script>" in paths
    assert "/data/right\\u202etfel\\u202c \u05d0\u05d1" in paths
    assert "/data/byte\ufffd\ufffds" in paths
    page.encode("utf-8")


@pytest.mark.slow
def test_page_is_the_same_in_any_locale(tmp_path):
    """Under LC_ALL=C, without UTF-8 mode, the very same bytes."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import documents; from provio.view import render\n"
        "open(sys.argv[2], 'w', encoding='utf-8').write(render(documents.hostile_document(), '\\xe9\\u65e5'))"
    )
    pages = []
    for locale in ("C", "C.UTF-8"):
        out = tmp_path / f"{locale}.html"
        environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent), str(out)], env=environment, check=True)
        pages.append(out.read_bytes())
    assert pages[0] == pages[1]


def test_import_is_cheap():
    """`provio.view` itself brings neither pyvis nor networkx: most commands draw nothing."""
    code = "import sys, provio.view; print(sorted({'pyvis', 'networkx', 'IPython'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def overlaps(layout, sizes):
    """Pairs of nodes whose boxes touch, by sweeping along x."""
    boxes = sorted(
        (layout.positions[n][0] - w / 2, layout.positions[n][0] + w / 2, layout.positions[n][1], h)
        for n, (w, h) in sizes.items()
    )
    active, found = [], 0
    for left, right, y, height in boxes:
        active = [box for box in active if box[0] > left]
        found += sum(abs(y - other) < (height + tall) / 2 for _, other, tall in active)
        active.append((right, y, height))
    return found


SHAPES = {
    "one": (1, []),
    "none joined": (30, []),
    "chain": (7, [(n, n + 1) for n in range(6)]),
    "long chain": (2000, [(n, n + 1) for n in range(1999)]),
    "star": (2000, [(n, 0) for n in range(1, 2000)]),
    "diamond": (4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "cycle": (3, [(0, 1), (1, 2), (2, 0), (0, 0)]),
    "complete": (12, list(combinations(range(12), 2))),
    "web": (2000, [(n, (n * 7 + k * 131) % 2000) for n in range(2000) for k in (1, 2) if n < (n * 7 + k * 131) % 2000]),
}


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=[pytest.mark.slow] * (SHAPES[shape][0] > 1000)) for shape in SHAPES]
)
def test_layout(shape):
    """Every node has a place, no two overlap, twice is the same, and data goes one way where there is room."""
    count, edges = SHAPES[shape]
    sizes = {str(n): (90.0 + n % 5 * 30, 46.0) for n in range(count)}
    links = [(str(a), str(b)) for a, b in edges]
    layout = arrange(sizes, links)
    assert set(layout.positions) == set(sizes)
    assert overlaps(layout, sizes) == 0
    assert arrange(sizes, links) == layout
    if shape in ("chain", "diamond"):
        axis = 0 if layout.across else 1
        assert all(layout.positions[a][axis] < layout.positions[b][axis] for a, b in links)


def test_chain_is_straight():
    """Files and processes on one line; a light node beside it does not bend it."""
    sizes = dict.fromkeys("abcx", (100.0, 46.0))
    at = arrange(sizes, [("a", "b"), ("b", "c"), ("x", "b")], {"x"}).positions
    assert abs(at["a"][1] - at["b"][1]) < 1
    assert abs(at["b"][1] - at["c"][1]) < 1
    assert abs(at["x"][1] - at["b"][1]) > 40


def test_layers_and_crossings():
    """Long links get bends; a crossing that need not be is undone; a source stands just before its user."""
    layers, links = layered(list("abcd"), [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")])
    assert [[n for n in layer if n in "abcd"] for layer in layers] == [["a"], ["b", "d"], ["c"]]
    assert len(links) == 5
    assert uncrossed([["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")]) == [["a", "b"], ["d", "c"]]


def pixels(picture: bytes) -> Counter[str]:
    """How often each colour (`#rrggbb`) is in a PNG of 8-bit RGB or RGBA without interlacing (PNG, W3C 2003)."""
    place, packed = 8, b""
    while place < len(picture):
        length, kind = struct.unpack(">I4s", picture[place : place + 8])
        body = picture[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            packed += body
        place += 12 + length
    assert depth == 8
    step = {2: 3, 6: 4}[colour]
    raw, before, counts = zlib.decompress(packed), bytearray(width * step), Counter()
    for row in range(height):
        start = row * (width * step + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + width * step]), before, step)
        counts.update(line[at : at + 3].hex() for at in range(0, len(line), step))
        before = line
    return Counter({"#" + colour: count for colour, count in counts.items()})


def unfiltered(kind: int, line: bytearray, before: bytearray, step: int) -> bytearray:
    for at in range(len(line)):
        left, up = line[at - step] if at >= step else 0, before[at]
        corner = before[at - step] if at >= step else 0
        if kind == 4:
            guess = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
        else:
            guess = (0, left, up, (left + up) // 2)[kind]
        line[at] = (line[at] + guess) & 255
    return line


def browse(page: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a headless Chromium with a profile of its own."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1280,800",
             "--virtual-time-budget=4000", "--enable-logging=stderr"]  # fmt: skip
    command = [CHROMIUM, "--headless", "--no-sandbox", *quiet, f"--user-data-dir={folder / 'profile'}", *options]
    return subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=180, cwd=folder)


browser = functools.partial(
    pytest.mark.skipif, CHROMIUM is None, reason="no Chromium here (Debian: apt install chromium)"
)


@pytest.mark.slow
@browser()
@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        (documents.chain_document, {"file", "process", "program"}),
        (documents.hostile_document, {"file", "process", "program"}),
        (documents.wide_document, {"file", "process"}),
        (documents.long_document, {"file", "process"}),
        (documents.lone_document, set()),
    ],
)
def test_browser_draws(make, kinds, tmp_path):
    """Pixels, not only elements: each kind's fill, and the target's, are seen; the console says nothing."""
    picture = tmp_path / "page.png"
    done = browse(render(make(), "title"), tmp_path, f"--screenshot={picture}")
    assert "CONSOLE" not in done.stderr
    seen = pixels(picture.read_bytes())
    for kind in kinds:
        assert seen[KINDS[kind][1]] > 300, kind
    assert seen[KINDS["file"][2]] > 60


@pytest.mark.slow
@browser()
def test_browser_shows_hostile_names_and_facts_as_text(tmp_path):
    """Nothing runs, no element is made of a name, and a tooltip shows a node's facts as they are."""
    only = documents.file("/data/</title><b>out.h5")
    page = render(documents.document(only, [only], []), documents.HOSTILE[1])
    probe = """<script>
      const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect();
      setTimeout(() => canvas.dispatchEvent(new MouseEvent("mousemove",
        { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true })), 500);
      setTimeout(() => { document.title = "hurt: " + window.hurt; }, 2500);
    </script></body>"""
    dom = browse(page.replace("</body>", probe), tmp_path, "--dump-dom").stdout
    assert "<title>hurt: undefined</title>" in dom
    body = re.sub(r"(?s)<script>.*?</script>", "", dom[dom.index("<body") :])
    assert "<img" not in body
    assert "&lt;/title&gt;&lt;b&gt;out.h5" in body[body.index('class="tip"') :]

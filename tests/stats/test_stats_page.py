"""Single calls, the time line and the page of `provio stats`, and the same figures from every kind of store."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project
from sparql_servers import Server, account
from test_view import CHROMIUM, Page

from provio.render.page import statistics
from provio.render.page.lineage import check_offline
from provio.stats import Figures, timeline
from provio.stats.activity import Recorded
from provio.stats.timeline import COLUMNS, LANES, SPANS, Span

HOSTILE = "<img src=x onerror=alert(1)>&amp;'\"\u202e{{ 7 * 7 }}"
BACKWARDS = """
import os
file = os.open("in", os.O_RDONLY)
for place in (0, 1, 2, 5, 6, 3, 0, 9): os.pread(file, 100, place * 100)
"""


@pytest.mark.integration
def test_single_calls_say_which_way_they_go(project: Project) -> None:
    """Of eight reads one is the first, three go on, two leap ahead, two go back; times are those of the timeline."""
    (project.path / "in").write_bytes(b"x" * 1000)
    project.provio("run", "--quiet", "--detail", "call", "--", sys.executable, "-S", "-c", BACKWARDS)
    rows = list(csv.DictReader(project.provio("stats", "--by", "latency", "--as", "csv").stdout.splitlines()))
    row = next(row for row in rows if row["api"].startswith("pread"))
    assert row["calls"] == "8"
    shares = [float(row[name]) for name in ("consecutive", "forward", "backward")]
    assert shares == pytest.approx([3 / 7, 2 / 7, 2 / 7], abs=1e-4)
    times = [int(row[name]) for name in ("median", "percentile_95", "percentile_99", "longest")]
    assert 0 < times[0] <= times[1] <= times[2] <= times[3]
    sums = csv.DictReader(project.provio("stats", "--by", "api", "--as", "csv").stdout.splitlines())
    total = next(one for one in sums if one["api"] == row["api"])
    assert times[3] == int(total["longest"])
    assert re.search(r"^pread\d* +POSIX +8 ", project.provio("stats", "--by", "latency").stdout, re.MULTILINE)


@pytest.mark.integration
def test_single_calls_without_durations_are_counted(project: Project) -> None:
    """Which way they went is known, on the page too; no time is."""
    (project.path / "in").write_bytes(b"x" * 1000)
    project.provio(
        "run", "--quiet", "--detail", "call", "--no-record", "duration", "--", sys.executable, "-S", "-c", BACKWARDS
    )
    rows = list(csv.DictReader(project.provio("stats", "--by", "latency", "--as", "csv").stdout.splitlines()))
    row = next(row for row in rows if row["api"].startswith("pread"))
    assert (row["calls"], row["median"], row["longest"]) == ("8", "", "")
    assert float(row["consecutive"]) == pytest.approx(3 / 7, abs=1e-4)
    shown = project.provio("stats", "--by", "latency").stdout
    assert re.search(r"^pread\d* +POSIX +8 +\? +\? +\? +\? +43%", shown, re.MULTILINE)
    project.provio("stats", "-o", "page.html")
    assert "Single calls" in (project.path / "page.html").read_text()


def test_percentiles_are_the_nearest_ranks() -> None:
    assert [timeline.percentile(list(range(1, 101)), share) for share in (50, 95, 99)] == [50, 95, 99]
    assert [timeline.percentile([7], share) for share in (50, 99)] == [7, 7]
    assert timeline.percentile([15, 20, 35, 40, 50], 30) == 20


@pytest.mark.integration
def test_what_single_calls_would_tell_is_said(project: Project) -> None:
    project.watch("cat", "/etc/hostname")
    assert "provio run --detail call" in project.provio("stats", "--by", "latency", code=3).stderr


@pytest.mark.parametrize("detail", ["op", "call"])
@pytest.mark.integration
def test_the_page_is_whole_and_names_stay_text(project: Project, detail: str) -> None:
    """No script, no requests, a policy that forbids both; a bar for the reads and writes of each thread."""
    (project.path / "in").write_bytes(b"x" * 1000)
    source = "import sys; data = open('in', 'rb').read(); open(sys.argv[1], 'wb').write(data)"
    project.provio("run", "--quiet", "--detail", detail, "--", sys.executable, "-S", "-c", source, HOSTILE)
    assert "report.html: " in project.provio("stats", "-o", "report.html").stderr
    page = (project.path / "report.html").read_text()
    check_offline(page)
    found = Page(page)
    assert not {"script", "img", "link", "iframe", "object"} & set(found.tags)
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;amp;" in page
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in page
    assert found.tags["rect"] >= 2
    assert [("Each bar is a call;" in page), ("<h2>Single calls</h2>" in page)] == [detail == "call"] * 2
    wrote = re.search(r'<rect class="write".*?<title>(write: 1 call, 1000 B,.*?)</title>', page)
    assert wrote
    assert "onerror" in wrote[1]


@pytest.mark.integration
def test_ten_thousand_spans_become_a_picture() -> None:
    """Spans of one column are one, threads beyond the most are left out, and nothing is lost of the bytes."""
    spans = [Span(f"t{n % 100}", n * 1000, n * 1000 + 10, n % 100 + 1, n % 2 == 0, 1, "f") for n in range(20_000)]
    found = timeline.picture(Recorded(), spans)
    assert found
    drawn = [span for lane in found.lanes for span in lane.spans]
    assert len(found.lanes) == LANES
    assert found.left_out == 100 - LANES
    assert len(drawn) <= SPANS
    assert len(drawn) + found.folded == 20_000 * LANES // 100
    assert sum(span.bytes for span in drawn) == sum(span.bytes for span in spans if span.bytes > 100 - LANES)
    alone = timeline.picture(Recorded(), spans[::100])
    assert alone
    assert len(alone.lanes[0].spans) <= 2 * COLUMNS
    page = statistics.render(Figures(Recorded()), spans, "many")
    assert page.count("<rect") == len(drawn)
    assert len(page) < 4_000_000
    assert "40 threads with fewer bytes are not shown" in page


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
@pytest.mark.integration
def test_a_browser_shows_it_without_a_bar_to_scroll(tmp_path: Path, size: tuple[int, int]) -> None:
    """Neither a long name nor many threads make the page wider than the window, in the light or the dark."""
    spans = [Span("t" * 300 + str(n), n, n + 5, n, n % 2 == 0, 1, "/" + "long" * 200) for n in range(40)]
    page = statistics.render(Figures(Recorded()), spans, "unbroken" * 50)
    (tmp_path / "page.html").write_text(page)
    asks = (
        f'<iframe src="page.html" width="{size[0]}" height="{size[1]}" style="border:0"></iframe><p id="said"></p>'
        '<script>onload = () => { const page = frames[0].document.documentElement;'
        'document.getElementById("said").textContent = `wide ${page.scrollWidth} of ${page.clientWidth}` }</script>'
    )  # fmt: skip
    (tmp_path / "frame.html").write_text(asks)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    options += ["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"]
    command = [str(CHROMIUM), *options, f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path}/frame.html"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False).stdout
    wide = re.search(r"wide (\d+) of (\d+)<", shown)
    assert wide
    assert int(wide[1]) <= int(wide[2]) <= size[0]


def figures_of(project: Project, *options: str) -> list[str]:
    return project.provio("stats", "--by", "api", "--by", "file", "--as", "csv", *options).stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["oxigraph", "virtuoso"])
def test_servers_give_the_same_figures(project: Project, request: pytest.FixtureRequest, kind: str) -> None:
    """The queries are SPARQL that any server answers."""
    server: Server = request.getfixturevalue(kind)
    account(project)
    (project.path / "in").write_bytes(b"x" * 5000)
    project.run("cat in > out; dd if=in of=copy bs=100 status=none; cat missing", code=1)
    here = figures_of(project)
    assert len(here) > 5
    assert figures_of(project, "--store", server.url) == here

"""Paths of 4,000 bytes with hostile folder names, through every output, on a terminal and in a browser."""

from __future__ import annotations

import http.server
import itertools
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from conftest import Project, new_project
from hostile_names import NAMES
from terminals import on_a_terminal
from test_hostile import OBEYED, QUESTIONS
from test_view import browse, browser
from workers import keep_sockets_short

LONGEST = 4_000  # bytes: PATH_MAX is 4,096
LONGEST_NAME = 255  # bytes: NAME_MAX
OTHERS = [name for key, name in NAMES.items() if key != "255 bytes"]
OBEYED_BYTES = (
    b"\x1b[31mred",
    b"\x1b[2J",
    b"\x1b]8;",
    b"\x1b]52;",
    b"\x07",
    b"\x9b",
    b"\xc2\x9b",
    b"\xe2\x80\xae",
    b"\r\x00",
)


def folder_of_longest(top: bytes) -> bytes:
    """The folder below another in which `deep` has a path of `LONGEST` bytes; a last name makes up the length."""
    names = itertools.cycle(OTHERS)
    folder, full = top, LONGEST - len(b"/deep")
    while len(folder) + 1 + LONGEST_NAME < full:
        folder += b"/" + next(names)
    return folder + b"/" + b"x" * (full - len(folder) - 1)


def test_the_longest_path_has_names_that_fit() -> None:
    """Below a folder with a path of any length: it depends on the user's name, TMPDIR and the worker."""
    for length in range(1, LONGEST - LONGEST_NAME):
        path = folder_of_longest(b"/" * length) + b"/deep"
        assert len(path) == LONGEST
        assert max(map(len, path.split(b"/"))) <= LONGEST_NAME, length


def test_sockets_have_names_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """If TMPDIR has a long path, only the folders of tests are there."""
    monkeypatch.setattr("tempfile.tempdir", tempfile.tempdir)
    short, long = {"TMPDIR": "/scratch/me"}, {"TMPDIR": "/" + "t" * 199}
    for env in (short, long):
        keep_sockets_short(env, env["TMPDIR"])
    assert short == {"TMPDIR": "/scratch/me"}
    assert long == {"TMPDIR": "/tmp", "PYTEST_DEBUG_TEMPROOT": "/" + "t" * 199}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """`deep` with the longest path is the origin of `sum`, and that of `out` next to it; a second run is damaged."""
    project = new_project(tmp_path_factory.mktemp("paths"))
    folder = folder_of_longest(os.fsencode(project.path))
    os.makedirs(folder)
    (project.path / "folder").symlink_to(os.fsdecode(folder))
    Path(os.fsdecode(folder), "deep").write_bytes(b"1")
    deep, out = folder + b"/deep", folder + b"/out"
    assert len(deep) == LONGEST
    project.watch("bash", "-c", 'cat "$1" > sum; cp sum "$2"', "bash", deep, out)
    return project


def deep(project: Project) -> str:
    return os.readlink(project.path / "folder") + "/deep"


@pytest.mark.parametrize("question", [q for q in QUESTIONS if "junit" not in q], ids=" ".join)
def test_every_answer_holds_it(recorded: Project, question: list[str]) -> None:
    """No control character takes effect, nothing fails; also if such a path is the target."""
    for target in ("sum", deep(recorded)[:-4] + "out") if "{}" in question else ("",):
        done = recorded.provio(*(part.replace("{}", target) for part in question), code=None)
        assert done.returncode in (0, 1, 3), done.stderr
        assert "Traceback" not in done.stderr
        assert not OBEYED.search(done.stdout.replace("\r\n", "\n")), (target, question)
        assert not OBEYED.search(done.stderr), (target, question)


def test_its_lineage_is_known(recorded: Project) -> None:
    """Both ways, and every byte of the path comes back."""
    nodes = recorded.lineage("sum")["nodes"]
    paths = {unquote_to_bytes(n["pathEncoded"]) if "pathEncoded" in n else n.get("path", "").encode() for n in nodes}
    assert os.fsencode(deep(recorded)) in paths
    forward = recorded.provio("lineage", deep(recorded), "--forward", "--as", "json").stdout
    assert {node["path"].rpartition("/")[2] for node in json.loads(forward)["nodes"] if "path" in node} >= {
        "sum",
        "out",
    }


@pytest.mark.parametrize(
    "arguments",
    [("lineage", "sum", "--all"), ("why", "sum"), ("show", "last"), ("runs",), ("merge", "--rebuild"), ("verify",),
     ("query", "SELECT ?path { ?f provio:path ?path }"), ("lineage", "sum", "--paths"), ("impact", "folder/deep")],
    ids=" ".join,
)  # fmt: skip
def test_a_terminal_obeys_none_of_it(recorded: Project, arguments: tuple[str, ...]) -> None:
    """Return provio's own output to a terminal (colour, a line of progress), without any part of a name."""
    said = on_a_terminal(recorded, *arguments)
    assert said
    assert not [part for part in OBEYED_BYTES if part in said]
    assert b"Traceback" not in said


@pytest.mark.integration
def test_complaints_of_damage_on_a_terminal(recorded: Project, shim: Path) -> None:
    """A damaged run in a folder of such a name is named, and the name written out."""
    folder = recorded.path / os.fsdecode(NAMES["colours"] + NAMES["clipboard escape"])
    (folder / ".provio").mkdir(parents=True)
    there = Project(folder, recorded.env)
    there.provio("run", "--quiet", "--no-merge", "--", "cp", "../sum", "copy")
    next(folder.glob(".provio/runs/*/*/*.ttl")).write_bytes(b"no Turtle\n")
    said = on_a_terminal(there, "merge")
    assert b"damaged" in said and b"red" in said
    assert not [part for part in OBEYED_BYTES if part in said]


@pytest.fixture
def proxy() -> Iterator[tuple[int, list[str]]]:
    """A proxy on loopback that records its requests."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        do_CONNECT = do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, asked
    server.shutdown()
    thread.join()
    server.server_close()


PROBE = """<script>window.alert = () => { window.hurt = true; }; window.hurt = false;</script>"""
AFTER = """<script>setTimeout(() => {
  const made = document.querySelectorAll("img, iframe, object, embed, textarea, link[href], x").length;
  document.title = ["hurt", window.hurt, made, performance.getEntriesByType("resource").length].join(" ");
}, 2500);</script></body>"""


@pytest.mark.integration
@browser()
def test_a_browser_runs_none_of_it(recorded: Project, proxy: tuple[int, list[str]], tmp_path: Path) -> None:
    """The page of recorded names, drawn: no script of a name runs, no element is made of one, no request leaves."""
    port, asked = proxy
    for name in NAMES.values():
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"1")
    recorded.watch("bash", "-c", 'cat "$@" > all', "bash", *(os.fsencode(tmp_path) + b"/" + n for n in NAMES.values()))
    recorded.provio("view", "all", "-o", str(tmp_path / "drawn.html"))
    page = (tmp_path / "drawn.html").read_text(encoding="utf-8")
    page = page.replace("<head>", "<head>" + PROBE, 1).replace("</body>", AFTER, 1)
    (tmp_path / "browser").mkdir()
    dom = browse(page, tmp_path / "browser", "--dump-dom", f"--proxy-server=http://127.0.0.1:{port}").stdout
    assert "<title>hurt false 0 0</title>" in dom
    assert [path for path in asked if "google" not in path] == []  # Chromium itself requests the time there

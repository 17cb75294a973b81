"""Files of hostile names, used by real programs under `provio run`, come through every output as names and no more."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest
from conftest import Project
from hostile_names import NAMES

# Characters with an effect on a terminal: control characters except line ends and tabs, and marks of direction.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SPOKEN = {key: name.decode() for key, name in NAMES.items() if key not in ("C1 as a byte", "not UTF-8", "255 bytes")}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Each name a file that is read, the sum of all written as `sum`, from which each gets a copy; once, as one run."""
    folder = tmp_path_factory.mktemp("hostile") / "a\nb\x1b[31m"
    folder.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PROVIO", "LD_PRELOAD", "XDG_"))}
    env |= {
        "HOME": str(folder),
        "PROVIO_MERGE": "wait",
        "EBROOTX": SPOKEN["colours"] + SPOKEN["update"],
        "SLURM_X": SPOKEN["formula"],
    }
    project = Project(folder, env)
    (folder / "out").mkdir()
    for name in NAMES.values():
        (folder / os.fsdecode(name)).write_bytes(b"x")
    script = 'for f in "$@"; do cat ./"$f"; done > sum; for f in "$@"; do cp -- sum out/"$f"; done'
    run = ["run", "--quiet", "--name", "=evil", "--campaign", "@SUM(1)"]
    project.provio(*run, "--", "bash", "-c", script, "bash", *NAMES.values())
    assert not (folder / "pwned").exists()
    return project


TARGETS = ["sum", *(os.fsdecode(b"out/" + NAMES[key]) for key in ("bidi", "C1 as a byte"))]
QUESTIONS = [
    ["show", "last"],
    ["show", "last", "--as", "tsv"],
    ["show", "last", "--as", "json"],
    ["show", "last", "--as", "csv"],
    ["verify", "--as", "csv"],
    ["why", "{}", "--as", "csv"],
    ["impact", "{}", "--as", "tsv"],
    ["runs"],
    ["runs", "--as", "tsv"],
    ["runs", "--as", "json"],
    ["runs", "--as", "csv"],
    ["verify"],
    ["verify", "--as", "json"],
    ["validate"],
    ["validate", "--as", "json"],
    ["validate", "--as", "junit"],
    *(["lineage", "{}", "--all", "--as", form] for form in ("tree", "table", "json", "csv", "tsv", "dot", "ttl")),
    *(["lineage", "{}", *way] for way in (["--paths"], ["--roots"], ["--stale"], ["--forward"])),
    ["why", "{}"],
    ["impact", "{}"],
    *(["query", "SELECT * { ?s ?p ?o }", "--as", form] for form in ("table", "tsv", "json", "csv")),
    ["query", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"],
    ["query", "ASK { ?s ?p ?o }"],
    *(["export", "--as", form] for form in ("trig", "nquads", "ttl")),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
@pytest.mark.integration
def test_no_answer_holds_what_a_terminal_would_obey(recorded: Project, question: list[str]) -> None:
    """On a pipe no less than on a terminal; nor does a complaint."""
    for target in TARGETS if "{}" in question else TARGETS[:1]:
        done = recorded.provio(*(part.replace("{}", target) for part in question), code=None)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
        found = OBEYED.search(done.stdout.replace("\r\n", "\n")) or OBEYED.search(done.stderr)
        assert not found, (target, found, (done.stdout + done.stderr)[max(0, found.start() - 60) :][:120])
        assert done.stdout or question[0] == "lineage"


def test_every_name_comes_back_as_it_was(recorded: Project) -> None:
    """Return the path in JSON, or `pathEncoded` next to it if the path is not text."""
    nodes = recorded.lineage("sum", "--all")["nodes"]
    paths = {n["path"].encode() for n in nodes if "path" in n and "pathEncoded" not in n}
    paths |= {unquote_to_bytes(n["pathEncoded"]) for n in nodes if "pathEncoded" in n}
    assert {os.fsencode(recorded.path) + b"/" + name for name in NAMES.values()} <= paths


@pytest.mark.parametrize("form", ["trig", "nquads", "ttl"])
def test_an_export_says_the_same_to_whoever_reads_it(recorded: Project, form: str) -> None:
    """Names written out are the names; nothing was stated by one of them."""
    syntax = {"trig": ox.RdfFormat.TRIG, "nquads": ox.RdfFormat.N_QUADS, "ttl": ox.RdfFormat.TURTLE}[form]
    quads = list(ox.parse(recorded.provio("export", "--as", form).stdout.encode(), syntax))
    texts = {quad.object.value for quad in quads if isinstance(quad.object, ox.Literal)}
    assert {f"{recorded.path}/{name}" for name in SPOKEN.values()} <= texts
    assert not [quad for quad in quads if str(quad.subject).startswith("<x:")]


@pytest.mark.integration
def test_a_spreadsheet_takes_no_name_for_a_formula(recorded: Project) -> None:
    """In csv such a cell begins with an apostrophe; numbers stay numbers, and json and tsv the names themselves."""
    query = 'SELECT ?n { VALUES ?n { "=1+1" "+1" "-1" "@x" "\\tx" "\\rx" "a=1" -1 1.5 "|x" } }'
    text = recorded.provio("query", query, "--as", "csv", encoding=None).stdout
    cells = [row[0] for row in csv.reader(io.StringIO(text.decode(), newline=""))][1:]
    assert cells == ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "'\rx", "a=1", "-1", "1.5", "|x"]
    assert '"=1+1"' in recorded.provio("query", query, "--as", "tsv").stdout
    runs = list(csv.DictReader(io.StringIO(recorded.provio("runs", "--as", "csv").stdout)))
    assert (runs[0]["name"], runs[0]["campaign"]) == ("'=evil", "'@SUM(1)")
    told = json.loads(recorded.provio("runs", "--as", "json").stdout)[0]
    assert (told["name"], told["campaign"]) == ("=evil", "@SUM(1)")


@pytest.mark.slow
def test_names_are_found_by_name(recorded: Project) -> None:
    """A campaign, a run and a file with such a name are found by that name."""
    assert recorded.provio("runs", "--campaign", "@SUM(1)", "--name", "=evil").stdout.count("exit 0") == 1
    for key, name in NAMES.items():
        target = os.fsdecode(b"./out/" + name)
        assert "sum" in recorded.provio("lineage", target, "--as", "tree").stdout, key


@pytest.mark.integration
def test_a_campaign_cannot_end_its_query(recorded: Project) -> None:
    """An argument is a text and not SPARQL."""
    for text in ('x" } } #', SPOKEN["update"], SPOKEN["backslashes"], SPOKEN["newline"], "\udcff"):
        assert recorded.provio("runs", "--campaign", text, code=3).stdout == ""
        assert recorded.provio("show", text, code=3).stdout == ""
        assert recorded.provio("lineage", "https://x/" + text, code=3).stdout == ""


@pytest.mark.integration
def test_junit_and_dot_are_what_they_say(recorded: Project) -> None:
    """XML that is read as such; quotes in a graph's labels that do not end them."""
    ElementTree.fromstring(recorded.provio("validate", "--as", "junit").stdout)
    dot = recorded.provio("lineage", "sum", "--as", "dot").stdout
    assert re.sub(r'"(?:[^"\\]|\\.)*"', "", dot).isascii()
    assert not re.search(r"script|alert|INSERT", re.sub(r'"(?:[^"\\]|\\.)*"', "", dot))


@pytest.mark.integration
def test_the_page_holds_names_as_text(recorded: Project) -> None:
    """The page contains only its own elements, for any names of files (test_page draws such a page in a browser)."""
    output = recorded.path / "page.html"
    recorded.provio("view", "sum", "-o", str(output))
    page = output.read_text(encoding="utf-8")
    assert not re.search(r"<script>alert|<img src=x|</textarea>|<x/>", page)

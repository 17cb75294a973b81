"""The verbs as people type them: answers on stdout, one clear line on stderr, and the documented exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import terminals
from conftest import ROOT, Project, give_away, provio_command

from provio.cli import verbs


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of an error."""
    assert done.stdout == ""
    assert done.stderr.startswith("provio: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def recorded(project: Project) -> Project:
    """A project with one run: b was copied from a."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--name", "first", "--", "cp", "a", "b")
    return project


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["config", "set", "zzz", "1"], "no key 'zzz' (provio config lists all)"),
        (["config", "set", "record", "zzz"], "record: 'zzz' is not allowed (provio config lists all)"),
        (["stats", "--by", "fil"], "--by: 'fil' is not allowed: did you mean 'file'?"),
        (["runs", "--as", "cvs"], "--as: 'cvs' is not allowed (known: table, json, csv, tsv)"),
        (
            ["export", "--as", "nquad"],
            "--as: 'nquad' is not allowed: did you mean 'nquads'?",
        ),
        (
            ["run", "--record", "lst", "true"],
            "--record: 'lst' is not allowed: did you mean 'list'? (provio config lists all)",
        ),
    ],
)
def test_of_many_words_a_complaint_names_the_nearest_and_where_all_are(
    project: Project, arguments: list[str], said: str
) -> None:
    """The message lists the allowed words only if there are few."""
    done = project.provio(*arguments, code=125 if arguments[0] == "run" else 2)
    assert done.stderr.removeprefix("provio: ").startswith(said)
    assert len(done.stderr) < 160


@pytest.mark.parametrize(
    "arguments", [("--no-such",), ("no-such-verb",), ("lineage",), ("lineage", "--as", "pdf", "x"), ("query",)]
)
def test_wrong_calls(project: Project, arguments: tuple[str, ...]) -> None:
    """An unknown option or verb, a missing argument, a wrong choice: exit 2."""
    complaint(project.provio(*arguments, code=2))


@pytest.mark.parametrize("verb", verbs.names())
@pytest.mark.integration
def test_every_verb_is_listed(project: Project, verb: str) -> None:
    """Its help has an example, the help of all lists it, and so does the README's table."""
    shown = " ".join(project.provio(verb, "--help").stdout.split())
    assert re.search(rf"Example: provio {verb}\b", shown)
    assert re.search(rf"(?m)^  {verb} +\S", project.provio("help", "--all").stdout)
    assert f"`provio {verb}" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.integration
def test_no_store(tmp_path: Path) -> None:
    """No .provio here or above: exit code 3 and a remedy."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PROVIO")}
    for arguments in (["lineage", "x"], ["runs"], ["query", "ASK {}"], ["merge"], ["export"]):
        done = subprocess.run(
            [*provio_command(), *arguments], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 3
        assert "provio run" in complaint(done)


def test_nothing_recorded_yet(project: Project) -> None:
    """A .provio without a run: exit 3."""
    assert "provio run" in complaint(project.provio("lineage", "x", code=3))


@pytest.mark.integration
def test_an_unknown_file(recorded: Project) -> None:
    """A file that no run saw, there or not: exit 3, and its name."""
    recorded.sh("echo 2 > c")
    for name in ("c", "never-there"):
        assert name in complaint(recorded.provio("lineage", name, code=3))


@pytest.mark.integration
def test_an_empty_name_is_no_file(recorded: Project) -> None:
    """Exit 3, and a line that fits every verb."""
    for verb in ("lineage", "why", "impact"):
        assert complaint(recorded.provio(verb, "", code=3)) == "provio: the file name is empty: give a name\n"


@pytest.mark.integration
def test_a_slash_behind_a_files_name(recorded: Project) -> None:
    """It is the file, as it is now: not one that is no longer there."""
    assert recorded.provio("lineage", "b/").stdout == recorded.provio("lineage", "b").stdout


@pytest.mark.integration
def test_a_changed_file_is_reported(recorded: Project) -> None:
    """A file that was changed since: the result is about the newest recorded version, with a message."""
    recorded.sh("echo more >> b")
    said = "changed since it was recorded at 20"
    assert said in recorded.provio("lineage", "b").stdout
    assert said in recorded.lineage("b")["changed"]
    assert said in recorded.provio("lineage", "b", "--as", "table").stderr
    recorded.sh("rm b")
    assert "no longer there" in recorded.provio("lineage", "b").stdout


@pytest.mark.parametrize(
    "question", ["SELECT ?x WHERE {", "no-such-file.rq", "SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }"]
)
def test_bad_questions(recorded: Project, question: str) -> None:
    """Text that is neither SPARQL nor a file, or that would query another server: exit code 1."""
    complaint(recorded.provio("query", question, code=1))


@pytest.mark.integration
def test_unknown_runs(recorded: Project) -> None:
    """A run that is not there: exit 3."""
    for arguments in (("show", "nope"), ("export", "nope"), ("merge", "nope")):
        assert "nope" in complaint(recorded.provio(*arguments, code=3))


@pytest.mark.integration
def test_an_empty_argument_is_not_everything(recorded: Project) -> None:
    """As of a variable of a script that was not set: no run, no version, no question has that name."""
    for arguments in (("export", ""), ("validate", ""), ("show", ""), ("lineage", "b", "--run", "")):
        assert "no run ''" in complaint(recorded.provio(*arguments, code=3))
    assert "no query" in complaint(recorded.provio("query", " ", code=1))


@pytest.mark.integration
def test_the_store_of_another_user(recorded: Project) -> None:
    """A .provio that belongs to another user is not used silently."""
    give_away(recorded.path / ".provio")
    assert "PROVIO_HOME=" in complaint(recorded.provio("lineage", "b", code=1))
    recorded.env["PROVIO_HOME"] = str(recorded.path / ".provio")
    assert recorded.data("b") == {"a"}


def test_a_newer_store(recorded: Project) -> None:
    """A store of a newer version is refused, and stays as it is."""
    (recorded.path / ".provio" / "store.version").write_text("99\n")
    assert "update provio" in complaint(recorded.provio("lineage", "b", code=1))


def test_lineage_as_tree(recorded: Project) -> None:
    """The tree names the file, the program, its command line, and the sources."""
    lines = recorded.provio("lineage", "b").stdout.splitlines()
    assert lines[0].startswith("b")
    assert lines[1].startswith("│ cp  20")
    assert lines[2] == "│ $ cp a b"
    assert lines[3].startswith("└─ a")


def test_lineage_as_json_keeps_the_contract(recorded: Project) -> None:
    """Target, nodes, edges, gaps, hidden, as documented."""
    document = recorded.lineage("b")
    assert {"target", "nodes", "edges", "gaps", "hidden"} <= document.keys()
    nodes = {node["iri"]: node for node in document["nodes"]}
    assert nodes[document["target"]]["path"] == str(recorded.path / "b")
    assert sorted(node["type"] for node in nodes.values()) in (
        ["Copy", "FileVersion", "FileVersion", "Program"], ["FileVersion", "FileVersion", "Phase", "Program"],
    )  # fmt: skip
    for edge in document["edges"]:
        assert edge["subject"] in nodes
        assert edge["object"] in nodes


@pytest.mark.parametrize("form", ["table", "dot", "ttl"])
def test_lineage_in_other_forms(recorded: Project, form: str) -> None:
    """Every form names both files."""
    out = recorded.provio("lineage", "b", "--as", form).stdout
    assert "a" in out
    assert "b" in out


@pytest.mark.integration
def test_depth_bounds_the_steps(recorded: Project) -> None:
    """--depth 1 shows only the direct inputs of a file."""
    recorded.watch("cp", "b", "c")
    assert recorded.data("c") == {"a", "b"}
    assert recorded.data("c", "--depth", "1") == {"b"}


@pytest.mark.integration
def test_query_forms(recorded: Project) -> None:
    """SELECT as json, csv, tsv and table; ASK; CONSTRUCT as Turtle; a file of SPARQL."""
    question = 'SELECT ?p WHERE { ?f a provio:File ; provio:path ?p . FILTER(STRENDS(?p, "/a")) }'
    path = str(recorded.path / "a")
    assert recorded.rows(question) == [{"p": path}]
    assert recorded.provio("query", question, "--as", "csv").stdout.split() == ["p", path]
    assert path in recorded.provio("query", question, "--as", "tsv").stdout
    assert path in recorded.provio("query", question, "--as", "table").stdout
    assert recorded.provio("query", "ASK { ?r a provio:Run }").stdout == "true\n"
    made = recorded.provio("query", "CONSTRUCT { ?r a provio:Run } WHERE { ?r a provio:Run }").stdout
    assert "a provio:Run" in made
    (recorded.path / "q.rq").write_text(question)
    assert path in recorded.provio("query", "q.rq").stdout


@pytest.mark.integration
def test_runs_and_show(recorded: Project) -> None:
    """`runs` lists runs; `show` prints the command, its end, its reads and writes."""
    row = json.loads(recorded.provio("runs", "--as", "json").stdout)[0]
    assert (row["name"], row["command"], row["end"]) == ("first", "cp a b", "exit 0")
    for name in ("last", "first", row["run"], row["run"][:20]):
        shown = recorded.provio("show", name).stdout
        assert "command  cp a b" in shown
        assert re.findall(r"(?m)^(read|wrote) .* /.*/(\w+)$", shown) == [("wrote", "b"), ("read", "a")]


@pytest.mark.integration
def test_runs_with_a_campaign_fit_80_columns(recorded: Project) -> None:
    """The campaign is left out before an id or a time is cut: an id must be copied."""
    for name in ("a-long-campaign-2026", "another-campaign-2026"):
        recorded.provio("run", "--quiet", "--campaign", name, "--name", f"the-run-of-{name}", "--", "true")
    wide = terminals.on_a_terminal(recorded, "runs", columns=200).decode()
    assert "campaign" in wide.splitlines()[0]
    lines = terminals.on_a_terminal(recorded, "runs", columns=80).decode().splitlines()
    ids = [row["run"] for row in json.loads(recorded.provio("runs", "--as", "json").stdout)]
    assert "campaign" not in lines[0] and max(map(len, lines)) <= 80
    for line, run in zip(lines[2:], ids, strict=False):
        short, day, time = line.split()[:3]
        assert run.startswith(short) and re.fullmatch(r"\d{4}-\d\d-\d\d", day) and re.fullmatch(r"\d\d:\d\d", time)


def test_an_empty_list_of_relocations(recorded: Project) -> None:
    assert recorded.provio("relocate").stderr == "no relocations\n"


def test_long_notes_and_parameters_fit_the_terminal(recorded: Project) -> None:
    """A note continues on next lines, whole; a list of parameters ends with a value."""
    text = " ".join(f"word{n}" for n in range(60))
    recorded.provio("note", "last", text)
    shown = terminals.on_a_terminal(recorded, "note", "last", columns=80).decode().splitlines()
    assert max(map(len, shown)) <= 80 and " ".join(" ".join(shown[1:]).split()) == text
    values = "{" + ", ".join(f"'parameter{n}': {n}.25" for n in range(8)) + "}"
    program = f"import provio; provio.configuration({values}, name='settings-of-this'); open('made', 'w').write('x')"
    recorded.watch(sys.executable, "-c", program)
    for call, start in ((("show", "last"), "config "), (("show", "made"), "params ")):
        lines = terminals.on_a_terminal(recorded, *call, columns=80).decode().splitlines()
        line = next(line for line in lines if line.startswith(start))
        assert len(line) <= 80 and re.search(r"parameter\d \d\.25 …$", line)


def test_view_writes_one_offline_page(recorded: Project) -> None:
    """A page for a file and one for a run; nothing is fetched; correct under LC_ALL=C."""
    recorded.sh("printf 1 > 'naïve ☃'")
    recorded.watch("cp", "naïve ☃", "copy")
    recorded.env["LC_ALL"] = "C"
    recorded.provio("view", "copy", "-o", "file.html")
    recorded.provio("view", "last", "-o", "run.html")
    for name in ("file.html", "run.html"):
        page = (recorded.path / name).read_text(encoding="utf-8")
        assert "naïve ☃" in page or "na\\u00efve \\u2603" in page
        assert 'src="http' not in page
    assert "/nowhere/x.html" in complaint(recorded.provio("view", "copy", "-o", "/nowhere/x.html", code=1))


@pytest.mark.integration
def test_the_home_is_kept_out_of_the_way(recorded: Project) -> None:
    """`.provio` is ignored by git, tagged for backups, closed to others, and not part of any lineage."""
    home = recorded.path / ".provio"
    assert (home / ".gitignore").read_text() == "*\n"
    assert (home / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    recorded.run("cat .provio/runs/*/run.ttl > copy")
    assert recorded.count('?f provio:path ?p . FILTER(CONTAINS(?p, "/.provio/"))') == 0


@pytest.mark.integration
def test_provio_home_is_used_from_anywhere(recorded: Project, tmp_path: Path) -> None:
    """PROVIO_HOME names the record in any current folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    recorded.env["PROVIO_HOME"] = str(recorded.path / ".provio")
    done = recorded.provio("lineage", str(recorded.path / "b"), cwd=elsewhere)
    assert "cp" in done.stdout
    del recorded.env["PROVIO_HOME"]
    assert "cp" in recorded.provio("lineage", str(recorded.path / "b"), cwd=elsewhere).stdout


def test_nothing_of_the_project_is_left_after_rm(recorded: Project) -> None:
    """The record is one folder: without it, nothing is known."""
    shutil.rmtree(recorded.path / ".provio")
    assert complaint(recorded.provio("lineage", "b", code=3)) == (
        "provio: no .provio here or above: use provio run -- COMMAND, or set PROVIO_HOME\n"
    )


@pytest.mark.integration
def test_a_query_loads_only_needed_modules(recorded: Project) -> None:
    """A query on one file does not load slow modules that it does not need."""
    recorded.provio("lineage", "b")  # merges pending runs
    script = "import sys; sys.argv[1:] = ['lineage', 'b']; from provio.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script], cwd=recorded.path, env=recorded.env, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert {"provio.ask.lineage", "provio.render.tree"} <= loaded
    expensive = {
        "provio.trace.facts",
        "provio.merge.runs",
        "provio.graph.run",
        "provio.render.table",
        "subprocess",
        "socket",
        "rdflib",
    }
    assert expensive & loaded == set()

"""Queries with time and scope on real commands: versions, runs, depth, makers, and products to make again."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, provio_command
from filesystems import need_attributes

from provio.ask import paths
from provio.ask.document import Lineage, LineageDocument
from provio.ask.earlier import versions_at_name
from provio.base import times
from provio.base.turtle import literal
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

pytestmark = pytest.mark.integration


def named(project: Project, document: dict[str, Any], nodes: list[dict[str, Any]] | None = None) -> list[str]:
    """The names of a document's files, relative to the project, sorted."""
    files = [node for node in nodes or document["nodes"] if node["type"] == "FileVersion"]
    return sorted(os.path.relpath(node["path"], project.path) for node in files)


def moment() -> str:
    """This instant, as --at reads it; the clock goes on a little before and after it."""
    time.sleep(0.05)
    now = datetime.now(UTC).isoformat()
    time.sleep(0.05)
    return now


def read(project: Project, target: str, *options: str) -> list[str]:
    """The files that a target comes from, without itself, by name."""
    document = project.lineage(target, *options)
    asked = document.get("targets", [document["target"]])
    return named(project, document, [node for node in document["nodes"] if node["iri"] not in asked] or [{"type": ""}])


@pytest.fixture
def pipeline(project: Project) -> Project:
    """a → b → c ← k, then d from c and a: three runs, of two campaigns, one of them with a name."""
    project.sh("echo 1 > a; echo 2 > k")
    project.provio("run", "--quiet", "--campaign", "one", "--", "sh", "-c", "sort a > b")
    project.provio("run", "--quiet", "--campaign", "one", "--name", "join", "--", "sh", "-c", "cat b k > c")
    project.provio("run", "--quiet", "--campaign", "two", "--", "sh", "-c", "cat c a > d")
    return project


NOW = datetime(2026, 11, 20, 12, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("now", "2026-11-20T12:30:15"),
        ("2 hours ago", "2026-11-20T10:30:15"),
        ("an hour ago", "2026-11-20T11:30:15"),
        ("90 min ago", "2026-11-20T11:00:15"),
        ("3 weeks ago", "2026-10-30T12:30:15"),
        ("yesterday", "2026-11-19T22:59:59.999999"),
        ("Today", "2026-11-20T22:59:59.999999"),
        ("2026-11-18", "2026-11-18T22:59:59.999999"),
        ("12:15", "2026-11-20T11:15:00"),
        ("2026-11-20T12:15", "2026-11-20T11:15:00"),
        ("2026-11-20 12:15:30.5", "2026-11-20T11:15:30.500000"),
        ("2026-11-20T12:15Z", "2026-11-20T12:15:00"),
        ("2026-11-20T12:15-05:00", "2026-11-20T17:15:00"),
        ("2026-11-20 12:15 UTC", "2026-11-20T12:15:00"),
        ("2026-11-20 12:15:30 utc", "2026-11-20T12:15:30"),
    ],
)
def test_times(monkeypatch: pytest.MonkeyPatch, text: str, found: str) -> None:
    """A time without a zone is local time (here an hour ahead of UTC), and a date is the end of its day."""
    monkeypatch.setenv("TZ", "Etc/GMT-1")
    time.tzset()
    try:
        assert times.moment(text, NOW) == datetime.fromisoformat(found + "+00:00")
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "25:00",
        "12:15 UTC",
        "2026-11-20 UTC",
        "2026-13-01",
        "tomorrow ago",
        "-3 days ago",
        "9999999999 weeks ago",
    ],
)
def test_what_is_no_time(project: Project, text: str) -> None:
    """A bad time is a usage error with examples of correct times."""
    done = project.provio("lineage", "x", "--at", text, code=2)
    assert done.stderr.startswith("provio: --at: ")
    assert "use 12:15, yesterday, " in done.stderr
    assert done.stderr.count("\n") == 1


def test_at_a_time_and_of_a_run(project: Project) -> None:
    """The version of then: by time, by the run that made it, by the run that used it."""
    project.sh("echo 1 > one; echo 2 > two")
    before = moment()
    project.provio("run", "--quiet", "--name", "first", "--", "cp", "one", "out")
    between = moment()
    project.provio("run", "--quiet", "--name", "second", "--", "cp", "two", "out")
    project.provio("run", "--quiet", "--name", "third", "--", "cp", "out", "last")
    assert read(project, "out") == ["two"]
    assert read(project, "out", "--at", between) == ["one"]
    assert read(project, "out", "--at", "now") == ["two"]
    assert read(project, "out", "--run", "first") == ["one"]
    assert read(project, "out", "--run", "second") == ["two"]
    assert read(project, "out", "--run", "third") == ["two"]
    assert read(project, "out", "--at", between, "--forward") == []
    assert read(project, "out", "--run", "second", "--forward") == ["last"]
    early = project.provio("lineage", "out", "--at", before, code=3).stderr
    assert re.fullmatch(r"provio: nothing is recorded of \S+/out as early as \S+ \S+ UTC; its first .* UTC\n", early)
    neither = project.provio("lineage", "last", "--run", "first", code=3).stderr
    assert re.fullmatch(r"provio: run \S+ neither made nor used \S+/last: provio show \S+ lists its files\n", neither)
    assert "no run 'nope'" in project.provio("lineage", "out", "--run", "nope", code=3).stderr
    both = project.provio("lineage", "out", "--run", "first", "--at", "now", code=2).stderr
    assert both.startswith("provio: --at and --run both select a version")


def test_at_follows_names(project: Project) -> None:
    """A file renamed into place exists from the rename on, not from its writing; a deleted one no longer exists."""
    project.sh("echo 1 > one; echo 2 > two")
    project.watch("cp", "one", "x")
    project.watch("cp", "two", "x.new")
    written = moment()
    project.watch("mv", "x.new", "x")
    renamed = moment()
    project.watch("rm", "x")
    assert read(project, "x", "--at", written) == ["one"]
    assert read(project, "x.new", "--at", written) == ["two"]
    assert read(project, "x", "--at", renamed) == ["two"]
    assert "changed" not in project.lineage("x", "--at", renamed)
    gone = project.lineage("x.new", "--at", renamed)["changed"]
    assert re.fullmatch(r"no longer there by then: renamed at \S+ \S+ UTC", gone)
    assert read(project, "x", "--at", "now") == ["two"]
    deleted = project.lineage("x", "--at", "now")["changed"]
    assert re.fullmatch(r"no longer there by then: deleted at \S+ \S+ UTC", deleted)


def test_times_that_were_set_count_from_then(project: Project) -> None:
    """A copy with the old times of its source (cp -p) is there from the copying on."""
    project.sh("echo 1 > one; touch -d '2020-01-01' one; echo 2 > two")
    project.watch("cp", "two", "x")
    before = moment()
    project.watch("cp", "-p", "one", "x")
    assert read(project, "x", "--at", before) == ["two"]
    assert "one" in read(project, "x", "--at", "now")


def test_roots(pipeline: Project) -> None:
    """Only files that no recorded program made, without the paths between; an end by --depth is not a root."""
    document = pipeline.lineage("d", "--roots")
    assert named(pipeline, document) == ["a", "d", "k"]
    assert document["edges"] == []
    assert document["only"] == "roots"
    assert named(pipeline, pipeline.lineage("d", "--roots", "--depth", "1")) == ["a", "d"]
    assert pipeline.provio("lineage", "d", "--roots").stdout == "d  6 B\n├─ a  2 B\n└─ k  2 B\n"
    assert "dotted" in pipeline.provio("lineage", "d", "--roots", "--as", "dot").stdout
    pipeline.watch("sh", "-c", "echo > alone")
    alone = pipeline.provio("lineage", "alone", "--roots").stdout.splitlines()
    assert alone[1].strip() == "no primary source: recorded programs made it from nothing else"
    assert "omit --forward" in pipeline.provio("lineage", "a", "--forward", "--roots", code=2).stderr
    assert "exclude each other" in pipeline.provio("lineage", "a", "--stale", "--roots", code=2).stderr


def test_an_answer_without_roots_states_its_limits(pipeline: Project) -> None:
    """It does not state that programs made a file from nothing else if the query omits the sources, or if these are
    hidden, or in the folder of the file."""

    def statement(*arguments: str) -> str:
        return pipeline.provio("lineage", "--roots", *arguments).stdout.splitlines()[1].strip()

    pipeline.watch("cp", "b", "copy")
    limit = "the files beyond --until were not followed"
    assert statement("copy", "--until", "b") == f"no primary source was found: {limit}"
    limit = "the files beyond --depth 1 were not followed"
    assert statement("copy", "--depth", "1") == f"no primary source was found: {limit}"
    assert pipeline.lineage("copy", "--roots", "--depth", "1")["limits"] == [limit]
    assert statement("a") == "no primary source was found: a has no recorded origin"
    assert statement("copy", "--level", "folder") == "all sources are in the same folder"

    git = "git -c user.name=ada -c user.email=ada@host"
    pipeline.sh(f"mkdir work; cd work; git init -q; echo 1 > x; git add x; {git} commit -qm x; rm x")
    pipeline.watch("git", "-C", "work", "checkout", "-q", "x")
    assert statement("work/x") == "no primary source except system files, which are hidden"


def test_paths(pipeline: Project) -> None:
    """Each path, backward and forward, one per line; limited on request, with a note; the same in JSON."""
    ways = ["d ← cat ← a", "d ← cat ← c ← cat ← b ← sort ← a", "d ← cat ← c ← cat ← k"]
    assert pipeline.provio("lineage", "d", "--paths").stdout.splitlines() == ways
    assert pipeline.provio("lineage", "d", "--paths", "--most", "1").stdout.splitlines() == [
        ways[0],
        "2 more ways (--most)",
    ]
    assert pipeline.provio("lineage", "a", "--paths", "--forward").stdout.splitlines() == [
        "a → cat → d",
        "a → sort → b → cat → c → cat → d",
    ]
    document = pipeline.lineage("d", "--paths")
    nodes = {node["iri"]: node["label"] for node in document["nodes"]}
    assert [[nodes[iri] for iri in way] for way in document["paths"]] == [
        ["d", "cat", "a"],
        ["d", "cat", "c", "cat", "b", "sort", "a"],
        ["d", "cat", "c", "cat", "k"],
    ]
    assert document["ways"] == 3
    table = pipeline.provio("lineage", "d", "--paths", "--as", "table").stdout.splitlines()
    assert [line.split()[:2] for line in table[2:]] == [["1", "1"], ["2", "3"], ["3", "2"]]


def test_paths_say_how(project: Project) -> None:
    """Carried inputs and kept versions are on the path; a pipe between programs is not."""
    project.sh("echo 1 > a; echo 2 > b")
    project.watch("python3", "-c", "open('x','w').write(open('a').read()); open('y','w').write(open('b').read())")
    ways = project.provio("lineage", "y", "--paths").stdout.splitlines()
    name = ways[0].split()[2]
    assert ways[:2] == [f"y ← {name} ← b", f"y ← {name} (carried) ← a"]
    assert all(re.fullmatch(r"\d+ system files? hidden \(--all\)", line) for line in ways[2:])
    project.run("cat a | tr 1 2 > z")
    assert project.provio("lineage", "z", "--paths").stdout == "z ← tr ← cat ← a\n"
    project.run("cat a > log")
    project.run("cat b >> log")
    assert project.provio("lineage", "log", "--paths").stdout.splitlines() == ["log ← log ← cat ← a", "log ← cat ← b"]


def test_paths_through_code(project: Project) -> None:
    """With --code, the origins of a program are a path, too."""
    project.sh("echo 1 > a; printf '#!/bin/sh\\nsort \"$1\"\\n' > template")
    project.run("cat template > tool; chmod +x tool")
    project.run("./tool a > x; true")
    ways = [
        line for line in project.provio("lineage", "x", "--paths", "--code").stdout.splitlines() if "hidden" not in line
    ]
    assert ways[0] == "x ← sort ← a"
    assert ways[1].endswith(" ← tool (code) ← cat ← template (code)")
    assert len(ways) == 2


def lattice(levels: int) -> LineageDocument:
    """A document of 2 ** levels ways: at each level two files, each made from both of the next."""
    document = LineageDocument(
        target="f:0:0", nodes=[], edges=[], gaps=[], hidden=0, control=0, direction="backward"
    )  # fmt: skip
    for level in range(levels + 1):
        for side in (0, 1):
            file, process = f"f:{level}:{side}", f"p:{level}:{side}"
            document["nodes"].append({"iri": file, "type": "FileVersion", "label": file, "path": "/" + file})
            if level < levels:
                document["nodes"].append({"iri": process, "type": "Phase", "label": "p"})
                document["edges"].append({"subject": file, "predicate": "x#wasGeneratedBy", "object": process})
                document["edges"] += [
                    {"subject": process, "predicate": "x#used", "object": f"f:{level + 1}:{other}"} for other in (0, 1)
                ]
    return document


def test_exponentially_many_ways_do_not_hang() -> None:
    """2 ** 1000 ways are counted at once, and the first of them shown; roots are found without walking them."""
    document = paths.with_paths(lattice(1000), 2)
    assert document["ways"] == 2**1000
    assert [len(way) for way in document["paths"]] == [2001, 2001]
    assert paths.ends(document) == ["f:1000:0", "f:1000:1"]


def test_paths_end_where_a_graph_goes_round() -> None:
    """A circle, which no merged graph has, is walked once."""
    document = lattice(1)
    document["edges"].append({"subject": "f:1:0", "predicate": "x#wasRevisionOf", "object": "f:0:0"})
    ways = paths.Ways(Lineage(document))
    assert list(paths.each(ways)) == [["f:0:0", "p:0:0", "f:1:0", "f:0:0"], ["f:0:0", "p:0:0", "f:1:1"]]
    assert paths.count(ways) == 2


def test_until(pipeline: Project) -> None:
    """A matching file is shown and ends its path; other paths continue; a pattern without a match is reported."""
    assert read(pipeline, "d", "--until", "c") == ["a", "c"]
    assert read(pipeline, "d", "--until", "b", "--until", "[k]") == ["a", "b", "c", "k"]
    assert read(pipeline, "c", "--until", "./b") == ["b", "k"]
    assert read(pipeline, "c", "--until", f"{pipeline.path}/*") == ["b", "k"]
    assert read(pipeline, "a", "--forward", "--until", "b") == ["b", "d"]
    pipeline.run("mkdir '[x]'; cat a > '[x]/f'; cat '[x]/f' > '[x]/g'")
    odd = pipeline.provio("lineage", "g", "--until", "./f", cwd=pipeline.path / "[x]")
    assert (odd.stdout.splitlines()[-1].split()[1], odd.stderr) == ("f", "")
    done = pipeline.provio("lineage", "d", "--until", "*.h5")
    assert done.stdout == pipeline.provio("lineage", "d").stdout
    assert done.stderr.startswith("provio: --until *.h5: no file on the way matches")


def test_several_targets(pipeline: Project) -> None:
    """One document for all; a single target keeps the format; an unknown one is reported, the others are answered."""
    document = pipeline.lineage("b", "k")
    nodes = {node["iri"]: node for node in document["nodes"]}
    assert [nodes[iri]["label"] for iri in document["targets"]] == ["b", "k"]
    assert document["target"] == document["targets"][0]
    assert named(pipeline, document) == ["a", "b", "k"]
    assert [nodes[iri]["depth"] for iri in document["targets"]] == [0, 0]
    done = pipeline.provio("lineage", "b", "nope", "k", "--as", "json", code=3)
    assert json.loads(done.stdout) == document
    assert done.stderr.startswith("provio: nothing is recorded of nope: ")
    assert "targets" not in pipeline.lineage("b")
    lines = pipeline.provio("lineage", "b", "k").stdout.splitlines()
    assert [lines[0], lines[3:]] == ["b  2 B", ["└─ a  2 B", "", "k  2 B", "  no recorded origin"]]
    assert pipeline.provio("lineage", "n1", "n2", code=3).stdout == ""
    pipeline.provio("view", "b", "k", "-o", "page.html")
    assert "b, k" in (pipeline.path / "page.html").read_text(encoding="utf-8")


def test_targets_in_two_projects(pipeline: Project, tmp_path: Path) -> None:
    """Files of two projects have two records, and need separate queries."""
    (tmp_path / "other" / ".provio").mkdir(parents=True)
    done = pipeline.provio("lineage", "b", str(tmp_path / "other" / "x"), code=2)
    assert "use one at a time" in done.stderr


def test_changed_targets_say_so_each(pipeline: Project) -> None:
    """With several targets, each has its own note that it is not the current version."""
    pipeline.sh("echo more >> b")
    nodes = {node["label"]: node for node in pipeline.lineage("b", "k")["nodes"]}
    assert nodes["b"]["changed"].startswith("changed since it was recorded at 20")
    assert "changed" not in nodes["k"]
    assert "! changed since it was recorded" in pipeline.provio("lineage", "b", "k").stdout


def stale(project: Project, target: str, *options: str) -> list[tuple[str, str, str]]:
    """Return the stale products: (product, input, reason)."""
    document = project.lineage(target, "--stale", *options)
    names = {node["iri"]: node["label"] for node in document["nodes"]}
    return sorted((names[one["product"]], os.path.basename(one["path"]), one["reason"]) for one in document["stale"])


def test_stale(pipeline: Project) -> None:
    """Products of another version than the current one, and their products; forward the same."""
    assert stale(pipeline, "d") == []
    assert "nothing is stale" in pipeline.provio("lineage", "d", "--stale").stdout
    pipeline.sh("echo 3 > k")
    assert stale(pipeline, "d") == [("c", "k", "changed"), ("d", "c", "stale")]
    assert stale(pipeline, "k", "--forward") == [("c", "k", "changed"), ("d", "c", "stale")]
    assert stale(pipeline, "a", "--forward") == []
    assert stale(pipeline, "b") == []
    document = pipeline.lineage("d", "--stale")
    assert named(pipeline, document) == ["c", "d", "k"]
    shown = pipeline.provio("lineage", "d", "--stale").stdout
    assert "! stale: k (not compared by content) changed " in shown
    assert "! stale: c is stale\n" in shown
    assert "stale: " in pipeline.provio("lineage", "d", "--stale", "--as", "table").stdout
    assert "color=red" in pipeline.provio("lineage", "d", "--stale", "--as", "dot").stdout
    pipeline.watch("sh", "-c", "cat b k > c")
    assert stale(pipeline, "c") == []
    assert stale(pipeline, "d") == [("d", "c", "changed")]
    pipeline.watch("sh", "-c", "cat c a > d")
    assert stale(pipeline, "d") == []
    assert stale(pipeline, "k", "--forward") == []


@pytest.mark.integration
def test_stale_through_a_file_whose_times_were_set(project: Project) -> None:
    """A product of a file whose times were set after it was written (pigz, tar) is stale in both directions."""
    project.run("echo 1 > a; cat a > m; touch -d @1000000000 m; touch -d @1000000001 m; cat m > x")
    project.sh("echo 2 > a")
    expected = [("m", "a", "changed"), ("x", "m", "stale")]
    assert stale(project, "x") == stale(project, "a", "--forward") == expected
    assert "\u2500 x  2 B" in project.provio("lineage", "a", "--forward", "--stale").stdout


@pytest.mark.integration
def test_a_process_that_replaces_its_own_output_makes_nothing_stale(project: Project) -> None:
    """An output that its process reads and then replaces (the header of a file that it is still writing) is no input
    that has changed; the inputs of the process are."""
    project.sh("echo 1 > a")
    program = """open("h", "w").write(open("a").read())
open("x", "w").write(open("h").read())
open("h", "w").write("2")"""
    project.watch("python3", "-c", program)
    project.run("cat x > y")
    assert stale(project, "y") == stale(project, "a", "--forward") == []
    project.sh("echo 2 > a")
    assert stale(project, "y") == [("x", "a", "changed"), ("y", "x", "stale")]
    project.sh("cat y > h")
    assert stale(project, "y") == [("x", "a", "changed"), ("x", "h", "changed"), ("y", "x", "stale")]


@pytest.mark.integration
def test_no_reassurance_about_programs(project: Project) -> None:
    """A product of a script that was made from something has no other primary source as data, and the answer states
    that there are some with `--code`; it is stale if the script, or a source of the script, changed."""
    project.sh("echo 1 > a; echo echo 2 > t")
    project.run("sed 's/^/echo /' a > s; sh s > x; sh t > y; echo 3 > z")
    sources = "no primary source among the inputs, but programs that ran have sources (--code)"
    assert sources in project.provio("lineage", "x", "--roots").stdout
    assert "code" in project.lineage("x", "--roots")
    assert "made it from nothing else" in project.provio("lineage", "z", "--roots").stdout
    for name in "xyz":
        assert "nothing is stale" in project.provio("lineage", name, "--stale").stdout
    project.sh("echo 2 > a; echo echo 4 > t")
    limit = "no recorded input has changed, but programs and modules were not compared (--no-code)"
    for name in "xy":
        assert stale(project, name, "--no-code") == []
        assert limit in project.provio("lineage", name, "--stale", "--no-code").stdout
    assert stale(project, "x") == [("s", "a", "changed"), ("x", "s", "stale")]
    assert "! stale: s (the program) is stale\n" in project.provio("lineage", "x", "--stale").stdout
    assert stale(project, "x", "--code") == stale(project, "x")
    assert stale(project, "y") == stale(project, "y", "--code") == [("y", "t", "changed")]
    assert (
        "! stale: t (the program) (not compared by content) changed "
        in project.provio("lineage", "y", "--stale").stdout
    )
    assert "nothing is stale" in project.provio("lineage", "z", "--stale").stdout


@pytest.mark.integration
def test_a_file_that_was_packed_and_unpacked_is_not_stale(project: Project) -> None:
    """A product that replaced its own earlier content through a deleted file has the inputs of that content."""
    project.run("echo 1 > a; cat a > f; gzip f; gzip -d f.gz; cat f > x")
    assert stale(project, "x") == stale(project, "f", "--forward") == []
    project.sh("echo 2 > a")
    assert stale(project, "x") == stale(project, "a", "--forward") == [("f", "a", "changed"), ("x", "f", "stale")]


def test_what_is_not_stale(project: Project) -> None:
    """A renamed or deleted input is unchanged; so is one that the product replaced, or with only new times."""
    project.sh("echo 1 > a; echo 2 > b; echo 2 > c; echo 3 > t")
    project.run("sort a > x; sort x > y; rm x")
    project.run("sort b > z")
    project.run("sort -o c c; sort -o c c; echo 9 >> c")
    project.run("cat t > u")
    project.sh("mv b b.bak; cp -p a a.copy; mv a.copy a.other")
    project.watch("touch", "t")
    for target in ("y", "z", "c", "u"):
        assert stale(project, target) == [], target
    project.sh("echo 5 > a; echo 6 > b")
    assert stale(project, "y") == [("y", "a", "changed")]
    assert stale(project, "z") == [("z", "b", "changed")]


def test_products_of_earlier_versions(project: Project) -> None:
    """Products of an earlier version are stale, and to be made again, also if the newest version has products."""
    project.sh("echo 1 > a")
    project.watch("cp", "a", "x")
    project.sh("echo 2 >> a")
    project.watch("cp", "a", "y")
    assert stale(project, "a", "--forward") == [("x", "a", "changed")]
    document = project.lineage("a", "--forward", "--stale")
    assert named(project, document) == ["a", "a", "x"]
    assert len(document["targets"]) == 2
    assert document["targets"][0] == document["target"] == project.lineage("a")["target"]
    shown = project.provio("lineage", "--forward", "a", "--stale").stdout
    assert "x  2 B\n" in shown
    assert "y" not in re.findall(r"(\w+)  \d+ B", shown)
    assert [step[:2] for step in impact(project, "a")[0]] == [("x", "there"), ("y", "there")]


def test_a_pipe_from_a_run_that_was_not_chosen(project: Project) -> None:
    """Where a chosen run read from another's pipe, the way ends there."""
    project.sh("echo 1 > a")
    one, two = ("provio run --quiet --campaign " + name for name in ("one", "two"))
    tool = Path(provio_command()[0])
    project.sh(f"export PATH={tool.parent}:$PATH; {one} -- cat a | {two} -- sort -o z")
    assert project.provio("lineage", "z", "--paths").stdout == "z ← sort ← cat ← a\n"
    assert project.provio("lineage", "z", "--paths", "--campaign", "two").stdout == "z ← sort ← pipe\n"


def test_stale_through_a_pipe(project: Project) -> None:
    """The input of a pipe is an input of the products of its output."""
    project.sh("echo 1 > a")
    project.run("cat a | gzip > z")
    project.sh("echo 2 > a")
    assert stale(project, "z") == [("z", "a", "changed")]
    assert stale(project, "a", "--forward") == [("z", "a", "changed")]


def test_stale_through_an_attribute(project: Project) -> None:
    """The input of an extended attribute, which an earlier run set, is an input of the products of its readers."""
    need_attributes(project.path)
    (project.path / "set.py").write_text("import os; os.setxattr('f', 'user.x', open('a', 'rb').read())")
    (project.path / "get.py").write_text("import os; open('o', 'wb').write(os.getxattr('f', 'user.x'))")
    project.sh("echo 1 > a; echo 1 > f")
    project.watch("python3", "set.py")
    project.watch("python3", "get.py")
    assert stale(project, "o") == []
    project.sh("echo 2 > a")
    assert stale(project, "o") == [("o", "a", "changed")]
    assert stale(project, "a", "--forward") == [("o", "a", "changed")]


def test_runs_are_chosen(pipeline: Project) -> None:
    """--campaign and --name choose runs: in the list, for lineage, for queries, for pages."""
    commands = {"one": ["sh -c 'sort a > b'", "sh -c 'cat b k > c'"], "two": ["sh -c 'cat c a > d'"]}
    for campaign, expected in commands.items():
        rows = json.loads(pipeline.provio("runs", "--campaign", campaign, "--as", "json").stdout)
        assert [row["command"] for row in rows] == expected
    assert len(pipeline.provio("runs", "--name", "join", "--campaign", "one").stdout.splitlines()) == 3
    assert "no run has the campaign 'x'" in pipeline.provio("runs", "--campaign", "x", code=3).stderr
    assert read(pipeline, "d") == ["a", "b", "c", "k"]
    assert read(pipeline, "d", "--campaign", "two") == ["a", "c"]
    assert read(pipeline, "c", "--name", "join") == ["b", "k"]
    assert read(pipeline, "c", "--campaign", "one") == ["a", "b", "k"]
    assert read(pipeline, "a", "--forward", "--campaign", "one") == ["b", "c"]
    outside = pipeline.provio("lineage", "d", "--campaign", "one", code=3).stderr
    assert outside.rstrip().endswith("in the runs that were chosen")
    assert "no run has the name 'y'" in pipeline.provio("lineage", "d", "--name", "y", code=3).stderr
    pipeline.provio("view", "--campaign", "two", "-o", "two.html")
    assert "cat c a" in (pipeline.path / "two.html").read_text(encoding="utf-8")


def test_queries_of_chosen_runs(pipeline: Project) -> None:
    """A query of chosen runs sees their graphs alone; of those that it names itself, the chosen ones."""

    def ask(question: str, *options: str) -> list[str]:
        done = pipeline.provio("query", question, *options, "--as", "csv")
        return sorted(line.removeprefix("sh -c ") for line in done.stdout.splitlines()[1:])

    runs = "{ ?run a provio:Run ; provio:commandLine ?line }"
    assert ask(f"SELECT ?line {runs}", "--campaign", "two") == ["cat%20c%20a%20>%20d"]
    assert len(ask(f"SELECT ?line {runs}")) == 3
    assert ask(f"SELECT ?line {{ GRAPH ?g {runs} }}", "--name", "join") == ["cat%20b%20k%20>%20c"]
    graphs = ask("SELECT DISTINCT ?g { GRAPH ?g { ?run a provio:Run } }", "--campaign", "one")
    assert len(graphs) == 2
    assert ask(f"SELECT ?line FROM <{graphs[0]}> {runs}", "--campaign", "two") == []
    own = ask("SELECT DISTINCT ?g { GRAPH ?g { ?run a provio:Run } }", "--campaign", "two")
    assert ask(f"SELECT ?line FROM <{own[0]}> {runs}", "--campaign", "two") == ["cat%20c%20a%20>%20d"]


def test_why(pipeline: Project) -> None:
    """The one process: command, folder, end, user, inputs, launchers, the run."""
    pipeline.run("cat a | tr 1 2 > e; true")
    reason = json.loads(pipeline.provio("why", "e", "--as", "json").stdout)
    process = {name: reason["process"][name] for name in ("argv", "cwd", "exitCode")}
    assert process == {"argv": "tr 1 2", "cwd": str(pipeline.path), "exitCode": "0"}
    assert [node["label"] for node in reason["read"]] == ["a"]  # through the pipe
    assert [one["argv"] for one in reason["launchedBy"]] == ["bash -c cat%20a%20|%20tr%201%202%20>%20e;%20true"]
    assert (reason["path"], reason["size"], reason["contributors"]) == (str(pipeline.path / "e"), 2, [])
    lines = pipeline.provio("why", "c").stdout.splitlines()
    words = [(line[:9].strip(), line[10:]) for line in lines[1:]]
    assert lines[0].startswith("c  4 B, of 20")
    assert [what for what, _ in words] == [
        "made by",
        "command",
        "in",
        "when",
        "ended",
        "by",
        "read",
        "",
        "launched",
        "run",
    ]
    told = dict(words)
    assert re.fullmatch(r"cat  \(\S+/cat of \d{4}-\S+ \S+ UTC\)", told["made by"])
    assert (told["command"], told["ended"], told["in"]) == ("cat b k", "exit code 0", str(pipeline.path))
    assert [value.split()[0] for what, value in words if what in ("read", "")] == ["b", "k"]
    assert re.fullmatch(r"\S{36} \(join\) of campaign one: sh -c 'cat b k > c'", told["run"])


def test_why_with_more_to_say(project: Project) -> None:
    """The content kept by an append, carried inputs, other writers, another key of the content, an earlier version."""
    project.sh("echo 1 > a; echo 2 > b")
    project.provio("run", "--quiet", "--name", "first", "--", "sh", "-c", "cat a > log")
    project.run("cat b >> log")
    reason = json.loads(project.provio("why", "log", "--as", "json").stdout)
    assert [[node["label"] for node in reason[name]] for name in ("read", "carried", "kept")] == [["b"], [], ["log"]]
    first = json.loads(project.provio("why", "log", "--run", "first", "--as", "json").stdout)
    assert first["process"]["argv"] == "cat a"
    project.watch("cp", "-p", "a", "copy")
    assert "command   cp -p a copy\n" in project.provio("why", "copy").stdout
    project.run("exec 3> both; (echo 1 >&3; sleep 0.1); (echo 2 >&3)")
    both = json.loads(project.provio("why", "both", "--as", "json").stdout)
    assert len({one["iri"] for one in [both["process"], *both["contributors"]]}) == 1 + len(both["contributors"])


def test_why_nobody_made_it(pipeline: Project) -> None:
    """A file that no recorded program made: exit 3, and the query for its uses."""
    done = pipeline.provio("why", "k", code=3)
    assert done.stdout == ""
    assert done.stderr == "provio: no recorded process made k; its uses: provio lineage --forward k\n"
    assert "nothing is recorded of" in pipeline.provio("why", "nope", code=3).stderr


def impact(project: Project, *files: str, code: int = 0) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """Return the steps as (product, state, command), and the omitted products as (product, reason)."""
    answer = json.loads(project.provio("impact", *files, "--as", "json", code=code).stdout)
    steps = [(os.path.basename(step["path"]), step["state"], step["command"]) for step in answer["steps"]]
    return steps, [(os.path.basename(one["path"]), one["reason"]) for one in answer["leftOut"]]


def test_impact(pipeline: Project) -> None:
    """All existing products of a file, in order, with the commands; missing files if they are needed."""
    b, c, d = ("b", "there", "sort a"), ("c", "there", "cat b k"), ("d", "there", "cat c a")
    assert impact(pipeline, "a") == ([b, c, d], [])
    assert impact(pipeline, "k") == ([c, d], [])
    assert impact(pipeline, "k", "a") == ([b, c, d], [])
    assert impact(pipeline, "d") == ([], [])
    assert pipeline.provio("impact", "d").stdout == "nothing that is there was made from it\n"
    table = pipeline.provio("impact", "k", "--steps", "process").stdout.splitlines()
    assert [line.split()[:5] for line in table[2:]] == [["1", "c", "cat", "b", "k"], ["2", "d", "cat", "c", "a"]]
    pipeline.sh("echo 7 > k")
    assert impact(pipeline, "k") == ([c, d], [])
    pipeline.sh("rm c")
    assert impact(pipeline, "k") == ([("c", "gone", "cat b k"), d], [])
    pipeline.sh("echo 0 > d")
    assert impact(pipeline, "k") == ([], [("c", "gone"), ("d", "overwritten")])
    assert impact(pipeline, "a", "nope", code=3) == ([b], [("c", "gone"), ("d", "overwritten")])


@pytest.mark.integration
def test_inputs_that_changed_since_the_steps_read_them(project: Project) -> None:
    """A repeated step would read another parameter: `impact` names the file, and not the one of the query."""
    project.env["PROVIO_HASH"] = "all"
    project.sh("echo 1 > data; echo keep > same")
    for number in (1, 2, 30):
        project.sh(f"echo {number} > params; echo {number} > unique.{number}")
        project.run(f"cat data params same unique.{number} > out.{number}")
    project.provio("merge")  # it waits for the hashes
    project.sh("touch same; rm unique.1")
    found = json.loads(project.provio("impact", "data", "--as", "json").stdout)["otherInputs"]
    names = [
        (one["path"].rpartition("/")[2], one["state"], [os.path.basename(path) for path in one["products"]])
        for one in found
    ]
    assert names == [("params", "changed", ["out.1", "out.2"]), ("unique.1", "missing", ["out.1"])]
    lines = project.provio("impact", "data").stdout.splitlines()
    assert "! params has another content now: out.1 and 1 other were made from another version of it" in lines
    assert "! unique.1 is missing: out.1 was made from another version of it" in lines
    assert json.loads(project.provio("impact", "params", "--as", "json").stdout)["otherInputs"] == found[1:]


def test_impact_of_pipes_and_appends(project: Project) -> None:
    """A pipeline is repeated as a whole; the content that an append kept comes before it; a repeated product counts."""
    project.sh("echo 1 > a; echo 2 > b")
    project.run("cat a | sort | tr 1 2 > z")
    project.run("cat a > log")
    project.run("cat b >> log")
    steps, left = impact(project, "a")
    assert sorted(steps) == [
        ("log", "earlier", "cat a"), ("log", "there", "cat b"), ("z", "there", "cat a | sort | tr 1 2"),
    ]  # fmt: skip
    assert steps.index(("log", "earlier", "cat a")) < steps.index(("log", "there", "cat b"))
    assert left == []
    project.run("sort a > m")
    project.run("sort m > n")
    project.run("sort -r a > m")
    steps, left = impact(project, "a")
    assert steps.index(("m", "there", "sort -r a")) < steps.index(("n", "there", "sort m"))
    assert [step for step in steps if step[0] == "m"] == [("m", "there", "sort -r a")]
    assert left == []


def test_pages(pipeline: Project) -> None:
    """`view` draws earlier versions, parts and several files; a run is drawn whole."""
    pipeline.provio("view", "d", "--until", "c", "-o", "until.html")
    pipeline.provio("view", "d", "--at", "now", "--depth", "1", "-o", "depth.html")
    for name in ("until.html", "depth.html"):
        page = (pipeline.path / name).read_text(encoding="utf-8")
        assert "cat c a" in page
        assert "cat b k" not in page
    pipeline.sh("echo 9 > k; rm b")
    pipeline.provio("view", "d", "--stale", "-o", "stale.html")
    assert f"stale: {pipeline.path}/c is stale" in (pipeline.path / "stale.html").read_text(encoding="utf-8")
    pipeline.provio("view", "b", "--run", "join", "-o", "gone.html")
    assert "nope" in pipeline.provio("view", "d", "nope", "-o", "two.html", code=3).stderr
    whole = pipeline.provio("view", "join", "--depth", "2", "-o", "run.html", code=2).stderr
    assert whole.startswith("provio: a run is drawn as a whole: omit --depth, ")


def test_any_name(project: Project) -> None:
    """Names of any bytes can be targets, are compared, and are made again like others."""
    odd = os.fsdecode(b"a\xff \n'\"b")
    (project.path / odd).write_text("1\n")
    project.watch("cp", odd, "out")
    project.watch("cp", "out", odd + ".2")
    assert stale(project, "out") == []
    assert stale(project, odd, "--forward") == []
    (project.path / odd).write_text("two\n")
    assert [(product, reason) for product, _, reason in stale(project, "out")] == [("out", "changed")]
    assert [(len(step), step[1]) for step in impact(project, odd)[0]] == [(3, "there"), (3, "there")]
    why = json.loads(project.provio("why", odd + ".2", "--as", "json").stdout)
    assert why["process"]["argv"].startswith("cp out a%FF")
    assert project.provio("lineage", odd, "--at", "now", "--paths").stdout.count("\n") == 1


class Counting:
    """A reader that counts its queries."""

    def __init__(self, reader: StoreReader) -> None:
        self.reader = reader
        self.asked = 0

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        self.asked += 1
        return self.reader.rows(sparql)

    def table(self, sparql: str) -> Iterator[list[str]]:
        self.asked += 1
        return self.reader.table(sparql)

    def about(self, iris: Iterable[str]) -> list[tuple[str, str, str]]:
        return self.reader.about(iris)


@pytest.mark.slow
@pytest.mark.usefixtures("merged_at_once")
def test_a_log_that_is_rotated_often_is_asked_by_each_name_once(project: Project) -> None:
    """Three names, moved on six times: each name's own questions, not each way's through the moves."""
    for number in range(6):
        project.watch("mv", "log.2", "log.3", code=None)
        project.watch("mv", "log.1", "log.2", code=None)
        project.watch("mv", "log", "log.1", code=None)
        project.run(f"echo {number} > log")
    assert (project.path / "log.3").read_text() == "2\n"
    reader = Counting(StoreReader(Home(project.path / ".provio")))
    path = str(project.path / "log.3")
    found = versions_at_name(reader, f"?file provio:path {literal(path)} .", [path])
    assert len({one.iri for one in found}) == 3
    assert reader.asked <= 4 * 6


def test_control_is_counted_as_it_would_be_shown(project: Project) -> None:
    """The system files that an interpreter read before it launched something are no control ancestors."""
    project.sh("echo a > in; echo b > list")
    script = "import subprocess; open('list').read(); subprocess.run('sort in > out', shell=True)"
    project.watch("python3", "-c", script)
    nodes = project.lineage("out", "--via", "control")["nodes"]
    assert [node["label"] for node in nodes if node.get("via") == "control" and "depth" in node] == ["list"]
    assert project.lineage("out")["control"] == 1


@pytest.mark.integration
def test_commands_are_shown_as_they_were_typed(project: Project) -> None:
    """An argument with spaces, an empty one, a per cent sign: none is encoded."""
    project.watch("python3", "-c", 'open("made", "w").write("50% of it")', "")
    answer = json.loads(project.provio("query", "who-wrote", "made", "--as", "json").stdout)
    command = 'python3 -c \'open("made", "w").write("50% of it")\' \'\''
    assert [row["command"]["value"] for row in answer["results"]["bindings"]] == [command]

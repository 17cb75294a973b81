"""All verbs agree about each product of a project with all kinds of changes; the SHA-256 sums of its files decide."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

STEPS = {  # product: (its inputs, the script that makes it)
    "of-touched": (["touched"], "cat touched > of-touched"),
    "of-rewritten": (["rewritten"], "cat rewritten > of-rewritten"),
    "of-changed": (["changed"], "cat changed > of-changed"),
    "of-program": (["kept", "program.sh"], "sh program.sh"),
    "of-deleted": (["deleted"], "cat deleted > of-deleted"),
    "edited": (["kept"], "cat kept > edited"),
    "touched-product": (["changed"], "cat changed > touched-product"),
    "of-failed": (["kept"], "cat kept > of-failed; exit 3"),
    "of-plain": (["plain"], "cat plain > of-plain"),
    "next-stale": (["of-changed", "of-touched"], "cat of-changed of-touched > next-stale"),
    "next-current": (["of-touched", "of-rewritten"], "cat of-touched of-rewritten > next-current"),
}
FAILED, PLAIN = "of-failed", "of-plain"


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a folder, by its name."""
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir() if one.is_file()}


def answer(project: Project, *arguments: str, code: int | None = None) -> Any:
    return json.loads(project.provio(*arguments, "--as", "json", code=code).stdout)


@pytest.mark.slow
def test_all_verbs_agree_about_each_product(project: Project) -> None:
    """Touched, rewritten, changed, deleted, edited; a program; a step that failed; a file without a hash."""
    folder = project.path
    for name in ("touched", "rewritten", "changed", "kept", "deleted", "plain"):
        (folder / name).write_text(f"{name} 1\n")
    (folder / "program.sh").write_text("cat kept > of-program\n")
    for product, (_, script) in STEPS.items():
        option, code = "--no-hash" if product == PLAIN else "--hash", 3 if product == FAILED else 0
        project.provio("run", "--quiet", option, "--", "bash", "-c", script, code=code)
    project.provio("merge", "--quiet")
    before = sums(folder)

    (folder / "rewritten").write_text((folder / "rewritten").read_text())
    (folder / "changed").write_text("changed 2\n")  # the same size
    (folder / "program.sh").write_text("cat  kept > of-program\n")
    (folder / "deleted").unlink()
    (folder / "edited").write_text("edited by hand\n")
    for name in ("touched", "touched-product", "plain"):
        os.utime(folder / name)
    now = sums(folder)

    def differs(name: str) -> bool:
        return name in now and before[name] != now[name]

    def is_stale(product: str) -> bool:
        inputs = STEPS[product][0] if product in STEPS else []
        return any(differs(one) or is_stale(one) for one in inputs)

    stale = {product for product in STEPS if is_stale(product)}
    assert stale == {"of-changed", "of-program", "touched-product", "next-stale"}
    edited = {product for product in STEPS if differs(product)}
    assert edited == {"edited"}

    wanted = {one: "stale" if one in stale else "changed" if one in edited else "current" for one in STEPS}
    wanted |= {FAILED: "failed", PLAIN: "stale"}  # not compared by content
    rows = {os.path.basename(row["path"]): row for row in answer(project, "status")["files"] if row["path"]}
    assert {product: rows[product]["state"] for product in STEPS} == wanted
    compared = {one for one in STEPS if "not compared by content" in (rows[one]["reason"] or "")}
    assert compared == {PLAIN}

    document = answer(project, "lineage", *STEPS, "--stale", code=0)
    names = {node["iri"]: os.path.basename(node.get("path", "")) for node in document["nodes"]}
    reasons = {names[one["product"]]: one for one in document["stale"]}
    assert reasons.keys() & STEPS.keys() == stale | {PLAIN}
    assert {one for one, reason in reasons.items() if "content" in reason} == {PLAIN}

    redo = project.provio("impact", "changed", "program.sh", "plain").stdout
    makes = {word.rstrip(",") for line in redo.splitlines() if "makes " in line for word in line.split()[1:]}
    assert makes & STEPS.keys() == stale | {PLAIN}

    states = {os.path.basename(row["path"]): row for row in answer(project, "verify")["files"]}
    for name in before:
        state = "missing" if name not in now else "changed" if differs(name) else "same"
        found = "same" if states[name]["state"] == "touched" else states[name]["state"]
        assert (name, found) == (name, "changed" if name == "plain" else state)
    assert states["plain"]["word"].startswith("not compared by content")

    for product in STEPS:
        for verb in ("why", "lineage"):
            assert ("changed since" in project.provio(verb, product).stdout) == (product in edited)

    project.hashed("cat", "touched", "rewritten", "changed")
    project.provio("run", "--quiet", "--no-hash", "--", "cat", "plain")
    found = answer(project, "query", "stale-products")["results"]["bindings"]
    listed = {os.path.basename(row["product"]["value"]): row["content"]["value"] for row in found}
    data = stale - {"of-program"}  # a program's new version is recorded when it runs
    assert listed == dict.fromkeys(data, "changed") | {PLAIN: "not compared by content"}


LOAD = """
import os, sys
*inputs, database, report = sys.argv[1:]
with open(database, "r+" if os.path.exists(database) else "w+") as file:
    file.read()
    content = "".join(open(one).read() for one in inputs)
    file.seek(0)
    file.truncate()
    file.write(content)
with open(report, "w") as file:
    file.write(content)
"""


def stale_by(project: Project, *products: str) -> dict[str, set[str]]:
    """The inputs because of which each of these products is stale; both verbs give the same."""
    rows = {os.path.basename(row["path"]): row for row in answer(project, "status")["files"]}
    listed = {one: rows[one]["reason"].split()[0] for one in products if rows[one]["state"] == "stale"}
    found: dict[str, set[str]] = {}
    for name in products:
        document = answer(project, "lineage", name, "--stale")
        targets = {node["iri"] for node in document["nodes"] if node.get("depth") == 0}
        own = [one for one in document["stale"] if one["product"] in targets]
        if own:
            found[name] = {os.path.basename(one["path"]) for one in own}
            assert listed[name] in found[name] or any(one["reason"] == "stale" for one in own)
    assert listed.keys() == found.keys()
    return found


@pytest.mark.integration
def test_a_file_that_its_program_updates(project: Project) -> None:
    """The earlier version is no reason for an input that the program read again; other inputs of it are. A program that
    only appends keeps its earlier lines, with all their inputs."""
    folder = project.path

    def load(*inputs: str) -> None:
        project.provio("run", "--quiet", "--", "python3", "-c", LOAD, *inputs, "database", "report")

    def stale() -> dict[str, set[str]]:
        return stale_by(project, "database", "report", "log")

    (folder / "first").write_text("1\n")
    (folder / "second").write_text("2\n")
    load("first", "second")
    project.provio("run", "--quiet", "--", "bash", "-c", "read line < first; echo $line >> log")
    assert stale() == {}
    (folder / "first").write_text("10\n")
    (folder / "second").write_text("20\n")
    assert stale() == {"database": {"first", "second"}, "report": {"first", "second"}, "log": {"first"}}
    load("first")
    assert stale() == {"database": {"second"}, "report": {"second"}, "log": {"first"}}
    load("first", "second")
    project.provio("run", "--quiet", "--", "bash", "-c", "read line < first; echo $line >> log")
    assert stale() == {"log": {"first"}}
    (folder / "first").write_text("100\n")
    assert stale() == {"database": {"first"}, "report": {"first"}, "log": {"first"}}


@pytest.mark.integration
def test_all_inputs_of_an_updated_file_are_compared(project: Project) -> None:
    """Also if many of them changed, and all except one were read again."""
    names = [f"input{number}" for number in range(7)]
    for content, inputs in (("1\n", names), ("22\n", names[:-1])):
        for name in names:
            (project.path / name).write_text(content)
        project.provio("run", "--quiet", "--", "python3", "-c", LOAD, *inputs, "database", "report")
    assert stale_by(project, "database", "report") == {"database": {names[-1]}, "report": {names[-1]}}


@pytest.mark.integration
def test_an_input_of_an_earlier_version_was_not_read_again(project: Project) -> None:
    """A process that sorts a log reads its lines, and none of the files that they are from."""
    for content in ("1\n", "22\n"):
        (project.path / "input").write_text(content)
        project.provio("run", "--quiet", "--", "sh", "-c", "cat input >> log")
    project.provio("run", "--quiet", "--", "sort", "-o", "log", "log")
    assert stale_by(project, "log") == {"log": {"input"}}


@pytest.mark.integration
def test_a_process_replaces_a_file_of_the_user_that_it_read(project: Project) -> None:
    """The products from before are from other content than the file has now; those from after are from this content."""
    script = """
import os
content = open("raw").read()
for name, text in (("before", content), ("raw", content * 2), ("after", content)):
    with open(name, "w") as file:
        file.write(text)
    modified = os.stat(name).st_mtime_ns
    while os.stat(".marker").st_mtime_ns <= modified:
        os.utime(".marker")
"""
    (project.path / "raw").write_text("1\n")
    (project.path / ".marker").touch()
    project.provio("run", "--quiet", "--", "python3", "-c", script)
    assert stale_by(project, "before", "raw", "after") == {"before": {"raw"}}


@pytest.mark.integration
def test_an_update_in_place_is_a_limit(project: Project) -> None:
    """A program may keep rows of its earlier output: the inputs of these rows were not compared."""
    script = """
import sys
parameters, day, results = sys.argv[1:]
rows = open(results).read() + open(parameters).read() + open(day).read()
open(results, "w").write(rows)
"""
    (project.path / "results").touch()
    for day, content in (("day1", "1\n"), ("day2", "22\n")):
        for name in ("parameters", day):
            (project.path / name).write_text(content)
        project.provio("run", "--quiet", "--", "python3", "-c", script, "parameters", day, "results")
    assert stale_by(project, "results") == {}
    (limit,) = answer(project, "lineage", "results", "--stale")["limits"]
    assert limit == "results was updated in place: parameters of its earlier content was not compared"


@pytest.mark.integration
@pytest.mark.parametrize("options", ["", "-k"])
def test_a_file_that_was_unpacked_from_its_own_archive(project: Project, options: str) -> None:
    """It is stale because of the inputs that it was made from first."""
    (project.path / "start").write_text("1\n")
    for script in ("cat start > middle", "cat middle > end", "gzip -n middle", f"gunzip {options} middle.gz"):
        project.hashed("sh", "-c", script)
    products = ["middle", "end", *(["middle.gz"] if options else [])]
    assert stale_by(project, *products) == {}
    (project.path / "start").write_text("22\n")
    assert stale_by(project, *products).keys() == {*products}


@pytest.mark.integration
def test_an_input_that_was_made_again_with_the_same_content(project: Project) -> None:
    """A product is current if its input was made again with the same content; stale if that one is stale now."""
    folder = project.path

    def make(script: str) -> None:
        project.hashed("sh", "-c", script)

    def stale() -> list[str]:
        """The stale products; both verbs give the same."""
        rows = answer(project, "status")["files"]
        found = [os.path.basename(row["path"]) for row in rows if row["state"] == "stale"]
        document = answer(project, "lineage", "middle", "end", "--stale")
        names = {node["iri"]: os.path.basename(node.get("path", "")) for node in document["nodes"]}
        assert sorted({names[one["product"]] for one in document["stale"]}) == found
        return found

    (folder / "start").write_text("a 1\n")
    make("cut -c1 start > middle")
    make("cat middle > end")
    (folder / "start").write_text("a 2\n")
    assert stale() == ["end", "middle"]
    make("cut -c1 start > middle")
    assert stale() == []
    make("sort -o middle middle")
    assert stale() == []
    (folder / "start").write_text("a 3\n")
    assert stale() == ["end", "middle"]
    make("gzip middle; gunzip middle")
    assert stale() == ["end", "middle"]

"""A workflow of Snakemake whose number of files is known only after a step: each file has exactly the sources that
Snakemake's own record states, and its maker the name of the rule there."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Project, in_memory
from snakemake_environments import VERSIONS, path_with_snakemake

tmp_path = in_memory

WORKFLOW = r"""
rule all:
    input: "report.txt"

checkpoint split:
    input: "words.txt"
    output: directory("parts")
    shell: "mkdir {output} && awk '{{print > (\"{output}/\" $1 \".txt\")}}' {input}"

rule count:
    priority: 1 # all are started before the first job that needs factor.txt
    input: "parts/{name}.txt"
    output: "counts/{name}.txt"
    shell: "wc -w < {input} > {output}"

rule scale:
    input: number="counts/{name}.txt", factor="factor.txt"
    output: "scaled/{name}.txt"
    run:
        factor, number = int(open(input.factor).read()), int(open(input.number).read())
        open(output[0], "w").write(f"{factor * number}\n")

rule check:
    input: "parts/{name}.txt", "scaled/{name}.txt"
    output: "checked/{name}.txt", "checked/{name}.log"
    script: "check.py"

def parts(wildcards):
    folder = checkpoints.split.get().output[0]
    return sorted(expand("checked/{name}.txt", name=glob_wildcards(folder + "/{name}.txt").name))

rule collect:
    input: parts
    output: "report.txt"
    shell: "cat {input} > {output}"
"""

CHECK = """from pathlib import Path
text = "".join(Path(name).read_text() for name in snakemake.input)
for name in snakemake.output:
    Path(name).write_text(text)
"""


def recorded(project: Project) -> dict[str, tuple[str, set[str]]]:
    """Return the rule and the inputs of each output, by Snakemake's own record; of a folder, they are those of its
    files."""
    found: dict[str, tuple[str, set[str]]] = {}
    for path in (project.path / ".snakemake" / "metadata").iterdir():
        output = project.path / base64.b64decode(path.name).decode()
        facts = json.loads(path.read_text())
        for one in output.glob("[!.]*") if output.is_dir() else [output]:
            found[str(one.relative_to(project.path))] = facts["rule"], set(facts["input"])
    return found


def direct(project: Project, document: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Return the rules of the makers of a document's target, whose times Snakemake sets, and the files that are one
    step from it."""
    nodes = {node["iri"]: node for node in document["nodes"]}
    found, rules, left, done = set[str](), set[str](), [document["target"]], set[str]()
    while left:
        here = left.pop()
        done.add(here)
        steps = [edge["object"] for edge in document["edges"] if edge["subject"] == here]
        steps += [
            edge["subject"] for edge in document["edges"]
            if edge["object"] == here and edge["predicate"].endswith("#alternateOf")
        ]  # fmt: skip
        for step in set(steps) - done:
            path = nodes[step].get("path")
            rules.update({nodes[step].get("rule", "")} - {""})
            if path is None or path == nodes[document["target"]]["path"]:
                left.append(step)
            elif nodes[step]["type"] == "FileVersion":  # no program
                found.add(os.path.relpath(path, project.path))
    return rules, found


def products(project: Project, path: str) -> set[str]:
    """Return the files that must be made again if one changes, by `impact`."""
    steps = json.loads(project.provio("impact", path, "--as", "json").stdout)["steps"]
    return {os.path.relpath(step["path"], project.path) for step in steps if step["state"] == "there"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_a_workflow_with_a_checkpoint(project: Project, needs: Callable[..., None], version: str) -> None:
    """The direct sources of each file are the inputs in Snakemake's record of it, before and after the checkpoint made
    another number of files; no answer has a gap."""
    needs("awk")
    project.env["PATH"] = path_with_snakemake(version)
    (project.path / "Snakefile").write_text(WORKFLOW)
    (project.path / "check.py").write_text(CHECK)
    (project.path / "factor.txt").write_text("3\n")
    for names in ("ant bat cow", "ant dog"):
        project.run(f"for name in {names}; do echo $name ${{name}}s; done > words.txt")
        project.watch("snakemake", "-j2", "report.txt")
        expected = recorded(project)
        assert {f"checked/{name}.log" for name in names.split()} < set(expected)
        for output in sorted(expected):
            document = project.lineage(output)
            assert document["gaps"] == [], output
            rules, inputs = direct(project, document)
            rule, wanted = expected[output]
            assert (rules, inputs - {"Snakefile"}) == ({rule}, wanted), output
            shown = project.provio("lineage", output).stdout
            assert "--target-jobs" not in shown and "pulp" not in shown, output  # Snakemake's own command lines
        made = {path for path in expected if not path.startswith("parts/")}
        assert products(project, "Snakefile") >= made
        wanted = {path for path in made if path.startswith(("scaled/", "checked/", "report"))}
        assert products(project, "factor.txt") == wanted  # Snakemake reads it too, and starts other jobs later

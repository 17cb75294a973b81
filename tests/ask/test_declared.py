"""Declarations of workflows against the record: planted differences are found, each of its kind, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, new_project
from program_environments import path_with
from snakemake_environments import VERSIONS, path_with_snakemake

from provio.ask.declared.actions import Actor
from provio.ask.declared.make import _arguments
from provio.ask.declared.make_database import Recipes, rules

pytestmark = pytest.mark.integration

INPUT, OUTPUT = "undeclared input", "undeclared output"
UNREAD, UNWRITTEN = "declared input never read", "declared output never written"


def found(project: Project, tool: str, *run: str) -> set[tuple[str, str, str]]:
    """Return the differences: step, kind, path in the project; the exit code states whether there are any."""
    done = project.provio("declared", tool, *run, "--as", "json", code=None)
    answer = json.loads(done.stdout)
    assert done.returncode == bool(answer["differences"]) and answer["notes"] == []
    inside = f"{project.path}/"
    return {(one["step"], one["difference"], one["path"].removeprefix(inside)) for one in answer["differences"]}


def refused(project: Project, *arguments: str, code: int) -> str:
    return project.provio("declared", *arguments, code=code).stderr


MAKEFILE = r"""
BUILD = build
define twins
@echo twins
cat a.in > twin.c; cp twin.c twin.h
endef
CAT = $(shell sh -c 'echo cat')
all: $(BUILD)/a.out $(BUILD)/b.out with\ space lib/lib.a stamp twin.h
.PHONY: all lib/lib.a
$(BUILD)/%.out: %.in common.txt | $(BUILD)
	mkdir -p $(BUILD)
	@$(CAT) $< common.txt > $@
	-echo done
$(BUILD):
	mkdir -p $(BUILD)
with\ space: in\ 1.txt a.in
	cat in\ 1.txt a.in \
		> 'with space'
lib/lib.a:
	$(MAKE) -C lib NAME=lib.a
stamp: $(BUILD)/a.out
	cat $(BUILD)/a.out | wc -l > $@; rm -f tmp.txt
twin.c twin.h: a.in
	$(twins)
"""
LIBRARY = "lib.a: one.o FORCE\n\tcp one.o $(NAME)\none.o: one.c\n\tcat one.c ../hidden.h > one.o\nFORCE:\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    project = new_project(tmp_path_factory.mktemp("make"))
    for name in ("a.in", "b.in", "common.txt", "in 1.txt", "notes.txt", "lib/one.c", "hidden.h"):
        (project.path / name).parent.mkdir(exist_ok=True)
        (project.path / name).write_text("1\n")
    (project.path / "Makefile").write_text(MAKEFILE)
    (project.path / "lib" / "Makefile").write_text(LIBRARY)
    project.watch("make", "-j", "2")
    yield project


def test_a_workflow_of_make(made: Project) -> None:
    """Pattern rules, prerequisites that need only exist, names with spaces, a make in a make: only its header is not
    declared."""
    assert found(made, "make") == {("one.o", INPUT, "hidden.h")}
    assert made.provio("declared", "make", code=1).stdout.splitlines()[-1].partition(" in run")[0] == "9 steps of make"


def test_planted_differences_of_make(project: Project) -> None:
    """Each kind, in a target that has the others too, by another Makefile, with variables on the command line."""
    project.sh("echo 1 > in; echo 2 > secret; echo 3 > unused; echo 'print(1)' > 'my prog.py'")
    (project.path / "rules.mk").write_text(
        "$(OUT): in unused\n\tcat in secret > $(OUT); python3 'my prog.py' > log.txt\n"
        "two: in\n\tcat in > /dev/null\nthree: in\n\tcp in three.tmp\n\tmv three.tmp three\n"
    )
    project.watch("make", "-f", "rules.mk", "OUT=o.txt", "o.txt", "two", "three")
    planted = {
        ("o.txt", INPUT, "secret"), ("o.txt", INPUT, "my prog.py"), ("o.txt", OUTPUT, "log.txt"),
        ("o.txt", UNREAD, "unused"), ("two", UNWRITTEN, "two"),
    }  # fmt: skip
    assert found(project, "make") == planted
    table = project.provio("declared", "make", "last", code=1).stdout
    run = json.loads(project.answer("runs", "--as", "json"))[-1]["run"]
    assert table.splitlines()[2:] == [
        "o.txt  undeclared input               my prog.py",
        "o.txt  undeclared input               secret",
        "o.txt  undeclared output              log.txt",
        "o.txt  declared input never read      unused",
        "two    declared output never written  two",
        f"3 steps of make in run {run[:13]}: 2 undeclared inputs, 1 undeclared output, "
        "1 declared input never read, 1 declared output never written",
    ]
    assert project.provio("declared", "make", "--as", "tsv", code=1).stdout.splitlines()[1].split("\t")[:3] == [
        "o.txt", INPUT, f"{project.path}/my prog.py",
    ]  # fmt: skip
    project.sh("sed -i 's/: in unused/: in secret/' rules.mk")
    note = project.provio("declared", "make", code=1).stdout.splitlines()[-1]
    assert note == "! rules.mk has changed since: the steps are compared with its present rules"
    project.sh("rm rules.mk")
    assert "restore the Makefile" in refused(project, "make", code=1)


@pytest.mark.parametrize("word", ["X=$(shell touch started)", "X!=touch started", "MAKE=./start", "SHELL=./start"])
def test_a_variable_in_a_record_starts_nothing(project: Project, word: str) -> None:
    """A record may be from someone else: a recorded variable that could start a program is named, not passed on."""
    project.sh("echo 1 > in; printf '#!/bin/sh\\ntouch started\\ncp in out\\n' > start; chmod +x start")
    (project.path / "Makefile").write_text("A := $(shell echo 1)\nout: in\n\t$(MAKE) --version\n\tcp in out\n")
    project.watch("make", word, code=None)
    project.sh("rm -f started; touch in")
    answer = json.loads(project.provio("declared", "make", "--as", "json", code=None).stdout)
    assert f"make does not get the recorded {word}, because it could start a program" in answer["notes"]
    assert not (project.path / "started").exists()


def test_an_option_in_a_record_starts_nothing() -> None:
    """Of options in one word only the known ones are passed on."""
    words = ["make", "-rRE", "X!=touch started", "-eEX!=touch started", "--eval=X!=touch started", "-k", "-f", "m"]
    assert _arguments(Actor("", words))[0] == ["-r", "-R", "-e", "-f", "m"]


@pytest.mark.parametrize(
    "options",
    ["-sf other.mk", "-sBfother.mk", "-srC sub", "-sC sub -fMakefile", "-sf other.mk -Bj 2", "-f other.mk -sl 9 out"],
)
def test_several_options_in_one_word(project: Project, options: str) -> None:
    """`make -sf other.mk` reads that file, and `make -sC sub` works in that folder."""
    project.sh("mkdir sub; echo 1 > in; cp in sub; printf 'out: in hidden\\n\\tcat in > out\\nhidden:\\n' > other.mk")
    project.sh("cp other.mk sub/Makefile; cp other.mk sub")
    project.provio("run", "--quiet", "--", "make", *options.split())
    assert found(project, "make") == set()


def test_rules_in_an_option_of_a_record_start_nothing(project: Project) -> None:
    """`-rE RULES` is the option `--eval`, which is not given to make again: a record could have `$(shell …)`."""
    project.sh("echo 1 > in; printf 'out: in\\n\\tcat in > out\\n' > Makefile")
    project.provio("run", "--quiet", "--", "make", "-srE$(shell echo 1 > started)")
    (project.path / "started").unlink()
    project.provio("declared", "make")
    assert not (project.path / "started").exists()


def test_without_a_workflow(project: Project) -> None:
    """A run that is not recorded, one of another command, and one that had nothing to do."""
    project.sh("echo 1 > in; printf 'out: in\\n\\tcp in out\\n' > Makefile")
    project.watch("cp", "in", "copy")
    for tool in ("make", "snakemake", "dvc"):
        assert f"no recorded run has the command {tool}: record" in refused(project, tool, code=3)
    assert "executed no step of make" in refused(project, "make", "last", code=3)
    assert "no run is 'nothing'" in refused(project, "make", "nothing", code=3)
    assert "'cmake' is not" in refused(project, "cmake", code=2)
    project.watch("make")
    assert found(project, "make") == set()
    project.watch("make")
    assert "provio run -- make -B" in refused(project, "make", code=3)


def test_the_database_of_make() -> None:
    """Names with spaces are known as wholes; the signs before a command and its continuations are left out."""
    text = (
        "# Files\n\n# Not a target:\nin 1.txt:\n#  x\n\n"
        "with space: in 1.txt a.in | dir 2\n#  Implicit/static pattern stem: 'with'\n#  recipe to execute:\n"
        "\t@-cat $< \\\n\t  > '$@'\n\n# Not a target:\n.c.o:\n#  Builtin rule\n\ndir 2:\n\n.PHONY: dir 2\n\n"
        "# files hash-table stats:\n"
    )
    known = rules(text)
    assert [*known] == ["in 1.txt", "with space", "dir 2"]
    rule = known["with space"]
    assert (rule.inputs, rule.order, rule.stem) == (["in 1.txt", "a.in"], ["dir 2"], "with")
    assert known["dir 2"].phony and known["dir 2"].outputs == []
    recipes = Recipes(known)
    assert recipes.match("cat 'in 1.txt'  > 'with space'").keys() == {"with space"}
    assert recipes.match("cat other > 'with space'") == {}


SNAKEFILE = """
rule all:
    input: "out/a b.txt", "ran.txt", "clean.txt", "parts"
rule one:
    input: "{s}.in", "unused.in"
    output: "out/{s}.txt"
    log: "logs/{s}.log"
    shell: "cat {wildcards.s:q}.in secret.txt > {output:q} 2> {log:q}; echo 1 > extra.txt"
rule parts:
    output: directory("parts")
    shell: "mkdir parts; echo 1 > parts/1; echo 2 > parts/2"
rule clean:
    input: "parts"
    output: "clean.txt", touch("clean.done")
    script: "clean.py"
rule ran:
    input: "clean.txt"
    output: "ran.txt"
    run:
        text = open(input[0]).read() + open("secret.txt").read()
        open(output[0], "w").write(text)
"""
CLEAN = """import os
names = [os.path.join(snakemake.input[0], name) for name in sorted(os.listdir(snakemake.input[0]))]
open(snakemake.output[0], "w").write("".join(open(name).read() for name in names))
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_snakemake(project: Project, version: str) -> None:
    """Jobs of shell commands, of a script and of `run:`; logs, folders and touched files are declared."""
    project.env["PATH"] = path_with_snakemake(version)
    project.sh("for f in 'a b.in' unused.in secret.txt; do echo 1 > \"$f\"; done")
    (project.path / "Snakefile").write_text(SNAKEFILE)
    (project.path / "clean.py").write_text(CLEAN)
    project.watch("snakemake", "--cores", "2")
    one = "one (s=a b)"
    planted = {(one, INPUT, "secret.txt"), (one, OUTPUT, "extra.txt"), (one, UNREAD, "unused.in")}
    assert found(project, "snakemake") == {*planted, ("ran", INPUT, "secret.txt")}
    project.watch("snakemake", "--cores", "1", "--force", "clean.txt")
    assert found(project, "snakemake") == set()
    project.sh("mkdir -p in/place; echo 1 > in/place/a.in; echo 1 > in/place/unused.in; echo 1 > in/place/secret.txt")
    (project.path / "other.smk").write_text('workdir: "in/place"\n' + SNAKEFILE)
    project.watch("snakemake", "--cores", "1", "--snakefile", "other.smk", "out/a.txt")
    one = "one (s=a)"
    inside = {(one, INPUT, "secret.txt"), (one, OUTPUT, "extra.txt"), (one, UNREAD, "unused.in")}
    assert found(project, "snakemake") == {(step, kind, f"in/place/{name}") for step, kind, name in inside}


DVC = """
vars: [{source: in 1.txt}]
stages:
  one:
    cmd: |
      cat '${source}' secret.txt > 'out 1.txt' && echo log > extra.txt
      cat params.yaml
    deps: ["${source}", unused.txt]
    params: [rate]
    outs: [out 1.txt]
  two:
    wdir: sub
    cmd:
      - cp '../out 1.txt' two.txt
      - echo {} > m.json
    deps: [../out 1.txt]
    outs: [two.txt: {cache: false}]
    metrics: [m.json]
  each:
    foreach: [a, b]
    do:
      cmd: cp 'out 1.txt' ${item}.txt
      deps: [out 1.txt]
      outs: ["${item}.txt"]
"""


@pytest.mark.slow
def test_dvc(project: Project) -> None:
    """Stages with variables, of several commands, in a folder, and one for each value; a changed and a missing
    dvc.yaml."""
    project.env["PATH"] = path_with("dvc")
    project.env["DVC_NO_ANALYTICS"] = "1"
    project.sh("git init -q; mkdir sub; for f in 'in 1.txt' unused.txt secret.txt; do echo 1 > \"$f\"; done")
    (project.path / "params.yaml").write_text("rate: 3\n")
    (project.path / "dvc.yaml").write_text(DVC)
    project.sh(f"PATH={project.env['PATH']} HOME={project.env['HOME']} dvc init --quiet")
    project.watch("dvc", "repro")
    assert found(project, "dvc") == {
        ("one", INPUT, "secret.txt"), ("one", OUTPUT, "extra.txt"), ("one", UNREAD, "unused.txt"),
    }  # fmt: skip
    project.watch("dvc", "repro", "--single-item", "--force", "two")
    assert found(project, "dvc") == set()
    (project.path / "dvc.yaml").write_text(
        "stages:\n  fails:\n    cmd: cat secret.txt > f.txt; exit 3\n    outs: [f.txt]\n"
    )
    project.watch("dvc", "repro", code=None)
    assert found(project, "dvc") == {("fails", INPUT, "secret.txt")}
    project.sh("rm dvc.yaml")
    assert "restore the dvc.yaml" in refused(project, "dvc", code=1)

"""The script argument of command lines, and code as opposed to data: the program's own files."""

from __future__ import annotations

import sys

import pytest
from conftest import Project

from provio.lineage.interpreters import rule_of, script_of

COMMANDS = {
    "python3 job.py in out": "/w/job.py",
    "python3.11 -u -Wd -X utf8 sub/job.py -c": "/w/sub/job.py",
    "python3 -c pass job.py": None,
    "python3 -Bc pass": None,
    "python3 - job.py": None,
    "python3 -- job.py": "/w/job.py",
    "/usr/bin/python3 /data/job.py": "/data/job.py",
    "bash -ex -o pipefail run.sh a": "/w/run.sh",
    "bash -ec true run.sh": None,
    "sh -s a": None,
    "-bash --rcfile other run.sh": "/w/run.sh",
    "zsh +o nomatch run.sh": "/w/run.sh",
    "perl -lane print a": None,
    "perl -w -Ilib -Mstrict -i.bak fix.pl a": "/w/fix.pl",
    "awk -f sum.awk a": "/w/sum.awk",
    "gawk -F, -v n=1 --file=sum.awk a": "/w/sum.awk",
    "mawk -fsum.awk a": "/w/sum.awk",
    "awk {print} a": None,
    "sed -f edit.sed a": "/w/edit.sed",
    "sed -nf edit.sed a": "/w/edit.sed",
    "sed -i.old s/f/g/ a": None,
    "Rscript --vanilla fit.R a": "/w/fit.R",
    "R --no-echo --no-restore --file=fit.R --args a": "/w/fit.R",
    "ruby -Ilib -rset job.rb": "/w/job.rb",
    "node --require ./hook job.js": "/w/job.js",
    "node -pe 1": None,
    "julia -t 4 -O3 fit.jl": "/w/fit.jl",
    "lua -l set job.lua": "/w/job.lua",
    "java -Xmx1g -cp lib -jar job.jar a": "/w/job.jar",
    "make -j4 all": "/w/GNUmakefile",
    "make -C sub -C deep -f rules.mk": "/w/sub/deep/rules.mk",
    "make --makefile=rules.mk -j 4": "/w/rules.mk",
    "ninja -C build -j4": "/w/build/build.ninja",
    "octave --eval 1": None,
    "cat job.py": None,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_script_of_a_command_line(command: str) -> None:
    """The argument that an interpreter reads as its script, in its start folder; none if there is none."""
    words = command.encode().split(b" ")
    rule = rule_of(words[0].rpartition(b"/")[2].lstrip(b"-").decode(), {})
    script = script_of(words, b"/w", rule) if rule else None
    assert (script.paths[0].decode() if script else None) == COMMANDS[command]


MODULES = {
    "pkg.tool": "/w/pkg/tool.py",
    "pkg": "/w/pkg/__main__.py",
    "pkg.old": "/w/pkg/__pycache__/old.cpython-311.pyc",
    "tool": "/w/tool.py",
    "one": None,
}


@pytest.mark.parametrize("module", MODULES)
def test_the_file_of_a_module(module: str) -> None:
    """`python -m` runs the file of the module, or its byte code, or the main module of a package."""
    opened = b"/w/pkg/__init__.py /w/pkg/__main__.py /w/pkg/tool.py /w/pkg/__pycache__/old.cpython-311.pyc /w/tool.py"
    if module == "tool":
        opened = b"/w/someone.py /w/tool.py"
    rule = rule_of("python3", {})
    script = script_of([b"python3", b"-m", module.encode()], b"/w", rule) if rule else None
    assert script
    found = next(script.found(opened.split(b" ")), None)
    assert (found.decode() if found else None) == MODULES[module]


JOB = """import sys
b = open("b").read()
import mine
open(sys.argv[1], "w").write(open("a").read() * mine.K + b)
"""


@pytest.mark.integration
def test_a_module_that_is_compiled_on_the_way(project: Project) -> None:
    """Byte code comes only from its source, and does not end a phase: a run that reads the byte code comes from the
    source, and from no input of the run that compiled it."""
    project.env.pop("PYTHONDONTWRITEBYTECODE", None)
    (project.path / "job.py").write_text(JOB)
    project.sh("echo 1 > a; echo 2 > b; echo K = 2 > mine.py")
    project.watch(sys.executable, "job.py", "x")
    project.sh("echo 3 > b")
    project.watch(sys.executable, "job.py", "y")
    assert project.ancestors("x") == {"data": {"a", "b", "mine.py"}, "carried": set(), "control": set()}
    kept = f"__pycache__/mine.{sys.implementation.cache_tag}.pyc"
    assert project.ancestors("y") == {"data": {"a", "b", "mine.py", kept}, "carried": set(), "control": set()}
    versions = [node["iri"] for node in project.lineage("y")["nodes"] if node["label"] == "b"]
    assert versions == [project.lineage("b")["target"]]
    assert project.data(kept) == {"mine.py"}


@pytest.mark.integration
def test_a_dot_folder_of_the_home_of_the_run_is_noise(project: Project) -> None:
    """For any home folder; dot-folders of the project are not noise."""
    project.sh("mkdir ../.tools .mine; echo 1 > ../.tools/table; echo 2 > .mine/table")
    project.run("cat < ../.tools/table > part; paste part - < .mine/table > x")
    assert project.data("x") == {".mine/table", "part"}
    assert "../.tools/table" in project.data("x", "--all")

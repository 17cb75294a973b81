"""The commands to repeat: recorded runs in, the commands of `provio impact` out."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from conftest import provio_command

from provio.ask.redo import is_session, sort_after
from provio.render import redo

if TYPE_CHECKING:
    from conftest import Project

    from provio.ask.redo import Redo

pytestmark = pytest.mark.integration


def typed(project: Project, script: str, code: int = 0) -> None:
    """Execute lines of a shell, in which `provio run --quiet -- ` stands for `: `."""
    run = f"{shlex.join(provio_command())} run --quiet --"
    lines = [re.sub("(^|; ): ", lambda found: f"{found[1]}{run} ", line) for line in script.splitlines()]
    project.sh("".join(f"{line} || [ $? = {code} ]\n" for line in lines))


def impact(project: Project, *words: str) -> str:
    return project.provio("impact", *words).stdout


def test_commands_as_the_user_typed_them(project: Project) -> None:
    """Each run once, in order, with its folder and redirections; through a program that another program made."""
    project.sh("mkdir data; echo 3 > in; echo 'cat \"$@\"; # 1' > tool.txt")
    typed(project, ": sh -c 'sed s/1/2/ tool.txt > tool; chmod +x tool'")
    typed(project, ": ./tool < in > out 2> log\ncd data; : sh -c 'for n in 1 2 3 4 5 6 7; do cp ../out $n; done'")
    typed(project, ": sort 'data/1' -o 'a b' >> notes 2>&1\n: sh -c 'wc -l < out > count; exit 3'", 3)
    copies = ", ".join(f"data/{number}" for number in range(1, 8))
    assert impact(project, "tool.txt") == (
        "1  sh -c 'sed s/1/2/ tool.txt > tool; chmod +x tool'\n"
        "     makes tool\n"
        "2  ./tool < in > out 2> log\n"
        "     makes out\n"
        "3  cd data && sh -c 'for n in 1 2 3 4 5 6 7; do cp ../out $n; done'\n"
        f"     makes {copies}\n"
        "4  sort data/1 -o 'a b' >> notes 2>&1\n"
        "     makes a b\n"
        "5  sh -c 'wc -l < out > count; exit 3'\n"
        "     failed the last time (exit 3)\n"
        "     makes count\n"
    )
    assert impact(project, "tool.txt", "--no-code").splitlines()[2:] == []
    answer = json.loads(impact(project, "data/1", "--as", "json"))
    path, (one,) = str(project.path), answer["runs"]
    assert {**one, "run": "", "after": []} == {
        "run": "", "after": [], "arguments": ["sort", "data/1", "-o", "a b"], "cwd": path, "gone": [],
        "command": "sort data/1 -o 'a b' >> notes 2>&1", "products": [f"{path}/a b"],
        "redirections": [">>", f"{path}/notes", "2>&1"],
    }  # fmt: skip
    project.sh("rm out")
    assert impact(project, "in").splitlines()[:4] == [
        "1  ./tool < in > out 2> log",
        "     makes out (gone)",
        "2  cd data && sh -c 'for n in 1 2 3 4 5 6 7; do cp ../out $n; done'",
        f"     makes {copies}",
    ]


def test_a_compiled_module_is_no_product(project: Project) -> None:
    """A run that only compiled a module need not be repeated; those that used the module must be."""
    project.sh('echo \'def f(): return 1\' > common.py; echo \'import common; open("a", "w").write("1")\' > one.py')
    project.sh("sed s/a/b/ one.py > two.py")
    for name in ("one", "two"):
        typed(project, f": python3 {name}.py")
    assert impact(project, "common.py") == "1  python3 one.py\n     makes a\n2  python3 two.py\n     makes b\n"
    project.sh("rm a")
    assert impact(project, "common.py") == "1  python3 two.py\n     makes b\nleft out: a is gone\n"


def test_a_run_in_a_run_and_a_session(project: Project) -> None:
    """A script that calls provio is one command; in a recorded shell each command is one."""
    project.sh(f"echo 2 > a; echo '{shlex.join(provio_command())} run --quiet -- sort a -o b' > script.sh")
    typed(project, ": sh script.sh")
    assert impact(project, "a") == "1  sh script.sh\n     makes b\n"
    project.provio("run", "--quiet", "--", "bash", "--norc", stdin=None, input="cat b | sort > c\ncp c d\n")
    assert impact(project, "b") == "1  cat b | sort\n     makes c\n2  cp c d\n     makes d\n"


def test_a_notebook(project: Project) -> None:
    """The run of a recorded kernel is named by its notebook."""
    project.sh("mkdir -p provio/interceptors; echo 1 > a; echo 'cp a b' > provio/interceptors/kernel.py")
    project.provio("run", "--quiet", "--name", "an.ipynb", "--", "sh", "provio/interceptors/kernel.py")
    assert impact(project, "a") == "1  an.ipynb  (a notebook: execute its cells)\n     makes b\n"


def test_sessions() -> None:
    """A shell without a script and a server of notebooks are sessions."""
    sessions = ["bash", "-bash", "/bin/zsh -i", "bash --norc -l", "jupyter lab", "jupyter-notebook x"]
    others = ["", "bash x.sh", "bash -c ls", "sh -ec ls", "python3", "jupyter nbconvert x", "bash -"]
    assert [is_session(line.split()) for line in sessions + others] == [True] * 6 + [False] * 7


def test_order() -> None:
    """Each after those that it needs, otherwise in the given order; also in a cycle."""
    assert sort_after({"a": ["c"], "b": [], "c": ["b"], "d": []}) == ["b", "c", "a", "d"]
    assert sort_after({"a": ["b"], "b": ["a"]}) == ["b", "a"]


def made(number: int, **more: Any) -> Redo:
    words = ["./step", str(number)]
    facts: Any = {"run": f"r{number}", "command": " ".join(words), "arguments": words, "redirections": [], "after": []}
    return {**facts, "cwd": "/d", "gone": [], "products": [f"/d/{number}.txt"], **more}  # type: ignore[no-any-return]


def text(answer: list[Redo], **options: Any) -> list[str]:
    options = {"width": 40, "unicode": False, "folder": "/d", "fold": True, **options}
    return list(redo.lines(answer, **options))


def test_long_answers_are_short() -> None:
    """Many commands have a line each, very many are counted; a long command goes on where a shell allows it."""
    assert text([made(number) for number in range(10)])[:2] == [" 1  ./step 0", "      makes 0.txt"]
    assert text([made(1), *[made(number) for number in range(10)]])[:2] == [
        " 1  ./step 1  (makes 1.txt)",
        " 2  ./step 0  (makes 0.txt)",
    ]
    shown = text([made(number, products=[f"/d/{number}", "/d/b"], cwd="/e") for number in range(30)], width=60)
    assert [len(shown), shown[0], shown[-1]] == [
        21, " 1  cd /e && ./step 0  (makes 0 and 1 more)", "10 other commands (--no-fold)",
    ]  # fmt: skip
    assert len(text([made(number) for number in range(30)], fold=False)) == 60
    words = ["prog", "a b", *(f"--option-{n}" for n in range(9))]
    one = made(1, arguments=words, command=shlex.join(words), products=[f"/d/m/{n}" for n in range(9)])
    assert text([one]) == [
        "1  prog 'a b' --option-0 --option-1 \\",
        "       --option-2 --option-3 \\",
        "       --option-4 --option-5 \\",
        "       --option-6 --option-7...",
        "     makes m/  9 files",
    ]


def test_a_missing_file_with_the_name_of_a_temporary_file_is_named(project: Project) -> None:
    """The name alone makes no temporary file: its readers decide. A later command needs it even if it is missing."""
    project.sh("echo 1 > a")
    typed(project, ": cp a tmp1.json\n: cp tmp1.json b")
    project.sh("rm tmp1.json")
    needed = "1  cp a tmp1.json\n     makes tmp1.json (gone)\n2  cp tmp1.json b\n     makes b\n"
    assert impact(project, "a") == needed
    project.sh("rm b")
    assert impact(project, "a").endswith("\nleft out: b is gone\nleft out: tmp1.json is gone\n")

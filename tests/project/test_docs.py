"""The documentation: its commands print the shown output, its links are valid, its generated pages are up to date."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import doc_pages
import pytest
from conftest import ROOT, Project
from doc_pages import steps

import provio
from provio.api import Store
from provio.base.vocab import vocabulary
from provio.cli import manual
from provio.render import vocabulary_list
from provio.stats import Figures

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
OTHERS = {"first-half-hour.md"} | {page.name for page in (DOCS / "use-cases").glob("*.md")}  # they have their own tests
EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
RUN = [page for page in [*PAGES, *EXAMPLES] if page.name not in OTHERS]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in RUN if steps(page.read_text(encoding="utf-8"))], ids=name_of)
@pytest.mark.slow
def test_a_page_can_be_followed(project: Project, needs: Any, page: Path) -> None:
    """In an empty folder its commands print the output that it shows."""
    text = page.read_text(encoding="utf-8")
    needs(*doc_pages.needs(text))
    with doc_pages.reader() as home:
        env = doc_pages.environment(home, project.env)
        if page == ROOT / "README.md":
            demo(home / "das", env)
        found = doc_pages.problems(text, doc_pages.carried_out(text, home / "das", env))
        assert not found, "\n".join(found)


def test_a_command_fails_only_if_the_page_states_it() -> None:
    """By a message of provio, by the exit code in a paragraph next to the block, or by `echo $?`."""
    run = "provio: run 0193c1f2-4d00-7a31-9c55-2f6d8e0b71a0: pending in /home/ada"
    for shown, before, after, accepted in (
        ("a", "", "", False),
        (run, "", "", False),
        ("provio: nothing is recorded", "", "", True),
        ("a", "The exit code is then 3:", "", True),
        ("a", "", "It has the\nexit code 3.", True),
        ("a", "The exit code is 2:", "", False),
        ("a", "The exit code is 2. There are 3 files:", "", False),
        ("a\n    $ echo $?\n    3", "", "", True),
    ):
        text = f"{before}\n\n    $ cat a\n    {shown}\n\n{after or 'Next:'}\n\nThe exit code 3 of others.\n"
        done = [(step, "\n".join(step.lines) + "\n", 3 * (step.command == "cat a")) for step in steps(text)]
        assert bool(doc_pages.problems(text, done)) != accepted, text


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_ids_of_a_page_agree(page: Path) -> None:
    """Each run of a page has an id of its own, and the ids of a table are from the same execution as the others."""
    assert doc_pages.wrong_ids(page.read_text(encoding="utf-8")) == []


def test_ids_that_contradict_each_other_are_found() -> None:
    first = "0193c1f2-4d00-7a31-9c55-2f6d8e0b71a0"
    line = f"    $ provio run -- true\n    provio: run {first}: recorded in /home/ada\n"
    assert doc_pages.wrong_ids(line) == [] and doc_pages.wrong_ids(line + line) == [first]
    table = "    $ provio runs\n    {}  2026-11-27  true\n"
    assert doc_pages.wrong_ids(line + table.format(first[:13])) == []
    assert doc_pages.wrong_ids(line + table.format("01a21d88-8cfa")) == ["01a21d88-8cfa"]


def demo(checkout: Path, env: dict[str, str]) -> str:
    """Carry out `make demo` in a checkout on a small recording, after the installation; return its output."""
    pytest.importorskip("scipy")
    shutil.copytree(ROOT / "examples" / "dassa", checkout / "examples" / "dassa")
    (checkout / "build" / "demo").mkdir(parents=True)
    raw = ["examples/dassa/synthesise.py", "build/demo/WestSac.bin", "--channels", "4", "--duration", "16"]
    subprocess.run([sys.executable, *raw], cwd=checkout, check=True, capture_output=True)
    return subprocess.run(
        ["examples/dassa/demo.sh"], cwd=checkout, env=env, check=True, capture_output=True, text=True, timeout=300
    ).stdout


@pytest.mark.slow
def test_the_demo_ends_with_commands_that_work(tmp_path: Path, project: Project) -> None:
    """In the shell of a reader, who has no environment active, and in a folder with an odd name."""
    env = doc_pages.environment(tmp_path / "ada", project.env)
    checkout = tmp_path / "o'd d"
    checkout.mkdir()
    _, _, shown = demo(checkout, env).partition("== What next? These commands work as they stand:\n")
    commands = [line.removeprefix("    ") for line in shown.splitlines()]
    assert len(commands) >= 5
    reader = {name: value for name, value in env.items() if name != "PATH"} | {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-ec", "\n".join(commands)], cwd="/", env=reader, check=True, capture_output=True, text=True
    )
    assert "current   5 files" in done.stdout
    assert "made by   summarise.py" in done.stdout
    assert (checkout / "build" / "demo" / "summary.html").stat().st_size > 1000


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=name_of)
def test_nothing_is_hidden_in_a_page(page: Path) -> None:
    """No comment of HTML, except the marks of generated parts."""
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"<!--(?! written by `| to here).*", text) == []


def test_the_parts_of_a_page() -> None:
    """Commands of several lines, whole outputs, files, programs that a page needs; numbers may differ."""
    text = (
        "This page needs `a`, `b` and\n`c` here.\n\nSave this as `x.py`:\n\n    print(1)\n\n    print(2)\n\nThen:\n\n"
        "    $ cat 'a\n    > b'\n    one …\n    …\n    last\n    $ cd /\n\nA form:\n\n    provio run NAME\n"
    )
    assert doc_pages.needs(text) == ["a", "b", "c"]
    script, command, folder = steps(text)
    assert (script.file, script.lines) == ("x.py", ["print(1)", "", "print(2)"])
    assert (command.command, command.lines) == ("cat 'a\nb'", ["one …", "…", "last"])
    assert folder.command == "cd /"
    assert doc_pages.matches(command.lines, "one x\n\n(\nlast\n", exact=True)
    assert not doc_pages.matches(["one …", "last"], "one x\ny\nlast\n", exact=True)
    assert doc_pages.matches(["12 B in 3 ms"], "7 kB in 1.5 s\n", exact=False)
    assert not doc_pages.matches(["12 B in 3 ms"], "7 kB on 1.5 s\n", exact=False)
    assert not doc_pages.matches([], "a line\n", exact=False)


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=name_of)
def test_the_python_of_a_page(page: Path) -> None:
    """Its blocks of Python compile; the functions of provio in it exist, with these arguments."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"(?ms)^```python\n(.*?)^```", text):
        compile(block + "    ...\n" * block.endswith(":\n"), name_of(page), "exec")
    for call in re.finditer(r"(?<![\w.])(provio|store|figures)\.([a-z_]+)\(", text):
        function = getattr({"provio": provio, "store": Store, "figures": Figures}[call[1]], call[2], None)
        assert function is not None, call[0]
        arguments = inspect.signature(function).parameters.values()
        accepted = {one.name for one in arguments}
        if all(one.kind is not one.VAR_KEYWORD for one in arguments):
            assert named_arguments(text[call.start() :]) <= accepted, call[0]


def named_arguments(text: str) -> set[str]:
    """Return the names of the arguments of the call, or signature, that a text begins with."""
    for end in re.finditer(r"\)", text):
        with contextlib.suppress(SyntaxError):
            call = ast.parse(text[: end.end()].replace("*, ", "").replace("…", "*_"), mode="eval").body
            assert isinstance(call, ast.Call)
            return {one.arg for one in call.keywords if one.arg}
    raise AssertionError(text[:80])


def test_named_arguments() -> None:
    """Of a call with calls in it, and of a signature."""
    assert named_arguments("store.find(text(1), sha256=f(x=2), …) and f(y=3)") == {"sha256"}
    assert named_arguments("provio.open(path=None, *, timeout=None)") == {"path", "timeout"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file that is there, and a heading in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        if ":" in name:
            continue
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{name_of(page)}: {target}"
        if anchor and file.suffix == ".md":
            assert anchor in headings(file), f"{name_of(page)}: {target}"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    lines = re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


def test_every_page_is_in_the_index() -> None:
    """docs/README.md leads to each page."""
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    left_out = [page for page in DOCS.rglob("*.md") if f"({page.relative_to(DOCS)})" not in index]
    assert [name_of(page) for page in left_out if page.name != "README.md" and "use-cases" not in page.parts] == []


def test_the_reference_of_commands_is_todays() -> None:
    """docs/commands.md equals the output of `make calls`."""
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == manual.page(), "make calls"


def test_the_page_of_words_is_todays() -> None:
    """docs/words.md equals the output of `make calls`, and has each term of the ontology with its meaning."""
    assert (DOCS / "words.md").read_text(encoding="utf-8") == vocabulary_list.page(), "make calls"
    assert {word.name.removeprefix("provio:") for word in vocabulary_list.words()} == set(vocabulary().terms)
    assert [word.name for word in vocabulary_list.words() if not word.properties.get("comment")] == []

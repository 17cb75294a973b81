"""The documentation: its commands print the shown output, its links are valid, its generated pages are up to date."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Project, provio_command
from doc_pages import commands_of, setup_of

from provio.base.vocab import vocabulary
from provio.cli import manual
from provio.render import vocabulary_list

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
RUN = [DOCS / "first-ten-minutes.md", *sorted((DOCS / "how-to").glob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in RUN if commands_of(page)], ids=name_of)
@pytest.mark.slow
def test_the_commands_of_a_page_print_the_shown_output(project: Project, needs: Any, page: Path) -> None:
    """One after the other in one folder; each ends with 0 and shows the lines that the page has of it."""
    programs, setup = setup_of(page)
    needs(*programs)
    path = f"{Path(provio_command()[0]).parent}:{project.env['PATH']}"
    variables = dict(re.findall(r"(\w+)=(\S+)", "".join(re.findall(r"(?m)^export (.*)$", setup))))
    env = {**project.env, **variables, "PATH": path, "LC_ALL": "C.UTF-8", "PROVIO_MERGE": "background"}

    def shown(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=project.path, env=env, text=True, timeout=120,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, f"$ {line}\n{done.stdout}"
        return done.stdout

    shown(f"set -e\n{setup}")
    for command in commands_of(page):
        answer = shown(command.text)
        assert not command.missing(answer), f"$ {command.text}\n{answer}"


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

"""Named questions held against the verbs that answer the same: a project and its files in; a failed test out."""

from __future__ import annotations

from collections.abc import Iterable

from conftest import Project

from provio.ask.filters import only_roots
from provio.ask.housekeeping import rule_of
from provio.ask.lineage import Scope, lineage
from provio.ask.parameters import bound
from provio.ask.queries import named
from provio.ask.query import execute
from provio.ask.target import find_target
from provio.settings.home import Home
from provio.store import Store, open_reader


def assert_agreement(project: Project, back: Iterable[str], into: Iterable[str]) -> None:
    """Of files that come from others, and of such that others come from: the same versions, by question and by verb."""
    reader = open_reader(Home(project.path / ".provio"))
    for name in back:
        document = lineage(reader, [find_target(reader, str(project.path / name))], Scope())
        assert versions(reader, "upstream", project, name) == files(document), name
        roots = files(only_roots(reader, document))
        assert versions(reader, "primary-sources", project, name) == roots, name
    for name in into:
        document = lineage(reader, [find_target(reader, str(project.path / name))], Scope(forward=True))
        assert versions(reader, "downstream", project, name) == files(document), name


def files(document: object) -> set[str]:
    """The versions of files in a lineage document, but for the target and files in memory without a name."""
    assert isinstance(document, dict)
    shown = {node["iri"] for node in document["nodes"] if node["type"] == "FileVersion" and "path" in node}
    return shown - {document["target"]}


def versions(reader: Store, name: str, project: Project, file: str) -> set[str]:
    """The versions that a question answers with."""
    question = named(name)
    assert question
    found = execute(reader, bound(question, {"file": str(project.path / file)}, reader).text)
    # A query knows no housekeeping of programs (`.git/index`): the verbs hide it.
    return {row["version"].value for row in found if not _is_hidden(row["path"].value)}  # type: ignore[union-attr, index]


def _is_hidden(path: str) -> bool:
    rule = rule_of(path)
    return rule is not None and (rule.imported or not rule.through)

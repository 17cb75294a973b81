"""The description of a project in its settings, and its export for DataCite, which DataCite's schema accepts."""

import json
from typing import Any

import pytest
from conftest import Project
from datacite import schema45

from provio.settings.description import identifier_of, orcid_of

SETTINGS = """[project]
title = "Ambient noise of Sacramento"
description = "Correlations of one day."
licence = "CC-BY-4.0"
publisher = "A laboratory"
funding = ["Grant 12 of a foundation"]
identifiers = ["https://doi.org/10.5281/zenodo.1234", "ark:/57799/b9abc", "minid:b9abc"]

[project.creators]
"Ada Lovelace" = "0000-0002-1825-0097"
"Grace Hopper" = ""
"""


def document(project: Project, *names: str) -> dict[str, Any]:
    """The exported document, which the schema accepts."""
    found = json.loads(project.answer("export", *names, "--as", "datacite"))
    schema45.validator.validate(found)
    return found  # type: ignore[no-any-return]


def test_the_description_is_exported(project: Project) -> None:
    (project.path / "provio.toml").write_text(SETTINGS)
    project.run("echo 1 > out")
    found = document(project, "out")
    assert found["titles"] == [{"title": f"Ambient noise of Sacramento: {project.path / 'out'}"}]
    first, second = found["creators"]
    assert first["nameIdentifiers"][0]["nameIdentifier"] == "https://orcid.org/0000-0002-1825-0097"
    assert second == {"name": "Grace Hopper", "nameType": "Personal"}
    assert found["doi"] == "10.5281/zenodo.1234"
    others = {one["alternateIdentifier"]: one["alternateIdentifierType"] for one in found["alternateIdentifiers"]}
    assert others | {"10.5281/zenodo.1234": "DOI", "ark:/57799/b9abc": "ARK", "minid:b9abc": "minid"} == others
    assert found["rightsList"][0]["rightsIdentifier"] == "CC-BY-4.0"
    assert found["fundingReferences"] == [{"funderName": "Grant 12 of a foundation"}]


def test_without_a_description_nothing_is_invented(project: Project) -> None:
    """The title is the folder's name, the creator the recorded user; there is no licence."""
    project.run("echo 1 > out")
    found = document(project)
    assert found["titles"] == [{"title": project.path.name}]
    assert found["creators"] == [{"name": project.sh("id -un").strip(), "nameType": "Personal"}]
    assert found["publisher"] == {"name": ":unkn"}
    assert not {"rightsList", "doi", "descriptions"} & found.keys()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('identifiers = ["10.5281"]', "an ARK"),
        ('creators = {"Ada" = "0000-0002-1825-0098"}', "last digit"),
        ('creators = {"Ada" = "1825"}', "no ORCID"),
        ('creators = ["Ada"]', "a table such as"),
        ('licence = "free for all"', "SPDX"),
        ('tittle = "x"', "did you mean 'project.title'"),
    ],
)
def test_wrong_descriptions_are_refused(project: Project, line: str, message: str) -> None:
    (project.path / "provio.toml").write_text(f"[project]\n{line}\n")
    assert message in project.provio("runs", code=None).stderr


@pytest.mark.parametrize("text", ["0000-0002-1694-233X", "https://orcid.org/0000-0002-1694-233X"])
def test_an_orcid_may_end_in_x(text: str) -> None:
    assert orcid_of(text) == "0000-0002-1694-233X"


def test_forms_of_identifiers() -> None:
    assert identifier_of("doi:10.1000/182") == ("DOI", "10.1000/182")
    assert identifier_of("https://n2t.net/ark:/57799/b9abc") == ("ARK", "ark:/57799/b9abc")

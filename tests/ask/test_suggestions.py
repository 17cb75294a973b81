"""The files that a message suggests for an unknown name."""

from __future__ import annotations

import pytest
from conftest import Project

NOTHING = "provio: nothing is recorded of "


@pytest.mark.integration
def test_the_same_name_in_another_folder_comes_first(project: Project) -> None:
    """Then similar names in the same folder; if there are none, similar names below it."""
    project.run("mkdir -p out/deep; for f in fig1.png out/fig.png out/deep/table.csv; do echo 1 > $f; done")
    for name, near in (
        ("fig.png", "out/fig.png, or fig1.png"),
        ("fig2.png", "fig1.png"),
        ("out/fig1.png", "fig1.png, or out/fig.png"),
        ("tabel.csv", "out/deep/table.csv"),
    ):
        stderr = project.provio("lineage", name, code=3).stderr
        assert stderr == f"{NOTHING}{name}: did you mean {near}?\n"
    # A common suffix alone is no similarity.
    assert project.provio("lineage", "nothing.png", code=3).stderr == f"{NOTHING}nothing.png: there is no such file\n"
    assert "there is no such file" in project.provio("lineage", "quite-another", code=3).stderr

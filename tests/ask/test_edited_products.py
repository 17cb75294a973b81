"""A product that was changed outside of provio: no verb states that its own products come from the recorded sources."""

from __future__ import annotations

import pytest
from conftest import Project

GAP = "made by a run, then changed outside provio"


def made(project: Project, edit: str) -> None:
    """Record `b` from `a`, edit `b` outside of runs, record `c` from `b`."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.sh(edit)
    project.provio("run", "--quiet", "--", "sh", "-c", "cat b > c")


@pytest.mark.integration
@pytest.mark.parametrize("edit", ["echo 2 >> b", "echo 2 > x; mv x b"])  # in place, and by another file
def test_an_edited_product(project: Project, edit: str) -> None:
    """`lineage --stale`, `impact` and `status` state the edit; after the product is made again they do not."""
    made(project, edit)
    stale = project.provio("lineage", "c", "--stale").stdout
    assert "but not everything was recorded\n" in stale
    assert f"! b: {GAP}" in stale
    impact = project.provio("impact", "a").stdout
    assert impact.startswith("nothing that is there is recorded as made from it, but not everything was recorded\n")
    assert f"! b: {GAP}" in impact
    row = project.provio("status", "b", code=1).stdout.partition(",")[0]
    assert row.split() == ["changed", "b", "edited", "outside", "provio"]

    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat b > c")
    assert "nothing is stale" in project.provio("lineage", "c", "--stale").stdout
    assert GAP not in project.provio("impact", "a").stdout
    assert project.provio("status").stdout.startswith("current ")


@pytest.mark.integration
def test_an_edited_source_is_no_gap_of_staleness(project: Project) -> None:
    """A file that no run made may be edited between two runs."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.sh("echo 2 >> a")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    assert "nothing is stale" in project.provio("lineage", "b", "--stale").stdout
    assert project.provio("status").stdout.startswith("current ")


@pytest.mark.integration
@pytest.mark.parametrize("edit", ["mv older b", "cp -p older b", "echo 2 > b; touch b"])
def test_a_product_with_other_times(project: Project, edit: str) -> None:
    """Times older than those of the product, as of a backup, do not hide that it was replaced."""
    project.sh("echo 9 > older; touch -d 2020-01-02 older")
    made(project, edit)
    assert "nothing is stale" not in project.provio("lineage", "c", "--stale").stdout
    assert project.provio("status", "b", code=1).stdout.startswith("changed ")
    project.sh("touch b")
    assert not project.provio("status", "b", code=1).stdout.startswith("current ")


@pytest.mark.integration
def test_an_edited_product_that_no_run_read(project: Project) -> None:
    """`impact` does not state that nothing was made from the source."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.sh("echo 2 >> b")
    impact = project.provio("impact", "a").stdout
    assert impact.startswith("nothing that is there is recorded as made from it, but not everything was recorded\n")
    assert f"! b: {GAP}\n" in impact

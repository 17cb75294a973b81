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


@pytest.mark.integration
@pytest.mark.parametrize("later", ["true", "echo 3 >> b", "rm b", "cat a > b", "mv b d"])
def test_forward_answers_state_the_edit(project: Project, later: str) -> None:
    """`impact` and `lineage --forward --stale` of the source state it while the product of the edited file is there,
    also if that file is not; `impact` of the edited file lists the command that read it."""
    made(project, "echo 2 >> b")
    target = project.provio("impact", "b").stdout
    project.sh(later)
    for question in (["impact", "a"], ["lineage", "--forward", "--stale", "a"]):
        answer = project.provio(*question).stdout
        assert "but not everything was recorded\n" in answer
        assert f"! b: {GAP}" in answer
    assert "cat b > c" in target
    assert "makes c\n" in target

    project.sh("rm -f b d c")
    assert GAP not in project.provio("impact", "a").stdout
    assert GAP not in project.provio("lineage", "--forward", "--stale", "a").stdout


@pytest.mark.integration
def test_a_later_product_of_an_edited_file_that_was_replaced(project: Project) -> None:
    """A file with another inode that a run read is stated too, also if it is not there any more."""
    made(project, "echo 2 > x; mv x b")
    project.sh("rm b")
    assert f"! b: {GAP}\n" in project.provio("impact", "a").stdout


@pytest.mark.integration
@pytest.mark.parametrize("times", [1, 2])
def test_a_renamed_product_that_was_edited(project: Project, times: int) -> None:
    """The file is the same under its new name; a run between two edits does not hide the first one."""
    (project.path / "a").write_text("1\n")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.sh("mv b new")
    for _ in range(times):
        project.sh("echo 2 >> new")
        project.provio("run", "--quiet", "--", "sh", "-c", "cat new > c")
    backward = project.provio("lineage", "c", "--stale").stdout
    assert "but not everything was recorded\n" in backward
    assert f"! new: {GAP}" in backward
    for question in (["impact", "a"], ["lineage", "--forward", "--stale", "a"]):
        assert f"! new: {GAP}" in project.provio(*question).stdout
    row = project.provio("status", "new", code=1).stdout.partition(",")[0]
    assert row.split() == ["changed", "new", "edited", "outside", "provio"]


@pytest.mark.integration
def test_a_renamed_source_that_was_edited(project: Project) -> None:
    """No run made it: its edit is no gap of staleness."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.sh("mv a new; echo 2 >> new")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat new > c")
    assert "nothing is stale" in project.provio("lineage", "c", "--stale").stdout
    assert project.provio("status", "new").stdout.startswith("current ")

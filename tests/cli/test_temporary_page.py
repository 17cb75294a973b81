"""`provio view` without the name of a page."""

from __future__ import annotations

import pytest
from conftest import Project


@pytest.mark.integration
def test_a_page_without_a_name_is_a_temporary_file(project: Project) -> None:
    """It is opened in the browser; without one its name is printed. Only its user can read it."""
    (project.path / "in").write_text("1\n")
    project.run("cp in out")
    temporary = project.path / "temporary"
    temporary.mkdir()
    project.env |= {"TMPDIR": str(temporary), "BROWSER": "sh -c 'echo $0 > opened' %s"}
    done = project.provio("view", "out")
    (page,) = temporary.iterdir()
    assert done.stdout == "" and done.stderr == f"{page}: 4 nodes, opened in the browser\n"
    assert (project.path / "opened").read_text() == page.as_uri() + "\n"
    assert page.stat().st_mode & 0o777 == 0o600
    page.unlink()
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        project.env.pop(name, None)
    done = project.provio("view", "last~0", "--steps", "process")
    (page,) = temporary.iterdir()
    assert done.stderr.startswith(f"no browser was found: open {page} (") and done.stderr.count("\n") == 1
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "give one of them" in project.provio("view", "--level", "file", "--steps", "io", code=2).stderr

"""The commands in the pages of use cases print the shown output."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Project, provio_command
from doc_runner import Step, pattern, run, steps
from object_levels import disagreements

from provio.settings.home import Home

PAGES = sorted((ROOT / "docs" / "use-cases").glob("*.md"))
NEEDS = {"h5bench": ("h5pcc", "mpirun")}
MODULES = {"dassa": ("h5py", "numpy", "scipy"), "topreco": ("numpy",), "megatron": ("torch", "tensorboard")}


@pytest.fixture
def env(project: Project, tmp_path: Path) -> dict[str, str]:
    """`provio` and `python3` are those of this environment; ranks may be more than cores, and root's."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "provio"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(provio_command())} "$@"\n')
    script.chmod(0o755)
    python = Path(sys.executable).parent
    if not (python / "python3").exists():
        pytest.skip(f"no python3 in {python}")
    mpi = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMP_NUM_THREADS": "1",  # more threads than free processors mostly wait for each other
    }
    path = f"{tmp_path / 'bin'}:{python}:{project.env['PATH']}"
    return {**project.env, **mpi, "PATH": path, "EXAMPLES": str(ROOT / "examples"), "LC_ALL": "C.UTF-8"}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_output_of_its_commands(project: Project, env: dict[str, str], page: Path) -> None:
    missing = [program for program in NEEDS.get(page.stem, ()) if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs it where it may)")
    for module in MODULES.get(page.stem, ()):
        pytest.importorskip(module)
    assert run(page, project.path, env) > 5
    assert all(disagreements(Home(home)) == [] for home in project.path.rglob(".provio"))


def test_commands_are_separated_from_their_output(tmp_path: Path) -> None:
    """A command may have several lines; `…` is a part of a line, or lines."""
    page = tmp_path / "page.md"
    page.write_text("text\n\n    $ cat 'a\n    > b'\n    one …\n    …\n    last\n\n    $ true\n")
    assert steps(page) == [Step("cat 'a\nb'", ["one …", "…", "last"]), Step("true", [])]
    assert pattern(["one …", "…", "last"]).fullmatch("one x\nlast\n")
    assert pattern(["one …", "…", "last"]).fullmatch("one x\n(\n\nlast\n")
    assert not pattern(["one …", "last"]).fullmatch("one x\ny\nlast\n")
    page.write_text("    $ echo a\n    b\n")
    with pytest.raises(AssertionError, match="printed\na"):
        run(page, tmp_path, {"PATH": "/usr/bin:/bin"})

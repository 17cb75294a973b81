"""The commands in the pages of use cases print the shown output, number by number."""

from __future__ import annotations

import shutil
from pathlib import Path

import doc_pages
import pytest
from conftest import ROOT, Project
from dask_environments import python_with_dask
from object_levels import disagreements

from provio.settings.home import Home

PAGES = sorted((ROOT / "docs" / "use-cases").glob("*.md"))
NEEDS = {"h5bench": ("h5pcc", "mpirun"), "hybrid": ("h5pcc", "mpirun")}
MODULES = {"dassa": ("h5py", "numpy", "scipy"), "topreco": ("numpy",), "megatron": ("torch", "tensorboard"),
           "hybrid": ("h5py", "torch")}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_output_of_its_commands(project: Project, page: Path) -> None:
    missing = [program for program in NEEDS.get(page.stem, ()) if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs it where it may)")
    for module in MODULES.get(page.stem, ()):
        pytest.importorskip(module)
    text = page.read_text(encoding="utf-8")
    python = Path(python_with_dask()) if page.stem in ("dask", "hybrid") else None
    with doc_pages.reader() as home:
        env = doc_pages.environment(home, project.env)
        if python and page.stem == "dask":
            env["PATH"] = f"{home / 'bin'}:{python.parent}:{env['PATH']}"
        elif python:
            env["DASK_PYTHON"] = str(python)
        done = doc_pages.carried_out(text, home / "das", env)
        assert len(done) > 5
        found = doc_pages.problems(text, done, exact=True)
        assert not found, "\n".join(found)
        assert all(disagreements(Home(record)) == [] for record in home.rglob("das/**/.provio"))

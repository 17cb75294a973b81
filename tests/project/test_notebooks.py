"""The notebooks of `examples/notebooks` run from their first cell to their last, and print the stored outputs."""

from __future__ import annotations

from pathlib import Path

import doc_pages
import pytest
from conftest import ROOT, Project

pytest.importorskip("ipykernel", reason="the tests of notebooks need ipykernel and nbclient (extra `test`)")
nbformat = pytest.importorskip("nbformat", reason="the tests of notebooks need ipykernel and nbclient (extra `test`)")
MODULES = {"02": ("pandas", "sklearn"), "03": ("xarray", "h5netcdf", "matplotlib")}
BOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_its_stored_outputs(project: Project, path: Path) -> None:
    """Except ids, times and sizes."""
    import notebooks

    for module in MODULES.get(path.stem[:2], ()):
        pytest.importorskip(module)
    stored = nbformat.read(path, as_version=4)
    with doc_pages.reader() as home:
        made = notebooks.executed(path, home, doc_pages.environment(home, project.env))
    for old, new in zip(stored.cells, made.cells, strict=True):
        for one, other in zip(old.get("outputs", []), new.get("outputs", []), strict=True):
            shown = notebooks.text(one).splitlines()
            assert doc_pages.matches(shown, notebooks.text(other), exact=False), notebooks.text(other)
            assert (notebooks.IMAGE in one.get("data", {})) == (notebooks.IMAGE in other.get("data", {}))


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_has_no_data_of_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 50_000
    assert str(Path(__file__).parents[2]) not in text
    assert "/tmp/tmp" not in text
    assert "root" not in text
    assert all(cell.outputs == [] or cell.execution_count for cell in nbformat.read(path, 4).cells if "outputs" in cell)
    assert f"({path.name})" in (path.parent / "README.md").read_text(encoding="utf-8")

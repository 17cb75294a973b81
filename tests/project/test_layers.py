"""The order of the packages: each imports only from those above it in the list, and each module has a docstring."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "provio"

# The packages in the order of imports, which is nearly the path of the data.
ORDER = """
    base system settings trace lineage graph store merge record containers
    ask stats validate render serve doctor api cli
""".split()

# Links to the repository's own folders: they have rules of their own.
LINKED = {"interceptors", "ontology", "queries"}
FLAT = {"__init__", "__main__", "errors"}  # the last is an old name, kept for one release


def modules() -> list[Path]:
    found = [*PACKAGE.glob("*.py"), *(p for d in PACKAGE.iterdir() if d.name not in LINKED for p in d.rglob("*.py"))]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def package_of(path: Path) -> str:
    """The first part of a module's name below `provio`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """The packages that a module imports from, wherever in its text it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module or ""]
            if node.module == "provio":
                names = [f"provio.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("provio."))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_package_imports_only_from_those_above_it(path: Path) -> None:
    own = package_of(path)
    place = ORDER.index(own) if own in ORDER else len(ORDER)
    below = {name for name in imported(path) if name in ORDER and ORDER.index(name) > place}
    assert not below, f"{name_of(path)} imports from a later package: {', '.join(sorted(below))}"


def test_every_module_lies_in_a_package_of_the_list() -> None:
    assert {package_of(path) for path in modules()} - FLAT == set(ORDER)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))

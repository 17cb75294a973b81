"""The order of the packages: each imports only from those above it in the list, and each module has a docstring."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent / "provio"

# The packages in the order of imports, which is nearly the path of the data.
ORDER = """
    base system settings trace lineage follow graph store merge record containers
    ask stats compare rerun exchange validate render serve doctor api cli
""".split()

# Links to the repository's own folders: they have rules of their own.
LINKED = {"interceptors", "ontology", "queries"}
FLAT = {"__init__", "__main__", "dask", "errors"}  # the last is an old name, kept for one release


DOCUMENTED = re.compile(r'(?:\s|#.*\n)*r?"""\s*[^\s"]')  # the first token of a module is its docstring


def modules() -> list[Path]:
    found = [*PACKAGE.glob("*.py"), *(p for d in PACKAGE.iterdir() if d.name not in LINKED for p in d.rglob("*.py"))]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def package_of(path: Path) -> str:
    """The first part of a module's name below `provio`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements in a node, at any depth, without their expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from statements(child)


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a module imports from, also inside functions."""
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
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


def test_a_package_imports_only_from_those_above_it() -> None:
    upward = []
    for path in modules():
        own = package_of(path)
        place = ORDER.index(own) if own in ORDER else len(ORDER)
        later = {name for name in imported(path) if name in ORDER and ORDER.index(name) > place}
        upward += [f"{path.relative_to(PACKAGE)} imports from {name}" for name in sorted(later)]
    assert upward == []


def test_every_module_is_in_a_package_of_the_list() -> None:
    assert {package_of(path) for path in modules()} - FLAT == set(ORDER)


def test_every_module_has_a_docstring() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in modules()}
    assert [str(path.relative_to(PACKAGE)) for path, text in texts.items() if not DOCUMENTED.match(text)] == []

"""The house stands: no module imports from a floor above its own, and each one's docstring says what it does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "provio"

# In the order of the data's way; a package counts as one floor. A new module takes its place in this line.
FLOORS = """
    owners captured ranks
    errors patterns plain folders cycles components disjoint sparql vocab kinds
    implied sparql_patterns class_patterns turtle statx values metrics said digests
    literals packed hosts facts lone run_facts admit trace_members trace_said blocks trace_lone trace_metrics
    runfiles trace_hash
    content given_file settings switches endpoints config config_layers config_file home sharing lock passwords redact
    jobs storage environment executable limits mount_tables
    trace_records trace_processes trace_parts trace needs shims memory_limit tied background going
    signals recording run waiter session
    collect collector unattended unbegun
    hdf5_signs hdf5_unseen
    settle identity present image recipes
    lineage dividing outlines descent survey surveying
    graph_lines graph_calls graph_ranks graph_members graph_said graph across store word_graphs own_words
    intake parts merge_job removal merge packing hashing background_merge image_digest backup together
    named_questions query document sweep nodes leaves configured saved_as describe member_origins walk walk_members ties
    when known_by history slips target target_members earlier paths until
    ancestry whole_run contraction roots stale why impact
    validate recorded notebook verify tracking compared config_of reports known_words show_member said_of_run runs disk
    live configurations best saved stats parameters view exports
    batch containers doctor stopping
    terminal asking run_options lost watching shims_kept
    planned contained ended own_run ranked completion serve verbs api usage cli
    manual settings_page
""".split()

# Links to the repository's own folders: they have rules of their own.
ROOMS = {"interceptors", "ontology", "queries"}


def modules() -> list[Path]:
    found = [*PACKAGE.glob("*.py"), *(p for d in PACKAGE.iterdir() if d.name not in ROOMS for p in d.rglob("*.py"))]
    return sorted(path for path in found if "__pycache__" not in path.parts)


def floor_of(path: Path) -> str:
    """The first part of a module's name below `provio`; an empty string for `provio` itself."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imported(path: Path) -> Iterator[str]:
    """The floors that a module imports from, wherever in its text it does."""
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
def test_imports_go_down_only(path: Path) -> None:
    own = floor_of(path)
    height = FLOORS.index(own) if own in FLOORS else len(FLOORS)
    above = {name for name in imported(path) if name in FLOORS and FLOORS.index(name) > height}
    assert not above, f"{name_of(path)} imports from a floor above: {', '.join(sorted(above))}"


def test_every_module_has_a_floor() -> None:
    assert {floor_of(path) for path in modules()} - {"", "__main__"} <= set(FLOORS)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_module_says_what_goes_in_and_what_comes_out(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))

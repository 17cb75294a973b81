"""The files that programs keep for themselves: each rule has a case, and a line of documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import document, edge, file, phase, program

from provio.ask import housekeeping
from provio.ask.document import Lineage

ANY = "python3 train.py"
# For each rule: a file, and the command line of a reader, of a kind to which the rule applies.
CASES = {
    "Snakemake": ("/w/.snakemake/metadata/Y291", ANY),
    "Nextflow": (f"/w/tasks/3a/{'0' * 30}/.command.sh", ANY),
    "DVC": ("/w/.dvc/tmp/lock", ANY),
    "Parsl": ("/w/runinfo/000/parsl.log", ANY),
    "git": ("/w/.git/index", "/usr/bin/git switch main"),
    "contents that git keeps": ("/w/.git/objects/3f/ab", "/usr/bin/git switch main"),
    "caches": ("/home/ada/.cache/pip/x", ANY),
    "lists of fonts": ("/home/ada/.config/mpl/fontlist-v390.json", ANY),
    "IPython": ("/home/ada/.ipython/profile_default/startup/README", ANY),
    "translations": ("/opt/x/share/locale/de/LC_MESSAGES/x.mo", ANY),
    "ports of kernels": ("/tmp/tmp8x_1.json", "python3 -m ipykernel_launcher -f /tmp/tmp8x_1.json"),
    "semaphores": ("/dev/shm/sem.loky-1", ANY),
    "temporary files of compilers": ("/tmp/ccO1ZOHO.s", "as --64 -o main.o /tmp/ccO1ZOHO.s"),
    "byte code": ("/w/__pycache__/style.cpython-311.pyc", ANY),
    "memory of joblib": ("/dev/shm/joblib_memmapping_folder_1_2/3.pkl", ANY),
    "journals of databases": ("/w/out-journal", ANY),
}
OTHERS = [
    ("/w/fruit-pulp.sol", ANY),
    ("/w/.snakemake/shadow/tmp1/x.txt", ANY),
    ("/w/.dvc/cache/files/md5/3f/ab", ANY),
    ("/w/.git/HEAD", "cat x.txt"),
    ("/tmp/tmp8x_1.json", ANY),
    ("/tmp/ccO1ZOHO.s", "wc -l a.txt"),
    ("/w/tmp/x.json", ANY),
    ("/w/runinfo/parsl.log", ANY),
    ("/w/cc/a.s", ANY),
    ("/w/raw/cache.csv", ANY),
    ("/home/ada/.ipython/profile_default/startup/00-units.py", ANY),
    ("/w/lab-journal", ANY),
    ("/w/x.wal", ANY),
]


def read(path: str, argv: str, through: bool) -> set[str]:
    """Return the files that are housekeeping, in a lineage of one process that read a file."""
    one, reader, made = file(path, 1), phase(1, program("/bin/x"), argv, "", ""), file("/w/out", 0)
    edges = [edge(reader, "used", one), edge(made, "wasGeneratedBy", reader)]
    triples = ((edge["subject"], edge["predicate"], edge["object"]) for edge in edges)
    found = housekeeping.found([one, reader, made], triples, through)
    assert found <= {one["iri"]}
    return found


def test_each_rule_has_a_case_and_is_documented() -> None:
    """A rule without a case, or without its title in the table of docs/lineage.md, fails."""
    assert {rule.title for rule in housekeeping.RULES} == CASES.keys()
    page = (Path(__file__).parents[2] / "docs" / "lineage.md").read_text()
    assert [title for title in CASES if f"| {title} |" not in page] == []
    assert [name for name in sorted(housekeeping.ATTRIBUTES) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("rule", housekeeping.RULES, ids=lambda rule: rule.title.replace(" ", "-"))
def test_a_file_of_each_rule_is_hidden_or_drawn_through(rule: housekeeping.Rule) -> None:
    """Only in the way that the rule states; imported files without a maker are hidden, too."""
    path, argv = CASES[rule.title]
    assert housekeeping.rule_of(path) is rule
    assert len(read(path, argv, rule.through)) == 1
    assert len(read(path, argv, not rule.through)) == int(rule.imported)


@pytest.mark.parametrize(("path", "argv"), OTHERS)
def test_other_files_are_data(path: str, argv: str) -> None:
    """Files with similar names, and files that another program reads."""
    assert read(path, argv, through=False) == read(path, argv, through=True) == set()


def test_a_file_that_a_command_line_names_is_not_hidden() -> None:
    """By its reader, with an absolute or a relative name; another name does not count."""
    assert read("/w/.snakemake/log/1", "cat /w/.snakemake/log/1", through=False) == set()
    assert read("/data/.cache/x", "cat .cache/x", through=False) == set()
    assert len(read("/data/.cache/x", "cat .cache/y", through=False)) == 1


def test_attributes_of_netcdf_are_hidden() -> None:
    """Attributes by which netCDF and HDF5 mark dimensions; others are data."""
    version = "https://w3id.org/provio/version/d/1.1.1.1#/x@"
    own = [
        name
        for name in ("_NCProperties", "units", "DIMENSION_LIST", "name")
        if housekeeping.is_attribute(version + name)
    ]
    assert own == ["_NCProperties", "DIMENSION_LIST"]


def test_plumbing_is_what_lies_between() -> None:
    """Pipes and temporary files whose origin is known; a FIFO has a name, and a pipe without a writer stays."""
    raw, out = file("/w/raw", 2), file("/w/out.o", 0)
    pipe = {**file("p", 1), "type": "Pipe", "label": "pipe"}
    del pipe["path"]
    lone = {**pipe, "iri": pipe["iri"] + "0"}
    fifo = {**file("/w/fifo", 1), "type": "Pipe"}
    temporary = file("/tmp/ccO1ZOHO.s", 1)
    first = phase(1, program("/bin/cc1"), "cc1 raw -o /tmp/ccO1ZOHO.s", "", "")
    last = phase(2, program("/bin/as"), "as -o out.o /tmp/ccO1ZOHO.s", "", "")
    middle = [pipe, lone, fifo, temporary]
    edges = [edge(first, "used", raw), edge(out, "wasGeneratedBy", last)]
    edges += [edge(last, "used", one) for one in middle]
    edges += [edge(one, "wasGeneratedBy", first) for one in (pipe, fifo, temporary)]
    found = housekeeping.between(Lineage(document(out, [raw, out, first, last, *middle], edges)))
    assert found == {pipe["iri"], temporary["iri"]}

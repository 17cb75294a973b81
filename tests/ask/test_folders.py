"""`lineage --level folder`: each folder is one node, in each form, in both directions and in Python."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import Project
from documents import document, edge, file, gap, phase, program

import provio
from provio.ask.folders import folded

STEPS = """for i in 1 2 3; do grep -v x raw/$i.csv | cat > mid/$i.txt; done
cat mid/*.txt conf.txt > out/all.txt
sort out/all.txt > out/fig.txt
"""


@pytest.fixture
def steps(project: Project) -> Project:
    """Files of raw/ become files of mid/, and these, with a file of the project, two files of out/."""
    project.sh("mkdir raw mid out; echo c > conf.txt; for i in 1 2 3; do echo $i > raw/$i.csv; done")
    (project.path / "steps.sh").write_text(STEPS)
    project.watch("sh", "steps.sh")
    return project


def without_times(text: str) -> str:
    """Return a tree without times, durations and the number of system files."""
    text = re.sub(r"(, |  )20\d\d-\d\d-\d\d [0-9:]{8} UTC, [0-9.]+ \w+", "", text)
    return re.sub(r"\d+ system files? hidden.*\n", "", text)


@pytest.mark.integration
def test_the_tree(steps: Project) -> None:
    """Each folder once, with the number and size of its files; makers of one name are one line."""
    assert without_times(steps.answer("lineage", "out/fig.txt", "--level", "folder")) == (
        "out/  2 files, 16 B\n"
        "│ cat\n"
        "│ $ cat mid/1.txt mid/2.txt mid/3.txt conf.txt\n"
        "│ sort\n"
        "│ $ sort out/all.txt\n"
        "├─ ./  1 file, 2 B\n"
        "└─ mid/  3 files, 6 B\n"
        "   │ steps.sh  3 times\n"
        "   │ $ sh steps.sh\n"
        "   └─ raw/  3 files, 6 B\n"
    )
    forward = without_times(steps.answer("lineage", "raw/1.csv", "--forward", "--level", "folder"))
    assert re.findall(r"(\S+/  .*)", forward) == [
        "raw/  1 file, 2 B",
        "mid/  1 file, 2 B",
        "out/  2 files, 16 B",
        "out/  (above)",
    ]


@pytest.mark.integration
def test_the_other_forms(steps: Project) -> None:
    """JSON, the table, dot, Turtle, the page and Python have the same folders."""
    made = steps.lineage("out/fig.txt", "--level", "folder")
    folders = {node["path"]: (node["files"], node["size"]) for node in made["nodes"] if node["type"] == "Directory"}
    here = str(steps.path)
    assert folders == {f"{here}/out": (2, 16), here: (1, 2), f"{here}/mid": (3, 6), f"{here}/raw": (3, 6)}
    assert not [node for node in made["nodes"] if node["type"] == "FileVersion"]
    assert re.fullmatch(rf"file://[^/]+{here}/out/", made["target"])
    known = {node["iri"] for node in made["nodes"]}
    assert all({one["subject"], one["object"]} <= known for one in made["edges"])
    options = ("lineage", "out/fig.txt", "--level", "folder", "--as")
    assert steps.answer(*options, "table").count("\nDirectory  ") == 4
    assert steps.answer(*options, "csv").count("\nDirectory,") == 4
    assert len(re.findall(r'label="(?:out|mid|raw|project)/"', steps.answer(*options, "dot"))) == 4
    assert steps.answer(*options, "ttl").count(" a provio:Directory ") == 4
    for arguments in (["out/fig.txt"], ["last"]):
        steps.provio("view", *arguments, "--level", "folder", "-o", "page.html")
        assert '"mid/"' in (steps.path / "page.html").read_text()
    with provio.open(steps.path / ".provio") as store:
        graph = store.lineage(steps.path / "out" / "fig.txt", level="folder")
    assert sum("files" in known for _, known in graph.nodes(data=True)) == 4


@pytest.mark.integration
def test_roots_stale_and_paths(steps: Project) -> None:
    """Roots and stale products are answered for files and shown by folder; paths have no folders."""
    assert without_times(steps.answer("lineage", "out/fig.txt", "--roots", "--level", "folder")) == (
        "out/  1 file, 8 B\n├─ ./  1 file, 2 B\n└─ raw/  3 files, 6 B\n"
    )
    steps.sh("echo more >> raw/1.csv")
    stale = steps.answer("lineage", "out/fig.txt", "--stale", "--level", "folder")
    assert "! stale: raw/1.csv changed " in stale
    assert (
        "omit --level folder" in steps.provio("lineage", "out/fig.txt", "--paths", "--level", "folder", code=2).stderr
    )


def test_notes_of_files_stay_with_their_folder() -> None:
    """Gaps, changes and failures of files are those of the folder; a file with two versions counts once."""
    ran = program("/bin/p")
    main = phase(1, ran, "p", "2026-11-20T08:00:00Z", "2026-11-20T08:20:00Z")
    first, second = file("/d/a/1", 1, size=5, failed="exit 3"), file("/d/a/2", 2, size=7, changed="changed since")
    earlier = {**second, "iri": second["iri"] + "0", "size": 100, "depth": 3, "via": "carried"}
    out: Any = file("/d/out", 0, size=1)
    edges = [edge(out, "wasGeneratedBy", main), edge(main, "used", first), edge(main, "used", second)]
    edges.append(edge(second, "wasRevisionOf", earlier))
    found = folded(document(out, [out, first, second, earlier, main], edges, gaps=[gap(first, "a reason")]))
    folder = next(node for node in found["nodes"] if node["iri"] == "file:///d/a/")
    assert folder == {
        "iri": "file:///d/a/", "type": "Directory", "label": "a/", "path": "/d/a", "files": 2, "size": 12,
        "via": "data", "depth": 1, "changed": "2: changed since", "failed": "1: exit 3",
    }  # fmt: skip
    assert [one["about"] for one in found["gaps"]] == ["file:///d/a/"]
    assert len(found["edges"]) == 2


@pytest.mark.integration
def test_reasons_in_one_folder(project: Project) -> None:
    """A stale file whose source is in the same folder has its reason, and a gap has the name of its file."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat a > b")
    project.sh("echo 2 >> a")
    assert "! stale: a changed" in project.provio("lineage", "b", "--stale", "--level", "folder").stdout
    project.sh("echo 3 >> b")
    project.provio("run", "--quiet", "--", "sh", "-c", "cat b > c")
    assert "! b: made by a run, then changed outside" in project.provio("lineage", "c", "--level", "folder").stdout

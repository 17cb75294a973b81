"""Many files of one folder are one line on a terminal: whole trees, `why`, `show` and `impact`, folded and not."""

from __future__ import annotations

import json
import re
from itertools import takewhile

import pytest
from conftest import Project, new_project
from documents import document, edge, file, gap, phase, program
from terminals import on_a_terminal

from provio.ask import fold
from provio.ask.document import LineageDocument, Node
from provio.ask.impact import Impact
from provio.base import text
from provio.render import impact, tree

GATHER = program("/home/ada/gather.py")
START, END = "2026-11-20T08:00:00.000000Z", "2026-11-20T08:20:00.000000Z"
HEAD = "/data/all.h5  9 B\n│ gather.py  2026-11-20 08:00:00 UTC, 20 min 0 s\n│ $ python3 gather.py\n"


def gathered(inputs: list[Node], **more: object) -> LineageDocument:
    """One process that read some files and wrote one."""
    out = file("/data/all.h5", 0, size=9)
    main = phase(1, GATHER, "python3 gather.py", START, END)
    edges = [edge(out, "wasGeneratedBy", main), edge(main, "wasAssociatedWith", GATHER)]
    edges += [edge(main, "used", one) for one in inputs]
    return document(out, [out, main, GATHER, *inputs], edges, **more)


def files(folder: str, count: int, **more: object) -> list[Node]:
    return [file(f"{folder}/f{number}", 1, size=1000 + number, **more) for number in range(count)]


def shown(made: LineageDocument, folder: str | None = None, width: int | None = 80) -> str:
    """Return the folded tree, without the lines that are the same in all."""
    whole = tree.render(made, width=width, folder=folder, fold=True)
    return whole.removeprefix(HEAD)


def test_a_folder_of_more_than_a_few_files_is_one_line() -> None:
    """At the threshold each file has its line; with one more they have one, with their number and size."""
    few, more = gathered(files("/data/many", fold.FEW)), gathered(files("/data/many", fold.FEW + 1))
    assert shown(few) == (
        "├─ /data/many/f0  1.0 kB\n├─ /data/many/f1  1.0 kB\n├─ /data/many/f2  1.0 kB\n"
        "├─ /data/many/f3  1.0 kB\n└─ /data/many/f4  1.0 kB\n"
    )
    assert shown(more) == "└─ /data/many/  6 files, 6.0 kB\n"
    assert tree.render(more, folder="/data", fold=True).endswith("└─ many/  6 files, 6.0 kB\n")
    assert tree.render(more, folder="/data/many", fold=True).endswith("└─ ./  6 files, 6.0 kB\n")
    assert tree.render(few, fold=True) == tree.render(few)


def test_folders_are_apart_and_thousands_too() -> None:
    """Each folder has its line, also subfolders, at the place of its first file; different ties are not combined."""
    inputs = [
        *files("/d/b", 1200),
        *files("/d/b/sub", 7),
        *files("/d/c", 6, via="carried"),
        file("/d/a.txt", 1, size=5),
        file("/d/z.txt", 1),
        *[file(f"/f{number}", 1) for number in range(6)],
    ]
    assert shown(gathered(inputs)) == (
        "├─ /d/a.txt  5 B\n├─ /d/b/  1,200 files, 1.9 MB\n├─ /d/b/sub/  7 files, 7.0 kB\n├─ /d/z.txt\n"
        "├─ /  6 files\n└─ /d/c/  6 files, 6.0 kB, carried\n"
    )


def test_a_file_with_more_to_show_keeps_its_line() -> None:
    """An origin, a gap, a change, a checkpoint: all facts below a file or next to it; objects inside files."""
    inputs = files("/d", 12)
    made, noted, changed, saved, *others = inputs
    changed["changed"] = "changed since"
    saved["checkpoints"] = [{"iri": "c", "step": 3, "metrics": [], "configurations": []}]
    others[0]["type"] = "Dataset"
    answer = gathered(inputs, gaps=[gap(noted, "coarse clock")])
    maker = phase(2, GATHER, "make", START, END)
    answer["nodes"].append(maker)
    answer["edges"] += [edge(made, "wasGeneratedBy", maker), edge(maker, "wasAssociatedWith", GATHER)]
    assert shown(answer) == (
        "├─ /d/f0  1.0 kB\n│    gather.py  2026-11-20 08:00:00 UTC, 20 min 0 s\n│    $ make\n"
        "├─ /d/f1  1.0 kB\n│    ! coarse clock\n├─ /d/  7 files, 7.1 kB\n├─ /d/f2  1.0 kB\n│    ! changed since\n"
        "├─ /d/f3  1.0 kB\n│    checkpoint, step 3\n└─ /d/f4  1.0 kB\n"
    )


def test_forward_what_was_made_is_folded() -> None:
    """Unused products of a process are one line; a used product has its own line, with its products below."""
    raw, split = file("/d/raw", 0, size=2), phase(1, GATHER, "split raw", START, END)
    made, late, total = files("/d/parts", 8), phase(2, GATHER, "sum", START, END), file("/d/sum", 2, size=4)
    edges = [edge(split, "used", raw), *(edge(one, "wasGeneratedBy", split) for one in made)]
    edges += [edge(late, "used", made[3]), edge(total, "wasGeneratedBy", late)]
    answer = document(raw, [raw, split, late, GATHER, *made, total], edges, direction="forward")
    assert tree.render(answer, folder="/d", fold=True) == (
        "/d/raw  2 B\n"
        "└─ gather.py  2026-11-20 08:00:00 UTC, 20 min 0 s\n"
        "   │ $ split raw\n"
        "   ├─ parts/  7 files, 7.0 kB\n"
        "   └─ parts/f3  1.0 kB\n"
        "      └─ gather.py  2026-11-20 08:00:00 UTC, 20 min 0 s\n"
        "         │ $ sum\n"
        "         └─ sum  4 B\n"
    ).replace("/d/raw", "raw")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/d/new\nline", "/d/new\\nline/  6 files"),
        ("/d/\x1b[31mred", "/d/\\x1b[31mred/  6 files"),
        ("/" + "x" * 200, "/" + "x" * 30),
        ("/a" * 60 + "/last", "/last/  6 files"),
    ],
)
def test_names_of_folders_fit_and_steer_nothing(folder: str, name: str) -> None:
    """A folder's name is formatted like a file's: cut in its middle, with escaped control characters."""
    line = shown(gathered([file(f"{folder}/f{number}", 1) for number in range(6)]))
    assert name in line and line.count("\n") == 1 and text.columns(line.rstrip("\n")) <= 80
    assert line.endswith("6 files\n")


def test_folders_that_are_not_utf8_are_told_apart() -> None:
    """Two names that differ only in their bytes are two lines; a file that is not UTF-8 is in a folder like others."""
    pairs = [("/d/%FF", "/d/\ufffd"), ("/d/%FE", "/d/\ufffd"), ("/d/%C3%A9", "/d/é")]
    inputs = [
        file(f"{path}/f{number}-{encoded[-2:]}", 1, pathEncoded=f"{encoded}/f{number}")
        for encoded, path in pairs
        for number in range(6)
    ]
    inputs += [file("/d/é/plain", 1, size=3)]
    assert sorted(shown(gathered(inputs)).splitlines()) == sorted(
        ["├─ /d/é/  7 files, 3 B", "├─ /d/\ufffd/  6 files", "└─ /d/\ufffd/  6 files"]
    )


def test_products_of_one_process_are_folded_in_a_table() -> None:
    """In the impact: one line if one process made the files of a folder one after the other."""
    run = "https://w3id.org/provio/run/0193"
    answer = Impact(
        runs=[],
        steps=[
            *[
                {"product": f"v{n}", "path": f"/d/parts/{n}", "state": "there", "command": "split raw", "after": [],
                 "process": "p1", "cwd": "/d", "run": run, "program": "split"}
                for n in range(7)
            ],
            {"product": "s", "path": "/d/sum", "state": "there", "command": "sum", "after": ["/d/parts/0"],
             "process": "p2", "cwd": "/d", "run": run, "program": "sum"},
        ],
        otherInputs=[],
        leftOut=[{"product": f"o{n}", "path": f"/d/old/{n}", "reason": "gone"} for n in range(6)],
        gaps=[],
    )  # type: ignore[typeddict-item]  # fmt: skip
    assert impact.processes(answer, folder="/d", fold=True) == (
        "step  product          command    run\n"
        "────  ───────────────  ─────────  ────\n"
        "   1  parts/  7 files  split raw  0193\n"
        "   8  sum              sum        0193\n"
        "left out: old/  6 files are gone\n"
    )
    assert impact.processes(answer, folder="/d").count("\n") == 2 + 8 + 6


@pytest.fixture(scope="module")
def gathers(tmp_path_factory: pytest.TempPathFactory, shim: None) -> Project:
    """One process read seven files of a folder and one next to it; it wrote six of another."""
    project = new_project(tmp_path_factory.mktemp("gathers"))
    project.sh("mkdir many parts; for n in 1 2 3 4 5 6 7; do echo $n > many/$n; done; echo x > one")
    project.watch("sh", "-c", "cat many/* one > all")
    project.watch("sh", "-c", "cat one | tee parts/1 parts/2 parts/3 parts/4 parts/5 parts/6 > /dev/null")
    return project


def plain(said: bytes) -> str:
    """Return the output of a terminal: without colours, with its original line ends."""
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", said.decode()).replace("\r\n", "\n").replace("\r", "")


def steady(shown: str) -> str:
    """Return a text without times and facts of the machine."""
    shown = re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC(, \d+ ms)?", "TIME", shown)
    return re.sub(r"\d+ system files? hidden", "N system files hidden", shown)


@pytest.mark.integration
def test_a_terminal_folds_and_a_pipe_does_not(gathers: Project) -> None:
    """On a terminal many files are a line; `--no-fold` and a pipe have each; JSON is the same everywhere."""
    folded = plain(on_a_terminal(gathers, "lineage", "all", columns=80))
    assert steady(folded) == (
        "all  16 B\n│ cat  TIME\n│ $ cat many/1 many/2 many/3 many/4 many/5 many/6 many/7 one\n"
        "├─ many/  7 files, 14 B\n└─ one  2 B\n"
    )
    piped = gathers.provio("lineage", "all").stdout
    assert piped.count("many/") == 14 and "files, " not in piped
    assert plain(on_a_terminal(gathers, "lineage", "all", "--no-fold", columns=80)) == piped
    assert gathers.provio("lineage", "all", "--no-fold").stdout == piped
    whole = gathers.provio("lineage", "all", "--as", "json").stdout
    assert plain(on_a_terminal(gathers, "lineage", "all", "--as", "json")) == whole
    assert sum("many/" in node.get("path", "") for node in json.loads(whole)["nodes"]) == 7


def test_why_show_and_forward_fold(gathers: Project) -> None:
    """`why` and `show` fold inputs and outputs, and `lineage --forward` products."""
    told = plain(on_a_terminal(gathers, "why", "all", columns=80))
    read = [line for line in steady(told).splitlines() if line.startswith(("read", "   "))]
    assert read == ["read      many/  7 files, 14 B", "          one  2 B, of TIME"]
    assert plain(on_a_terminal(gathers, "why", "all", "--no-fold", columns=500)) == gathers.provio("why", "all").stdout
    lines = plain(on_a_terminal(gathers, "show", "last")).splitlines()
    last = [line for line in lines if line.startswith("wrote") or "parts/  " in line]
    assert [line.split()[-3:] for line in last] == [[text.cut_path(f"{gathers.path}/parts/", 60 - 9), "6", "files"]]
    assert (
        plain(on_a_terminal(gathers, "show", "last", "--no-fold", columns=500)) == gathers.provio("show", "last").stdout
    )
    onward = steady(plain(on_a_terminal(gathers, "lineage", "--forward", "one", columns=80)))
    assert "parts/  6 files, 12 B" in onward and "parts/1" not in onward.replace("tee parts/1 parts/2", "")


@pytest.mark.integration
def test_long_rows_fit_a_terminal(project: Project) -> None:
    """Command lines of others than the maker have two lines, the system has several; a pipe has all."""
    words = " ".join(["word"] * 40)
    project.sh("echo 1 > in")
    project.watch("bash", "-c", f"cat in > out; echo {words}")
    whole = project.provio("why", "out").stdout.splitlines()
    shown = plain(on_a_terminal(project, "why", "out", columns=80)).splitlines()
    long = [line for line in whole if words in line]
    assert [line.split()[0] for line in long] == ["launched", "run"]
    expected = []
    for line in whole:
        first, second, *_ = text.folded(line[10:], 70, most=2) if line in long else [line[10:], ""]
        expected += [line[:10] + first, " " * 10 + second] if second else [line]
    assert shown == expected
    assert all(len(line) <= 80 for line in shown if "word word" in line)
    system = next(line for line in project.provio("show", "last").stdout.splitlines() if line.startswith("system   "))
    shown = plain(on_a_terminal(project, "show", "last", columns=40)).splitlines()
    start = next(place for place, line in enumerate(shown) if line.startswith("system   "))
    parts = shown[start : start + 1] + list(takewhile(lambda line: line.startswith(9 * " "), shown[start + 1 :]))
    assert [part[9:] for part in parts] == text.folded(system[9:], 40 - 9)
    processes = [line for line in shown if line.startswith("process")]
    assert max(map(len, processes)) == 40
    assert {line.endswith("…") for line in processes if len(line) == 40} == {True}


def test_folded_text_is_broken_at_spaces() -> None:
    """A word that is too long is cut; of more lines than allowed, the last one is cut."""
    system = "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-cloud-amd64, EPYC 7B13"
    assert text.folded(system, 31) == ["Debian GNU/Linux 12 (bookworm),", "Linux 6.1.0-18-cloud-amd64,", "EPYC 7B13"]
    assert text.folded(system, 24, most=2) == ["Debian GNU/Linux 12", "(bookworm), Linux 6.1.0…"]
    assert text.folded("Linux 6.1.0-18-cloud-amd64", 10) == ["Linux", "6.1.0-18-…"]

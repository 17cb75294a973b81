"""Equal runs have no difference, although frameworks choose other ports, file descriptors and temporary names."""

from __future__ import annotations

import json

from conftest import Project

from provio.compare.side import canonical

WORK = """import multiprocessing, os, sys, tempfile

def half(number):
    return number / 2

if __name__ == "__main__":
    unused = [open(os.devnull) for _ in range(int(sys.argv[1]))]  # other file descriptors
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        total = sum(pool.map(half, range(8)))
    with tempfile.NamedTemporaryFile("w+", dir="scratch", suffix=".part") as file:
        file.write("%r" % total)
        file.flush()
        open("total.txt", "w").write(open(file.name).read())
"""


def test_processes_of_multiprocessing_and_temporary_files(project: Project) -> None:
    """The second run has opened more files, so the numbers on the command lines of its processes differ; the name of
    the temporary file has no word that states that it is one. Which worker starts first, and reads, differs."""
    for name, opened in (("first", "1"), ("second", "9")):
        folder = project.path / name
        (folder / "scratch").mkdir(parents=True)
        (folder / "work.py").write_text(WORK)
        run = Project(folder, project.env)
        run.provio("run", "--hash", "--quiet", "--name", name, "--", "python3", "work.py", opened)
    project.provio("merge", "--quiet")
    kinds = [word for kind in ("parameters", "results", "files") for word in ("--only", kind)]
    found = json.loads(project.provio("diff", "first", "second", "--as", "json", *kinds, code=1).stdout)
    assert [
        (row["kind"], row["configuration"], row["first"], row["second"]) for row in found if not row["expected"]
    ] == [("parameters", "work.py", "1", "9")]


def test_ports_that_the_system_chose() -> None:
    """Other ports are parameters."""
    for text, expected in {
        "tcp://127.0.0.1:45123": "tcp://127.0.0.1:*",
        "[::1]:33333": "[::1]:*",
        "node7:60999": "node7:*",
        "localhost:5432": "localhost:5432",
        "node7:32099": "node7:32099",
        "12:45123": "12:*",
        "a:45123.5": "a:45123.5",
        "seed:451234": "seed:451234",
    }.items():
        assert canonical(text, "/work") == expected

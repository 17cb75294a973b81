"""`provio diff` of two runs with one planted deviation: it is named first and alone; equal runs are identical."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, new_project

JOB = """echo $$ > "$(mktemp)"
sort -n raw.txt > sorted.txt
python3 model.py --rate 0.5 --seed 1
python3 threads.py
python3 pool.py 2
date -d @0 +%c > date.txt
sh writers.sh
python3 report.py
"""
MODEL = """import os, random, sys
import scale
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rows = [float(line) for line in open("sorted.txt")]
random.seed(int(given["--seed"]))
with open("model.txt", "w") as file:
    file.write("%r\\n" % (sum(rows, 0.1) * float(given["--rate"]) * random.random() * scale.FACTOR))
"""
SCALE = """FACTOR = 1.5
"""
THREADS = """import os, threading
number = int(os.environ.get("PARTS", "2"))
rows = [float(line) for line in open("sorted.txt")]
sums, ready = [0.0] * number, threading.Barrier(number)
def part(place):
    ready.wait()
    open("sorted.txt").close()
    sums[place] = sum(rows[place::number])
work = [threading.Thread(target=part, args=(place,)) for place in range(number)]
for one in work: one.start()
for one in work: one.join()
with open("threads.txt", "w") as file:
    file.write("%r\\n" % sum(sums))
"""
POOL = """import subprocess, sys
number = int(sys.argv[1])
work = [subprocess.Popen([sys.executable, "worker.py", str(part), str(number)]) for part in range(number)]
assert not any(one.wait() for one in work)
with open("pool.txt", "w") as file:
    for part in range(number):
        file.write(open(f"part.{part}.txt").read())
"""
WORKER = """import sys
part, number = map(int, sys.argv[1:])
rows = open("sorted.txt").read().split()
with open(f"part.{part}.txt", "w") as file:
    file.write(" ".join(rows[part::number]) + " ")
"""
WRITERS = """rm -f order.txt done.*
for one in a b; do sh writer.sh $one & done
wait
"""
WRITER = """[ "$1" = "${FIRST:-a}" ] || until [ -e done.* ]; do sleep 0.02; done
echo $1 >> order.txt
touch done.$1
"""
REPORT = """with open("report.txt", "w") as file:
    for name in ("model", "threads", "pool", "date", "order"):
        file.write(open(f"{name}.txt").read())
"""
FILES = {"job.sh": JOB, "model.py": MODEL, "scale.py": SCALE, "threads.py": THREADS, "pool.py": POOL,
         "worker.py": WORKER, "writers.sh": WRITERS, "writer.sh": WRITER, "report.py": REPORT}  # fmt: skip
RAW = "".join(f"{number**1.5 * 0.1:.15f}\n" for number in range(40))
Change = Callable[[Path], None]


def new(folder: Path) -> None:
    """Write the files of a workflow into a folder."""
    folder.mkdir()
    for name, text in {**FILES, "raw.txt": RAW}.items():
        (folder / name).write_text(text)


def edited(name: str, old: str, new: str) -> Change:
    """Return a change of one text in a file."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert text.count(old) == 1
        (folder / name).write_text(text.replace(old, new))

    return change


def same(folder: Path) -> None:
    """Change no file."""


def record(project: Project, name: str, **variables: str) -> None:
    """Run the workflow in a folder of the project, and wait for the hashes."""
    folder = project.path / name
    env = {**project.env, "TMPDIR": str(project.path / "tmp"), **variables}
    Path(env["TMPDIR"]).mkdir(exist_ok=True)
    one = Project(folder, env)
    one.provio("run", "--hash", "--quiet", "--name", name, "--", "sh", "job.sh")
    project.provio("merge", "--quiet")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with the run `a`, and the equal run `same`."""
    project = new_project(tmp_path_factory.mktemp("planted"))
    project.provio("init")
    for name in ("a", "same"):
        new(project.path / name)
        record(project, name)
    yield project


def first(project: Project, other: str) -> list[dict[str, Any]]:
    """Return the first divergences of `a` and another run."""
    found: list[dict[str, Any]] = json.loads(
        project.provio("diff", "a", other, "--first", "--as", "json", code=None).stdout
    )
    return found


def test_equal_runs_are_identical(base: Project) -> None:
    """Pids, times, temporary names and folders differ."""
    done = base.provio("diff", "a", "same")
    assert done.stdout.startswith("identical")
    assert first(base, "same") == []


Cause = tuple[str, str, object, object]
ANY = object()  # a value that the test does not name
PLANTED: dict[str, tuple[Change, dict[str, str], str, list[Cause]]] = {
    "a parameter": (
        edited("job.sh", "--rate 0.5", "--rate 0.6"), {}, "model.py", [("parameters", "--rate", "0.5", "0.6")],
    ),
    "a seed": (edited("job.sh", "--seed 1", "--seed 2"), {}, "model.py", [("parameters", "--seed", "1", "2")]),
    "a line of a script": (edited("model.py", "0.1)", "0.2)"), {}, "model.py", [("code", "model.py", ANY, ANY)]),
    "a line of a module": (edited("scale.py", "1.5", "1.6"), {}, "model.py", [("code", "scale.py", ANY, ANY)]),
    "an input of equal size": (
        edited("raw.txt", "0.100000000000000\n", "0.100000000000001\n"), {}, "raw.txt",
        [("inputs", "raw.txt", ANY, ANY)],
    ),
    "a byte more in an input": (
        edited("raw.txt", "0.100000000000000\n", "0.1000000000000001\n"), {}, "raw.txt",
        [("inputs", "raw.txt", ANY, ANY)],
    ),
    "the number of threads": (same, {"PARTS": "4"}, "threads.py", [("schedule", "threads", 3, 5)]),
    "the number of workers": (
        edited("job.sh", "pool.py 2", "pool.py 3"), {}, "worker.py",
        [("parameters", "argument 2", "2", "3"), ("parameters", "argument 1", "2", "3")],
    ),
    "a variable": (same, {"TZ": "Asia/Tokyo"}, "date", [("environment", "TZ", None, "Asia/Tokyo")]),
    "the order of writers": (
        same, {"FIRST": "b"}, "writer.sh",
        [("schedule", "order.txt", "writer.sh (1), writer.sh (2)", "writer.sh (2), writer.sh (1)")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_it_is_named_first_and_alone(base: Project, name: str) -> None:
    """Each cause of the only divergence is the planted one."""
    change, variables, place, causes = PLANTED[name]
    run = name.replace(" ", "-")
    new(base.path / run)
    change(base.path / run)
    record(base, run, **variables)
    (found,) = first(base, run)
    assert (found["activity"] or found["input"]) == place
    assert "report.txt" in found["reachedFiles"]
    seen = [(one["kind"], one["key"], one["first"], one["second"]) for one in found["causes"]]
    assert len(seen) == len(causes)
    for one, cause in zip(seen, causes, strict=True):
        assert [mine for mine, wanted in zip(one, cause, strict=True) if wanted is not ANY] == [
            wanted for wanted in cause if wanted is not ANY
        ]
    shutil.rmtree(base.path / run)


def test_another_version_of_numpy(base: Project, tmp_path: Path) -> None:
    """The package is named, with both versions."""
    older = Path(sys.prefix, "numpy-2.3.5", "site-packages")
    if not (older.parent / "complete").exists():
        pytest.skip("a second version of NumPy is not installed (make test installs it where it may)")
    (base.path / "version.py").write_text(
        "import numpy\nopen('sum.txt', 'w').write(f'{numpy.__version__} {numpy.ones(9).sum()}')\n"
    )
    for number, folder in enumerate(("", os.fspath(older))):
        env = {**base.env, "PYTHONPATH": folder, "PROVIO_RECORD_PACKAGES": "true"}
        call = ["run", "--hash", "--quiet", "--name", f"numpy{number}", "--", sys.executable, "version.py"]
        Project(base.path, env).provio(*call)
        base.provio("merge", "--quiet")
    done = base.provio("diff", "numpy0", "numpy1", "--first", "--as", "json", code=None)
    (found,) = json.loads(done.stdout)
    assert (found["activity"], found["results"]) == ("version.py", ["sum.txt"])
    assert [(one["configuration"], one["key"], one["second"]) for one in found["causes"]] == [
        ("package", "numpy", "2.3.5")
    ]

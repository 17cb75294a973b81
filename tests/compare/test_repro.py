"""`provio repro`: verdicts about results, spread of times, schedules and I/O of several runs, judged by SciPy."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from concurrent_runs import start, tell, wait_for
from conftest import Project, new_project
from dask_projects import STEALS, VERSIONS, python
from scipy import stats

import provio
from provio.base.errors import BadQuery
from provio.render import records, repro
from provio.stats import sample

JOB = """python3 -S ../sim.py
for part in $(cat order); do cp field.csv copy$part.csv; done
"""
SIM = """import json, random
seed = int(open("seed").read())
random.seed(seed)
with open("same.txt", "w") as file:
    file.write("1 2 3\\n")
with open("id.txt", "w") as file:
    file.write(f"seed {seed}\\n" * (seed > 2))
with open("field.csv", "w") as file:
    for row in range(200):
        file.write(f"{row},{row * 0.1 + random.gauss(0, 1e-3)!r}\\n")
with open("drift.csv", "w") as file:
    for row in range(200):
        file.write(f"{row * 0.1 + seed * 2 + random.gauss(0, 1e-3)!r}\\n")
with open("energy.txt", "w") as file:
    file.write(f"{10 + random.gauss(0, 1e-4)!r}\\n")
with open("hole.json", "w") as file:
    json.dump({"a": [1.0, float("nan"), float("inf")], "b": float("nan") if seed == 3 else 2.0, "c": seed}, file)
with open("holes.json", "w") as file:
    json.dump([float("nan"), float("inf"), 1 + seed * 1e-9, 2.0], file)
if seed == 4:
    open("only.txt", "w").write("4")
"""
RUNS = 5
BOUNDS = {"field.csv": 0.01, "drift.csv": 0.01, "energy.txt": 0.01, "hole.json": 0.1, "holes.json": 1e-6}
WITH_BOUNDS = [word for name, bound in BOUNDS.items() for word in ("--bound", f"{name}={bound}")]


def run_in(project: Project, folder: Path, *command: str, options: tuple[str, ...] = ("--hash",)) -> None:
    """Run a command under provio in a folder of the project."""
    project.provio("run", *options, "--quiet", "--no-merge", "--", *command, cwd=folder)


def made(folder: Path, count: int = RUNS) -> Project:
    """Return a project in which a simulation ran several times, each in a folder of its own."""
    project = new_project(folder)
    (project.path / "sim.py").write_text(SIM)
    for number in range(1, count + 1):
        own = project.path / f"r{number}"
        own.mkdir()
        (own / "job.sh").write_text(JOB)
        (own / "seed").write_text(str(number))
        (own / "order").write_text("1 2 3 4" if number != 2 else "4 1 2 3")
        run_in(project, own, "bash", "job.sh", options=("--hash", "--campaign", "sim"))
    project.provio("merge", "--quiet")
    return project


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, shim: object) -> Project:
    return made(tmp_path_factory.mktemp("repro"))


@pytest.fixture(scope="module")
def answer(runs: Project) -> dict[str, Any]:
    """The answer about the campaign, with bounds."""
    return document(runs, "--campaign", "sim", *WITH_BOUNDS)


def document(project: Project, *options: str, code: int = 1) -> dict[str, Any]:
    """Return the answer as a dictionary."""
    found: dict[str, Any] = json.loads(project.provio("repro", *options, "--as", "json", code=code).stdout)
    return found


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in found["results"]}


def columns(runs: Project, name: str, column: int = 0) -> list[Any]:
    """Return the numbers of a file of each run, read by NumPy."""
    paths = [runs.path / f"r{number}" / name for number in range(1, RUNS + 1)]
    return [np.atleast_1d(np.loadtxt(path, delimiter=",", ndmin=2)[:, column]) for path in paths]


def test_each_result_has_a_verdict(answer: dict[str, Any]) -> None:
    """Files are named relative to the folder of the run; a result that a run lacks differs."""
    verdicts = {name: one["verdict"] for name, one in by_name(answer).items()}
    assert verdicts == {
        "same.txt": "identical", "id.txt": "differs", "field.csv": "within bounds", "drift.csv": "deviates",
        "energy.txt": "within bounds", "hole.json": "deviates", "holes.json": "within bounds", "only.txt": "differs",
        **{f"copy{part}.csv": "differs" for part in (1, 2, 3, 4)},
    }  # fmt: skip
    assert answer["verdicts"] == {"identical": 1, "within bounds": 3, "deviates": 2, "differs": 6}
    assert answer["reproducible"] is False and len(answer["runs"]) == RUNS
    assert by_name(answer)["only.txt"]["reason"] == "4 runs made no such file"
    assert by_name(answer)["id.txt"]["contents"] == 4  # the runs 1 and 2 wrote nothing into it
    assert "1 number of run" in by_name(answer)["hole.json"]["reason"]


@pytest.mark.filterwarnings("ignore:ks_2samp")  # of SciPy: the p-value is that for large samples
@pytest.mark.parametrize(("name", "column"), [("field.csv", None), ("drift.csv", 0)])
def test_scipy_agrees_about_results(runs: Project, answer: dict[str, Any], name: str, column: int | None) -> None:
    """The largest p-value of the two one-sided t-tests; the largest statistic of Kolmogorov and Smirnov."""
    samples = columns(runs, name) if column is not None else [
        np.loadtxt(runs.path / f"r{number}" / name, delimiter=",").ravel() for number in range(1, RUNS + 1)
    ]  # fmt: skip
    found = by_name(answer)[name]
    tests = []
    for other in samples[1:]:
        differences = other - samples[0]
        upper = stats.ttest_1samp(differences, BOUNDS[name], alternative="less").pvalue
        lower = stats.ttest_1samp(differences, -BOUNDS[name], alternative="greater").pvalue
        tests.append((max(upper, lower), abs(differences.mean()), differences.mean()))
    assert (found["p"], found["mean"]) == pytest.approx((max(tests)[0], max(tests)[2]))
    assert found["largest"] == pytest.approx(max(np.abs(other - samples[0]).max() for other in samples[1:]))
    distances = [stats.ks_2samp(samples[0], other) for other in samples[1:]]
    worst = max(distances, key=lambda one: one.statistic)
    assert (found["ks"], found["ks_p"]) == pytest.approx((worst.statistic, worst.pvalue))
    assert found["values"] == len(samples[0])


def test_of_one_number_the_runs_are_the_sample(runs: Project, answer: dict[str, Any]) -> None:
    """A t-test of one difference is none."""
    first, *others = (one[0] for one in columns(runs, "energy.txt"))
    differences = [one - first for one in others]
    upper = stats.ttest_1samp(differences, 0.01, alternative="less").pvalue
    lower = stats.ttest_1samp(differences, -0.01, alternative="greater").pvalue
    assert by_name(answer)["energy.txt"]["p"] == pytest.approx(max(upper, lower))


def test_scipy_agrees_about_times(runs: Project, answer: dict[str, Any]) -> None:
    """The duration of the runs: mean, coefficient of variation, quartiles, bootstrap interval."""
    rows = [one for one in json.loads(runs.answer("runs", "--as", "json")) if one["campaign"] == "sim"]
    values = np.array([round(one["seconds"] * 1e9) for one in rows], dtype=float)
    (found,) = [one for one in answer["performance"] if (one["by"], one["name"]) == ("phase", "elapsed")]
    assert found["mean"] == pytest.approx(values.mean(), abs=1e-2)
    assert found["variation"] == pytest.approx(stats.variation(values, ddof=1), abs=1e-4)
    assert found["quartiles"] == pytest.approx(stats.iqr(values) / np.median(values), abs=1e-4)
    order = [next(row for row in rows if row["run"] == run) for run in _elapsed_order(runs)]
    drawn = np.array([round(one["seconds"] * 1e9) for one in order], dtype=float)
    interval = stats.bootstrap((drawn,), np.mean, n_resamples=9999, method="percentile", rng=0).confidence_interval
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)


def _elapsed_order(runs: Project) -> list[str]:
    (one,) = [one for one in provio.open(runs.path).repro(campaign="sim")._found.performance["phase"]
              if one.key == ("elapsed",)]  # fmt: skip
    return [*one.values]


@pytest.mark.parametrize("size", [2, 3, 7, 50])
def test_scipy_agrees_about_intervals(size: int) -> None:
    """Of several groups of one size at once, among groups of other sizes."""
    random = np.random.default_rng(size)
    groups = [random.lognormal(3, 2, size).tolist() for _ in range(300)]
    found = sample.intervals([[1.0], *groups, [1.0, 2.0]])
    assert found[0] is None and len(found) == 302
    for place in (0, 1, 299):
        expected = stats.bootstrap((groups[place],), np.mean, n_resamples=9999, method="percentile", rng=0)
        interval = expected.confidence_interval
        assert found[1 + place] == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_scipy_agrees_about_the_schedule(runs: Project, answer: dict[str, Any]) -> None:
    """Kendall's tau of the starts of the processes with one command line; nothing moved to another host."""
    starts: dict[str, dict[str, str]] = {}
    for row in runs.rows("""SELECT ?p ?start ?argv { ?p a provio:Process ; provio:argv ?argv ;
                            prov:startedAtTime ?start ; prov:wasAssociatedWith ?program .
                            ?program rdfs:label ?name FILTER(?name != "bash" || CONTAINS(?argv, "job.sh")) }"""):
        own = starts.setdefault(row["p"].split("/run/")[1].split("/")[0], {})
        if "fork" not in row["argv"]:
            own[row["argv"]] = max(own.get(row["argv"], ""), row["start"])
    first = answer["runs"][0]["run"]
    expected = []
    for one in answer["runs"][1:]:
        own = starts[one["run"]]
        common = sorted(own.keys() & starts[first].keys())
        expected.append(
            stats.kendalltau([starts[first][key] for key in common], [own[key] for key in common]).statistic
        )
    found = [one["tau"] for one in answer["schedule"]]
    assert found[0] is None
    assert found[1:] == pytest.approx(expected, abs=1e-6)
    assert found[1] < 1 == found[2]
    assert {one["moved"] for one in answer["schedule"]} == {0}


def test_phases_are_the_lives_of_the_processes(runs: Project) -> None:
    """I/O, communication, computation and waiting add up to them."""
    found = provio.open(runs.path).repro(campaign="sim")._found
    parts: dict[str, int] = dict.fromkeys(found.runs, 0)
    for one in found.performance["phase"]:
        if one.key != ("elapsed",):
            for run, value in one.values.items():
                parts[run] += value
    lives: dict[str, dict[str, list[str]]] = {run: {} for run in found.runs}
    for row in runs.rows("SELECT ?p ?s ?e { ?p a provio:Process ; prov:startedAtTime ?s ; prov:endedAtTime ?e }"):
        run, host, process = row["p"].split("/run/")[1].split("/")[:3]
        if run in lives:
            lives[run].setdefault(f"{host}/{process.rpartition('.')[0]}", []).extend((row["s"], row["e"]))
    whole = {
        run: sum(int((np.datetime64(max(own)[:-1]) - np.datetime64(min(own)[:-1])) / np.timedelta64(1, "ns"))
                 for own in every.values())
        for run, every in lives.items()
    }  # fmt: skip
    assert parts == whole


def test_stats_across_is_the_performance_part(runs: Project, answer: dict[str, Any]) -> None:
    """The same rows, by each grouping."""
    for way in ("phase", "prefix", "host", "file"):
        rows = json.loads(runs.answer("stats", "--campaign", "sim", "--across", "--by", way, "--as", "json"))
        expected = [one for one in answer["performance"] if one["by"] == way]
        assert [one["name"] for one in expected] == [one[way] for one in rows]
        assert [[one[key] for key in ("measure", "mean", "least", "low", "apart")] for one in expected] == [
            [one[key] for key in ("measure", "mean", "least", "low", "apart")] for one in rows
        ]
    assert "add --across" in runs.provio("stats", "--by", "phase", code=2).stderr
    assert "cannot be combined" in runs.provio("stats", "--across", "--by", "phase", "--by", "api", code=2).stderr
    names = {one["name"]: one["runs"] for one in answer["performance"] if one["by"] == "file"}
    assert names["field.csv"] == RUNS and names["only.txt"] == 1


def test_io_of_activities_that_differs(runs: Project, answer: dict[str, Any]) -> None:
    """Bytes as the files have them; one run wrote a file more."""
    found = {one["measure"]: one for one in answer["io"] if one["activity"].startswith("python3")}
    ids = [one["run"] for one in answer["runs"]]
    names = {path.name for path in (runs.path / "r4").iterdir()} - {"job.sh", "order", "seed"}
    sizes = [
        sum(path.stat().st_size for name in names
            if not name.startswith("copy") and (path := runs.path / f"r{number}" / name).exists())
        for number in range(1, RUNS + 1)
    ]  # fmt: skip
    assert found["bytes_written"]["values"] == dict(zip(ids, sizes, strict=True))
    assert found["files"]["most"] == found["files"]["least"] + 1 == found["files"]["values"][ids[3]]


def test_forms(runs: Project) -> None:
    """Text has all parts; CSV and TSV have the rows of one; the notes are on stderr."""
    text = runs.provio("repro", "--campaign", "sim", *WITH_BOUNDS, code=1).stdout
    assert re.search(r"^results: 1 identical, 3 within bounds, 2 deviates, 6 differs$", text, re.MULTILINE)
    assert re.search(r"^deviates +drift.csv .* p = 1; other distribution", text, re.MULTILINE)
    assert re.search(r"^waiting +time +5 ", text, re.MULTILINE) and re.search(r"^cp +time +5 ", text, re.MULTILINE)
    for part in ("results", "performance", "schedule", "io"):
        rows = runs.provio("repro", "--campaign", "sim", "--only", part, "--as", "csv", code=1).stdout
        (header, *lines) = csv.reader(io.StringIO(rows, newline=""))
        assert header == records.TABLES[repro.TABLES[part]].names and lines
        listed = json.loads(runs.provio("repro", "--campaign", "sim", "--only", part, "--as", "json", code=1).stdout)
        assert len(listed) == len(lines)
    assert "by" not in runs.provio("repro", "--campaign", "sim", "--only", "results", code=1).stdout.split()


def test_cards(runs: Project, answer: dict[str, Any]) -> None:
    """One file without references to others, with the figures as JSON."""
    page, text = runs.path / "card.html", runs.path / "card.md"
    for path in (page, text):
        runs.provio("repro", "--campaign", "sim", *WITH_BOUNDS, "-o", str(path), code=1)
    block = re.search(r'<script type="application/json" id="provio-repro">(.*?)</script>', page.read_text(), re.DOTALL)
    fenced = re.search(r"```json\n(.*?)\n```", text.read_text(), re.DOTALL)
    assert block and fenced
    for found in (json.loads(block[1]), json.loads(fenced[1])):
        assert found.pop("date") >= answer["runs"][-1]["start"][:19]
        assert found == {key: value for key, value in answer.items() if key != "date"}
    assert page.read_text().count("<svg") >= 5 and "://" not in page.read_text().partition("<script")[0]
    assert "| deviates | drift.csv | 5 | 5 |" in text.read_text()
    done = runs.provio("repro", "--campaign", "sim", "-o", "card.txt", code=2)
    assert "use a name that ends in .html or .md" in done.stderr


def test_python(runs: Project, answer: dict[str, Any]) -> None:
    """Typed rows with data frames, the same figures; wrong calls raise."""
    found = provio.open(runs.path).repro(campaign="sim", bounds=BOUNDS)
    assert (found.ok, found.verdicts) == (False, answer["verdicts"])
    frame = found.results.to_pandas().set_index("name")
    assert frame.verdict.to_dict() == {one["name"]: one["verdict"] for one in answer["results"]}
    assert found.schedule.to_pandas().tau.iloc[1] == answer["schedule"][1]["tau"]
    assert {**found.to_dict(), "date": ""} == {**answer, "date": ""}
    assert found.card("md").startswith("# 5 runs")
    store = provio.open(runs.path)
    for bad in (float("nan"), -1, float("inf"), "1"):
        with pytest.raises(BadQuery, match="a finite number"):
            store.repro(campaign="sim", bounds={"a": bad})  # type: ignore[dict-item]
    with pytest.raises(BadQuery, match="not compared with itself"):
        store.repro("last", "last")
    with pytest.raises(BadQuery, match="no runs are named"):
        store.repro()


def test_wrong_calls(runs: Project) -> None:
    """A run with itself, one run, no run; bounds that are no numbers; a bound without a result is noted."""
    assert "not compared with itself" in runs.provio("repro", "last", "last", code=2).stderr
    assert "not compared with itself" in runs.provio("repro", "last", code=2).stderr
    assert "no runs are named" in runs.provio("repro", code=2).stderr
    runs.provio("repro", "--campaign", "none", code=3)
    for bad in ("field.csv", "field.csv=", "field.csv=x", "field.csv=-1", "field.csv=nan", "field.csv=inf", "=1"):
        done = runs.provio("repro", "--campaign", "sim", "--bound", bad, code=2)
        assert "is no NAME=VALUE with a number" in done.stderr, bad
    assert any("typo.csv=1 matches no result" in line
               for line in document(runs, "--campaign", "sim", "--bound", "typo.csv=1")["notes"])  # fmt: skip


@pytest.fixture
def pair(project: Project) -> Iterator[Project]:
    """Two runs that made one file with equal content, in folders of their own."""
    for name in ("a", "b"):
        (project.path / name).mkdir()
        run_in(project, project.path / name, "bash", "-c", "echo 1.5 > out.txt; echo 1 > one.txt")
    yield project


def test_equal_runs(pair: Project) -> None:
    """Exit code 0; of other programs a note states this, and a file of only one run differs."""
    assert document(pair, "last~1", "last", code=0)["verdicts"] == {"identical": 2}
    run_in(pair, pair.path / "b", "sh", "-c", "echo 1.5 > other.txt")
    found = document(pair, "last~1", "last")
    assert found["verdicts"] == {"differs": 3}
    assert any(line.startswith("1 run executed another command than the first: sh -c") for line in found["notes"])


def test_without_hashes_nothing_is_identical(project: Project) -> None:
    """Of another size it differs; with a bound the numbers decide, while the files are there."""
    for name, text in (("a", "1.5"), ("b", "1.5"), ("c", "22.5")):
        (project.path / name).mkdir()
        run_in(project, project.path / name, "bash", "-c", f"echo {text} > out.txt", options=())
    (found,) = document(project, "last~2", "last~1", code=0)["results"]
    assert (found["verdict"], found["reason"], found["contents"]) == ("not compared", "no SHA-256 is recorded", 0)
    assert document(project, "last~2", "last")["results"][0]["verdict"] == "differs"
    within = document(project, "last~2", "last~1", "--bound", "out.txt=1e-9", code=0)["results"]
    assert [one["verdict"] for one in within] == ["within bounds"]


def test_hostile_names(project: Project) -> None:
    """Names that are not UTF-8, or contain marks of HTML and Markdown, are text in each form."""
    script = r"""echo 1 > $'x\xff\ny`|<b>&.txt'"""
    for name in ("a", "b"):
        (project.path / name).mkdir()
        run_in(project, project.path / name, "bash", "-c", script)
    (found,) = document(project, "last~1", "last", code=0)["results"]
    assert found["verdict"] == "identical" and found["name"].startswith("x") and "\n" in found["name"]
    for form in ("text", "csv", "tsv"):
        assert project.provio("repro", "last~1", "last", "--as", form).stdout.count("y`|<b>&.txt") >= 1
    for form, shown in (("html", "y`|&lt;b&gt;&amp;.txt</bdi>"), ("md", r"y\`\|\<b\>\&.txt |")):
        card = project.path / f"card.{form}"
        project.provio("repro", "last~1", "last", "-o", str(card))
        text = card.read_text(encoding="utf-8")
        assert shown in text and "<b>&.txt" not in text.partition("<script")[0].partition("## Data")[0]


def test_files_that_changed_or_are_missing(project: Project) -> None:
    """They are not compared by their numbers."""
    for name, text in (("a", "1.5"), ("b", "2.5")):
        (project.path / name).mkdir()
        run_in(project, project.path / name, "bash", "-c", f"echo {text} > out.txt; echo x{name} > word.txt")
    bounds = ("--bound", "*.txt=5")
    results = by_name(document(project, "last~1", "last", *bounds, code=0))
    assert results["out.txt"]["verdict"] == "within bounds"
    assert results["word.txt"]["verdict"] == "not compared" and "contains no numbers" in results["word.txt"]["reason"]
    (project.path / "b" / "out.txt").write_text("9.5\n")
    (found, _) = document(project, "last~1", "last", *bounds, code=0)["results"]
    assert found["verdict"] == "not compared" and found["reason"].endswith("has changed since")
    shutil.rmtree(project.path / "b")
    (found, _) = document(project, "last~1", "last", *bounds, code=0)["results"]
    assert found["verdict"] == "not compared" and found["reason"].endswith("is missing")


def test_a_run_that_goes_on(pair: Project) -> None:
    """Its results are not compared."""
    import os

    os.mkfifo(pair.path / "end")
    run = start(pair, "bash", "-c", "echo 1.5 > out.txt; read < end")
    wait_for(pair.path / "out.txt", b"1.5")
    found = document(pair, "last~1", "last", code=0)
    tell(pair.path / "end", "\n")
    assert run.wait(60) == 0
    assert {one["verdict"] for one in found["results"]} == {"not compared"}
    assert any("goes on" in line for line in found["notes"])


def test_without_scipy_and_numpy(runs: Project) -> None:
    """It names the missing figures and the remedy; results with a bound are not compared."""
    blocked = "import sys\nsys.modules.update(scipy=None, numpy=None)\nfrom provio.cli.main import main\nmain()"
    words = ["repro", "--campaign", "sim", "--bound", "field.csv=1", "--as", "json"]
    done = subprocess.run([sys.executable, "-c", blocked, *words], cwd=runs.path, env=runs.env, text=True,
                          capture_output=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    (note,) = [line for line in found["notes"] if "SciPy" in line]
    assert "Kendall's tau, tests with --bound, bootstrap intervals are missing" in note and "[compare]" in note
    assert by_name(found)["field.csv"]["verdict"] == "not compared"
    assert by_name(found)["same.txt"]["verdict"] == "identical"
    assert {one["low"] for one in found["performance"]} == {one["tau"] for one in found["schedule"]} == {None}
    assert all(one["mean"] is not None for one in found["performance"])


def test_tasks_of_dask(tmp_path_factory: pytest.TempPathFactory, shim: object) -> None:
    """Steals, transfers, bytes and prefixes are those of the named queries; workers correspond by their tasks."""
    interpreter = python(VERSIONS[-1])
    project = new_project(tmp_path_factory.mktemp("dask"))
    (project.path / "main.py").write_text(STEALS)
    for _ in range(2):
        project.provio("run", "--quiet", "--no-merge", "--name", "naps", "--", str(interpreter), "main.py")
    found = document(project, "--name", "naps", code=0)
    for one in found["schedule"]:

        def rows(query: str, run: str = one["run"]) -> list[dict[str, str]]:
            answer = project.answer("query", query, "-p", f"run={run}", "--as", "csv")
            return list(csv.DictReader(io.StringIO(answer)))

        moves = rows("transfers")
        assert one["steals"] == sum(row["event"] == "confirm" for row in rows("steals")) > 0
        assert (one["transfers"], one["bytes"]) == (len(moves), sum(int(row["bytes"]) for row in moves))
        assert one["recomputed"] == 0 and one["aligned"] >= 81
    assert found["schedule"][0]["moved"] == 0 <= found["schedule"][1]["moved"] < 80
    (nap,) = [one for one in found["performance"] if one["name"] == "nap"]
    assert (nap["by"], nap["runs"]) == ("prefix", 2) and nap["least"] >= 80 * 0.05e9

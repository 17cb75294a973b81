"""`provio params` and `provio metrics`: parameters and metrics of programs, side by side for several runs."""

from __future__ import annotations

import csv
import io
import json
import signal
import sys
from pathlib import Path

import pytest
from concurrent_runs import go_on, going_on, line_of
from conftest import Project, new_project
from synthetic_traces import Run
from terminals import on_a_terminal

import provio
from provio.ask import run_parameters
from provio.ask.run_parameters import Table
from provio.render import by_run
from provio.settings.home import Home

RUNS = [f"01a1fe26-0000-7000-8000-{number:012}" for number in range(9)]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Two trainings in runs of their own; a run of two more programs, one of them with two ranks; one of a script that
    reports nothing."""
    project = new_project(tmp_path_factory.mktemp("sweep"))
    home = Home(project.path / ".provio")
    for number, rate in ((1, 0.5), (2, 1e-2)):
        run = Run(home, number, "train.py", name=f"train{number}", campaign="sweep")
        process = run.process("train.py")
        process.configure("args", lr=99.0, seed=7)
        process.configure("args", lr=rate, seed=7, name="a\nb", batch=10**number)
        for step in (1, 2):
            process.metric("loss", number + step + 0.125, step)
        process.metric("accuracy", float("nan") if number == 1 else 0.75)
        run.write()
    run = Run(home, 3, "mpirun", campaign="other")
    for _ in range(2):
        run.process("train.py").configure("args", lr=0.01, seed=7, name="a\nb", batch=100)
    process = run.process("clean.py")
    process.begin("filter")
    process.configure("clean", threshold=3, lr="none")
    process.configure("more", threshold=4)
    process.finish()
    process.metric("kept", 2**60)
    run.write()
    Run(home, 4, "quiet").write()
    return project


def of(project: Project, *arguments: str, code: int = 0) -> list[dict[str, object]]:
    found = json.loads(project.provio(*arguments, "--as", "json", code=code).stdout)
    assert isinstance(found, list)
    return found


def test_a_row_for_each_program(sweep: Project) -> None:
    """The last version of each; ranks with equal parameters are one row; a name of two configurations, or of a column,
    has the configuration's before it in all rows."""
    found = of(sweep, "params", "--all")
    assert [(row["run"], row["program"], row["processes"], row["parameters"]) for row in found] == [
        (RUNS[1], "train.py", 1, {"args.name": "a\nb", "batch": 10, "lr": 0.5, "seed": 7}),
        (RUNS[2], "train.py", 1, {"args.name": "a\nb", "batch": 100, "lr": 0.01, "seed": 7}),
        (RUNS[3], "train.py", 2, {"args.name": "a\nb", "batch": 100, "lr": 0.01, "seed": 7}),
        (RUNS[3], "clean.py", 1, {"clean.threshold": 3, "lr": "none", "more.threshold": 4}),
    ]


def test_only_what_differs(sweep: Project) -> None:
    """Rows of one program are compared with each other; of a single row, all parameters are shown."""
    assert [row["parameters"] for row in of(sweep, "params", "--campaign", "sweep")] == [
        {"batch": 10, "lr": 0.5}, {"batch": 100, "lr": 0.01},
    ]  # fmt: skip
    note = sweep.provio("params", "--campaign", "sweep").stderr
    assert note == "2 parameters are equal in all rows and not shown: --all shows them\n"
    assert [*of(sweep, "params", "train1")[0]["parameters"]] == ["args.name", "batch", "lr", "seed"]  # type: ignore[misc]
    assert of(sweep, "params", "--run", "train1") == of(sweep, "params", RUNS[1])


def test_columns_of_csv(sweep: Project) -> None:
    rows = list(csv.reader(io.StringIO(sweep.provio("params", "train1", "train2", "--as", "csv").stdout)))
    assert rows[0] == ["run", "start", "name", "campaign", "program", "processes", "batch", "lr"]
    assert [row[-2:] for row in rows[1:]] == [["10", "0.5"], ["100", "0.01"]]


def test_sorted_by_a_parameter(sweep: Project) -> None:
    """Numbers by value, rows without one first; a wrong name is named."""
    order = [row["run"] for row in of(sweep, "params", "--sort", "batch")]
    assert order == [RUNS[3], RUNS[1], RUNS[2], RUNS[3]]
    assert [row["run"] for row in of(sweep, "params", "--sort", "lr", "--limit", "1", "--campaign", "sweep")] == [
        RUNS[1]
    ]
    assert sweep.provio("params", "--sort", "bacth", code=3).stderr == (
        "provio: no column or parameter 'bacth': did you mean 'batch'? (provio params --all shows all)\n"
    )
    rows = [run_parameters.Row("r", None, None, None, "p", number, []) for number in (10, 9, 100)]
    assert [row.processes for row in run_parameters.ordered(Table(rows, [], []), "processes")] == [9, 10, 100]


def test_the_parameters_of_given_runs_are_read_alone(sweep: Project) -> None:
    """They are the rows of these runs among those of all."""
    every = [(row["run"], row["program"], row["processes"]) for row in of(sweep, "params", "--all")]
    assert {run for run, *_ in every} == set(RUNS[1:4])
    for ids in ([RUNS[1]], [RUNS[3], RUNS[1]], [RUNS[3]]):
        alone = [(row["run"], row["program"], row["processes"]) for row in of(sweep, "params", "--all", *ids)]
        assert alone == [row for row in every if row[0] in ids]


def test_nothing_reported(sweep: Project) -> None:
    none = sweep.provio("params", "last", code=3).stderr
    assert none == "provio: no parameters are recorded: declare them with provio.configuration(…)\n"
    assert sweep.provio("metrics", "last", code=3).stderr.startswith("provio: no metric is recorded")
    for name, remedy in (("lr", "a parameter: provio params --sort lr"), ("loss", "a metric: provio best loss")):
        told = sweep.provio("metrics", name, code=3).stderr
        assert told == f"provio: no run '{name}' is recorded: it is the name of {remedy}\n"
    assert "no run 'trian1' is recorded" in sweep.provio("params", "trian1", code=3).stderr
    assert "none of the named runs" in sweep.provio("params", "train1", "--campaign", "other", code=3).stderr


def test_the_last_value_of_each_metric(sweep: Project) -> None:
    found = [[row[key] for key in ("run", "metric", "value", "step", "count")] for row in of(sweep, "metrics")]
    assert found == [
        [RUNS[1], "accuracy", "NaN", None, 1], [RUNS[1], "loss", 3 + 0.125, 2, 2],
        [RUNS[2], "accuracy", 0.75, None, 1], [RUNS[2], "loss", 4 + 0.125, 2, 2],
        [RUNS[3], "kept", 2**60, None, 1],
    ]  # fmt: skip
    assert [row["metric"] for row in of(sweep, "metrics", "train2")] == ["accuracy", "loss"]
    shown = sweep.provio("metrics", "--campaign", "sweep").stdout.splitlines()
    assert [line.split()[-2:] for line in shown] == [
        ["accuracy", "loss"], ["────────", "─────"], ["NaN", "3.125"], ["0.75", "4.125"],
    ]  # fmt: skip


def test_best_is_an_alias(sweep: Project) -> None:
    """The same text, also for a wrong name."""
    for arguments in (["accuracy"], ["loss"], ["loss", "--max", "--limit", "1"], ["accuracy", "--as", "json"]):
        assert sweep.provio("metrics", "--best", *arguments).stdout == sweep.provio("best", *arguments).stdout
    assert sweep.provio("metrics", "--best", "los", code=3).stderr == sweep.provio("best", "los", code=3).stderr
    assert "name a metric with --best" in sweep.provio("metrics", "--min", code=2).stderr
    assert [row["value"] for row in of(sweep, "metrics", "train1", "--best", "loss")] == [2 + 0.125]


def test_in_python(sweep: Project) -> None:
    store = provio.open(sweep.path)
    rows = store.params("train1", "train2")
    assert rows.columns == ("run", "start", "name", "campaign", "program", "processes", "batch", "lr")
    assert [(row.name, row.lr) for row in rows] == [("train1", 0.5), ("train2", 0.01)]
    assert "seed" in store.params("train1", "train2", everything=True).columns
    assert [(row.metric, row.value, row["count"]) for row in store.metrics("train2")] == [
        ("accuracy", 0.75, 1), ("loss", 4 + 0.125, 2),
    ]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("verb", ["params", "metrics"])
def test_it_fits_80_columns(tmp_path: Path, shim: Path, verb: str) -> None:
    """Many names: first a line for each, then cells of several lines; the number of those left out is stated."""
    project = new_project(tmp_path)
    for number in range(1, 9):
        run = Run(Home(project.path / ".provio"), number, "train.py")
        run.id = f"01a1fe26-{number:04}-7000-8000-000000000000"
        run.folder = run.folder.with_name(run.id)
        process = run.process("train.py")
        for key in range(60):
            process.metric(f"metric.of.a.long.name.{key}", number + key)
        process.configure("args", **{f"group.of.a.long.name.{key}": number * key for key in range(60)})
        run.write()
    of_two = [f"01a1fe26-000{number}" for number in (1, 2)]
    few, many = (on_a_terminal(project, verb, *names, columns=80).decode() for names in (of_two, []))
    assert max(map(len, few.splitlines())) <= 80 and max(map(len, many.splitlines())) <= 80
    assert all(f"of.a.long.name.{key} " in few for key in range(1, 60)) and "left out" not in few
    assert "more parameters are left out" in many if verb == "params" else "more metrics are left out" in many
    assert "of.a.long.name.1 = " in many


def test_forms_of_a_table() -> None:
    """A column for each name if there is room, else a line for each, else cells; never more than `MOST` names."""
    facts = {"run": ["one", "two"], "start": ["", ""]}
    values = [{"a": "1", "b": "x"}, {"a": "22"}]
    wide, left = by_run.render("parameter", facts, ["a", "b"], values, 80, False)
    assert (wide, left) == ("run  a   b\n---  --  -\none  1   x\ntwo  22\n", 0)
    names = [f"name{number}" for number in range(300)]
    rows = [dict.fromkeys(names, "1"), dict.fromkeys(names, "2")]
    turned, left = by_run.render("parameter", facts, names, rows, 80, False)
    assert turned.splitlines()[:3] == ["parameter  one  two", "---------  ---  ---", "name0      1    2"]
    assert (len(turned.splitlines()), left) == (by_run.MOST + 2, 100)
    facts["run"] = ["the first run", "the second run"]
    folded, left = by_run.render("parameter", facts, names, rows, 36, False)
    assert max(map(len, folded.splitlines())) <= 36
    assert 0 < left == 300 - folded.count("name") // 2


FOLLOWED = """
import provio, sys
for step in range(3):
    provio.metric("loss", 1.5 / (step + 1), step=step)
    print(step, flush=True)
    sys.stdin.readline()
"""


@pytest.mark.integration
def test_values_of_a_run_in_progress(project: Project) -> None:
    """`--follow` prints each change, and ends with the run."""
    (project.path / "train.py").write_text(FOLLOWED)
    with going_on(project, "run", "--", sys.executable, "train.py") as training:
        assert line_of(training) == "0"
        with going_on(project, "metrics", "--follow") as following:
            for step, value in enumerate(("1.5", "0.75", "0.5")):
                assert line_of(following).endswith(f"  loss = {value}  step {step}")
                go_on(training)
        assert following.returncode == 0


@pytest.mark.integration
def test_following_ends_at_an_interrupt(project: Project) -> None:
    (project.path / "train.py").write_text(FOLLOWED)
    with going_on(project, "run", "--", sys.executable, "train.py") as training:
        assert line_of(training) == "0"
        with going_on(project, "metrics", "--follow") as following:
            assert line_of(following).endswith("  loss = 1.5  step 0")
            following.send_signal(signal.SIGINT)
            _, errors = following.communicate(timeout=60)
            assert (following.returncode, "Traceback" in errors) == (130, False)

"""Runs whose files of parameters and metrics were changed before provio read them: each answer states that they are
left out, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project, new_project, provio_command
from serve_process import serving

import provio
from provio.ask import experiments

PROGRAM = """import json
rate = json.load(open("params.json"))["lr"]
json.dump({"loss": 1 / rate, "val.loss": 2 / rate}, open("metrics.json", "w"))
"""
METRICS = "metrics.json was changed before it was read (provio query gaps)"
PARAMETERS = "params.json was changed before it was read (provio query gaps)"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Three trainings, each with its rate in the same file, as ranks, after which no process reads the files before
    the merge: only the last one's files are there to be read. And a run without parameters."""
    project = new_project(tmp_path_factory.mktemp("rewritten"))
    project.env["PROVIO_MERGE"] = "ask"
    (project.path / "train.py").write_text(PROGRAM, encoding="utf-8")
    for rate in (1, 2, 4):
        (project.path / "params.json").write_text(json.dumps({"lr": rate}), encoding="utf-8")
        rank = project.env | {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "PROVIO_RUN": f"r{rate}"}
        command = [*provio_command(), "run", "--quiet", "--name", f"r{rate}", "--", sys.executable, "train.py"]
        subprocess.run(command, cwd=project.path, env=rank, check=True)
    project.provio("run", "--quiet", "--name", "none", "--", "true")
    project.provio("query", "gaps")
    return project


@pytest.mark.integration
@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize(
    ("call", "line"),
    [
        (["metrics"], f"2 runs left out: {METRICS}"),
        (["params"], f"2 runs left out: {PARAMETERS}"),
        (["best", "loss"], f"2 runs left out: {METRICS}"),
        (["metrics", "--best", "loss"], f"2 runs left out: {METRICS}"),
        (["params", "r1", "r4"], "1 run left out: params.json was changed before it was read (provio query gaps "),
    ],
    ids=" ".join,
)
def test_each_answer_counts_the_runs_that_it_leaves_out(sweep: Project, call: list[str], line: str, form: str) -> None:
    """In one line on the standard error, in each form; the output has the other runs."""
    done = sweep.provio(*call, "--as", form)
    assert line in done.stderr and done.stderr.count("before it was read") == 1
    assert "0.25" in done.stdout or "4" in done.stdout
    assert "left out" not in sweep.provio(*call[: 1 if call[0] == "params" else None], "--name", "r4").stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    ("call", "lines"),
    [
        (["params", "r1"], ["no parameters of run", "known: params.json was changed before it was read"]),
        (["metrics", "r2"], ["no metrics of run", "known: metrics.json was changed before it was read"]),
        (["metrics", "r1", "r2"], ["no metrics are known: metrics.json was changed"]),
        (["best", "loss", "--name", "r1"], ["no metrics are known: metrics.json was changed before it was read"]),
        (["find", "--param", "lr=9"], [f"2 runs may match too: {PARAMETERS}"]),
        (["params", "none"], ["no parameters are recorded: declare them with"]),
        (["best", "nosuch"], [r"(known: loss, val\.loss)", f"2 runs left out: {METRICS}"]),
        (["best", "val.loss"], [r"did you mean 'val\.loss'?"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_answer_without_values_states_the_reason(sweep: Project, call: list[str], lines: list[str]) -> None:
    """Instead of the advice to declare values, which a run without files of values gets."""
    error = sweep.provio(*call, code=3).stderr
    assert [line for line in lines if line not in error] == []


@pytest.mark.integration
def test_find_and_python_have_the_line_too(sweep: Project) -> None:
    """As a note of the answer."""
    assert f"2 runs may match too: {PARAMETERS}" in sweep.provio("find", "--param", "lr").stdout
    store = provio.open(sweep.path)
    assert store.params().notes == (f"2 runs left out: {PARAMETERS}",)
    assert store.metrics().notes == (f"2 runs left out: {METRICS}",)


@pytest.mark.integration
def test_follow_and_the_home_name_these_runs(sweep: Project) -> None:
    """`metrics --follow` when no run is in progress any more; the home above its table, the page of a run its own."""
    pytest.importorskip("waitress")
    assert f"2 runs left out: {METRICS}" in sweep.provio("metrics", "--follow").stderr
    assert "left out" not in sweep.provio("metrics", "--follow", "r4").stderr
    with serving(sweep) as site:
        assert site.api("table")["unknown"] == [
            f"2 runs with unknown metrics: {METRICS}", f"2 runs with unknown parameters: {PARAMETERS}"
        ]  # fmt: skip
        reasons = [f"{name}.json was changed before it was read" for name in ("metrics", "params")]
        assert sorted(site.api("statistics", run="r1", part="facts")["unread"]) == reasons
        assert site.api("statistics", run="r4", part="facts")["unread"] == []


@pytest.mark.integration
def test_a_gap_names_its_file_and_belongs_to_its_run(sweep: Project) -> None:
    """`show` counts the gaps that `query gaps RUN` lists; a gap of another run about the same file is not among
    them."""
    for run, merged in (("r1", "2 gaps"), ("r2", "3 gaps"), ("r4", "1 gap")):
        assert f"merge    {merged}: provio query gaps" in sweep.provio("show", run).stdout
        rows = json.loads(sweep.provio("query", "gaps", run, "--as", "json").stdout)["results"]["bindings"]
        assert len(rows) == int(merged[0]) and len({row["run"]["value"] for row in rows}) == 1
    rows = json.loads(sweep.provio("query", "gaps", "r1", "--as", "json").stdout)["results"]["bindings"]
    assert {row["reason"]["value"] for row in rows} == {
        "params.json was changed before it was read: its parameters are not known",
        "metrics.json was changed before it was read: its metrics are not known",
    }
    impact = sweep.provio("impact", "params.json").stdout
    assert "! metrics.json was changed before it was read: its metrics are not known\n" in impact


@pytest.mark.integration
def test_status_counts_these_runs(sweep: Project) -> None:
    """In the line of gaps, and by their ids in JSON."""
    assert "gaps      2 runs" in sweep.provio("status").stdout
    assert len(json.loads(sweep.provio("status", "--as", "json").stdout)["gaps"]) == 2


@pytest.mark.integration
def test_a_run_with_some_values_is_shown_in_part(project: Project) -> None:
    """A later program of the run changed the files; several files, one of them with an odd name, are named each."""
    os.mkdir(project.path / "a b\n")
    (project.path / "a b\n" / "params.json").write_text("{", encoding="utf-8")
    (project.path / "train.py").write_text(PROGRAM, encoding="utf-8")
    script = f"""for rate in 1 2; do echo "{{\\"lr\\": $rate}}" > params.json; {sys.executable} train.py; done"""
    project.run(f"{script}; wc a*/params.json")
    note = project.provio("params").stderr
    assert "1 run shown in part: " in note and ", and 1 other reason (provio query gaps " in note
    assert "1 run shown in part: metrics.json was changed" in project.provio("metrics").stderr
    reasons = {row["reason"] for row in project.rows("SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason }")}
    assert "a b\n/params.json is no valid JSON (line 1): its parameters are not known" in reasons
    project.run(f"{script}; wc a*/params.json")
    assert "compared in part" in project.provio("diff", "last~1", "last", code=None).stdout


LOWEST = """loss logloss val.loss val_loss valLoss train/loss2 Loss losses cross_entropy_loss chi2 chisq reduced_chi2
misfit residual rmsd rmse RMSE test_rmse mae mse testMSE nll aic BIC cost time step_time wallTime latency perplexity
error validation_0-error mean_absolute_error neg_log_likelihood"""
HIGHEST = """accuracy val_accuracy lossless r2 score auc neg_mean_squared_error neg_log_loss sometimes timeless
costume f1 throughput log_likelihood comet"""


def test_names_imply_the_direction() -> None:
    """Whole words, `loss` and `error` also as the end of a word; `neg` before them negates the quantity."""
    assert [name for name in LOWEST.split() if not experiments.lowest(name)] == []
    assert [name for name in HIGHEST.split() if experiments.lowest(name)] == []


@pytest.mark.integration
def test_best_states_the_direction(sweep: Project) -> None:
    """With the option for the other one."""
    assert "lowest first: --max for the highest\n" in sweep.provio("best", "loss").stderr
    assert "highest first: --min for the lowest\n" in sweep.provio("best", "loss", "--max").stderr


@pytest.mark.integration
def test_a_file_that_may_be_recorded_is_compared_by_find(sweep: Project) -> None:
    """The advice of `why` and `lineage` for a file with the size of a recorded one without a SHA-256."""
    same = sweep.path / "a copy.py"
    same.write_text(PROGRAM.replace("rate", "lrat"), encoding="utf-8")
    for verb in ("why", "lineage"):
        assert "no SHA-256: provio find 'a copy.py' compares them" in sweep.provio(verb, "a copy.py", code=3).stderr
    same.write_text("x", encoding="utf-8")
    assert "provio find" not in sweep.provio("why", "a copy.py", code=3).stderr

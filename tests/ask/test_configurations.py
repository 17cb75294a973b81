"""`provio best`, `checkpoint`, `diff`, `vocab`: the results of configurations, and the checkpoints that fit them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import Project, new_project
from synthetic_traces import File, Run
from terminals import on_a_terminal

from provio.ask import comparison
from provio.cli.verbs import checkpoint
from provio.settings.home import Home
from provio.trace.redact import Redaction


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Project:
    """Two trainings with different values, a run that uses one value after the other, and one without declarations."""
    project = new_project(tmp_path_factory.mktemp("told"))
    home = Home(project.path / ".provio")
    for number, (size, rate) in enumerate(((9, 1e-3), (256, 0.01)), 1):
        run = Run(home, number, "train.py", name=f"train{number}")
        process = run.process("train.py")
        settings: dict[str, int | float | bool | str] = {"train.batch_size": size, "lr": rate, "amp": True, "seed": 7}
        process.configure("args", "Hyperparameter", **settings)
        for step in (1, 2):
            process.metric("accuracy", number / 10 + step / 100, step)
            process.metric("loss", 10.0 - 8 * number + step, step)
        file = File(f"/data/ckpt/{number}.pt", 50 + number)
        process.plain(file, "w").write().close()
        process.checkpoint(file.path, 2)
        process.metric("accuracy", float("nan"), 3)
        run.write()
    run = Run(home, 3, "sweep.py", name="sweep")
    process = run.process("sweep.py")
    for rate in (0.1, 0.2):
        process.begin(f"try {rate}")
        process.configure("try", lr=rate)
        process.metric("accuracy", rate, 1)
        process.finish()
    run.write()
    Run(home, 4, "true", name="silent").write()
    return project


def rows(project: Project, *arguments: str, code: int = 0) -> list[dict[str, object]]:
    found = json.loads(project.provio(*arguments, "--as", "json", code=code).stdout)
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("one", "other"), [(256, 256.0), (256, "2.56e2"), ("256", "256.0"), (0.001, "1E-3"), (True, "yes"), ("x", "x"),
                       (float("nan"), "NaN"), (float("-inf"), "-INF"), (True, "1")],
)  # fmt: skip
def test_numbers_are_compared_as_numbers(one: comparison.Value, other: comparison.Value) -> None:
    assert comparison.same(one, other) and comparison.same(other, one)


@pytest.mark.parametrize(("one", "other"), [(10, 9), ("10", "9"), (True, "no"), ("x", "X"), (1, "one"), ("nan", 1)])
def test_what_is_not_the_same(one: comparison.Value, other: comparison.Value) -> None:
    assert not comparison.same(one, other) and not comparison.same(other, one)


def test_ten_is_more_than_nine() -> None:
    """Also as text; a value that is not a number comes last."""
    every: list[comparison.Value] = ["10", 9, "x", float("nan"), 9.5]
    assert sorted(every, key=comparison.rank)[:3] == [9, 9.5, "10"]


@pytest.mark.integration
def test_configurations_by_a_metric(told: Project) -> None:
    """The best value under each version, with its step; of two Tasks each has its own; NaN is never the best."""
    found = rows(told, "best", "accuracy")
    assert [(row["value"], row["step"], row["configuration"]) for row in found] == [
        (0.22, 2, "args 2"), (0.2, 1, "try 2"), (0.12, 2, "args 1"), (0.1, 1, "try 1"),
    ]  # fmt: skip
    assert found[0]["settings"] == {"train.batch_size": 256, "lr": 0.01, "amp": True, "seed": 7}
    assert found[0]["checkpoint"] == "/data/ckpt/2.pt"
    lowest = rows(told, "best", "loss")
    assert [row["value"] for row in lowest] == [-5, 3]
    assert [row["value"] for row in rows(told, "best", "loss", "--max")] == [4, -4]
    assert len(rows(told, "best", "accuracy", "--limit", "1", "--name", "sweep")) == 1


@pytest.mark.integration
def test_the_table_shows_what_differs(told: Project) -> None:
    shown = told.provio("best", "loss").stdout
    assert "lr = 0.01; train.batch_size = 256" in shown and "seed" not in shown
    refused = told.provio("best", "acuracy", code=3).stderr
    assert refused == "provio: no metric 'acuracy' is recorded: did you mean 'accuracy'?\n"
    assert "(known: accuracy, loss)" in told.provio("best", code=2).stderr


@pytest.mark.integration
def test_the_table_fits_a_terminal(told: Project) -> None:
    """No column is cut in the middle of a value: where there is no room for the time, it is left out."""
    wide = on_a_terminal(told, "best", "accuracy", columns=160).decode()
    assert wide.split()[:3] == ["value", "step", "time"] and " UTC  " in wide
    narrow = on_a_terminal(told, "best", "accuracy", columns=80).decode()
    assert narrow.split()[:3] == ["value", "step", "run"] and "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    assert {"train.batch_size", "256", "0.001;", "/data/ckpt/2.pt"} <= set(narrow.split())


@pytest.mark.integration
@pytest.mark.parametrize("wanted", ["batch_size=256", "train.batch_size=2.56e2", "args.lr=1e-2", "batch_size=256.0"])
def test_the_checkpoint_that_fits(told: Project, wanted: str) -> None:
    """By a whole key or its end, numbers as numbers; with the metrics that it was saved with."""
    (row,) = rows(told, "checkpoint", "find", wanted, "amp=true")
    assert (row["path"], row["step"], row["configuration"]) == ("/data/ckpt/2.pt", 2, "args 2")
    assert row["metrics"] == {"accuracy": 0.22, "loss": -4}


@pytest.mark.integration
def test_no_checkpoint_fits(told: Project) -> None:
    """Exit 3, and which values there are; a slip in a key is named."""
    done = told.provio("checkpoint", "find", "batch_size=10", code=3)
    assert done.stderr == "provio: no checkpoint fits: of 2, batch_size is 9, 256\n"
    assert "did you mean 'seed'?" in told.provio("checkpoint", "find", "sead=1", code=3).stderr
    assert "KEY=VALUE" in told.provio("checkpoint", "find", "seed", code=2).stderr


@pytest.mark.integration
def test_the_list_of_checkpoints(told: Project) -> None:
    assert [row["path"] for row in rows(told, "checkpoint", "list")] == ["/data/ckpt/1.pt", "/data/ckpt/2.pt"]
    shown = told.provio("checkpoint", "list").stdout
    assert "accuracy = 0.12; loss = 4" in shown
    header, *lines = told.provio("checkpoint", "list", "--as", "csv").stdout.splitlines()
    assert header == "path,step,time,run,configuration,metrics,settings" and len(lines) == 2


CONFIGURATIONS = {
    "same.json": '{"train": {"batch_size": 256.0}, "lr": 1e-2, "amp": true, "seed": 7}',
    "same.toml": "lr = 0.01\namp = true\nseed = 7\n[train]\nbatch_size = 256\n",
    "same.yaml": "train: {batch_size: 256}\nlr: 1.0e-2\namp: true\nseed: 7\n",
    "same.ini": "[all]\nbatch_size = 2.56e2\nlr = 0.01\namp = yes\nseed = 7\n",
}


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_a_checkpoint_and_its_own_configuration(told: Project, name: str) -> None:
    """In every format, for any notation of a number; in an INI file, in any section."""
    (told.path / name).write_text(CONFIGURATIONS[name])
    assert told.provio("checkpoint", "verify", "/data/ckpt/2.pt", name).stdout == (
        f"/data/ckpt/2.pt was saved with {name} (args 2)\n"
    )


def test_secrets_in_a_configuration_are_as_a_record_has_them(tmp_path: Path) -> None:
    """They are not shown as a difference."""
    (tmp_path / "own.json").write_text(
        '{"db": {"password": "ada", "url": "http://ada:lovelace@db/x"}, "pad_token_id": 7, "salt": 1.5, "token": ""}'
    )
    assert checkpoint.read(str(tmp_path / "own.json"), Redaction(("SALT",), ("PASSWORD",))) == {
        "db.password": "REDACTED", "db.url": "http://ada:REDACTED@db/x", "pad_token_id": 7, "salt": "REDACTED",
        "token": "",
    }  # fmt: skip


@pytest.mark.integration
def test_a_checkpoint_and_another_configuration(told: Project) -> None:
    """Exit 1, and each key that differs, or that one side alone has; --partial: of those in the file."""
    (told.path / "other.json").write_text('{"train": {"batch_size": 64}, "lr": 0.01, "amp": true, "layers": 2}')
    found = rows(told, "checkpoint", "verify", "/data/ckpt/2.pt", "other.json", code=1)
    assert found == [
        {"key": "layers", "checkpoint": None, "configuration": 2},
        {"key": "seed", "checkpoint": 7, "configuration": None},
        {"key": "train.batch_size", "checkpoint": 256, "configuration": 64},
    ]
    partial = rows(told, "checkpoint", "verify", "/data/ckpt/2.pt", "other.json", "--partial", code=1)
    assert [row["key"] for row in partial] == ["layers", "train.batch_size"]
    assert (
        "no checkpoint is recorded at gone.pt"
        in told.provio("checkpoint", "verify", "gone.pt", "other.json", code=3).stderr
    )
    assert "is no file: name the TOML" in told.provio("checkpoint", "verify", "/data/ckpt/2.pt", "no", code=1).stderr


@pytest.mark.integration
def test_in_what_two_runs_differ(told: Project) -> None:
    """Each in its last state; a run without declarations has none of them."""
    settings = ("diff", "train1", "train2", "--only", "parameters")
    assert [
        {key: row[key] for key in ("configuration", "key", "first", "second")} for row in rows(told, *settings, code=1)
    ] == [
        {"configuration": "args", "key": "lr", "first": 0.001, "second": 0.01},
        {"configuration": "args", "key": "train.batch_size", "first": 9, "second": 256},
    ]
    same = told.provio("diff", "train1", "train1")
    assert same.stdout.endswith("no unexpected difference found\n") and same.stdout.startswith("! both are run ")
    assert told.provio("diff", "train1", "train1", "--json").stdout == "[]\n"
    assert [row["second"] for row in rows(told, "diff", "train2", "sweep", code=1) if row["key"] == "lr"] == [0.2]
    settings = ("diff", "train1", "silent", "--only", "parameters")
    assert {row["second"] for row in rows(told, *settings, code=1)} == {None}


@pytest.mark.integration
def test_words_are_listed(project: Project) -> None:
    """Provio's terms, and the user's own terms below them."""
    (project.path / "own.ttl").write_text(
        "@prefix lab: <https://lab.example/terms#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        '@prefix p: <https://w3id.org/provio/ns#> . lab:F1 rdfs:subClassOf p:Metric ; rdfs:comment "Harmonic." .\n'
    )
    (project.path / "provio.toml").write_text('ontology = ["own.ttl"]\n')
    found = rows(project, "vocab", "Metric")
    assert {"provio:Metric", "provio:Accuracy", "https://lab.example/terms#F1"} <= {row["word"] for row in found}
    assert "provio:Run" not in {row["word"] for row in found}
    (own,) = rows(project, "vocab", "--own")
    assert own == {"word": "https://lab.example/terms#F1", "kind": "class", "above": "provio:Metric",
                   "means": "Harmonic.", "source": str(project.path / "own.ttl")}  # fmt: skip
    assert "did you mean 'Metric'?" in project.provio("vocab", "Metrik", code=3).stderr
    assert "provio:hadMetric" in project.provio("vocab", "--kind", "property").stdout


PROGRAM = """
import provio, sys
provio.configuration({"batch": int(sys.argv[1]), "lr": 1e-3}, kind="Hyperparameter", name="args")
for step in range(3):
    provio.metric("accuracy", int(sys.argv[1]) / (10 - step), step=step)
with open("model.pt", "w") as file:
    file.write(sys.argv[1])
provio.checkpoint("model.pt", step=2, metrics={"loss": 0.5})
"""


@pytest.mark.integration
def test_of_real_trainings(project: Project) -> None:
    """Two trainings of a program: the better one, the fit of its checkpoint, their differences, the current file."""
    (project.path / "train.py").write_text(PROGRAM)
    for batch in ("2", "4"):
        project.provio("run", "--quiet", "--name", f"batch{batch}", "--", sys.executable, "train.py", batch)
    assert [(row["value"], row["step"]) for row in rows(project, "best", "accuracy")] == [(0.5, 2), (0.25, 2)]
    (row,) = rows(project, "checkpoint", "find", "batch=4.0")
    assert (row["path"], row["metrics"]) == (str(project.path / "model.pt"), {"accuracy": 0.5, "loss": 0.5})
    (project.path / "train.ini").write_text("[args]\nbatch = 2\nlr = 0.001\n")
    (found,) = rows(project, "checkpoint", "verify", "model.pt", "train.ini", code=1)
    assert found == {"key": "batch", "checkpoint": 4, "configuration": 2}
    assert [row["key"] for row in rows(project, "diff", "batch2", "batch4", code=1)][:2] == ["batch", "argument 1"]


def test_parameters_of_the_maker_of_a_file(tmp_path: Path, shim: Path) -> None:
    """`why` lists the parameters in a row of their own: those of the program itself without its name."""
    project = new_project(tmp_path)
    home = Home(project.path / ".provio")
    run = Run(home, 1, "train.py")
    process = run.process("train.py")
    process.configure("train.py", "Hyperparameter", lr=0.1)
    process.configure("sampler", seed=7)
    process.plain(File("/data/model", 50), "w").write().close()
    run.write()
    answer = project.answer("why", "/data/model").splitlines()
    assert answer == [
        "/data/model  512 B, of 2026-11-20 12:31:40 UTC",
        "! no longer there; recorded at 2026-11-20 12:31:40 UTC",
        "made by   train.py  (/usr/bin/train.py)",
        "command   train.py",
        "params    sampler, version 1: seed 7",
        "          lr 0.1",
        "in        /data",
        "when      2026-11-20 12:31:40 UTC, 6 ms",
        "by        ada on node",
        "run       01a1fe26-0000-7000-8000-000000000001: train.py",
    ]

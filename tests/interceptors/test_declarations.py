"""Declarations of a program: in the trace as they were made, and none where nothing is recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from posix_trace import Facts, Trace

PROGRAM = """
import provio

@provio.task
def fit(value):
    return value + 1

with provio.activity("train", fold=3, rate=0.5):
    with open("out", "w") as file:
        file.write("x")
    assert fit(2) == 3
    provio.metric("accuracy", 0.93, step=7)
provio.configuration({"optimizer": {"lr": 0.1, "betas": (0.9, 2)}, "a.b": True}, kind="Hyperparameter", name="args")
provio.checkpoint("out", step=7, metrics={"loss": 1})
row = provio.entity("row 7", kind="Row", identifier="db:7", table="samples")
provio.used(row)
provio.generated("out")
print("done")
"""


def ran(trace: Trace, program: str, work: Path, *options: str) -> dict[str, Facts]:
    done = trace.run(sys.executable, *options, "-c", program, cwd=work)
    assert done.returncode == 0, done.stderr
    return trace.facts()


def of(facts: dict[str, Facts], kind: str) -> dict[str, Any]:
    """The records of a class by their names; each has its IRI as `iri`."""
    found = {iri: record for iri, record in facts.items() if record.get("type") == kind}
    return {record.get("name", iri): record | {"iri": iri} for iri, record in found.items()}


def settings(facts: dict[str, Facts], iri: str) -> dict[str, Any]:
    return {name: r["value"] for name, r in of(facts, "Setting").items() if r["partOf"] == iri}


def test_declarations_are_in_the_trace(trace: Trace, work: Path) -> None:
    facts = ran(trace, PROGRAM, work)
    tasks = of(facts, "Task")
    train = tasks["train"]
    assert (train["status"], tasks["fit"]["partOf"]) == ("ok", train["iri"])
    written = next(
        iri for iri, record in facts.items() if record.get("path") == str(work / "out") and "inode" in record
    )
    accesses = [r for r in facts.values() if r.get("type") == "Access" and r["object"] == written]
    assert [access["task"] for access in accesses] == [train["iri"]]
    assert {name: float(value) for name, value in settings(facts, train["iri"]).items()} == {"fold": 3, "rate": 0.5}
    args = of(facts, "Configuration")["args"]
    assert (args["kind"], args["complete"]) == ("Hyperparameter", "true")
    assert set(settings(facts, args["iri"])) == {"optimizer.lr", "optimizer.betas.0", "optimizer.betas.1", "a\\.b"}
    metrics = of(facts, "Metric")
    assert (float(metrics["accuracy"]["value"]), metrics["accuracy"]["step"]) == (0.93, "7")
    assert metrics["accuracy"]["task"] == train["iri"]
    (checkpoint,) = of(facts, "Checkpoint").values()
    assert (checkpoint["path"], checkpoint["step"], metrics["loss"]["partOf"]) == (
        str(work / "out"), "7", checkpoint["iri"],
    )  # fmt: skip
    row = of(facts, "DataObject")["row 7"]
    assert (row["kind"], row["identifier"], settings(facts, row["iri"])) == ("Row", "db:7", {"table": "samples"})
    (used,), (made,) = of(facts, "UsedSaid").values(), of(facts, "GeneratedSaid").values()
    assert (used["object"], made["path"]) == (row["iri"], str(work / "out"))


@pytest.mark.parametrize("off", ["1", "0"])
def test_switched_off(trace: Trace, work: Path, off: str) -> None:
    done = trace.run(sys.executable, "-c", PROGRAM, cwd=work, env=trace.environment(PROVIO_OFF=off))
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert not any(of(trace.facts(), kind) for kind in ("Task", "Metric", "Configuration", "Checkpoint", "DataObject"))


def test_to_import_provio_loads_none_of_it(work: Path) -> None:
    code = "import sys, provio; provio.__version__; print([n for n in sys.modules if n[:7] in ('_provio', 'click')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"

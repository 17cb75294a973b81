"""What a program says of itself: in the trace as it was said, and nothing where nothing records."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from posix_trace import Trace

PROGRAM = """
import provio

@provio.task
def fit(value):
    return value + 1

with provio.activity("train", fold=3):
    with open("out", "w") as file:
        file.write("x")
    assert fit(2) == 3
provio.configuration({"optimizer": {"lr": 0.1}}, kind="Hyperparameter")
provio.metric("accuracy", 0.93, step=7)
provio.checkpoint("out", step=7, metrics={"loss": 0.1})
row = provio.entity("row 7", kind="Row", table="samples")
provio.used(row)
provio.generated("out")
print("done")
"""


def test_an_activity_is_a_task_and_what_is_called_in_it_is_part_of_it(trace: Trace, work: Path) -> None:
    assert trace.run(sys.executable, "-c", PROGRAM, cwd=work).returncode == 0
    facts = trace.facts()
    tasks = {record["name"]: record | {"iri": iri} for iri, record in facts.items() if record.get("type") == "Task"}
    assert (tasks["train"]["status"], tasks["fit"]["partOf"]) == ("ok", tasks["train"]["iri"])
    written = next(iri for iri, record in facts.items() if record.get("path") == str(work / "out"))
    accesses = [r for r in facts.values() if r.get("type") == "Access" and r["object"] == written]
    assert [access["task"] for access in accesses] == [tasks["train"]["iri"]]


def test_to_import_provio_loads_none_of_it(work: Path) -> None:
    code = (
        "import sys, provio; provio.__version__; print([n for n in sys.modules if n.startswith(('_provio', 'click'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"

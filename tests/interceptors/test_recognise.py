"""Declarations of libraries in programs that do not use provio: real libraries, used as their users do."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from conftest import ROOT, Project
from posix_trace import Facts, Trace
from snakemake_environments import VERSIONS, path_with_snakemake

from provio.trace.recording import SHIM

RECOGNISERS = sorted(path.stem for path in (ROOT / "interceptors" / "recognise").glob("[!_]*.py"))


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """With the package's own shim, next to the recognisers."""
    return Trace(tmp_path / "trace", SHIM)


def run(trace: Trace, work: Path, program: str, *arguments: str, **env: str) -> str:
    """Run a Python program under the shim; return its output."""
    (work / "program.py").write_text(program)
    command = [sys.executable, "program.py", *arguments]
    done = subprocess.run(
        command, cwd=work, env=trace.environment(**env), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not trace.gaps()
    return done.stdout


def of(facts: dict[str, Facts], kind: str) -> list[tuple[str, Facts]]:
    found = [(iri, record) for iri, record in facts.items() if record.get("type") == kind]
    return sorted(found, key=lambda one: int(one[1]["startedNs"]))


def configurations(trace: Trace) -> list[tuple[str, dict[str, str]]]:
    """The name and the settings of each, in the order of declaration."""
    facts = trace.facts()
    settings = [record for record in facts.values() if record.get("type") == "Setting"]
    return [
        (record["name"], {one["name"]: one["value"] for one in settings if one["partOf"] == iri})
        for iri, record in of(facts, "Configuration")
    ]


def metrics(trace: Trace) -> list[tuple[str, float, str]]:
    facts = of(trace.facts(), "Metric")
    return [(record["name"], round(float(record["value"]), 4), record.get("step", "-")) for _, record in facts]


def checkpoints(trace: Trace, work: Path) -> list[tuple[str, str]]:
    facts = of(trace.facts(), "Checkpoint")
    return [(os.path.relpath(record["path"], work), record.get("step", "-")) for _, record in facts]


def needs(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed (make test installs it where it may)")


ARGPARSE = """
import argparse
parser = argparse.ArgumentParser(prog="train")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--fast", action="store_true")
parts = parser.add_subparsers(dest="part")
parts.add_parser("fit").add_argument("data")
print(parser.parse_args())
"""


def test_argparse(trace: Trace, work: Path) -> None:
    """Parsed values with their types, with defaults and those of a subcommand, once."""
    printed = run(trace, work, ARGPARSE, "--lr", "3", "fit", "x.csv")
    assert printed == "Namespace(lr=3.0, layers=2, fast=False, part='fit', data='x.csv')\n"
    values = {"lr": "3.0E0", "layers": "2", "fast": "false", "part": "fit", "data": "x.csv"}
    assert configurations(trace) == [("train", values)]


CLICK = """
import click
@click.group()
@click.option("--debug/--no-debug", default=False)
def main(debug): pass
@main.command()
@click.option("--lr", default=0.1)
@click.argument("path")
def fit(lr, path): print(lr, path)
main()
"""


def test_the_shim_of_another_kind_finds_them(tmp_path: Path, work: Path) -> None:
    """The shim is in `preload/KIND`, like that for musl in a wheel for glibc; the recognisers are in the package's
    folder."""
    package = tmp_path / "package"
    (package / "preload" / "kind").mkdir(parents=True)
    (package / "interceptors").symlink_to(ROOT / "interceptors")
    trace = Trace(tmp_path / "trace", Path(shutil.copy(SHIM, package / "preload" / "kind")))
    program = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--rate', type=float)\np.parse_args()\n"
    run(trace, work, program, "--rate", "0.5")
    assert configurations(trace)


def test_click(trace: Trace, work: Path) -> None:
    needs("click")
    assert run(trace, work, CLICK, "fit", "--lr", "3", "x.csv") == "3.0 x.csv\n"
    found = [("program.py", {"debug": "false"}), ("program.py fit", {"lr": "3.0E0", "path": "x.csv"})]
    assert configurations(trace) == found


ABSL = """
from absl import app, flags
flags.DEFINE_float("lr", 0.1, "rate")
flags.DEFINE_integer("layers", 2, "layers")
app.run(lambda argv: print(flags.FLAGS.lr))
"""


@pytest.mark.integration
def test_absl(trace: Trace, work: Path) -> None:
    """The program's own flags, not absl's."""
    needs("absl")
    assert run(trace, work, ABSL, "--lr=3") == "3.0\n"
    assert configurations(trace) == [("program.py", {"lr": "3.0E0", "layers": "2"})]


HYDRA = """
import hydra
@hydra.main(version_base=None, config_path=".", config_name="settings")
def main(settings): print(settings.twice)
main()
"""


@pytest.mark.integration
def test_hydra(trace: Trace, work: Path) -> None:
    """Each job of a sweep has a configuration of its own, with references to other values resolved."""
    needs("hydra")
    (work / "settings.yaml").write_text("model:\n  layers: 2\n  name: x\ntwice: ${model.layers}\n")
    run(trace, work, HYDRA, "-m", "model.layers=5,6")
    jobs = [values for name, values in configurations(trace) if name == "program"]
    assert jobs == [{"model.layers": n, "model.name": "x", "twice": n} for n in ("5", "6")]


ARRAYS = """
import numpy as np
np.savez("a", x=np.ones(3), said=np.ones(3), result=np.ones(3))
np.savez_compressed(file="b.npz", x=np.ones(3))
with open("c.npz", "wb") as file:
    np.savez(file, x=np.ones(3))
np.save("d.npy", np.ones(3))
"""


def test_numpy(trace: Trace, work: Path) -> None:
    """An archive is a checkpoint, under its real name; an array is data."""
    needs("numpy")
    run(trace, work, ARRAYS)
    assert checkpoints(trace, work) == [(name, "-") for name in ("a.npz", "b.npz", "c.npz")]


JOBLIB = 'import joblib; joblib.dump({"epoch": 3}, "model.joblib"); print(joblib.load("model.joblib"))'


@pytest.mark.integration
def test_joblib(trace: Trace, work: Path) -> None:
    needs("joblib")
    assert run(trace, work, JOBLIB) == "{'epoch': 3}\n"
    assert checkpoints(trace, work) == [("model.joblib", "3")]


TORCH = """
import io, torch
import torch.distributed.checkpoint as together
from safetensors.torch import load_file, save_file
from torch.utils.tensorboard import SummaryWriter
state = torch.nn.Linear(3, 2).state_dict()
torch.save({"iteration": 50, "model": state}, "a.pt")
torch.load("a.pt")
torch.save(state, io.BytesIO())
with open("b.pt", "wb") as file:
    torch.save(state, file)
together.save({"model": state}, checkpoint_id="parts", no_dist=True)
together.load({"model": state}, checkpoint_id="parts", no_dist=True)
save_file(state, "c.safetensors")
load_file("c.safetensors")
with SummaryWriter("events") as writer:
    for step in range(3):
        writer.add_scalar("loss", 1 / (step + 1), step)
    writer.add_scalar("accuracy", 0.5, 3, new_style=True)
    writer.add_hparams({"lr": 0.1}, {"best": 0.75})
"""


@pytest.mark.integration
def test_torch_safetensors_tensorboard(trace: Trace, work: Path) -> None:
    """A checkpoint in memory has no path, and is none; a scalar is declared before the writer has written it."""
    needs("torch", "safetensors", "tensorboard")
    run(trace, work, TORCH)
    assert checkpoints(trace, work) == [("a.pt", "50"), ("b.pt", "-"), ("parts", "-"), ("c.safetensors", "-")]
    steps = [("loss", round(1 / (step + 1), 4), str(step)) for step in range(3)]
    assert metrics(trace) == [*steps, ("accuracy", 0.5, "3"), ("best", 0.75, "-")]
    assert configurations(trace) == [("hparams", {"lr": "1.0E-1"})]


KERAS = """
import keras, numpy as np
model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
model.compile(loss="mse")
history = model.fit(np.ones((8, 3)), np.ones((8, 1)), epochs=2, verbose=0)
model.save("model.keras")
keras.models.load_model("model.keras")
print(history.history["loss"])
"""


@pytest.mark.slow
def test_keras(trace: Trace, work: Path) -> None:
    needs("keras", "torch")
    losses = json.loads(run(trace, work, KERAS, KERAS_BACKEND="torch"))
    assert metrics(trace) == [("loss", round(loss, 4), str(epoch)) for epoch, loss in enumerate(losses)]
    assert checkpoints(trace, work) == [("model.keras", "-")]


LIGHTNING = """
import torch, lightning.pytorch as lightning
class Model(lightning.LightningModule):
    def __init__(self, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(3, 1)
    def training_step(self, batch, number):
        loss = self.layer(batch[0]).pow(2).mean()
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 3)), batch_size=4)
trainer = lightning.Trainer(
    max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
    log_every_n_steps=1,
)
trainer.fit(Model(), data)
trainer.save_checkpoint("last.ckpt")
"""


@pytest.mark.slow
def test_lightning(trace: Trace, work: Path) -> None:
    needs("lightning", "torch")
    run(trace, work, LIGHTNING)
    assert configurations(trace) == [("Model", {"lr": "1.0E-1"})]
    assert [(name, step) for name, _, step in metrics(trace)] == [("loss", "1"), ("loss", "2")]
    assert checkpoints(trace, work)[-1] == ("last.ckpt", "2")


TRANSFORMERS = """
import torch
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def forward(self, x=None, labels=None):
        return {"loss": (self.layer(x).squeeze(-1) - labels).pow(2).mean()}
data = [{"x": torch.ones(3), "labels": torch.tensor(1.0)} for _ in range(8)]
arguments = TrainingArguments(
    "out", max_steps=2, per_device_train_batch_size=4, logging_steps=1, save_steps=2, report_to=[], use_cpu=True
)
Trainer(Model(), arguments, train_dataset=data).train()
"""


@pytest.mark.slow
def test_transformers(trace: Trace, work: Path) -> None:
    needs("transformers", "torch", "accelerate")
    run(trace, work, TRANSFORMERS)
    ((name, values),) = configurations(trace)
    assert (name, values["per_device_train_batch_size"], values["max_steps"]) == ("TrainingArguments", "4", "2")
    assert [step for name, _, step in metrics(trace) if name == "loss"] == ["1", "2"]
    assert checkpoints(trace, work) == [("out/checkpoint-2", "2")]


# ---- the program is unchanged

SEEN = """
import sys, os, json, argparse
print(json.dumps([sys.path, sorted(sys.modules), sys.argv, sorted(sys.path_importer_cache), sorted(os.environ)]))
"""


@pytest.mark.parametrize("options", [(), ("-I",), ("-E",), ("-S",), ("-P",)], ids=" ".join)
def test_a_python_without_declarations_loads_nothing(trace: Trace, work: Path, options: tuple[str, ...]) -> None:
    """Its path, modules and environment are unchanged, also when an observed library is imported."""
    (work / "seen.py").write_text(SEEN)
    command = [sys.executable, *options, str(work / "seen.py")]
    bare = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    watched = json.loads(trace.run(*command, check=True).stdout)
    assert watched[:4] == bare[:4]
    assert set(watched[4]) - set(bare[4]) <= {"LD_PRELOAD", "PROVIO_TRACE", "ASAN_OPTIONS"}


@pytest.mark.parametrize("options", [(), ("-I",), ("-E",), ("-S",)], ids=" ".join)
def test_a_python_is_recorded_with_any_options(trace: Trace, work: Path, options: tuple[str, ...]) -> None:
    (work / "program.py").write_text(ARGPARSE)
    trace.run(sys.executable, *options, "program.py", cwd=work, check=True)
    assert [name for name, _ in configurations(trace)] == ["train"]


def test_a_script_and_a_spawned_child_are_heard(trace: Trace, work: Path) -> None:
    """A script that names its Python in its first line, and Pythons that multiprocessing starts."""
    script = work / "script"
    body = "import multiprocessing, argparse\ndef child(name): argparse.ArgumentParser(name).parse_args([])\n"
    main = 'if __name__ == "__main__":\n    multiprocessing.set_start_method("spawn")\n    child("parent")\n'
    main += '    process = multiprocessing.Process(target=child, args=("child",)); process.start(); process.join()\n'
    script.write_text(f"#!{sys.executable}\n{body}{main}")
    script.chmod(0o755)
    trace.run(script, cwd=work, check=True)
    assert [name for name, _ in configurations(trace)] == ["parent", "child"]


EMBEDDED = r"""
#include <Python.h>
#include <fcntl.h>
int main(void) {
    Py_Initialize();
    PyRun_SimpleString("import argparse; print(argparse.ArgumentParser('first').parse_args([]))");
    PyThreadState *before = PyThreadState_Get(), *other = Py_NewInterpreter();
    PyRun_SimpleString("import argparse; print(argparse.ArgumentParser('other').parse_args([]))");
    Py_EndInterpreter(other);
    PyThreadState_Swap(before);
    Py_Finalize();
    Py_Initialize();
    Py_Finalize();
    Py_Initialize();
    PyRun_SimpleString("import argparse; print(argparse.ArgumentParser('again').parse_args([]))");
    Py_Finalize();
    close(open("/dev/null", O_RDONLY));
    return 0;
}
"""


def test_a_program_that_has_python_inside(trace: Trace, work: Path) -> None:
    """Its first interpreter is recorded; others, and one that starts after the first has ended, are unchanged."""
    include, library = sysconfig.get_paths()["include"], sysconfig.get_config_var("LIBDIR")
    name = f"python{sysconfig.get_config_var('LDVERSION')}"
    if not Path(include, "Python.h").exists() or not Path(library, f"lib{name}.so").exists():
        pytest.skip("this Python has no header, or is no library (apt-get install libpython3-dev)")
    (work / "inside.c").write_text(EMBEDDED)
    flags = [f"-I{include}", f"-L{library}", f"-l{name}", f"-Wl,-rpath,{library}"]
    subprocess.run(["cc", "-w", "-o", work / "inside", work / "inside.c", *flags], check=True)
    done = trace.run(work / "inside", env={"PYTHONHOME": sys.base_prefix}, check=True)
    assert (done.stdout, done.stderr) == (b"Namespace()\n" * 3, b"")
    assert [name for name, _ in configurations(trace)] == ["first"]


INTERRUPTED = """
import argparse, os, signal, sys, threading
counts = []
signal.signal(signal.SIGUSR1, lambda *_: counts.append(open("/dev/null").close()))
threads = [threading.Thread(target=lambda: [open("/dev/null").close() for _ in range(200)]) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(50): os.kill(os.getpid(), signal.SIGUSR1)
for thread in threads: thread.join()
if os.fork() == 0:
    argparse.ArgumentParser("child").parse_args([])
    os._exit(0)
print(os.wait()[1], len(counts) > 0)
argparse.ArgumentParser("parent").parse_args([])
"""


def test_threads_handlers_and_forks_do_not_matter(trace: Trace, work: Path) -> None:
    assert run(trace, work, INTERRUPTED) == "0 True\n"
    assert [name for name, _ in configurations(trace)] == ["child", "parent"]


RAISED_DURING_LOADING = """
import _signal, posix, sys

def handler(*_):
    raise LookupError("the program's")

def hook(event, arguments):
    if event == "open" and "recognising" in str(arguments[0]):
        sys.argv[1] == "handler" and _signal.raise_signal(_signal.SIGALRM)
        raise LookupError("the hook's")

_signal.signal(_signal.SIGALRM, handler)
sys.addaudithook(hook)
try:
    posix.close(posix.open("/dev/null", 0))
    for _ in range(1000):
        pass
except LookupError as error:
    print(error)
"""


@pytest.mark.parametrize(("raiser", "reached"), [("handler", b"the program's\n"), ("hook", b"")])
def test_exceptions_of_handlers_during_loading_reach_the_program(
    trace: Trace, work: Path, raiser: str, reached: bytes
) -> None:
    """Any other exception in provio's own files does not reach it."""
    done = trace.run(sys.executable, "-S", "-c", RAISED_DURING_LOADING, raiser, cwd=work, check=True)
    assert (done.stdout, done.stderr) == (reached, b"")


TRANSPARENT = """
import argparse, inspect, pickle, sys, traceback
import numpy as np
class Own(argparse.ArgumentParser):
    def parse_args(self, *arguments, **keywords):
        return super().parse_args(*arguments, **keywords)
    def error(self, message):
        raise ValueError(message)
print(inspect.signature(np.savez), inspect.signature(argparse.ArgumentParser.parse_args))
print(np.savez.__module__, np.savez.__qualname__, pickle.loads(pickle.dumps(np.savez)) is np.savez)
print(inspect.getsource(argparse.ArgumentParser.parse_args)[:40])
parser = Own()
parser.add_argument("--n", type=int)
print(parser.parse_args(["--n", "1"]))
for act in (lambda: parser.parse_args(["--n", "x"]), lambda: np.savez("no/such/folder"), lambda: np.savez()):
    try:
        act()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        print(type(error), error, [(frame.filename.rpartition("/")[2], frame.name) for frame in frames])
"""


@pytest.mark.integration
@pytest.mark.skipif(sys.version_info < (3, 11), reason="before, a traceback has a line more")
def test_wrapped_functions_look_unchanged(trace: Trace, work: Path) -> None:
    """Signature, source, pickle, a class above it, an error's text and the lines of its traceback."""
    needs("numpy")
    watched = run(trace, work, TRANSPARENT)
    bare = subprocess.run([sys.executable, "program.py"], cwd=work, capture_output=True, text=True, check=True).stdout
    assert watched == bare
    assert [values for _, values in configurations(trace)] == [{"n": "1"}]


@pytest.mark.integration
def test_it_is_off_with_one_switch(trace: Trace, work: Path) -> None:
    """All of it, or one library's."""
    program = f"import sys, numpy as np\n{ARGPARSE}\nnp.savez('a', x=1)\nprint(sys.meta_path[0])\n"
    for value, counts in (("off", (0, 0)), ("-argparse,-torch", (0, 1)), ("-torch", (1, 1))):
        here = Trace(trace.root / value, SHIM)
        run(here, work, program, PROVIO_RECOGNISE=value)
        assert (len(configurations(here)), len(checkpoints(here, work))) == counts


SNAKEFILE = """
rule all:
    input: "good.txt", "bad.txt"

rule good:
    output: "good.txt"
    shell: "echo 1 > {output}"

rule bad:
    output: "bad.txt"
    shell: "exit 3"

rule each:
    input: "{sample}.in", "common.in"
    output: "out/{sample}.{api_token}.txt"
    shell:
        "until [ $(ls -d ready.* | wc -l) = 2 ]; do mkdir -p ready.{wildcards.api_token}; done; "
        "cat {input:q} > {output:q}"

rule running:
    input: "out/a b.s3cret.txt", long=[f"in/{number:0200}" for number in range(100)]
    output: "ran.txt"
    run: open(output[0], "w").write(open(input[0]).read())
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.integration
def test_snakemake(trace: Trace, work: Path, version: str) -> None:
    """A job is a Task with its rule's name and its status; without the recogniser there are none."""
    path = path_with_snakemake(version)
    (work / "Snakefile").write_text(SNAKEFILE)
    command = ["snakemake", "--cores", "1", "--keep-going", "--force", "good.txt", "bad.txt"]
    for switch, wanted in (("", [("bad", "error"), ("good", "ok")]), ("-snakemake", [])):
        here = Trace(trace.root / f"with{switch}", SHIM)
        env = here.environment(PROVIO_RECOGNISE=switch, HOME=str(work), PATH=path)
        done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 1, done.stderr
        tasks = of(here.facts(), "Task")
        assert sorted((record["name"], record["status"]) for _, record in tasks) == wanted
        assert {record["kind"] for _, record in tasks} <= {"rule"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_wildcards_and_files_of_jobs_of_snakemake(project: Project, version: str) -> None:
    """Of jobs that run at the same time, and of one that Snakemake starts as a process of its own; without secrets, and
    not more than 4 KiB."""
    project.env["PATH"] = path_with_snakemake(version)
    (project.path / "in").mkdir()
    for name in ("a b.in", "c.in", "common.in", *(f"in/{number:0200}" for number in range(100))):
        (project.path / name).write_text(name)
    (project.path / "Snakefile").write_text(SNAKEFILE)
    project.env["HOME"] = str(project.path)
    project.watch("snakemake", "--cores", "2", "out/c.other.txt", "ran.txt")
    found: dict[str, dict[str, str]] = {}
    names = {}
    for (
        row
    ) in project.rows("""SELECT ?t ?task ?name ?value { ?t a provio:Task ; provio:kind "rule" ; provio:name ?task ;
            provio:hadSetting [ provio:name ?name ; provio:value ?value ] }"""):
        found.setdefault(row["t"], {})[row["name"]] = row["value"]
        names[row["t"]] = row["task"]
    running = next(found.pop(task) for task, name in names.items() if name == "running")
    assert sorted(found.values(), key=lambda one: one["output.0"]) == [
        {"wildcards.sample": sample, "wildcards.api_token": "REDACTED", "input.0": f"{sample}.in",
         "input.1": "common.in", "output.0": f"out/{sample}.{token}.txt"}
        for sample, token in (("a b", "s3cret"), ("c", "other"))
    ]  # fmt: skip
    assert running["input.…"] == "81 more"
    assert sum(map(len, running.values())) < 4096
    for file, sources in (("ran.txt", {"a b.in", "common.in"}), ("out/c.other.txt", {"c.in", "common.in"})):
        assert project.data(file) & {"a b.in", "c.in", "common.in"} == sources


HOSTILE = """
import argparse
class Odd:
    def __str__(self): raise RuntimeError("no text")
    __repr__ = __str__
    def __getattr__(self, name): raise RuntimeError(name)
def parsed(value):
    namespace = argparse.Namespace()
    vars(namespace).update({"odd": Odd(), "itself": namespace, 3: 4})
    return argparse.ArgumentParser("odd").parse_args([], namespace)
print(parsed(1).itself is not None)
import joblib
print(joblib.dump(1), joblib.load(2))
"""


def test_nothing_that_goes_wrong_reaches_the_program(trace: Trace, work: Path) -> None:
    """Values without a possible declaration; a library that is not the one of that name, or lacks a function."""
    (work / "joblib").mkdir()
    (work / "joblib" / "__init__.py").write_text("from joblib.numpy_pickle import dump\ndef load(x): return x\n")
    (work / "joblib" / "numpy_pickle.py").write_text("def dump(x): return x\n")
    assert run(trace, work, HOSTILE) == "True\n1 2\n"
    assert [name for name, _ in configurations(trace)] in ([], ["odd"])


def test_its_own_files_are_no_inputs(trace: Trace, work: Path) -> None:
    run(trace, work, ARGPARSE)
    paths = [record.get("path", "") for record in trace.facts().values()]
    assert [path for path in paths if "/interceptors/" in path] == []


def test_every_recogniser_is_documented_and_has_a_test() -> None:
    """The tests of distributed (Dask) are in test_dask.py."""
    page = (ROOT / "docs" / "recognised.md").read_text(encoding="utf-8")
    here = Path(__file__).parent
    tests = "".join((here / f"test_{name}.py").read_text(encoding="utf-8") for name in ("recognise", "pool_tasks"))
    assert [name for name in RECOGNISERS if f"`{name}`" not in page or not re.search(rf"\b{name}\b", tests)] == []


SKLEARN = """
import inspect, pickle, sys, traceback
import numpy as np
import pandas as pd
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

truth, guess = [0, 1, 1, 0], [0, 1, 0, 0]
print(accuracy_score(truth, guess), accuracy_score(truth, truth), f1_score(truth, guess, average=None))
print(metrics.roc_auc_score(truth, [0.1, 0.9, 0.6, 0.2]), metrics.mean_squared_error([1.0, 2], [1, 4]))
print(metrics.accuracy_score(truth, guess, normalize=False), metrics.confusion_matrix(truth, guess).tolist())
print(metrics.classification_report(truth, guess))
x = np.arange(40.0).reshape(20, 2)
y = (np.arange(20) > 9).astype(int)
model = LogisticRegression().fit(x, y)
print(model.score(x, y), make_pipeline(StandardScaler(), LinearRegression()).fit(x, x[:, 0]).score(x, x[:, 0]))
print([hasattr(make_pipeline(*steps), "score") for steps in ((KMeans(), StandardScaler()), (StandardScaler(), model))])
def own(estimator, x, y):
    return f1_score(y, estimator.predict(x))
print(cross_val_score(model, x, y, cv=2, scoring=own))
print(sorted(cross_validate(model, x, y, cv=2, scoring=["accuracy"])))
print(GridSearchCV(model, {"C": [0.1, 1.0]}, cv=2, scoring=own).fit(x, y).score(x, y))
print(pickle.loads(pickle.dumps(accuracy_score)) is accuracy_score, inspect.signature(accuracy_score))
print(make_scorer(accuracy_score), accuracy_score.__module__, inspect.getsource(LogisticRegression.score)[:20])
try:
    accuracy_score([1], [1, 2])
except ValueError:
    traceback.print_exc(file=sys.stdout)
print(pd.DataFrame({"accuracy": [0.5, 0.25], "loss": [1.0, 2.0]}).describe())
"""


@pytest.mark.integration
def test_scikit_learn(trace: Trace, work: Path) -> None:
    """Numbers that its scoring functions return to the program, not those of calls inside it, no arrays, and no table
    that is printed; the output is the one without recording."""
    needs("sklearn", "pandas")
    (work / "program.py").write_text(SKLEARN)
    plain = subprocess.run([sys.executable, "program.py"], cwd=work, capture_output=True, text=True, check=True)
    assert run(trace, work, SKLEARN) == plain.stdout
    found = metrics(trace)
    assert found[:7] == [
        ("accuracy_score", 0.75, "-"), ("accuracy_score", 1.0, "-"), ("roc_auc_score", 1.0, "-"),
        ("mean_squared_error", 2.0, "-"), ("accuracy_score", 3.0, "-"),
        ("LogisticRegression.score", 1.0, "-"), ("Pipeline.score", 1.0, "-"),
    ]  # fmt: skip
    assert [(name, step) for name, _, step in found[7:]] == [
        ("cross_val_score", "0"), ("cross_val_score", "1"), ("cross_val_score.mean", "-"),
        ("cross_validate.test_accuracy", "0"), ("cross_validate.test_accuracy", "1"),
        ("cross_validate.test_accuracy.mean", "-"), ("GridSearchCV.score", "-"),
    ]  # fmt: skip


def test_functions_that_several_modules_hold_can_be_pickled(trace: Trace, tmp_path: Path) -> None:
    """By each module that has the function."""
    pytest.importorskip("numpy")
    program = """
import pickle, sys, copy, inspect, numpy
held = [module.savez for module in list(sys.modules.values()) if "savez" in getattr(module, "__dict__", {})]
for one in held: assert pickle.loads(pickle.dumps(one)) is one is copy.deepcopy(one)
print(len(held), inspect.signature(numpy.savez), hasattr(numpy.savez, "provio"))
"""
    found = run(trace, tmp_path, program).split(" ", 1)
    assert int(found[0]) > 1
    assert found[1].startswith("(file, *args, ")
    assert found[1].endswith(" True\n")

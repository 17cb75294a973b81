"""The writer in Python: it writes the same blocks as the shim, byte for byte, and is not noticed either."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import filesystems
import pytest
from posix_trace import Trace, counts, of_class, parsed

CALLS = Path(__file__).parent.parent / "programs" / "recorder_calls.py"
INTERCEPTORS = Path(__file__).parent.parent.parent / "interceptors"
Steps = list[list[Any]]

FUNCTIONS: Steps = [
    ["function", "layer.open", "Open"],
    ["function", "layer.read", "Read"],
    ["function", "layer.write", "Write"],
    ["function", "layer.copy", "Copy"],
    ["function", "layer.move", "Rename"],
    ["function", "layer.resize", "Resize"],
    ["function", "layer.delete", "Delete"],
]
OPEN, READ, WRITE, COPY, MOVE, RESIZE, DELETE = (f"${number}" for number in range(7))
DATASET = {
    "kind": "Dataset", "path": "/a\udcff/b", "shape": "100 200", "max_shape": "100 *", "datatype": "float64",
    "chunks": "10 10", "filters": "shuffle deflate", "token": "800", "element_size": 8, "created": 1,
}  # fmt: skip
ATTRIBUTE = {"kind": "Attribute", "path": "/a", "name": 'mé"\n', "shape": "", "datatype": "x" * 3000}
LINK = {"kind": "NamedLink", "path": "/l", "target": "/a", "target_file": "b\\.h5"}
EACH: Steps = [
    *FUNCTIONS,
    ["file", OPEN, "./data.h5", 66, "now"],
    ["member", "$7", DATASET],
    ["member", "$7", ATTRIBUTE],
    ["member", "$7", LINK],
    ["member", "$7", {"kind": "Nothing", "path": "/"}],
    ["member", "$7", {"kind": "Group", "path": "/" + "long/" * 1000}],
    *[["read", "$8", READ, size, "now"] for size in (16, 1600, 0, 16, 10**12)],
    ["write", "$8", WRITE, 0, "now"],
    ["write", "$8", WRITE, 2000, "now"],
    ["read", "$8", READ, 16, "now"],
    ["read", "$9", WRITE, 3, "now"],
    ["counted", "$8", OPEN, "now"],
    ["counted", "$8", OPEN, "now"],
    ["copied", "$8", "$9", COPY, "now"],
    ["failed", "$8", READ, 5, "now"],
    ["failed", "$8", READ, 5, "now"],
    ["failed", "$8", READ, 9, "now"],
    ["failed", None, OPEN, 0, "now"],
    ["resized", "$8", RESIZE, "3 3", "now"],
    ["renamed", "$7", MOVE, None, "/a", "/\udcfe", "now"],
    ["renamed", "$7", MOVE, "/a", "x", "y", "now"],
    ["deleted", "$7", DELETE, "/a", "n", "now"],
    ["replaced", "$8", "now"],
    ["replaced", "$8", "now"],
    ["virtual", "$8", "$9"],
    ["file", OPEN, "s3://bucket/data", 1 << 30, "now"],
    ["file", OPEN, "/nowhere/data.h5", 0, "now"],
    ["file_closed", "$7", "now"],
    ["release", "$8"],
    ["read", "$8", READ, 16, "now"],
]


LEAST = -(2**63)
DECLARATIONS: Steps = [
    ["task_in", "tr\u00e4in", None],
    ["configuration", "args", 'Hyper"parameter'],
    ["setting_text", "$1", "a\\.b", "x\n\u00e4"],
    ["setting_text", "$1", None, None],
    ["setting_text", "$1", "not UTF-8", "\udcff %"],
    ["setting_text", "$1", "large", "x" * 100_000],
    ["setting_integer", "$1", "k" * 70_000, LEAST],
    ["setting_integer", "$0", "\u00e4" * 40_000, 2**63 - 1],
    ["setting_truth", "$1", "truth", 2],
    ["setting_truth", "$1", "truth", 0],
    ["setting_typed", "$1", "since", "2026-01-31", "date"],
    ["setting_typed", "$1", "since", "2026-01-31", "no date"],
    ["setting_typed", "$1", "since", "\u00e4", "date"],
    ["setting_typed", "$1", "since", None, None],
    *[["setting_real", "$1", "real", value] for value in (0.0, -0.0, 0.1, 1e22, 1e-7, 5e-324, 123456.0, -2.5e300)],
    ["setting_real", "$1", "real", float("nan")],
    ["setting_real", "$1", "real", float("-inf")],
    ["configuration_end", "$1"],
    ["configuration_end", "$1"],
    ["metric", "accuracy", "Accuracy", 0.93, 7],
    ["metric", None, None, 1.5, LEAST],
    ["metric_integer", "count", None, -3, -1],
    ["checkpoint", "./model//step7", 7],
    ["checkpoint", "s3://bucket/a b", LEAST],
    ["checkpoint", None, 8],
    ["checkpoint", "x" * 9000, 8],
    ["metric_of", "$29", "loss", None, 0.25, LEAST],
    ["metric_of", 0, "loss", None, 0.25, LEAST],
    ["entity", "row", "Row", "db:7"],
    ["entity", None, None, None],
    ["setting_text", "$35", "table", "runs"],
    ["used", "$35", None],
    ["used", "$0", None],
    ["generated", 0, "."],
    ["generated", "$29", "nowhere"],
    ["begin", "inner", "cell", 'f("x")\n', 4],
    ["task_enter", "$42"],
    ["metric", "within", None, 1, 1],
    ["task_out", "$42", "$43", "error"],
    ["metric", "outer", None, 1, 1],
    ["task_enter", 12345],
    ["task_now"],
    ["metric", "in none", None, 1, 1],
    ["setting_truth", 999, "of nothing", 1],
    ["setting_truth", 2**63 + 5, "of nothing", 1],
    ["task_end", "$0", None],
    ["task_end", "$0", "ok"],
    ["task_end", "$1", "ok"],
    ["fork"],
    ["setting_truth", "$1", "of its parent's", 1],
    ["task_enter", "$0"],
    ["metric", "child's", None, 1, 1],
    ["configuration", "child's", None],
    ["task_in", "child's", None],
    ["configuration_end", "$59"],
]
# Calls of HDF5 alternately inside and outside of Tasks.
WITHIN: Steps = [
    *FUNCTIONS,
    ["file", OPEN, "./data.h5", 66, "now"],
    ["member", "$7", DATASET],
    ["member", "$7", LINK],
    ["begin", "one", None, None, 0],
    ["task_in", "other", None],
    *[
        step
        for task in ("$10", "$11", 0, "$10", "$11")
        for step in [
            ["task_enter", task],
            ["read", "$8", READ, 16, "now"],
            ["write", "$8", WRITE, 16, "now"],
            ["counted", "$8", OPEN, "now"],
            ["copied", "$8", "$9", COPY, "now"],
            ["failed", "$8", READ, 5, "now"],
            ["failed", None, OPEN, 0, "now"],
            ["resized", "$8", RESIZE, "3 3", "now"],
        ]
    ],
]


def record(trace: Trace, kind: str, steps: Steps, work: Path, code: int = 0, python: str = sys.executable) -> list[str]:
    """Make the calls in a process with the shim or the writer; return the normalised blocks of the trace."""
    own = Trace(trace.root / kind, trace.shim, detail=trace.detail)
    env = own.environment(RECORDER=kind)
    if kind == "writer":
        del env["LD_PRELOAD"]
    calls = json.dumps(steps)
    done = subprocess.run([python, CALLS], input=calls, cwd=work, env=env, capture_output=True, timeout=120, text=True)
    assert (done.returncode, done.stderr) == (code, "")
    return blocks(own)


TIMES = re.compile(
    r"(:(?:at|elapsed|\w+Elapsed|\w+Longest|longest|last\w*|first\w*|openedNs|closedNs|replacedNs|startedNs|endedNs|epochNs"
    r'|\w*[pP]id|tid|startTick) +|/node/|startedAtTime ")[0-9TZ:.-]+'
)


DECLARED = re.compile(r"<\.\./[tgmce]\d|<e\d+> a :(Used|Generated)Said")
FACTS = re.compile(r" ; :mtimeNs \d+ ; :ctimeNs \d+")


def start_of(path: Path) -> tuple[int, int, str]:
    """Files in the order of their processes."""
    pid, tick, rest = path.name.split(".", 2)
    return int(tick), int(pid), rest


def blocks(trace: Trace) -> list[str]:
    """The blocks of the layer in their order, with objects renumbered, without times and pids."""
    lines = []
    for path in sorted(trace.folder.glob("*.ttl"), key=start_of):
        text = path.read_text()
        assert text.endswith("\n")
        list(parsed(text.encode()))
        lines += [re.sub(" +", " ", line.rstrip("#")).strip() for line in text.splitlines() if line.startswith(" ")]
    known: dict[str, str] = {}
    kept = []
    for line in lines:
        if DECLARED.match(line):
            kept.append(FACTS.sub("", TIMES.sub(r"\1", re.sub(r"^<e\d+>", "<e>", line))))
            continue
        if "@base" in line:  # another thread's, with accesses and events of its own
            known = {name: given for name, given in known.items() if name[0] == "o"}
        subject = line[1:].partition(">")[0]
        named = subject.split("/")[1 if subject.startswith("../") else 0]
        if '"layer.' in line or ':format "HDF5"' in line or ":inFile" in line or named in known:
            known.setdefault(named, named[0] + str(sum(one[0] == named[0] for one in known)))
        elif not line.startswith("@prefix"):
            continue
        kept.append(
            TIMES.sub(
                r"\1", "".join(known.get(part, part) for part in re.split(r"([oaf]\d+(?=[>/])|\be\d+(?=>))", line))
            )
        )
    return kept


@pytest.mark.parametrize("detail", ["file", "op", "call"])
def test_both_write_the_same(trace: Trace, work: Path, detail: str) -> None:
    """Each function, with valid and invalid arguments, at each detail."""
    (work / "data.h5").write_text("data")
    trace.detail = detail
    found = record(trace, "writer", EACH, work)
    assert found == record(trace, "shim", EACH, work)
    assert len(found) > 15


@pytest.mark.parametrize("steps", [DECLARATIONS, WITHIN], ids=["of itself", "within Tasks"])
def test_both_record_the_same_declarations(trace: Trace, work: Path, steps: Steps) -> None:
    """Declarations of a program, and the calls of its Tasks."""
    (work / "data.h5").write_text("data")
    found = record(trace, "writer", steps, work)
    assert found == record(trace, "shim", steps, work)
    assert len(found) > 20


HIDDEN = [
    *"password db.password PASSWORD apiKey API_KEY hf_token HF-TOKEN wandb.api_key credentials.user auth.x".split(),
    *"privateKey aws_access_key dbpass smtp-pass user_pass pass passwords.0.secret _key_token_ Token.0".split(),
    *"passwords db.passwords.0 dbpassword accesstoken client_secrets api_keys.0 ssh-keys \u00e4token".split(),
    "my token",
    "list\\.of.token",
]
SHOWN = [
    *"key sort_key partition-key num_keys max_tokens tokenizer.type passes compass secretary author keyboard".split(),
    *"cookies sessions bypass first.pass_key_of tokenless Key.a authored".split(),
]


def test_both_hide_the_same_secrets(trace: Trace, work: Path) -> None:
    """The value of a setting with a secret's name is in no trace: curated names, and random words joined in any way."""
    chance = random.Random(5)
    words = "password Token key KEY pass db user api sort Auth a 7 \u00e4 secret databases cookie group".split()
    names = ["".join(chance.choice(words) + chance.choice("._-\\ ") for _ in range(chance.randrange(1, 5)))
             for _ in range(300)]  # fmt: skip
    names += [
        "".join(chance.choices("aZ.\\_-k\u00e9 7", k=6)) + "".join(chance.choices(words, k=2)) for _ in range(100)
    ]
    steps: Steps = [["configuration", None, None]]
    steps += [["setting_text", "$0", name, "hunter2"] for name in HIDDEN + SHOWN + names]
    steps += [["setting_integer", "$0", name, number] for name in HIDDEN + names for number in (7, 1234)]
    steps += [["setting_real", "$0", name, 0.5] for name in names]
    steps += [["setting_typed", "$0", name, "2026-01-31", "date"] for name in names]
    steps += [["setting_text", "$0", name, value] for name in ("pass", "password") for value in ("", "7", "77", None)]
    found = record(trace, "writer", steps, work)
    assert found == record(trace, "shim", steps, work)
    values = [line.partition(":value ")[2] for line in found if ":Setting" in line]
    assert ["REDACTED" in value for value in values[: len(HIDDEN)]] == [True] * len(HIDDEN)
    shown = values[len(HIDDEN) : len(HIDDEN) + len(SHOWN)]
    assert dict(zip(SHOWN, shown, strict=True)) == dict.fromkeys(SHOWN, '"hunter2" .')
    assert 100 < sum("REDACTED" in value for value in values) < len(values) - 100


def test_a_number_is_no_token_but_may_be_a_password(trace: Trace, work: Path) -> None:
    steps: Steps = [["configuration", None, None]]
    for name in ("pad_token_id", "auth.retries", "api_key", "password", "secret.number", "pass"):
        steps += [["setting_integer", "$0", name, 50256], ["setting_real", "$0", name, 0.5]]
    found = [line for line in record(trace, "shim", steps, work) if ":Setting" in line]
    assert ["REDACTED" in line for line in found] == [False] * 6 + [True] * 6


def starts(python: str) -> bool:
    """Whether there is such a Python."""
    return shutil.which(python) is not None and not subprocess.run([python, "-c", ""], capture_output=True).returncode


@pytest.mark.integration
def test_every_python_from_3_8_on_writes_it(trace: Trace, work: Path) -> None:
    """Each other Python version on this machine writes the same as this one."""
    (work / "data.h5").write_text("data")
    found = record(trace, "writer", EACH, work)
    for python in filter(starts, (f"python3.{minor}" for minor in range(8, 15))):
        own = Trace(trace.root / python, trace.shim)
        assert record(own, "writer", EACH, work, python=python)[1:] == found[1:], python


@pytest.mark.parametrize("seed", [1, 2])
def test_both_write_the_same_at_random(trace: Trace, work: Path, seed: int) -> None:
    """500 steps in random order, on twenty objects and in four Tasks, before and after a fork: growing files, sizes,
    turns, with declarations between."""
    chance = random.Random(seed)
    (work / "data.h5").write_text("data")
    steps: Steps = [*FUNCTIONS, ["file", OPEN, "data.h5", 2, "now"]]
    steps += [["member", "$7", {**DATASET, "path": f"/d{i}" * chance.randrange(1, 40)}] for i in range(20)]
    steps += [["begin", f"task{i}", None, None, i] for i in range(4)]
    for i in range(500):
        one, other = (f"${chance.randrange(8, 28)}" for _ in range(2))
        size = chance.choice([0, 1, 100, 101, 5000, 10**6, 10**10])
        steps.append(
            chance.choice(
                [
                    ["read", one, READ, size, "now"],
                    ["write", one, WRITE, size, "now"],
                    ["counted", one, OPEN, "now"],
                    ["copied", one, other, COPY, "now"],
                    ["failed", one, WRITE, chance.randrange(3), "now"],
                    ["resized", one, RESIZE, str(i), "now"],
                    ["task_enter", chance.choice([0, *(f"${task}" for task in range(28, 32))])],
                    ["metric", "m", None, struct.unpack("<d", struct.pack("<Q", chance.getrandbits(64)))[0], i],
                    ["setting_real", f"${chance.randrange(28, 32)}", str(i), chance.gauss(0, 1) * 10**-i],
                    ["fork"] if i % 100 == 99 else ["replaced", one, "now"],
                ]
            )
        )
    found = record(trace, "writer", steps, work)
    assert found == record(trace, "shim", steps, work)
    assert len(found) > 100


def test_nothing_is_lost_by_a_kill(trace: Trace, work: Path) -> None:
    """All that was reported before SIGKILL is in the trace."""
    steps: Steps = [*FUNCTIONS, ["file", OPEN, "data.h5", 2, "now"], ["member", "$7", DATASET]]
    steps += [["write", "$8", WRITE, 8, "now"]] * 1234
    found = record(trace, "writer", [*steps, ["kill"]], work, code=-signal.SIGKILL)
    (line,) = [line for line in found if ":writes " in line]
    assert ":writes 0000000000001234; :writeBytes 0000000000009872;" in line
    folder = Trace(trace.root / "writer", trace.shim).folder
    assert sorted(f"{name}.ttl" for name in (folder / "threads").read_text().splitlines()) == [
        path.name for path in sorted(folder.glob("*.ttl"))
    ]


THREADS = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from python.writer import writer
recorder = writer.found()
read, opening = recorder.function("layer.read", "Read"), recorder.function("layer.open", "Open")
dataset = recorder.member(recorder.file(opening, "data.h5", 2, recorder.now()), kind="Dataset", path="/d")
def work():
    for _ in range(500):
        recorder.read(dataset, read, 8, recorder.now())
for _ in range(3):
    threads = [threading.Thread(target=work) for _ in range(4)]
    [one.start() for one in threads]
    [one.join() for one in threads]
"""


def alone(trace: Trace) -> dict[str, str]:
    """The environment of a run without the shim."""
    env = trace.environment()
    del env["LD_PRELOAD"]
    return env


def test_threads_have_files_and_hand_them_on(trace: Trace, work: Path) -> None:
    """Twelve threads, four at once, count each for itself; later threads reuse the files of earlier ones."""
    subprocess.run([sys.executable, "-c", THREADS, INTERCEPTORS], cwd=work, env=alone(trace), check=True, timeout=60)
    facts = trace.facts()
    reads = [record["reads"] for record in of_class(facts, "Access").values()]
    assert list(map(int, reads)) == [500] * 12
    assert sum(one.count for one in counts(facts)) == 6000
    assert len(of_class(facts, "Thread")) == 13
    assert 2 <= len(trace.files()) <= 6


HEIRS = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "writer":
    from python.writer import writer
    recorder = writer.found()
else:
    from python import shim
    recorder = shim.Shim(shim.found())
task, declared, ended = recorder.task_in(b"parent", None), threading.Event(), threading.Event()
def heir():
    recorder.metric(b"within", None, 1.0, 1)
    declared.set()
    ended.wait()
    recorder.metric(b"after", None, 1.0, 1)
def other(name):
    task = recorder.task_in(name, None)
    for step in range(200):
        recorder.metric(name, None, 1.0, step)
    recorder.task_out(task, 0, b"ok")
threads = [threading.Thread(target=heir), *(threading.Thread(target=other, args=(b"task%d" % i,)) for i in range(2))]
[one.start() for one in threads]
declared.wait()
recorder.task_out(task, 0, b"ok")
ended.set()
[one.join() for one in threads]
recorder.metric(b"outside", None, 1.0, 1)
"""


@pytest.mark.parametrize("teller", ["writer", "shim"])
def test_threads_have_own_or_inherited_tasks(trace: Trace, work: Path, teller: str) -> None:
    """Records of each thread belong to its own Task; an inherited Task is left when it ends."""
    env = alone(trace) if teller == "writer" else trace.environment()
    subprocess.run([sys.executable, "-c", HEIRS, INTERCEPTORS, teller], cwd=work, env=env, check=True, timeout=60)
    facts = trace.facts()
    metrics = of_class(facts, "Metric").values()
    found = Counter((one["name"], facts.get(one.get("task", ""), {}).get("name")) for one in metrics)
    assert found == {
        ("within", "parent"): 1, ("after", None): 1, ("outside", None): 1,
        ("task0", "task0"): 200, ("task1", "task1"): 200,
    }  # fmt: skip


HANDLER = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from python.writer import writer
recorder = writer.found()
read, opening = recorder.function("layer.read", "Read"), recorder.function("layer.open", "Open")
file = recorder.file(opening, "data.h5", 2, recorder.now())
dataset, other = (recorder.member(file, kind="Dataset", path=path) for path in ("/d", "/e"))
handled = 0
def handler(*_):
    global handled
    recorder.read(other, read, 8, recorder.now())
    handled += 1
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for i in range(30000):
    recorder.read(dataset, read, 8, recorder.now())
    if i % 100 == 0:
        recorder.member(file, kind="Group", path=f"/g{i}")
signal.setitimer(signal.ITIMER_REAL, 0)
print(handled)
"""


def test_a_handler_in_the_middle_loses_nothing(trace: Trace, work: Path) -> None:
    """A signal handler that reads while the program reads has counters, and a file, of its own."""
    command = [sys.executable, "-c", HANDLER, INTERCEPTORS]
    done = subprocess.run(command, cwd=work, env=alone(trace), check=True, timeout=60, capture_output=True)
    found = {one.path: one.count for one in counts(trace.facts())}
    assert found == {b"/d": 30000, b"/e": int(done.stdout)}
    assert len(of_class(trace.facts(), "Group")) == 300


NOTICED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from python.writer import writer
recorder = writer.found()
before = os.listdir("/proc/self/fd")
read, opening = recorder.function("layer.read", "Read"), recorder.function("layer.open", "Open")
file = recorder.file(opening, "data.h5", 2, recorder.now())
for i in range(int(sys.argv[2])):
    dataset = recorder.member(file, kind="Dataset", path=f"/d{i}")
    recorder.read(dataset, read, 8, recorder.now())
    recorder.release(dataset)
assert os.listdir("/proc/self/fd") == before
print("done")
"""


def noticed(trace: Trace, work: Path, count: int = 3000, **options: Any) -> None:
    command = [sys.executable, "-c", NOTICED, INTERCEPTORS, str(count)]
    done = subprocess.run(command, cwd=work, env=alone(trace), capture_output=True, text=True, timeout=60, **options)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


@pytest.mark.integration
def test_no_descriptor_is_kept(trace: Trace, work: Path) -> None:
    """A program sees no descriptor that it did not open."""
    noticed(trace, work)
    assert len(of_class(trace.facts(), "Dataset")) == 3000


def test_a_run_folder_that_is_not_there(trace: Trace, work: Path) -> None:
    """Nothing is recorded, and nothing is noticed."""
    os.rmdir(trace.folder)
    noticed(trace, work)
    assert not trace.folder.exists()


def test_no_room(trace: Trace, work: Path) -> None:
    """When no more can be written the writer is silent, and a Gap has the reason."""
    noticed(trace, work, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    facts = trace.facts()
    assert [record["reason"] for record in of_class(facts, "Gap").values()] == ["the file-size limit was reached"]
    assert 10 < len(of_class(facts, "Dataset")) < 3000


def test_a_full_disk(trace: Trace, work: Path, tmp_path: Path) -> None:
    """As with a file that may not grow: all reported before is in the trace, and the program is not disturbed."""
    with ExitStack() as undo:
        filesystems.mount(tmp_path / "disk", "tmpfs", undo)
        subprocess.run(["mount", "-o", "remount,size=256k", tmp_path / "disk"], check=True)
        own = Trace(tmp_path / "disk" / "trace", trace.shim)
        noticed(own, work)
        facts = own.facts()
    assert [record["reason"] for record in of_class(facts, "Gap").values()] == [
        "no space left on the trace's file system"
    ]
    assert 10 < len(of_class(facts, "Dataset")) < 3000


def test_no_room_at_all(trace: Trace, work: Path) -> None:
    """Without a file, a symbolic link is the Gap."""
    noticed(trace, work, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert list(trace.gaps().values()) == ["the file-size limit was reached"]
    assert trace.files() == []


@pytest.mark.parametrize("value", [None, "", "1;op", "2;op;sys;r;h;/a;/b", "1;no;sys;r;h;/a;/b", "1;op;sys;r>;h;/a;/b"])
def test_without_a_run_there_is_no_writer(value: str | None) -> None:
    """Without a run, or with a value that cannot be parsed, nothing is written."""
    env = {**os.environ, **({} if value is None else {"PROVIO_TRACE": value})}
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from python.writer import writer; assert writer.found() is None"
    )
    subprocess.run([sys.executable, "-c", script, INTERCEPTORS], env=env, check=True)

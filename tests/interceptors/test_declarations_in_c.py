"""Declarations through provio.h, in C: every function, with any argument."""

from __future__ import annotations

import math
import random
import re
import signal
import struct
from decimal import Decimal
from pathlib import Path

import pytest
from posix_trace import Trace, of_class

TIME = re.compile(r" ; :(?:startedNs|at) \d+| ; :device .*? :size \d+")
NUMBERED = re.compile(r" +<(\.\./[tgmce]\d|e\d)")

EACH = r"""
<../t1> a :Task ; :name "train" ; :kind "part" .
<../g1> a :Configuration ; :name "args" ; :kind "Hyperparameter" ; :task <../t1> .
<../g1/1> a :Setting ; :partOf <../g1> ; :name "a.b" ; :value "x\"ä\u000A" .
<../g1/2> a :Setting ; :partOf <../g1> ; :nameEncoded "bad%FF" ; :valueEncoded "100%20%FF" .
<../g1/3> a :Setting ; :partOf <../g1> ; :name "least" ; :value -9223372036854775808 .
<../t1/4> a :Setting ; :partOf <../t1> ; :name "fold" ; :value 3 .
<../g1/5> a :Setting ; :partOf <../g1> ; :name "lr" ; :value 1.0E-3 .
<../g1/6> a :Setting ; :partOf <../g1> ; :name "shuffled" ; :value true .
<../g1/7> a :Setting ; :partOf <../g1> ; :name "since" ; :value "2026-01-31T12:00:00Z"^^xsd:dateTime .
<../g1> :complete true .
<../m1> a :Metric ; :name "accuracy" ; :kind "Accuracy" ; :value 9.3E-1 ; :step 7 ; :task <../t1> .
<../m2> a :Metric ; :name "tries" ; :value -3 ; :task <../t1> .
<../c1> a :Checkpoint ; :path "WORK/model/step7" ; :step 7 ; :task <../t1> .
<../m3> a :Metric ; :name "loss" ; :kind "Loss" ; :partOf <../c1> ; :value 2.5E-1 ; :task <../t1> .
<../e1> a :DataObject ; :name "calibration" ; :kind "Row" ; :identifier "db:7" ; :task <../t1> .
<../e1/8> a :Setting ; :partOf <../e1> ; :name "table" ; :value "runs" .
<e1> a :UsedSaid ; :object <../e1> ; :task <../t1> .
<e2> a :GeneratedSaid ; :path "WORK" ; :task <../t1> .
<e3> a :GeneratedSaid ; :object <../c1> ; :task <../t1> .
<e4> a :GeneratedSaid ; :path "WORK/nowhere" ; :task <../t1> .
"""


def blocks(trace: Trace, work: Path) -> list[str]:
    """The blocks of the declarations, in their order, without times and facts."""
    lines = [line for path in trace.files() for line in path.read_text().splitlines()]
    kept = (line.rstrip("#").strip() for line in lines if NUMBERED.match(line) and ":endedNs" not in line)
    return [TIME.sub("", line).replace(str(work), "WORK") for line in kept]


def test_each_function(trace: Trace, built: Path, work: Path) -> None:
    assert trace.run(built / "declarations", "each", work).returncode == 0
    assert blocks(trace, work) == EACH.split("\n")[1:-1]
    trace.facts()


def test_numbers_are_written_with_the_fewest_digits_that_are_read_back_as_they_were(
    trace: Trace, built: Path, work: Path
) -> None:
    chance = random.Random(7)
    values = [struct.unpack("<d", chance.randbytes(8))[0] for _ in range(2000)]
    values += [chance.random() * 10.0 ** chance.randrange(-25, 25) for _ in range(2000)]
    values += [i / 10**k for i in range(1, 100, 7) for k in range(20)] + [float(i) for i in range(100)]
    for edge in (2.0**e for e in range(-1074, 1024)):
        values += [edge, -edge, math.nextafter(edge, 0), math.nextafter(edge, math.inf)]
    values += [0.0, -0.0, math.inf, -math.inf, math.nan]
    given = b"".join(struct.pack("<d", value) for value in values)
    assert trace.run(built / "declarations", "reals", work, input=given).returncode == 0
    written = [line.partition(":value ")[2].split()[0] for line in blocks(trace, work)]
    assert written == [shortest(value) for value in values]


def shortest(value: float) -> str:
    """The output of Python's `repr`, in the form of xsd:double."""
    if math.isnan(value) or math.isinf(value):
        return f'"{str(value).upper().replace("NAN", "NaN")}"^^xsd:double'
    number = Decimal(repr(abs(value))).normalize()
    digits = "".join(map(str, number.as_tuple().digits))
    return f"{'-' * (math.copysign(1, value) < 0)}{digits[0]}.{digits[1:] or '0'}E{number.adjusted() if value else 0}"


@pytest.mark.integration
def test_a_hundred_thousand_settings(trace: Trace, built: Path, work: Path) -> None:
    assert trace.run(built / "declarations", "many", work).returncode == 0
    facts = trace.facts()
    settings = of_class(facts, "Setting").values()
    assert {one["name"]: one["value"] for one in settings} == {f"key.{i}": str(i) for i in range(100_000)}
    assert [one["complete"] for one in of_class(facts, "Configuration").values()] == ["true"]
    assert not trace.gaps()


def test_wrong_use_records_nothing(trace: Trace, built: Path, work: Path) -> None:
    """NaN and infinities, NULL texts, texts of megabytes: recorded, or cut between characters."""
    done = trace.run(built / "declarations", "wrong", work)
    assert (done.returncode, done.stderr) == (0, b"")
    facts = trace.facts()
    settings = list(of_class(facts, "Setting").values())
    assert [one.get("value") for one in settings] == ["", None, "ä" * (1 << 19), "1 2"]
    assert settings[1]["size"] == str(3 << 20)
    assert len(settings[0]["nameEncoded"]) == 3 * ((1 << 16) - 1)
    (configuration,) = of_class(facts, "Configuration").values()
    assert configuration["name"] == "ä" * (1 << 15)
    assert len(of_class(facts, "Checkpoint")) == 1
    assert not of_class(facts, "Metric", "UsedSaid", "Task", "Gap")


def test_a_child_has_no_declarations_of_its_parent(trace: Trace, built: Path, work: Path) -> None:
    assert trace.run(built / "declarations", "forked", work).returncode == 0
    facts = trace.facts()
    settings = of_class(facts, "Setting").values()
    assert sorted((one["name"], facts[one["partOf"]]["name"]) for one in settings) == [
        ("yes", "child's"), ("yes", "parent's"),
    ]  # fmt: skip
    assert all("complete" not in one for one in of_class(facts, "Configuration").values())


def test_the_child_of_vfork_is_not_heard(trace: Trace, built: Path, work: Path) -> None:
    """It makes declarations in its parent's memory: the parent is not affected."""
    assert trace.run(built / "declarations", "vforked", work).returncode == 0
    facts = trace.facts()
    (task,) = of_class(facts, "Task").values()
    assert task["status"] == "ok"
    (metric,) = of_class(facts, "Metric").values()
    assert (metric["name"], facts[metric["task"]]["name"]) == ("after", "parent's")
    assert not of_class(facts, "Setting", "Checkpoint")


def test_an_exec_within_a_task(trace: Trace, built: Path, work: Path) -> None:
    """The exec belongs to the Task; the new program has its own Tasks, from number 1."""
    assert trace.run(built / "declarations", "replaced", work).returncode == 0
    facts = trace.facts()
    (replaced,) = of_class(facts, "Exec").values()
    assert facts[replaced["task"]]["name"] == "before"
    found = {one["name"]: one.get("status") for one in of_class(facts, "Task").values()}
    assert found == {"before": None, "train": "ok"}
    assert len(of_class(facts, "Metric")) == 3


def test_declarations_before_a_kill(trace: Trace, built: Path, work: Path) -> None:
    assert trace.run(built / "declarations", "killed", work).returncode == -signal.SIGKILL
    facts = trace.facts()
    assert [float(one["value"]) for one in of_class(facts, "Metric").values()] == [1 / (i + 1) for i in range(1000)]
    complete = {one["name"]: one.get("complete") for one in of_class(facts, "Configuration").values()}
    assert complete == {"whole": "true", "cut": None}
    assert [one["name"] for one in of_class(facts, "Setting").values()] == ["last"]

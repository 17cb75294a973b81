"""Metrics by the million: none is lost, each is unchanged, and takes a few bytes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_traces import Run

from provio.settings.home import Home
from provio.trace import run_source, values
from provio.trace.digests import content_hash
from provio.trace.metrics import Metric, Metrics
from provio.trace.read import read_run
from provio.trace.run_facts import Trace
from provio.trace.run_source import LARGE

MANY = LARGE // 400 + 1000
TEXTS = st.sampled_from(["", "loss", "accuracy", "a\0b", "é\ud800"])
NUMBERS = st.one_of(st.integers(0, 2**70).map(str), st.just("007"))
INTEGERS = st.integers(-(2**70), 2**70)
VALUES = st.one_of(
    st.floats().map(lambda number: ("double", repr(number))),
    st.sampled_from([("double", "NaN"), ("double", "-INF"), ("double", "-0"), ("string", "x"), ("boolean", "true")]),
    INTEGERS.map(lambda number: ("integer", str(number))),
).map(lambda typed: values.of({"value": typed[1], "valueType": typed[0]}))
METRICS = st.builds(Metric, TEXTS, NUMBERS, TEXTS, INTEGERS, TEXTS, TEXTS, VALUES, st.none() | INTEGERS, TEXTS)


@pytest.mark.integration
@given(st.lists(METRICS))
def test_metrics_are_unchanged(said: list[Metric]) -> None:
    found = Metrics()
    for one in said:
        found.add(one)
    assert list(found) == said
    assert len(found) == len(said)
    again = Metrics()
    again.extend(found)
    assert list(again.in_order()) == sorted(said, key=lambda one: min(max(-(2**63), one.at), 2**63 - 1))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / ".provio"
    folder.mkdir(mode=0o700)
    return Home(folder)


def told(home: Home, last: str = "", many: int = MANY) -> Path:
    """Make a run with one thread of many metrics, a line each, and a last line."""
    run = Run(home, 1)
    run.process("train")
    run.write()
    (file,) = (path for path in run.folder.rglob("*.ttl") if path.name != "run.ttl")
    with file.open("a") as out:
        for number in range(1, many + 1):
            kind, value = (' ; :kind "Loss"', f"{number / 7:.17E}") if number % 3 else ("", str(number))
            said = f'  <../m{number}> a :Metric ; :startedNs {run.start + number} ; :name "loss"{kind} ; :value {value}'
            out.write(f"{said} ; :step {number - 9} .".ljust(400, "#") + "\n")
        out.write(last + "\n")
    return run.folder


def facts(trace: Trace) -> list[object]:
    told = {iri: process.last_declared for iri, process in trace.processes.items()}
    return [list(trace.declarations.metrics), told, [str(each.reason) for each in trace.damages], trace.content_hash]


@pytest.mark.parametrize(
    "last",
    [
        "",
        '  <../m5> a :Metric ; :startedNs 5 ; :name "loss" ; :value 1 .',
        '  <../m5> :name "accuracy" .',
        '  <../m999999> a :Metric ; :startedNs 5 ; :name "loss" ; :value 1 ; :task <../../x/t1> .',
        '  <../m999999> a :Metric ; :startedNs 5 ; :name "lo',
        '  <../g999999> a :Metric ; :startedNs 5 ; :name "loss" ; :value 1 .',
        '  <../m0999999> a :Metric ; :startedNs 5 ; :name "loss" ; :value 1 .',
    ],
    ids=["plain", "twice", "more of one", "of another", "cut short", "no metric's name", "zeros"],
)  # fmt: skip
def test_a_large_file_is_read_as_a_small_one(home: Home, monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    folder = told(home, last, 200)
    monkeypatch.setattr(run_source, "LARGE", 1 << 14)
    in_parts = read_run(folder)
    assert len(in_parts.declarations.metrics) >= 200
    monkeypatch.setattr(run_source, "LARGE", 1 << 40)
    whole = read_run(folder)
    assert facts(in_parts) == facts(whole)
    assert content_hash(folder, whole.run) == whole.content_hash


def test_the_hash_of_a_large_file_is_that_of_its_bytes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = told(home, "", 200)
    monkeypatch.setattr(run_source, "LARGE", 1 << 14)
    in_parts = content_hash(folder, {})
    monkeypatch.setattr(run_source, "LARGE", 1 << 40)
    assert content_hash(folder, {}) == in_parts


@pytest.mark.slow
def test_another_metric_takes_few_bytes(home: Home) -> None:
    folder = told(home)
    read_run(folder)  # modules and constants
    tracemalloc.start()
    try:
        trace = read_run(folder)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(trace.declarations.metrics) == MANY
    assert most < 4 * LARGE  # most of it for the parts of the file; as records they took six times that

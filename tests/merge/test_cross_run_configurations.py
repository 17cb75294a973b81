"""Configuration versions in many runs: the answers do not depend on the order of merges, and the reads per run do
not grow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic_traces import Run

from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.merge.cross_run import configurations
from provio.merge.cross_run.configurations import ENTITY, Latest
from provio.merge.cross_run.facts import CONTENT
from provio.merge.removal import remove
from provio.merge.runs import merge
from provio.settings import schema
from provio.settings.home import Home
from provio.store import Writer, open_writer

Statements = set[tuple[str, str, str]]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / ".provio"
    folder.mkdir(mode=0o700)
    return Home(folder)


class Counting:
    """A store that counts the reads."""

    def __init__(self, store: Writer) -> None:
        self.store, self.read = store, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.store, name)

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        for row in self.store.rows(sparql):
            self.read += 1
            yield row


def train(home: Home, number: int, *conclusions: tuple[str, int], program: str = "train") -> None:
    """Run a program that uses these values of these configurations, one after the other."""
    run = Run(home, number)
    process = run.process(program)
    for name, value in conclusions:
        run.tick()
        process.configure(name, "Hyperparameter", True, lr=value)
    run.write()


def conclusions(home: Home) -> tuple[Statements, Statements]:
    """Return the stored conclusions about versions, and those computed from the complete store."""
    with open_writer(home, None, True) as store:
        every = {row["v"] for row in store.rows(f"SELECT DISTINCT ?v {{ ?u <{ENTITY}> ?v ; provio:series ?s }}")}
        held = {one for one in store.statements(CONTENT) if one[1] in configurations.PROPERTIES}
        store.remove_statements(CONTENT, held)
        store.add(CONTENT, configurations._conclude(store, every))
        return held, {one for one in store.statements(CONTENT) if one[1] in configurations.PROPERTIES}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.integration
def test_the_order_of_merges_does_not_change_versions(home: Home, seed: int) -> None:
    drawn = random.Random(seed)
    order = drawn.sample(range(1, 9), 8) if seed % 2 else range(1, 9)
    for number in order:
        many = [(drawn.choice(["args", "model"]), drawn.randrange(4)) for _ in range(drawn.randrange(1, 5))]
        train(home, number, *many, program=drawn.choice(["train", "tune"]))
        assert merge(home).damages == []
        held, wanted = conclusions(home)
        assert held == wanted
    remove(home, [folder.name for folder in sorted(home.run_folders())[2:4]], schema.Config())
    held, wanted = conclusions(home)
    assert held == wanted


@pytest.mark.integration
@pytest.mark.parametrize("values", [100, 2], ids=["new ones", "the same two"])
def test_a_run_more_has_no_more_read_than_the_one_before(home: Home, values: int) -> None:
    read = []
    for last in (10, 40):
        for number in range(len(home.run_folders()) + 1, last + 1):
            train(home, number, ("args", number % values))
        assert merge(home).damages == []
        with open_writer(home, None, True) as store:
            counting = Counting(store)
            Latest(counting, bundle_iri(RUN_BASE + max(home.run_folders()).name)).lines()  # type: ignore[arg-type]
            read.append(counting.read)
    assert read[0] == read[1] > 0

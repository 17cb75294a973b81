"""A run of many ranks, each with the records of a real rank: its graph grows in proportion to the number of ranks."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import many_ranks
import pytest
from conftest import ROOT

from provio.merge import partitions
from provio.merge.partitions import Partitions
from provio.settings.schema import Config
from provio.trace.read import read_run

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def real(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of four real ranks."""
    missing = many_ranks.missing()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs it where it may)")
    folder = tmp_path_factory.mktemp("ranks")
    command = [*many_ranks.COMPILER, "-o", folder / "program", ROOT / "bench" / "programs" / "ranks.c"]
    subprocess.run(command, check=True, cwd=folder)
    return many_ranks.record(folder / "real", folder / "program")


def counts(real: Path, folder: Path, ranks: int) -> Counter[str]:
    """Return how often the graph of a run of so many ranks has each property, and the numbers of processes and of
    writers of the shared file."""
    [run] = (many_ranks.simulate(real, folder, ranks) / ".provio" / "runs").iterdir()
    found: Counter[str] = Counter()
    for piece in partitions.prepare(Partitions(read_run(run)), Config()).pieces:
        for line in piece.splitlines():
            subject, word = line.split(" ", 2)[:2]
            found[word] += 1
            found["writers"] += word.endswith("#wasGeneratedBy>") and "~" in subject and "%23" not in subject
            found["ranks"] += line.endswith("ns#Rank> .")
    return found


def test_the_graph_grows_with_the_ranks(real: Path, tmp_path: Path) -> None:
    """Twice as many additional ranks add twice as many statements of each property: none is for each pair of ranks."""
    few, some, many = (counts(real, tmp_path / str(ranks), ranks) for ranks in (16, 32, 64))
    assert (few["ranks"], some["ranks"], many["ranks"]) == (16, 32, 64)
    assert (few["writers"] // 15, some["writers"] // 31, many["writers"] // 63) == (few["writers"] // 15,) * 3
    assert few["writers"] >= 15  # the last one's is the version itself
    grown = {word: (some[word] - few[word], many[word] - some[word]) for word in many}
    assert {word: found for word, found in grown.items() if found[1] > 2 * found[0] + 4} == {}

"""The results of the first release for real runs have not changed, or each difference has a reason.

`golden/runs/` has the runs, `golden/answers/` the results of the first release (from `golden/answers.py`). Neither is
made again: `golden/SHA256SUMS` guards them. An intended difference is listed in `golden/differences.toml` with its
reason, and its new text is in `golden/now/` under the same name.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import tempfile
import tomllib
from pathlib import Path

import pytest
from conftest import assert_valid, memory
from golden.answers import HERE, answers, read
from workers import made_once

SUMS = HERE / "SHA256SUMS"
FROZEN = sorted(path.name.removesuffix(".xz") for path in (HERE / "answers").iterdir())
LISTED = tomllib.loads((HERE / "differences.toml").read_text())
SHOWN = 60  # lines of a difference


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all current answers, made once for all workers."""
    return made_once(tmp_path_factory, "golden", ask)


def ask(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="provio-test-", dir=memory()) as asked:
        found = answers(Path(asked))
        assert_valid(Path(asked) / "record")
    (folder / "found").mkdir(exist_ok=True)
    for name, text in found.items():
        (folder / "found" / name).write_bytes(text.encode())


def expected(name: str) -> str:
    return read(HERE / ("now" if name in LISTED else "answers") / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FROZEN)
def test_each_answer_is_that_of_the_first_release(name: str, now: Path) -> None:
    """Or the one that is listed as another."""
    found, wanted = (now / "found" / name).read_bytes().decode(), expected(name)
    if found != wanted:
        lines = difflib.unified_diff(wanted.split("\n"), found.split("\n"), "expected", "found", n=1, lineterm="")
        pytest.fail(
            f"{name} is not as it was (all answers as they are now: golden/answers.py FOLDER):\n"
            + "\n".join(line[:300] for line in itertools.islice(lines, SHOWN)),
            pytrace=False,
        )


@pytest.mark.integration
def test_each_answer_that_is_found_is_frozen(now: Path) -> None:
    assert sorted(path.name for path in (now / "found").iterdir()) == FROZEN


def test_each_difference_has_a_reason_and_is_one() -> None:
    """None is listed that is none, none stands in `now` that is not listed."""
    assert set(LISTED) <= set(FROZEN)
    for name, listed in LISTED.items():
        assert set(listed) == {"reason"}
        assert len(listed["reason"].split()) > 3
        assert read(HERE / "now" / name) != read(HERE / "answers" / name), f"{name} is listed, and no difference"
    kept = {path.name.removesuffix(".xz") for path in (HERE / "now").glob("*")}
    assert kept == set(LISTED)


def test_what_is_frozen_is_never_made_again() -> None:
    """Runs and answers have the SHA-256 that they had."""
    sums = dict(reversed(line.split("  ")) for line in SUMS.read_text().splitlines())
    found = {
        path.relative_to(HERE).as_posix(): path for part in ("runs", "answers") for path in (HERE / part).iterdir()
    }
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()} == sums

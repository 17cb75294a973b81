"""Which runs a store does not contain yet, and which changes of it are not published yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from provio import store
from provio.base.vocab import NS
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded import snapshots
from provio.store.embedded.writer import StoreWriter
from provio.store.remote import reader
from provio.trace import run_source

SERVER = "http://server/store"
RUNS = [f"01936b2e-7c00-7abc-8def-0123456789a{number}" for number in range(3)]
LINE = f'<urn:a> <{NS}name> "a" .\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A record with three runs."""
    home = Home(tmp_path / ".provio")
    for run in RUNS:
        (home.runs / run).mkdir(parents=True)
    return home


def test_each_store_has_its_own_record(home: Home) -> None:
    """The embedded one is in the record itself."""
    assert store.served(home, None) is home
    assert store.served(home, Config()) is home
    found = store.served(home, Config(store=SERVER))
    assert (found.path, found.server, found.kept == home.kept) == (home.path, SERVER, False)


@pytest.mark.parametrize(
    ("server", "earlier", "version", "behind", "expected"),
    [
        ("", None, "2", True, "some"),
        ("", None, "1", False, "all"),
        ("", True, "2", False, "all"),
        ("", False, "1", True, "some"),
        (SERVER, None, "1", False, "some"),
        (SERVER, True, "1", False, "some"),
        (SERVER, False, "2", True, "all"),
    ],
)
def test_runs_that_are_not_in_the_store(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    earlier: bool | None,
    version: str,
    behind: bool,
    expected: str,
) -> None:
    """All of an earlier version's store or of a server in another state; of others, those with later times."""
    asked = list[tuple[str, str]]()

    def some(place: Home, conclusions: str) -> list[Path]:
        asked.append((place.server, conclusions))
        return [home.runs / RUNS[1]]

    (home.kept / "store.version").write_text(f"{version}\n")
    monkeypatch.setattr(reader, "behind", lambda *_: behind)
    monkeypatch.setattr(run_source, "pending", some)
    settings = Config(store=server)
    assert store.is_earlier(home) == (version == "1")
    found = [folder.name for folder in store.pending(home, settings, earlier)]
    if expected == "all":
        assert (sorted(found), asked) == (RUNS, [])
    else:
        assert (found, asked) == ([RUNS[1]], [(server, settings.conclusions)])


@pytest.mark.parametrize(
    "change",
    [
        lambda writer: writer.add("urn:g", [LINE]),
        lambda writer: writer.index([LINE]),
        lambda writer: writer.drop("urn:g"),
        lambda writer: writer.replace("urn:g", [LINE]),
        lambda writer: writer.remove_statements("urn:g", []),
        lambda writer: writer.update("DELETE WHERE { <urn:a> ?p ?o }"),
    ],
    ids=["add", "index", "drop", "replace", "remove", "update"],
)
def test_the_first_change_is_noted(home: Home, change: Callable[[StoreWriter], None]) -> None:
    """Once, before the change itself."""
    with StoreWriter(home, True) as writer:
        writer.add("urn:g", [""])
        assert (writer.changed, home.unfinished.exists()) == (False, False)
        change(writer)
        assert (writer.changed, home.unfinished.exists()) == (True, True)
        home.unfinished.unlink()
        change(writer)
        assert (writer.changed, home.unfinished.exists()) == (True, False)


def test_changes_are_published(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """No note remains; a store that is built next to the published one needs one during its publication only."""
    noted, publish = list[bool](), snapshots.publish

    def publishing(place: Home, folder: Path) -> None:
        noted.append(home.unfinished.exists())
        publish(place, folder)

    monkeypatch.setattr(snapshots, "publish", publishing)
    with StoreWriter(home, True, rebuild=True) as writer:
        for _ in range(2):
            writer.add("urn:g", [LINE])
            assert (writer.changed, home.unfinished.exists()) == (True, False)
        writer.publish()
        assert (writer.changed, writer.dropped, writer.rebuild) == (False, False, False)
        assert (home.unfinished.exists(), home.store.exists()) == (False, True)
        writer.drop("urn:g")
        assert noted == [True]
        assert (writer.changed, home.unfinished.exists()) == (True, True)

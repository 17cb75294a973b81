"""`provio.ask.content`: whether a recorded version and another one have the same content."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from conftest import Project

from provio.ask import session
from provio.ask.content import Compared, Contents
from provio.ask.target import current_version
from provio.system import hash_limits
from provio.system.hash_limits import Limits

SAME_HASH, OTHER_HASH = Compared("same", "same SHA-256"), Compared("changed", "another SHA-256")
NO_HASH = Compared("unknown", "no SHA-256 is recorded")


class Files:
    """Recorded versions of files, and the comparison of each with the present file."""

    def __init__(self, project: Project, names: str) -> None:
        self.folder = project.path
        self.versions = {name: str(current_version(self.path(name))) for name in names.split()}

    def path(self, name: str) -> bytes:
        return os.fsencode(self.folder / name)

    def compare(self, limits: Limits | None = None, *, read: bool = False) -> dict[str, Compared]:
        contents = Contents(session.reader(str(self.folder)), limits)
        contents.load(self.versions.values(), map(self.path, self.versions))
        return {name: contents.file(iri, self.path(name), read=read) for name, iri in self.versions.items()}


@pytest.fixture
def files(project: Project, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Files with recorded hashes, except `plain`, of a second run without them."""
    monkeypatch.chdir(project.path)
    script = "for f in kept touched changed longer gone pipe; do echo $f > $f; done; : > empty"
    project.hashed("sh", "-c", script)
    project.provio("run", "--no-hash", "--quiet", "--", "sh", "-c", "echo x > plain")
    return Files(project, "kept touched changed longer gone pipe empty plain")


@pytest.mark.integration
def test_the_content_decides_and_not_the_times(files: Files) -> None:
    """Touched files, files of another content, and a file without a hash, which is not compared."""
    for name in ("touched", "empty", "plain"):
        os.utime(files.path(name))
    (files.folder / "changed").write_text("CHANGED\n")
    (files.folder / "longer").write_text("longer than it was\n")
    (files.folder / "gone").unlink()
    (files.folder / "pipe").unlink()
    os.mkfifo(files.path("pipe"))
    assert files.compare() == {
        "kept": Compared("same", "same version"),
        "touched": SAME_HASH,
        "changed": OTHER_HASH,
        "longer": Compared("changed", "another size"),
        "gone": Compared("missing", "no file is there"),
        "pipe": Compared("changed", "is no regular file now"),
        "empty": Compared("same", "both are empty"),
        "plain": NO_HASH,
    }


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("touched", "touched\n", ""),
        ("empty", "", ""),
        ("changed", "CHANGED\n", "! changed since it was recorded at TIME"),
        ("plain", "x\n", "! not compared by content since TIME: no SHA-256 is recorded"),
        ("plain", "longer\n", "! changed since it was recorded at TIME"),
    ],
)
def test_the_note_about_a_target(files: Files, project: Project, name: str, text: str, note: str) -> None:
    """`why` and `lineage` note another content, not other times; and that a content was not compared."""
    (files.folder / name).write_text(text)
    for verb in ("why", "lineage"):
        answer = re.sub(r"\d{4}-\d\d-\d\d [\d:]{8} UTC", "TIME", project.provio(verb, name).stdout)
        assert [line.strip() for line in answer.splitlines() if "!" in line] == [note] * bool(note)


@pytest.mark.integration
def test_what_exceeds_a_limit_is_not_compared(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """The volume and the CPU time of all files, the size of one, its blocks, its file system; `everything` has no
    limit."""
    for name in files.versions:
        os.utime(files.path(name))
    unknown = {"changed", "gone", "kept", "longer", "pipe", "touched"}

    def reasons(limits: Limits | None = None) -> set[str]:
        found = files.compare(limits)
        return {found[name].reason for name in unknown if found[name].state == "unknown"}

    assert reasons(Limits(volume=3)) == reasons(Limits(seconds=0)) == {"too much to read"}
    monkeypatch.setattr(hash_limits, "NETWORK", {hash_limits.statx.mount_of(files.folder).file_system})  # type: ignore[union-attr]
    hash_limits._is_network.cache_clear()
    assert reasons() == {"on a network file system"}
    assert reasons(Limits(everything=True)) == set()
    hash_limits._is_network.cache_clear()


@pytest.mark.integration
def test_two_recorded_versions_are_compared_by_their_hashes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same content and another one of the same size, as they were when the runs ended."""
    monkeypatch.chdir(project.path)
    versions = []
    for text in ("a", "a", "b"):
        project.hashed("sh", "-c", f"rm -f f; echo {text} > f")
        versions.append(str(current_version(os.fsencode(project.path / "f"))))
    contents = Contents(session.reader(str(project.path)))
    assert contents.versions(versions[0], versions[1]) == SAME_HASH
    assert contents.versions(versions[1], versions[2]) == OTHER_HASH
    assert contents.versions(versions[0], versions[0]) == Compared("same", "same version")


@pytest.mark.integration
def test_times_that_a_program_set_are_no_other_content(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any hash: the record states that only the times were set."""
    monkeypatch.chdir(project.path)
    project.run("echo x > f")
    before = str(current_version(b"f"))
    project.run("touch -d 2020-01-01 f")
    found = Contents(session.reader(str(project.path))).file(before, os.fsencode(project.path / "f"))
    assert found == Compared("same", "only its times were set")


def test_a_file_with_holes_is_not_read(tmp_path: Path) -> None:
    """It may be released to tape; a file that is larger than the limit is not read either."""
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 20)
    (tmp_path / "large").write_bytes(bytes(100_000))
    limits = Limits()
    assert limits.forbid(os.fsencode(tmp_path / "holes")) == "it has fewer blocks than its size"
    assert limits.forbid(os.fsencode(tmp_path / "large"), 1000) == "larger than 0 MB"
    assert limits.forbid(os.fsencode(tmp_path / "large")) == ""

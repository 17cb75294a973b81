"""Merge: again changes nothing; a damaged file costs only itself; the store can be deleted and made again."""

from __future__ import annotations

import fcntl
import shutil

from conftest import Project


def quads(project: Project) -> set[str]:
    return set(project.provio("export", "--as", "nquads").stdout.splitlines())


def test_merging_twice_changes_nothing(project: Project) -> None:
    """The second merge finds every run unchanged, and the store holds the same quads."""
    project.sh("echo 1 > a")
    project.run("cat a > b; sort b > c")
    before = quads(project)
    assert "0 runs merged, 1 unchanged" in project.provio("merge").stderr
    assert quads(project) == before


def test_a_rebuilt_store_is_the_same(project: Project) -> None:
    """The Turtle files are the source of truth: delete the store, merge, and the quads are the same."""
    project.sh("echo 1 > a")
    project.run("tar cf - a | gzip -n > b")
    project.watch("cp", "b", "c")
    before = quads(project)
    shutil.rmtree(project.path / ".provio" / "store")
    shutil.rmtree(project.path / ".provio" / "snapshots")
    project.provio("merge")
    assert quads(project) == before


def test_no_merge_leaves_the_run_pending_and_the_next_question_merges_it(project: Project) -> None:
    """--no-merge says so; lineage answers all the same."""
    project.sh("echo 1 > a")
    done = project.provio("run", "--no-merge", "--", "cp", "a", "b")
    assert "pending" in done.stderr
    assert project.data("b") == {"a"}


def test_the_end_of_a_run_does_not_wait_for_a_busy_store(project: Project) -> None:
    """While somebody holds the store, a run ends at once and is merged later."""
    project.sh("echo 1 > a")
    project.watch("true")
    with (project.path / ".provio" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = project.provio("run", "--", "cp", "a", "b")
        assert "pending" in done.stderr
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert project.data("b") == {"a"}


def test_a_damaged_file_is_named_and_costs_only_itself(project: Project) -> None:
    """Garbage in one thread file: its line is named, its good prefix and every other file are kept, exit code 1."""
    project.sh("echo 1 > a; echo 2 > b")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", "cat a > x; cat b > y")
    victim = next(path for path in project.trace_files() if b'"cat b"' in path.read_bytes())
    data = victim.read_bytes()
    lines = data.split(b"\n")
    lines.insert(3, b" <broken \xff\xfe this is not Turtle .")
    victim.write_bytes(b"\n".join(lines[:4]) + b"\n")
    done = project.provio("merge", code=1)
    assert f"{victim}:4:" in done.stderr
    assert project.data("x") == {"a"}
    assert project.count('?p a provio:Process ; provio:argv "cat b"') == 1
    project.provio("merge", code=0)


def test_an_empty_and_a_foreign_file_do_no_harm(project: Project) -> None:
    """A thread file without content, and Turtle of another tool, are merged for what they say."""
    project.sh("echo 1 > a")
    project.provio("run", "--quiet", "--no-merge", "--", "cp", "a", "b")
    folder = project.trace_files()[0].parent
    (folder / "999.1.0.0.ttl").write_bytes(b"")
    (folder / "998.1.0.0.ttl").write_text("<urn:a> <urn:b> 'c' .\n")
    project.provio("merge")
    assert project.data("b") == {"a"}

"""`provio verify`: comparison of files with the record."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, provio_command


def verify(project: Project, *what: str | bytes, code: int = 0) -> dict[str, tuple[str, str]]:
    """The state and the word of each file, by its name; the exit code is asserted."""
    return states(project, project.provio("verify", "--as", "json", *what, code=code).stdout)


def states(project: Project, output: str) -> dict[str, tuple[str, str]]:
    """The same of an output."""
    answer, name = json.loads(output), os.path.relpath
    return {name(one["path"], project.path): (one["state"], one.get("word", "")) for one in answer["files"]}


def runs(project: Project) -> list[str]:
    return sorted(path.name for path in (project.path / ".provio" / "runs").iterdir())


SAME = ("same", "")
TOUCHED = ("touched", "same content, other times or place")


@pytest.fixture
def hashed(project: Project) -> Project:
    """A project with the outputs a, b and c, and their hashes."""
    project.hashed("bash", "-c", "for f in a b c; do echo $f > $f; done")
    return project


@pytest.mark.integration
def test_what_is_as_it_was_is_the_same(hashed: Project) -> None:
    """Verifying everything, the run, a file: the same, and exit 0."""
    expected = dict.fromkeys("abc", SAME)
    assert verify(hashed) == verify(hashed, "last") == verify(hashed, "--hash") == expected
    assert verify(hashed, "a") == {"a": SAME}
    assert hashed.provio("verify").stdout == "3 same\n"


@pytest.mark.integration
def test_touched_changed_and_missing_are_told_apart(hashed: Project) -> None:
    """Other times and the same content; another content of the same size; missing."""
    hashed.sh("touch a; echo B > b; rm c")
    expected = {"a": TOUCHED, "b": ("changed", ""), "c": ("missing", "")}
    assert verify(hashed, code=1) == verify(hashed, "last", code=1) == expected
    assert verify(hashed, "a") == {"a": TOUCHED}
    table = hashed.provio("verify", code=1).stdout.splitlines()
    assert [line.split()[:2] for line in table[2:]] == [
        ["touched", "a"], ["changed", "b"], ["missing", "c"], ["1", "changed,"]
    ]  # fmt: skip


@pytest.mark.integration
def test_a_table_with_nothing_to_say_has_no_column_for_it(hashed: Project) -> None:
    """And it is ASCII where the stream is."""
    run = runs(hashed)[0][:13]
    table = hashed.provio("verify", "a", env=hashed.env | {"PYTHONIOENCODING": "ascii"}).stdout
    assert table == f"state  file  run\n-----  ----  -------------\nsame   a     {run}\n1 same\n"


@pytest.mark.integration
def test_a_copy_put_in_its_place_is_told_by_its_content(hashed: Project) -> None:
    """Another inode of the same content is touched, not changed."""
    hashed.sh("cp a d; mv d a")
    assert verify(hashed, "a") == {"a": TOUCHED}


@pytest.mark.integration
def test_without_a_hash_other_times_are_a_change(project: Project) -> None:
    """A difference that cannot be distinguished from a change is reported as one."""
    project.run("echo a > a")
    project.sh("touch a")
    word = "not compared by content: no SHA-256 is recorded"
    assert verify(project, "a", code=1) == {"a": ("changed", word)}
    project.run("echo a > a")
    assert verify(project, "--hash", "a") == {"a": ("same", word)}


@pytest.mark.integration
def test_a_change_that_stat_does_not_tell_is_found_by_content(hashed: Project) -> None:
    """The same size and the times set back: only --hash sees it."""
    found = os.stat(hashed.path / "a")
    with (hashed.path / "a").open("r+b") as file:
        file.write(b"X")
    os.utime(hashed.path / "a", ns=(found.st_atime_ns, found.st_mtime_ns))
    assert verify(hashed, "a") == {"a": SAME}
    assert verify(hashed, "--hash", "a", code=1) == {"a": ("changed", "")}


@pytest.mark.integration
def test_what_a_later_run_did_is_no_difference_but_for_the_run_itself(project: Project) -> None:
    """Overwritten, deleted, renamed, a folder renamed by a recorded run: all remaining files are as expected."""
    project.run("echo 1 > over; echo 1 > gone; echo 1 > old; mkdir d; echo 1 > d/in; echo 1 > kept; echo t > t; rm t")
    project.run("echo 2 > over; rm gone; mv old new; mv d e")
    assert verify(project) == {"over": SAME, "new": SAME, "e/in": SAME, "kept": SAME}
    assert verify(project, "new", "e/in") == {"new": SAME, "e/in": SAME}
    first, second = runs(project)
    assert verify(project, first, code=1) == {
        "over": ("changed", f"overwritten by run {second}"),
        "gone": ("missing", f"deleted by run {second}"),
        "new": SAME,
        "e/in": SAME,
        "kept": SAME,
    }
    assert verify(project, second) == {"over": SAME}


@pytest.mark.integration
def test_inputs_are_compared_too_when_everything_is_asked(project: Project) -> None:
    """Verifying a run covers the files that it wrote."""
    project.sh("echo i > in")
    project.run("cat in > out")
    project.sh("echo more >> in")
    assert verify(project, code=1) == {"in": ("changed", ""), "out": SAME}
    assert verify(project, "last") == {"out": SAME}


@pytest.mark.integration
def test_what_is_not_recorded_is_unknown(hashed: Project) -> None:
    """Exit 3 where that is all there is."""
    hashed.sh("echo new > new")
    unknown = ("unknown", "nothing is recorded of it")
    assert verify(hashed, "new", "nowhere", code=3) == {"new": unknown, "nowhere": unknown}
    assert verify(hashed, "new", "a") == {"new": unknown, "a": SAME}


@pytest.mark.integration
def test_a_fifo_in_its_place_is_never_opened(hashed: Project) -> None:
    """A FIFO without a writer: to open it would wait forever."""
    hashed.sh("rm a; mkfifo a")
    assert verify(hashed, "--hash", "a", code=1) == {"a": ("changed", "is no regular file now")}


@pytest.mark.integration
def test_a_name_that_is_not_utf8_is_told_in_json(project: Project) -> None:
    """As U+FFFD, with the bytes in another field."""
    os.mkdir(os.fsencode(project.path) + b"/d\xff")
    project.run("echo x > d$'\\xff'/f")
    answer = json.loads(project.provio("verify", "--as", "json", b"d\xff/f").stdout)
    expected = {"path": f"{project.path}/d\ufffd/f", "state": "same", "run": runs(project)[0],
                "pathEncoded": f"{project.path}/d%FF/f"}  # fmt: skip
    assert answer == {"files": [expected], "counts": {"same": 1}}
    assert project.provio("verify").stdout == "1 same\n"


@pytest.mark.integration
def test_a_name_that_leads_nowhere_is_said(hashed: Project) -> None:
    """A link to itself: neither same nor missing."""
    hashed.sh("rm a; ln -s a a")
    assert verify(hashed, "last", code=1)["a"] == ("unread", "Too many levels of symbolic links")


@pytest.mark.integration
def test_a_folder_that_may_not_be_entered(hashed: Project, needs: Callable[..., None]) -> None:
    """Its files are neither same nor missing."""
    hashed.sh("mkdir shut")
    hashed.run("echo x > shut/x")
    limited: list[str] = []
    if os.geteuid() == 0:  # without its rights, root is refused as others are
        needs("setpriv")
        limited = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
    command = [*limited, *provio_command(), "verify", "--as", "json", "last"]
    os.chmod(hashed.path / "shut", 0)
    try:
        done = subprocess.run(command, cwd=hashed.path, env=hashed.env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1, done.stderr
        assert states(hashed, done.stdout) == {"shut/x": ("unread", "Permission denied")}
    finally:
        os.chmod(hashed.path / "shut", 0o700)


@pytest.mark.integration
@pytest.mark.usefixtures("merged_at_once")
def test_a_file_system_that_is_not_here_is_neither_same_nor_missing(project: Project, tmp_path: Path) -> None:
    """A run that was recorded on another host: its files are elsewhere, and that is no difference."""
    project.run("echo x > ../x; echo y > ../y; echo z > z")
    for path in (project.path / ".provio" / "runs").rglob("*.ttl"):
        text = path.read_bytes().replace(b':storageDomain "', b':storageDomain "other-host-')
        path.write_bytes(text)
    project.sh("rm ../x z; echo other > ../y")
    assert verify(project, code=1) == {
        "../x": ("elsewhere", "recorded on a file system that is not here"),
        "../y": ("elsewhere", "another file of this name is here"),
        "z": ("missing", ""),  # the project was copied
    }


@pytest.mark.integration
def test_what_was_read_on_its_way_is_not_what_should_be_there(project: Project) -> None:
    """A log that a reader followed while it was written, and that was not changed since."""
    follow = "tail -c +1 -f log > seen & exec 3< seen; read <&3; for i in 1 2 3; do echo $i >> log; read <&3; done"
    project.sh("mkfifo seen")
    project.run(f"echo 0 > log; {follow}; kill $!; wait")
    assert project.count('?v a provio:FileVersion FILTER(REGEX(STR(?v), "~[0-9]+$"))') > 0
    assert verify(project) == verify(project, "last") == verify(project, "log") == {"log": SAME}


@pytest.mark.integration
def test_a_pipe_that_a_run_wrote_is_no_file_of_it(project: Project) -> None:
    project.run("echo 1 | tr 1 2 > a")
    assert verify(project, "last") == verify(project) == {"a": SAME}


@pytest.mark.integration
def test_a_deletion_within_the_whole_second_of_a_time(project: Project) -> None:
    """A file whose time was set to a whole second and that a run deleted in this second is not missing."""
    project.run('for n in 1 2 3; do echo $n > f$n; touch -d "@$(date +%s)" f$n; rm f$n; done; echo 4 > kept')
    assert verify(project) == {"kept": SAME}

"""`include` and `exclude`: excluded files leave no trace, for any program and under any name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import h5py_trace
import pytest
from conftest import Project
from posix_trace import Trace, name_of

from interceptors.python.writer import environment
from provio.base.errors import ConfigError
from provio.record import driver

NAMES = """
a.tmp ab abc a/b/c.tmp a/bc/d x[1] x1 x-y B Z.h5 deep/er/a.tmp 'q' h é.dat éé.dat ünder/x !a ]x -
""".split()

GLOBS = """
*.tmp a/b a/b* ? [a-c]* [!a-z]* x[[]1] x[1] */*/* a/* []]x [é]* ?.dat *b*c* [z-a] x[1 *[ deep de*r [-] [!]-x]*
""".split()


def opened(trace: Trace, work: Path) -> set[bytes]:
    """The names, below the folder, of the recorded files that a program opened."""
    for name in NAMES:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("")
    done = trace.run("cat", "--", *(f"./{name}" for name in NAMES), cwd=work)
    assert not done.returncode, done.stderr
    prefix = bytes(work) + b"/"
    found = {name_of(facts) for facts in trace.facts().values() if facts.get("type") == "FileVersion"}
    return {name.removeprefix(prefix) for name in found if name.startswith(prefix)}


@pytest.mark.parametrize("sign", ["-", "+"])
@pytest.mark.integration
def test_folders_and_globs_match_as_in_python(trace: Trace, work: Path, sign: str) -> None:
    """The shim matches each like `fnmatch`, or as a folder above."""
    names = [name.encode() for name in NAMES]
    results = {}
    for number, glob in enumerate(GLOBS):
        mine = Trace(trace.root / str(number), trace.shim, limits=(f"{sign}{work}/{glob}",))
        results[glob] = (opened(mine, work), mine)
    for glob, (found, mine) in results.items():
        settings = environment.trace_settings(mine.environment())
        assert settings is not None
        expected = {name for name in names if not settings.leaves_out(bytes(work) + b"/" + name)}
        assert found == expected, glob


@pytest.mark.integration
def test_an_excluded_file_leaves_no_trace(project: Project) -> None:
    """By a link, through `..`, from a child with an empty environment, renamed, deleted, mapped; others are
    recorded."""
    project.sh(
        "mkdir secret data; echo x > secret/a; echo y > b; echo 1 > data/x.tmp; "
        "ln -s secret link; ln -s ../secret/a data/l"
    )
    script = """
    cat secret/a link/a data/../secret/a data/l data/x.tmp b > out
    env -i cat secret/a b > out2; (cd secret && cat a ../b > ../out3)
    python3 -c 'import mmap; f = open("secret/a"); mmap.mmap(f.fileno(), 0, prot=1)'
    cp b secret/new; mv secret/new secret/n; cp b moved; mv moved secret; rm secret/n; touch secret/a; mkdir secret/d
    """
    (project.path / "provio.toml").write_text('exclude = ["secret", "*.tmp"]\n')
    (project.path / "script").write_text(script)
    project.watch("sh", "script")
    texts = "".join(path.read_text() for path in project.path.glob(".provio/runs/*/*/*.ttl"))
    names = re.findall(r':(?:path|from|to|target|resolvedPath) "([^"]*)"', texts)
    assert [name for name in names if re.search(r"secret(?!/\.\.)|\.tmp", name)] == []
    assert {f"{project.path}/{name}" for name in ("b", "out", "out2", "out3")} <= set(names)
    assert project.data("out") == project.data("out3") == {"b"}
    reasons = [gap["reason"] for gap in project.lineage("out")["gaps"]]
    assert reasons == ["by its settings this was not recorded: files that include and exclude leave out"]


@pytest.mark.integration
def test_only_included_files_are_recorded(project: Project) -> None:
    """`exclude` has priority; objects inside an excluded HDF5 file are excluded too."""
    project.sh("mkdir data; echo y > b")
    script = """
import h5py
for name in ("data/in.h5", "data/raw.h5", "out.h5"):
    with h5py.File(name, "w") as file:
        file["d"] = 1
open("b").read()
"""
    (project.path / "make.py").write_text(script)
    limited = ["--include", "data", "--include", "*.txt", "--exclude", "*/raw.*"]
    project.provio("run", "--quiet", *limited, "--", sys.executable, "make.py")
    paths = {row["p"] for row in project.rows("SELECT ?p { ?f a provio:File ; provio:path ?p }")}
    assert {path for path in paths if path.startswith(str(project.path))} == {f"{project.path}/data/in.h5"}
    assert project.count('?d a provio:Dataset ; provio:path "/d"') == 1


def test_the_layer_in_python_leaves_out_the_same_files(trace: Trace, work: Path) -> None:
    """Without the shim: under both names, and with all its objects."""
    (work / "secret").mkdir()
    (work / "link").symlink_to("secret")
    script = (
        "import h5py\nfor name in ('secret/a.h5', 'link/b.h5', 'secret/../c.h5'):\n h5py.File(name, 'w')['d'] = 1\n"
    )
    trace.limits = (f"-{work}/secret",)
    h5py_trace.run(trace, script, work, "python")
    story = h5py_trace.Story(trace.facts())
    assert {name for name, *_ in story.opened()} == {"c.h5"}
    assert {place[1:3] for place in story.objects()} == {("c.h5", "/d")}


def test_more_than_the_shim_takes_is_refused(project: Project) -> None:
    """With the remedy; the command runs, unrecorded."""
    many = [f"/data/{number}" for number in range(65)]
    (project.path / "provio.toml").write_text(f"exclude = {many}\n")
    message = "include and exclude name 65 folders and globs of 575 bytes in total, above the limit of 64 "
    done = project.provio("run", "--", "echo", "ran")
    assert (done.stdout, message in done.stderr, "not recording" in done.stderr) == ("ran\n", True, True)
    assert project.provio("run", "--strict", "--", "echo", "ran", code=125).stdout == ""
    with pytest.raises(ConfigError, match="of 40001 bytes"):
        driver.recorded_paths((), ("/" + "x" * 39_999,), Path("/"))


def test_no_record_if_exclude_is_invalid(project: Project) -> None:
    """A slip in `exclude` is no slip in `name`."""
    (project.path / "provio.toml").write_text("exclude = 'secret'\n")
    done = project.provio("run", "--", "echo", "ran")
    assert done.stdout == "ran\n" and "not recording: " in done.stderr and "provio.toml:1: exclude: " in done.stderr
    assert list(project.path.glob(".provio/runs/*")) == []


def test_a_folder_goes_out_by_all_its_names(tmp_path: Path) -> None:
    """As it was given and resolved; a glob in the name of a project is no glob."""
    project = tmp_path / "p[1]"
    (project / "real").mkdir(parents=True)
    (project / "link").symlink_to("real")
    results = driver.recorded_paths(("link", "*.h5"), ("/tmp/x/",), project)
    where = str(project).replace("[", "[[]")
    assert results == ("-/tmp/x", f"+{project}/link", f"+{project}/real", f"+{where}/*.h5")

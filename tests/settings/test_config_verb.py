"""`provio config`: every value and its source; changes that keep the layout of a file."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest
from conftest import Project, provio_command

from provio.base.errors import ConfigError
from provio.settings import edit, load, record_classes, schema
from provio.settings.schema import KEYS, Config


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a user without settings; return the path of a project's file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    for variable in (*schema.VARIABLES, "PROVIO_CONFIG", "PROVIO_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "provio.toml"


def test_every_value_is_shown_with_its_source(project: Project) -> None:
    """File and line, also for an entry of a table; variables; defaults. No password."""
    own = Path(project.env["HOME"]) / ".config" / "provio" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[credentials."http://127.0.0.1:7878"]\nuser = "ada"\npassword = "s3cret"\n')
    own.chmod(0o600)
    file = project.path / "provio.toml"
    file.write_text('# ours\ndetail = "call"\n\n[record]\nstat = true\n')
    project.env["PROVIO_TIMEOUT"] = "90"
    rows = {row["key"]: row for row in json.loads(project.provio("config", "--as", "json").stdout)}
    assert rows["detail"] == {"key": "detail", "value": "call", "source": f"{file}:2"}
    assert rows["record.stat"] == {"key": "record.stat", "value": True, "source": f"{file}:5"}
    assert rows["record.file"] == {"key": "record.file", "value": True, "source": "default"}
    assert rows["timeout"] == {"key": "timeout", "value": 90, "source": "PROVIO_TIMEOUT"}
    assert {key.split(".")[0] for key in rows} == {key.split(".")[0] for key in KEYS}
    table = project.provio("config").stdout
    assert re.search(rf'(?m)^detail +"call" +{file}:2$', table)
    assert "ada" in table and "s3cret" not in table + json.dumps(rows)
    header, *lines = project.provio("config", "--as", "csv").stdout.splitlines()
    assert header == "key,value,source" and len(lines) == len(rows)


def test_errors_are_reported_and_the_other_values_shown(project: Project) -> None:
    """All errors at once, exit code 2."""
    project.env.pop("PROVIO_HASH")
    file = project.path / "provio.toml"
    file.write_text('detail = "ops"\nhash = true\n')
    done = project.provio("config", code=2)
    assert done.stderr.startswith(f"provio: {file}:1: detail: 'ops' is not allowed: did you mean 'op'?")
    assert re.search(rf'(?m)^hash +"all" +{file}:2$', done.stdout)
    file.write_text("exclude = 3\nhash = true\n")  # `provio run` would record nothing
    done = project.provio("config", code=2)
    assert done.stderr.startswith(f"provio: {file}:1: exclude: 3 is not allowed")
    assert re.search(rf'(?m)^hash +"all" +{file}:2$', done.stdout)


@pytest.mark.integration
def test_set_get_and_unset_keep_comments_and_layout(project: Project) -> None:
    """One line changes."""
    del project.env["PROVIO_HASH"]
    file = project.path / "provio.toml"
    file.write_text('# ours\nname = "x"   # for now\n\n[noise]   # the site\nadd = ["/a"]\n')
    for key, value in (("hash", "yes"), ("noise.keep", "/b:c/*"), ("record.stat", "true"), ("name", "y z")):
        assert project.provio("config", "set", key, value).stderr == f"provio: {key} is set in {file}\n".removeprefix(
            "provio: "
        )
    assert file.read_text() == (
        '# ours\nname = "y z"   # for now\nhash = true\n\n[noise]   # the site\nadd = ["/a"]\nkeep = ["/b", "c/*"]\n'
        "\n[record]\nstat = true\n"
    )
    assert project.provio("config", "get", "noise.keep").stdout == "/b\nc/*\n"
    assert project.provio("config", "get", "record.stat").stdout == "true\n"
    assert "servers.stat is not set" in project.provio("config", "get", "servers.stat", code=2).stderr
    assert project.provio("config", "get", "record.pipe", "--as", "json").stdout == "true\n"
    assert project.provio("config", "get", "name").stdout == "y z\n"
    project.provio("config", "unset", "hash")
    project.provio("config", "unset", "record.stat")
    assert "hash" not in file.read_text() and "stat" not in file.read_text()
    done = project.provio("config", "unset", "hash", code=2)
    assert done.stderr == f"provio: hash is not set in {file}: provio config shows its source\n"


def test_a_setting_of_the_user_is_private(project: Project) -> None:
    """The folder is created, the file is private, and an overriding value is reported."""
    project.env["PROVIO_HASH"] = "false"
    said = project.provio("config", "set", "--user", "hash", "true").stderr
    file = Path(project.env["HOME"]) / ".config" / "provio" / "config.toml"
    assert said == f"hash is set in {file}; but PROVIO_HASH takes precedence\n"
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("hash = true\n", 0o600)
    assert project.provio("config", "path").stdout == f"user    {file}\nproject {project.path}/provio.toml (missing)\n"
    assert project.provio("config", "path", "--user").stdout == f"{file}\n"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("hahs", "1", "no key 'hahs': did you mean 'hash'? (provio config lists all)"),
        ("noise", "x", "'noise' is a table, with the keys noise.add, noise.keep: name one of them"),
        ("hash", "maybe", "hash: 'maybe' is not allowed (allowed: auto, all, off)"),
        ("detail", "cal", "detail: 'cal' is not allowed: did you mean 'call'? (allowed: file, op, call)"),
        ("record.pip", "true", "no class 'pip': did you mean 'pipe'? (provio config lists all)"),
        ("record.pipe", "no", "record: pipe: 'no' is not allowed: did you mean false? (allowed: true or false)"),
        ("record.stat", "maybe", "record: stat: 'maybe' is not allowed (allowed: true or false)"),
        ("name", "x\udcff", r"name: 'x\udcff' is not valid UTF-8, which settings files require"),
        ("domains./\udcff", "x", r"domains: '/\udcff' is not valid UTF-8, which settings files require"),
        ("credentials", "{}", "credentials is a secret, but other users can see command lines: write it into the file"),
    ],
)
def test_a_wrong_value_is_refused_and_nothing_is_written(alone: Path, key: str, value: str, said: str) -> None:
    """The message has the key, the nearest valid one, and the allowed values."""
    with pytest.raises(ConfigError) as raised:
        edit.change(alone, False, key, value)
    assert (str(raised.value), alone.exists()) == (said, False)


@pytest.mark.integration
def test_concurrent_changes_are_all_kept(project: Project) -> None:
    """By as many processes as there are classes; no temporary file is left."""
    calls = [[*provio_command(), "config", "set", f"record.{word}", "false"] for word in record_classes.SWITCHES]
    setting = [subprocess.Popen(call, cwd=project.path, env=project.env, stderr=subprocess.PIPE) for call in calls]
    assert [one.communicate(timeout=120)[1] and one.returncode for one in setting] == [0] * len(setting)
    found = tomllib.loads((project.path / "provio.toml").read_text())
    assert found == {"record": dict.fromkeys(record_classes.SWITCHES, False)}
    assert [path.name for path in project.path.glob(".*toml*")] == []


@pytest.mark.parametrize("kind", ["fifo", "device", "large"])
def test_only_a_plain_file_is_read_and_written(alone: Path, kind: str) -> None:
    """A FIFO without a writer, an infinite device, a terabyte: reported at once."""
    if kind == "fifo":
        os.mkfifo(alone)
    elif kind == "device":
        alone.symlink_to("/dev/zero")
    else:
        alone.touch()
        os.truncate(alone, 1 << 40)
    said = "is larger than 64 MiB" if kind == "large" else "is no regular file"
    with pytest.raises(ConfigError, match=rf"provio.toml: {said}"):
        load.load([alone.parent])
    with pytest.raises(ConfigError, match=rf"provio.toml: cannot be read \({said}\)"):
        edit.change(alone, False, "name", "x")


def test_a_full_disk_leaves_the_file_as_it_was(alone: Path) -> None:
    """And no temporary file."""
    alone.write_text("hash = true\n")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, limit[1]))
    try:
        with pytest.raises(ConfigError, match=r"provio.toml: cannot be written \(File too large\)"):
            edit.change(alone, False, "name", "x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert [(path.name, path.read_text()) for path in alone.parent.iterdir()] == [("provio.toml", "hash = true\n")]


def test_a_project_s_file_takes_no_setting_of_the_user(alone: Path) -> None:
    """As on reading."""
    for key, value in (("redact.keep", "X_TOKEN"), ("record.keep", "1 MB")):
        remedy = f"set it in .*config.toml or {KEYS[key].variable}"
        with pytest.raises(ConfigError, match=rf"provio.toml:2: {key}: is not allowed in a project's file: {remedy}"):
            edit.change(alone, False, key, value)
    alone.write_text("hash = = 1\n")
    with pytest.raises(ConfigError, match=r"provio.toml:1: not TOML: fix it first"):
        edit.change(alone, False, "name", "x")


def test_a_list_of_classes_becomes_a_table(alone: Path) -> None:
    """The classes that were set stay."""
    alone.write_text('record = ["stat", "-pipe"]\n')
    edit.change(alone, False, "record.environment", "false")
    assert tomllib.loads(alone.read_text()) == {"record": {"stat": True, "pipe": False, "environment": False}}


def test_names_with_dots_are_entries_of_tables(alone: Path) -> None:
    """A pattern is one name, with any characters."""
    edit.change(alone, False, "interpreters.oct*.8", '{no-script = ["--eval"]}')
    assert tomllib.loads(alone.read_text()) == {"interpreters": {"oct*.8": {"no-script": ["--eval"]}}}
    edit.remove(alone, False, "interpreters.oct*.8")
    assert tomllib.loads(alone.read_text()).get("interpreters", {}) == {}


@pytest.mark.parametrize("user", [True, False])
def test_a_new_file_shows_every_key_and_sets_none(alone: Path, user: bool) -> None:
    """Each key without its comment sign is valid, and has the default value."""
    text = edit.template(user)
    assert tomllib.loads(text) == {}
    keys = [key for key in KEYS if user or key not in schema.USERS_OWN]
    keys = [key for key in keys if not key.startswith("record.")]  # in the table `record`
    assert re.findall(r"(?m)^# (\S+) = ", text) == keys
    uncommented = re.sub(r"(?m)^# (\S+ = .*)$", r"\1", text)
    empty = [key for key in keys if KEYS[key].kind in (schema.TEXT, schema.SERVER)]  # a text may not be empty
    said = load.mistakes(alone, uncommented, user)
    assert [line.split(": ")[1] for line in said if ": credentials: " not in line] == empty
    edit.begin(alone, user)
    assert alone.read_text() == text
    with pytest.raises(ConfigError, match="already exists: provio config set changes it"):
        edit.begin(alone, user)


def test_every_default_as_shown_can_be_set(alone: Path) -> None:
    """`shown` writes valid TOML."""
    for row in edit.settings(Config()):
        assert tomllib.loads(f"value = {edit.shown(row.value)}")["value"] == row.value

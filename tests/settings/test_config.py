"""Settings: the precedence of layers, the source of each value, and the messages about wrong ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

from provio.base.errors import ConfigError
from provio.cli import settings_manual
from provio.settings import record_classes, schema
from provio.settings.load import load
from provio.settings.schema import KEYS, Config
from provio.settings.types import Interpreter

DOCS = Path(__file__).parent.parent.parent / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a user without settings; return the folder of a project without settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    for variable in (*schema.VARIABLES, "PROVIO_CONFIG", "PROVIO_HOME"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "user" / "provio").mkdir(parents=True)
    (tmp_path / "settings").mkdir()
    return tmp_path / "settings"


def write(folder: Path, text: str) -> Path:
    path = folder / "provio.toml"
    path.write_text(text, encoding="utf-8")
    return path


def values(found: Config) -> dict[str, Any]:
    """Return every value, by the name of its field."""
    return {name: value for name, value in vars(found).items() if name not in ("sources", "conclusions")}


ENDINGS = ("yaml", "yml", "json", "toml")
DEFAULTS = {
    "name": "",
    "campaign": "",
    "detail": "op",
    "record": {},
    "record_parameter_files": tuple(f"{n}.{e}" for n in "params parameters config hparams".split() for e in ENDINGS),
    "record_metric_files": tuple(f"{n}.{e}" for n in "metrics scores results".split() for e in ENDINGS),
    "record_values_limit": "64 kB",
    "record_metadata": True,
    "record_packages": True,
    "record_variables": ("OMP_*", "*_NUM_THREADS", "PYTHONHASHSEED", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES"),
    "record_git_diff": False,
    "record_keep": "0",
    "record_output": "off",
    "record_output_limit": "100 MB",
    "include": (),
    "exclude": (),
    "hdf5": "auto",
    "recognise": "on",
    "merge": "background",
    "hash": "auto",
    "own_runs": True,
    "capture_dir": "",
    "pack": True,
    "stores": (),
    "queries": (),
    "timeout": 0.0,
    "max_memory": "2 GB",
    "noise_add": (),
    "noise_keep": (),
    "redact_add": (),
    "redact_keep": (),
    "diff_expected": (),
    "domains": {},
    "ontology": (),
    "interpreters": {},
    "store": "",
    "servers": {},
    "credentials": {},
    "project_title": "",
    "project_description": "",
    "project_creators": {},
    "project_licence": "",
    "project_affiliation": "",
    "project_publisher": "",
    "project_funding": (),
    "project_identifiers": (),
}


def test_without_any_file_every_value_is_the_default_and_nothing_is_parsed(alone: Path) -> None:
    """Without a file: the defaults, and tomllib is not imported."""
    assert (values(load([alone])), dict(load([alone]).sources)) == (DEFAULTS, {})


def test_a_table_may_hold_classes_and_other_keys(alone: Path) -> None:
    """`record` is the table of the classes, and has keys of its own."""
    write(alone, '[record]\nuser = false\nparameter_files = ["*.ini"]\n')
    found = load([alone])
    assert (dict(found.record), found.record_parameter_files) == ({"user": False}, ("*.ini",))
    write(alone, "[record]\nmetric_files = []\n")
    assert (dict(load([alone]).record), load([alone]).record_metric_files) == ({}, ())


def test_each_layer_overrides_those_before_it(alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """User, project, environment, flags: the last one that sets a key wins, and is its source."""
    user = tmp_path / "user" / "provio" / "config.toml"
    user.write_text('name = "u"\ncampaign = "u"\ndetail = "file"\nhash = true\n', encoding="utf-8")
    project = write(alone, '# ours\ncampaign = "p"\ndetail = "call"\nrecord = ["list", "stat"]\n')
    monkeypatch.setenv("PROVIO_DETAIL", "op")
    monkeypatch.setenv("PROVIO_RECORD", "-stat")
    found = load([alone], {"hash": False, "name": None})
    told = {"name": "u", "campaign": "p", "detail": "op", "record": {"list": True, "stat": False}, "hash": "off"}
    assert values(found) == DEFAULTS | told
    assert dict(found.sources) == {
        "name": f"{user}:1",
        "campaign": f"{project}:2",
        "detail": "PROVIO_DETAIL",
        "record": "PROVIO_RECORD",
        "record.list": f"{project}:4",
        "record.stat": "PROVIO_RECORD",
        "hash": "--hash",
    }
    assert found.source("noise.add") == "default"


def test_the_first_folder_with_a_file_is_the_project_s(alone: Path, tmp_path: Path) -> None:
    """Next to `.provio`, before the root of the checkout."""
    write(tmp_path, 'name = "root"\n')
    assert load([alone, tmp_path]).name == "root"
    write(alone, 'name = "beside"\n')
    assert load([alone, tmp_path]).name == "beside"


def test_a_project_names_no_server_that_is_not_the_user_s(alone: Path, tmp_path: Path) -> None:
    """A project's file must not send data or passwords to a foreign server."""
    path = write(alone, 'store = "http://127.0.0.1:7878"\n')
    with pytest.raises(ConfigError, match=rf"{path}:1: store: a project's file names no server that is not yours"):
        load([alone])
    said: list[str] = []
    assert load([alone], forgive=said.append).store == "" and len(said) == 1
    own = tmp_path / "user" / "provio" / "config.toml"
    own.write_text('[servers."http://127.0.0.1:7878"]\n', encoding="utf-8")
    found = load([alone])
    assert (found.store, found.servers) == ("http://127.0.0.1:7878", {"http://127.0.0.1:7878": None})
    write(alone, '[servers."http://127.0.0.1:7878"]\nquery = "http://x/q"\nupdate = "/u"\ndata = "/d"\n')
    with pytest.raises(ConfigError, match="is not allowed in a project's file"):
        load([alone])


def test_a_named_file_replaces_the_project_s(alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PROVIO_CONFIG replaces provio.toml completely."""
    write(alone, 'name = "p"\ncampaign = "p"\n')
    other = tmp_path / "other.toml"
    other.write_text('name = "o"\n', encoding="utf-8")
    monkeypatch.setenv("PROVIO_CONFIG", str(other))
    assert values(load([alone])) == DEFAULTS | {"name": "o"}


def test_tables_and_lists_from_files_and_variables(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interpreters are merged by pattern; lists are replaced; a variable can have both."""
    text = '[interpreters."oct*"]\nvalue = ["-p"]\nno-script = ["-e"]\n[noise]\nadd = ["/a"]\nkeep = ["/k"]\n'
    (tmp_path / "user" / "provio" / "config.toml").write_text(text, encoding="utf-8")
    write(alone, 'noise.add = ["/b", "c/*"]\n[interpreters.R]\nvalue = ["-g"]\n')
    monkeypatch.setenv("PROVIO_INTERPRETERS", '{gawk = {value = ["-v"], no-script = []}}')
    monkeypatch.setenv("PROVIO_NOISE_KEEP", "/x:~/y")
    rules = {"oct*": Interpreter(("-p",), ("-e",)), "R": Interpreter(("-g",), ()), "gawk": Interpreter(("-v",), ())}
    expected = {"noise_add": ("/b", "c/*"), "noise_keep": ("/x", os.path.expanduser("~/y")), "interpreters": rules}
    assert values(load([alone])) == DEFAULTS | expected


KNOWN = "(provio config lists all)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nhahs = true\n", f":2: no key 'hahs': did you mean 'hash'? {KNOWN}"),
        ("[noise]\nadd = []\nkeap = []\n", f":3: no key 'noise.keap': did you mean 'noise.keep'? {KNOWN}"),
        ("[zzz]\nx = 1\n", f":1: no key 'zzz' {KNOWN}"),
        (
            'hash = "true"\n',
            ":1: hash: 'true' is not allowed (allowed: auto, all, off)",
        ),
        ('detail = "ops"\n', ":1: detail: 'ops' is not allowed: did you mean 'op'? (allowed: file, op, call)"),
        ("detail = true\n", ":1: detail: true is not allowed (allowed: file, op, call)"),
        ('record = "stat"\n', f":1: record: 'stat' is not allowed (allowed: {record_classes.ALLOWED})"),
        ('record = ["lst"]\n', f":1: record: 'lst' is not allowed: did you mean 'list'? {KNOWN}"),
        (
            "[record]\nstat = true\nenviroment = false\n",
            f":3: record: 'enviroment' is not allowed: did you mean 'environment'? {KNOWN}",
        ),
        ('record.file = "no"\n', ":1: record: file: 'no' is not allowed: did you mean false? (allowed: true or false)"),
        ('name = ""\n', ":1: name: '' is not allowed (allowed: a text of one line)"),
        ("noise = 3\n", ":1: noise: is a table, with the keys add, keep"),
        ("noise.add = [3]\n", ":1: noise.add: 3 is not allowed (allowed: a list of folders or globs)"),
        (
            '[interpreters.R]\nvalues = ["-g"]\n',
            ":1: interpreters: R: no key 'values': did you mean 'value'?",
        ),
        (
            '[interpreters.R]\nvalue = ["g"]\n',
            ":1: interpreters: R: value: 'g' is not allowed (allowed: a list of options, each beginning with - or +)",
        ),
        ("hash = true\nhash = = 1\n", ":2: not TOML: Invalid value"),
        ("hash = 1\nhahs = 2\n", ":1: hash: 1 is not allowed (allowed: auto, all, off) (and 1 more)"),
    ],
)
def test_an_error_has_file_line_key_suggestion_and_allowed_values(alone: Path, text: str, said: str) -> None:
    """Each message is complete: place, error, nearest valid name, allowed values."""
    path = write(alone, text)
    with pytest.raises(ConfigError) as raised:
        load([alone])
    assert str(raised.value) == f"{path}{said}"
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("text", ['exclude = ["/secret"]\nhash = = 1\n', '[redact]\nadd = ["PIN"\n'])
def test_errors_in_exclusions_are_never_ignored(alone: Path, text: str) -> None:
    """Rather nothing is recorded than data that a file with an error was meant to exclude."""
    write(alone, text)
    with pytest.raises(ConfigError, match=r"(exclude|redact.add): is not known, for this is not TOML"):
        load([alone], forgive=lambda _: None)


def test_a_tolerant_caller_gets_one_message_and_the_layer_below(alone: Path, tmp_path: Path) -> None:
    """A wrong value counts as not set; the rest of the file is used."""
    (tmp_path / "user" / "provio" / "config.toml").write_text('detail = "file"\n', encoding="utf-8")
    path = write(alone, 'detail = "ops"\nhash = 1\nname = "n"\n')
    said: list[str] = []
    assert values(load([alone], forgive=said.append)) == DEFAULTS | {"detail": "file", "name": "n"}
    told = "detail: 'ops' is not allowed: did you mean 'op'? (allowed: file, op, call) (and 1 more)"
    assert said == [f"{path}:1: {told}"]


def test_a_misspelt_variable_is_reported_and_a_foreign_one_is_not(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PROVIO_HAHS is a misspelt variable of provio; PROVIO_BUCKET_OF_ACME is another program's."""
    monkeypatch.setenv("PROVIO_BUCKET_OF_ACME", "x")
    assert values(load([alone])) == DEFAULTS
    monkeypatch.setenv("PROVIO_HAHS", "1")
    with pytest.raises(ConfigError, match=r"^PROVIO_HAHS: no such setting: did you mean 'PROVIO_HASH'\?$"):
        load([alone])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(), "is no regular file"),
        (lambda path: path.write_bytes(b"x = 1\n\xff"), "line 2 is not UTF-8"),
        (os.mkfifo, "is no regular file"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    ],
)
def test_an_invalid_file_of_settings_is_reported(alone: Path, make: Any, said: str) -> None:
    """A folder, bytes, a FIFO (never opened), a link to itself."""
    make(alone / "provio.toml")
    with pytest.raises(ConfigError) as raised:
        load([alone])
    assert str(raised.value) == f"{alone / 'provio.toml'}: {said}"


def test_a_file_of_another_user_is_used_only_if_it_is_named(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a `.provio` of another user."""
    path = write(alone, 'name = "p"\n')
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 4711)
    if owner == 0:
        os.chown(path, 4712, -1)
        owner = 4712
    with pytest.raises(ConfigError, match=f"belongs to user {owner}: set PROVIO_CONFIG="):
        load([alone])
    monkeypatch.setenv("PROVIO_CONFIG", str(path))
    assert load([alone]).name == "p"


def test_every_key_has_a_row_in_the_documentation() -> None:
    """Name, variable and default of each key are in docs/settings.md, which `make calls` writes."""
    assert DOCS.read_text(encoding="utf-8") == settings_manual.page(), "make calls"
    rows = [line.split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines() if " | `PROVIO_" in line]
    assert [(row[0].strip("| `"), row[1].strip("`")) for row in rows] == [(k.name, k.variable) for k in KEYS.values()]


@pytest.mark.integration
def test_a_run_takes_its_settings_from_the_project_and_flags_override_them(project: Project) -> None:
    """Name, campaign, detail and classes come from provio.toml; a flag wins."""
    write(project.path, 'name = "n"\ncampaign = "spring"\ndetail = "call"\nrecord = ["list"]\n')
    project.run("echo x > x")
    project.provio("run", "--quiet", "--campaign", "autumn", "--detail", "file", "--", "true")
    query = "SELECT ?name ?campaign ?detail { ?r a provio:Run ; provio:name ?name ; provio:campaign ?campaign ; "
    assert project.rows(query + "provio:detail ?detail } ORDER BY ?r") == [
        {"name": "n", "campaign": "spring", "detail": "call,list"},
        {"name": "n", "campaign": "autumn", "detail": "file,list"},
    ]
    assert "\ncampaign autumn\n" in project.provio("show", "last").stdout
    assert [line.split(",")[5] for line in project.provio("runs", "--as", "csv").stdout.splitlines()] == [
        "campaign", "spring", "autumn",
    ]  # fmt: skip


def test_a_wrong_setting_never_prevents_the_command(project: Project) -> None:
    """One line on stderr, and the command's own exit code; with --strict 125, and nothing is started."""
    path = write(project.path, "hahs = true\n")
    done = project.provio("run", "--", "sh", "-c", "echo out; exit 5", code=5)
    said = f"provio: {path}:1: no key 'hahs': did you mean 'hash'? {KNOWN}\n"
    assert (done.stdout, done.stderr.startswith(said)) == ("out\n", True)
    refused = project.provio("run", "--strict", "--", "touch", "x", code=125)
    assert (refused.stderr, (project.path / "x").exists()) == (said, False)


@pytest.mark.integration
def test_a_change_of_the_project_s_noise_affects_earlier_runs(project: Project) -> None:
    """The next query merges again: a folder is hidden, then shown, then hidden except for a glob."""
    (project.path / "soft").mkdir()
    (project.path / "soft" / "a.tab").write_text("a\n")
    (project.path / "soft" / "b.cfg").write_text("b\n")
    project.run("cat soft/?.* > out")  # a command line that names a file would show it
    assert project.data("out") == {"soft/a.tab", "soft/b.cfg"}
    project.sh("rm -r .provio/*")
    (project.path / "read.py").write_text("import os\nprint(*(open('soft/' + n).read() for n in os.listdir('soft')))\n")
    project.run("python3 read.py > out")
    assert project.data("out") == {"soft/a.tab", "soft/b.cfg"}
    write(project.path, 'noise.add = ["soft"]\n')
    assert (project.data("out"), project.data("out", "--all") >= {"soft/a.tab", "soft/b.cfg"}) == (set(), True)
    write(project.path, '[noise]\nadd = ["soft"]\nkeep = ["so*/*.tab"]\n')
    assert project.data("out") == {"soft/a.tab"}
    (project.path / "provio.toml").unlink()
    assert project.data("out") == {"soft/a.tab", "soft/b.cfg"}


@pytest.mark.integration
def test_an_interpreter_of_the_configuration_has_its_script_as_its_program(project: Project) -> None:
    """A copy of python under a name that provio does not know; `-X` takes a value, as the table states."""
    project.sh('mkdir bin && cp "$(readlink -f /usr/bin/python3)" bin/scribe-2 && echo "print(1)" > s.py')
    project.run("bin/scribe-2 -X utf8 s.py > out")
    assert project.data("out") == {"s.py"}
    write(project.path, '[interpreters."scribe*"]\nvalue = ["-X"]\nno-script = ["-c"]\n')
    assert project.data("out") == set()
    assert [n["label"] for n in project.lineage("out")["nodes"] if n["type"] == "Program"] == ["s.py"]

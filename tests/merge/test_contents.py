"""Parameters that programs read from files, and metrics that they wrote into files, as any YAML, JSON or TOML library
sees them."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from conftest import Project, in_memory

tmp_path = in_memory
Load = Callable[[str], object]
PYTHON = sys.executable
SETTINGS = (
    "?c a provio:Configuration ; provio:name ?file ; prov:hadMember ?s . ?s provio:name ?name ; provio:value ?value"
)
METRICS = "?m a provio:Metric ; provio:name ?name ; provio:value ?value"
REASONS = "SELECT ?reason { ?gap a provio:Gap ; provio:reason ?reason } ORDER BY ?reason"


def settings(project: Project, file: str = "params.yaml") -> dict[str, str]:
    """Return the parameters of the configurations of a name, as texts."""
    rows = project.rows(f"SELECT ?file ?name ?value {{ {SETTINGS} }}")
    return {row["name"]: row["value"] for row in rows if row["file"] == file}


def metrics(project: Project) -> list[tuple[str, str]]:
    return sorted((row["name"], row["value"]) for row in project.rows(f"SELECT ?name ?value {{ {METRICS} }}"))


def reasons(project: Project) -> list[str]:
    return [row["reason"] for row in project.rows(REASONS)]


def flat(value: object, above: str = "") -> dict[str, object]:
    """Flatten loaded values, independently of provio."""
    if isinstance(value, dict):
        pairs = [(str(name), one) for name, one in value.items()]
    elif isinstance(value, list):
        pairs = [(str(place), one) for place, one in enumerate(value)]
    else:
        return {above: value}
    return {name: one for key, part in pairs for name, one in flat(part, f"{above}.{key}" if above else key).items()}


def same(text: str, value: object) -> bool:
    """Return whether the text of a recorded value is a loaded value."""
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, float):
        return float(text.replace("INF", "inf")) == value or (value != value and text == "NaN")
    if isinstance(value, int):
        return int(text) == value
    return datetime.fromisoformat(text) == value if isinstance(value, datetime) else text == str(value)


YAML = """
lr: 0.1
half: .5
exponent: 1e-3
hexadecimal: 0x10
negative: -7
yes: true
day: 2026-11-27
moment: 2026-11-27T12:00:00Z
nothing:
text: "é ü"
huge: 99999999999999999999
not a number: .nan
base: &base {a: 1, b: [x, 2, [3.5]]}
train: {<<: *base, a: 2, deep: {er: {est: 1}}}
"""
JSON = '{"lr": 0.25, "lr": 0.5, "sizes": [1, 2], "huge": 9223372036854775808, "nested": {"": "x", "t": true}, "n": NaN}'
TOML = 'lr = 1_000\nwhen = 2026-11-27T12:00:00Z\n[a."b c"]\nd = [{e = 1}, {e = inf}]\n'


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "text", "load"),
    [("params.yaml", YAML, yaml.safe_load), ("hparams.json", JSON, json.loads), ("config.toml", TOML, tomllib.loads)],
)
def test_parameters_are_those_that_the_library_of_the_format_loads(
    project: Project, name: str, text: str, load: Load
) -> None:
    """Each with its value; the process that read the file has them, and no other."""
    (project.path / name).write_text(text)
    project.run(f"wc {name}; cp {name} copy; wc copy")
    expected, found = flat(load(text)), settings(project, name)
    assert found.keys() == expected.keys()
    assert [key for key in found if not same(found[key], expected[key])] == []
    rows = project.rows(
        "SELECT ?argv { ?process provio:argv ?argv . ?phase provio:partOf ?process ; prov:used ?c . "
        "?c a provio:Configuration }"
    )
    assert [row["argv"] for row in rows] == [f"wc {name}"]
    assert reasons(project) == []


@pytest.mark.integration
def test_numbers_of_written_files_are_metrics(project: Project) -> None:
    """Of each format and depth; not texts and Booleans. `best` ranks them by the parameters of the process."""
    program = "import json; p = json.load(open('params.json')); json.dump({'acc': p['lr'] * 2, 'by': {'n': [1, 2.5]}, "
    program += "'huge': 2 ** 70, 'text': '7', 'ok': True, 'nan': float('nan')}, open('metrics.json', 'w'))"
    for rate in (0.25, 0.375):
        (project.path / "params.json").write_text(json.dumps({"lr": rate}))
        project.provio("run", "--quiet", "--", PYTHON, "-c", program)
        expected = flat(json.loads((project.path / "metrics.json").read_text()))
    kept = {name: value for name, value in expected.items() if type(value) in (int, float) and name != "acc"}
    found = metrics(project)
    assert [name for name, _ in found if name != "acc"] == sorted([*kept, *kept])
    assert [pair for pair in found if pair[0] == "acc"] == [("acc", "0.5"), ("acc", "0.75")]
    assert all(same(value, float(kept[name])) for name, value in found if name != "acc")
    rows = json.loads(project.provio("best", "acc", "--as", "json").stdout)
    assert [(row["value"], row["settings"]) for row in rows] == [(0.75, {"lr": 0.375}), (0.5, {"lr": 0.25})]
    assert "lr" in project.provio("diff", "last~1", "last", code=1).stdout
    assert "acc 0.75" in project.provio("show", "last").stdout
    assert "lr 0.375" in project.provio("why", "metrics.json").stdout


@pytest.mark.integration
def test_a_version_that_is_not_there_any_more_has_a_gap_and_no_values(project: Project) -> None:
    """A later process of the same run changed it; or the file was changed, or removed, between the run of a rank, whose
    end no process waits for, and the merge. Each process has one gap."""
    program = project.path / "train.py"
    program.write_text(
        "import json, os\nlr = json.load(open('params.json'))['lr']\nfor step in range(3):\n"
        "    json.dump({'loss': lr + step}, open('metrics.json.new', 'w'))\n"
        "    os.replace('metrics.json.new', 'metrics.json')\n"
    )
    project.run(f'for lr in 1 2 3; do echo "{{\\"lr\\": $lr}}" > params.json; {PYTHON} train.py; done')
    assert (settings(project, "params.json"), metrics(project)) == ({"lr": "3"}, [("loss", "5")])
    found = [reason.partition(": ")[2] for reason in reasons(project)]
    assert sorted(one for one in found if "parameters" in one) == ["its parameters are not known"] * 2
    project.env |= {
        "PROVIO_MERGE": "ask",
        "OMPI_COMM_WORLD_RANK": "0",
        "OMPI_COMM_WORLD_SIZE": "1",
        "PROVIO_RUN": "one",
    }
    project.run("tac params.json > scores.json; tac params.json > results.json")
    os.remove(project.path / "scores.json")
    (project.path / "results.json").write_text('{"lr": 1000}')
    assert metrics(project) == [("loss", "5")]
    assert {
        "scores.json was removed before it was read: its metrics are not known",
        "results.json was changed before it was read: its metrics are not known",
    } <= set(reasons(project))


@pytest.mark.integration
def test_values_stay_when_files_change_after_the_merge(project: Project) -> None:
    """A rebuilt store has the same values and gaps: the run folder contains them."""
    (project.path / "params.toml").write_text("lr = 1\n")
    project.run("wc params.toml; echo '{\"a\": 1' > metrics.json")
    (project.path / "params.toml").write_text("lr = 2\n")
    before = settings(project, "params.toml"), metrics(project), reasons(project)
    project.provio("merge", "--rebuild")
    assert before == ({"lr": "1"}, [], ["metrics.json is no valid JSON (line 2): its metrics are not known"])
    assert (settings(project, "params.toml"), metrics(project), reasons(project)) == before


BOMB = b"".join(b"x%d: &x%d {<<: [*x%d, *x%d]}\n" % (n, n, n - 1, n - 1) for n in range(1, 40))
BOMB = b"x0: &x0 {a: 1}\n" + BOMB


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("params.yaml", b"a: 1\nb: [\n", " is no valid YAML (line 3)"),
        ("params.yaml", b"a: *hunter2\n", " is no valid YAML (line 1)"),
        ("params.yaml", b"a: \xff\xfe\n", " is no valid YAML"),
        ("params.yaml", b"[" * 50_000, " is nested too deeply"),
        ("params.yaml", BOMB, ": its aliases stand for too many values"),
        ("params.json", b'{"a": 1,\n "b": }', " is no valid JSON (line 2)"),
        ("params.json", b'{\n"\xff": 1}', " is not UTF-8 (line 2)"),
        ("params.json", b"[" * 50_000, " is nested too deeply"),
        ("params.toml", b"a = 1\na = 2\n", " is no valid TOML (line 2)"),
        ("params.yaml", b"# " + b"x" * 64_000, " is larger than 64,000 bytes"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_broken_file_has_a_gap_that_states_the_reason(
    project: Project, name: str, content: bytes, reason: str
) -> None:
    """In plain words and without text of the file; the run and its merge succeed."""
    (project.path / name).write_bytes(content)
    project.run(f"wc {name}")
    assert reasons(project) == [f"{name}{reason}: its parameters are not known"]
    assert (settings(project, name), "hunter2" in project.provio("export", "--as", "nquads").stdout) == ({}, False)


@pytest.mark.integration
def test_of_a_large_file_the_first_values_are_kept(project: Project) -> None:
    """A thousand, and a gap; a billion values of YAML, made by aliases, cost no more."""
    lines = ["x0: &x0 {a: 1, b: 2}"] + [f"x{n}: &x{n} {{a: *x{n - 1}, b: *x{n - 1}}}" for n in range(1, 28)]
    (project.path / "params.yaml").write_text("\n".join(lines))
    project.run("wc params.yaml")
    assert len(settings(project)) == 1000
    assert reasons(project) == ["params.yaml has more than 1,000 values: its other parameters are not known"]


@pytest.mark.integration
def test_a_secret_in_a_parameter_file_is_nowhere(project: Project) -> None:
    """By its name, by its form and by `redact.add`: in no file of `.provio`, no export and no answer."""
    secrets = ["correct-horse", "ghp_" + "a1B2" * 9, "12345678", "stable-battery", "open-sesame"]
    (project.path / "params.yaml").write_text(
        f"db: {{password: {secrets[0]}, url: 'https://ada:{secrets[3]}@host/x'}}\nnote: {secrets[1]}\n"
        f"pin: {secrets[2]}\napi_keys: [{secrets[4]}]\nlr: 1\n"
    )
    project.env["PROVIO_REDACT_ADD"] = "pin"
    (project.path / "numbers").write_text('{"passwords": [12345678], "loss": 1}')
    project.run("wc params.yaml; tac numbers > metrics.json")
    outputs = [project.provio("show", "last").stdout, project.provio("export", "--as", "nquads").stdout]
    outputs += [project.provio("query", "--as", "json", "SELECT * { ?s ?p ?o }").stdout]
    everywhere = [path.read_bytes() for path in (project.path / ".provio").rglob("*") if path.is_file()]
    everywhere += [text.encode() for text in outputs]
    assert settings(project)["lr"] == "1"
    assert [secret for secret in secrets if any(secret.encode() in text for text in everywhere)] == []


@pytest.mark.integration
def test_the_settings_choose_the_files(project: Project) -> None:
    """An empty list: no file; other globs: other files; a larger limit: larger files."""
    (project.path / "params.json").write_text('{"a": 1}')
    (project.path / "run 1.ini").write_text("[s]\nb = 2\n")
    (project.path / "provio.toml").write_text('[record]\nparameter_files = []\nmetric_files = ["*.out.json"]\n')
    project.run("wc params.json 'run 1.ini'; echo '{\"c\": 3}' > a.out.json; echo '{\"d\": 3}' > metrics.json")
    assert (settings(project, "params.json"), metrics(project)) == ({}, [("c", "3")])
    (project.path / "provio.toml").write_text('[record]\nuser = false\nparameter_files = ["run*.ini"]\n')
    project.run("wc 'run 1.ini'")
    assert settings(project, "run 1.ini") == {"s.b": "2"}
    (project.path / "provio.toml").write_text("[record]\nconfiguration = false\n")
    project.run("wc params.json")
    assert settings(project, "params.json") == {}


@pytest.mark.integration
def test_odd_names_and_kinds_of_files(project: Project) -> None:
    """A folder with a name that is not UTF-8 is no obstacle; a FIFO, an empty file and a folder with such a name have
    no values, and the merge does not wait for them."""
    folder = Path(os.fsdecode(os.fsencode(project.path) + b"/odd \xff\nname"))
    folder.mkdir()
    (folder / "params.json").write_text('{"a": 1}')
    (project.path / "params.yaml").touch()
    (project.path / "config.yaml").mkdir()
    os.mkfifo(project.path / "params.toml")
    project.run("wc odd*/params.json params.yaml; ls config.yaml; (cat params.toml > y) & echo x > params.toml; wait")
    rows = project.rows(f"SELECT ?file ?name ?value {{ {SETTINGS} }}")
    assert [(row["name"], row["value"]) for row in rows] == [("a", "1")]
    assert reasons(project) == []


def test_files_of_one_name_outside_the_working_folder_are_two_configurations(project: Project) -> None:
    """Named by the path from the working folder; with only the root folder in common, by the whole path."""
    for name, text in (("a", "lr: 0.1"), ("b", "depth: 3"), ("work", "n: 1")):
        (project.path / name).mkdir()
        (project.path / name / "params.yaml").write_text(text)
    command = ["run", "--quiet", "--", "grep", "-h", ":", "../a/params.yaml", "../b/params.yaml", "params.yaml"]
    project.provio(*command, cwd=project.path / "work")
    rows = project.rows(f"SELECT ?file ?name ?value {{ {SETTINGS} }}")
    assert {(row["file"], row["name"], row["value"]) for row in rows} == {
        ("../a/params.yaml", "lr", "0.1"), ("../b/params.yaml", "depth", "3"), ("params.yaml", "n", "1"),
    }  # fmt: skip
    answer = project.answer("params", "last", "--all", "--as", "json")
    assert len(json.loads(answer)) == 1
    assert all(f'"{name}"' in answer for name in ("lr", "depth", "n")), answer
    env = {**project.env, "PROVIO_HOME": str(project.path / ".provio")}
    project.provio("run", "--quiet", "--", "cat", f"{project.path}/a/params.yaml", cwd="/etc", env=env)
    rows = project.rows(f"SELECT ?file {{ {SETTINGS} }}")
    assert f"{project.path}/a/params.yaml" in {row["file"] for row in rows}

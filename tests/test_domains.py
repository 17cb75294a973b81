"""`domains`: storage that has one name on every host; a file of it is one file wherever it is mounted."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from conftest import Project

from provio import environment
from provio.digests import Digests
from provio.errors import ConfigError
from provio.facts import Facts, Trace
from provio.identity import Identity
from provio.settings import DOMAINS


def identity(run: str, device: str, point: str, domain: str) -> Identity:
    """That of a run on a host where a storage has this device and mount point."""
    mounts = [
        {"mountPoint": "/", "root": "/", "device": "1:1", "storageDomain": f"{run}-disk"},
        {"mountPoint": point, "root": "/", "device": device, "storageDomain": domain},
    ]
    return Identity(Trace(Path("/"), run, {"host": run}, mounts, {}, [], [], Digests()))


def test_a_file_is_the_same_under_two_mount_points_of_one_domain() -> None:
    """Name and version, whatever device and path the hosts have for it."""
    one, other = identity("a", "0:40", "/scratch", "lab"), identity("b", "0:77", "/mnt/lab", "lab")
    assert one.file(b"/scratch/x/y", "0:40") == other.file(b"/mnt/lab/x/y", "0:77") == "file://lab/x/y"
    facts = [Facts(device, 5, 6, 7, 7, 8) for device in ("0:40", "0:77")]
    assert one.version(facts[0]) == other.version(facts[1])
    assert one.file(b"/x/y", "1:1") != other.file(b"/x/y", "1:1")


@pytest.mark.slow
def test_a_run_and_a_question_know_storage_by_the_name_it_was_given(project: Project) -> None:
    """Also of memory, which has no name beyond a boot."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        (project.path / "provio.toml").write_text('[domains]\n"/dev/shm" = "lab scratch"\n"/not/there" = "x"\n')
        project.run(f"echo x > {memory}/in; cat {memory}/in > out")
        names = {row["f"] for row in project.rows("SELECT ?f { ?f a provio:File ; provio:path ?p }")}
        assert f"file://lab%20scratch{memory.removeprefix('/dev/shm')}/in" in names
        assert {node["type"] for node in project.lineage(f"{memory}/in")["nodes"]} >= {"FileVersion", "Program"}
        assert f"{memory}/in" in {os.path.normpath(project.path / name) for name in project.data("out")}


def test_all_mounts_of_a_storage_have_its_name() -> None:
    """And no other has."""
    device = f"{os.major(Path('/').stat().st_dev)}:{os.minor(Path('/').stat().st_dev)}"
    found = environment.mounts(domains={"/": "root"})
    assert {mount.domain for mount in found if mount.device == device} <= {"root"}
    assert all(mount.domain != "root" for mount in found if mount.device != device)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"scratch": "x"}, "'scratch' is not allowed (allowed: a folder from the root, or from ~)"),
        ({"/s": ""}, "/s: '' is not allowed (allowed: a name, the same on every host)"),
        ("x", '\'x\' is not allowed (allowed: a table, such as {"/scratch" = "lab-scratch"})'),
    ],
)
def test_what_is_no_name_or_folder_is_said(value: object, said: str) -> None:
    """What is allowed."""
    with pytest.raises(ValueError) as raised:
        DOMAINS.check(value)
    assert str(raised.value) == said


def test_a_variable_holds_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a file."""
    from provio import config

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PROVIO_DOMAINS", '{"/s/" = "lab"}')
    assert config.load([]).domains == {"/s": "lab"}
    monkeypatch.setenv("PROVIO_DOMAINS", '{"/s/" = 3}')
    with pytest.raises(ConfigError, match=r"^PROVIO_DOMAINS: domains: /s/: 3 is not allowed"):
        config.load([])

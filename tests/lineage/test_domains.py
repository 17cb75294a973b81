"""`domains`: storage with the same name on every host; its files have one identity at any mount point."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import Project
from filesystems import mount

from provio.base.errors import ConfigError
from provio.lineage.identity import Identity
from provio.settings.types import DOMAINS
from provio.system import statx
from provio.system.statx import Facts
from provio.trace.digests import Digests
from provio.trace.run_facts import Trace


def identity(run: str, device: str, point: str, domain: str) -> Identity:
    """Return the identity of a run on a host with this device and mount point of a storage."""
    mounts = [
        {"mountPoint": "/", "root": "/", "device": "1:1", "storageDomain": f"{run}-disk"},
        {"mountPoint": point, "root": "/", "device": device, "storageDomain": domain},
    ]
    return Identity(Trace(Path("/"), run, {"host": run}, mounts, {}, [], [], Digests()))


def test_a_file_is_the_same_under_two_mount_points_of_one_domain() -> None:
    """Name and version, for any device and path on the hosts."""
    one, other = identity("a", "0:40", "/scratch", "lab"), identity("b", "0:77", "/mnt/lab", "lab")
    assert one.file(b"/scratch/x/y", "0:40") == other.file(b"/mnt/lab/x/y", "0:77") == "file://lab/x/y"
    facts = [Facts(device, 5, 6, 7, 7, 8) for device in ("0:40", "0:77")]
    assert one.version(facts[0]) == other.version(facts[1])
    assert one.file(b"/x/y", "1:1") != other.file(b"/x/y", "1:1")


@pytest.mark.integration
def test_a_run_and_a_question_know_storage_by_the_name_it_was_given(project: Project) -> None:
    """Also memory file systems, which have no name beyond a boot."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        (project.path / "provio.toml").write_text('[domains]\n"/dev/shm" = "lab scratch"\n"/not/there" = "x"\n')
        project.run(f"echo x > {memory}/in; cat {memory}/in > out")
        names = {row["f"] for row in project.rows("SELECT ?f { ?f a provio:File ; provio:path ?p }")}
        assert f"file://lab%20scratch{memory.removeprefix('/dev/shm')}/in" in names
        assert {node["type"] for node in project.lineage(f"{memory}/in")["nodes"]} >= {"FileVersion", "Program"}
        assert f"{memory}/in" in {os.path.normpath(project.path / name) for name in project.data("out")}


def test_all_mounts_of_a_storage_have_its_name() -> None:
    """And no other mount has it."""
    device = f"{os.major(Path('/').stat().st_dev)}:{os.minor(Path('/').stat().st_dev)}"
    found = statx.mounts(domains={"/": "root"})
    assert {mount.domain for mount in found if mount.device == device} <= {"root"}
    assert all(mount.domain != "root" for mount in found if mount.device != device)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"scratch": "x"}, "'scratch' is not allowed (allowed: an absolute path, or one that starts with ~)"),
        ({"/s": ""}, "/s: '' is not allowed (allowed: a name, the same on every host)"),
        ("x", '\'x\' is not allowed (allowed: a table, such as {"/scratch" = "lab-scratch"})'),
    ],
)
def test_an_invalid_name_or_folder_is_reported(value: object, said: str) -> None:
    """The error message lists the permitted forms."""
    with pytest.raises(ValueError) as raised:
        DOMAINS.check(value)
    assert str(raised.value) == said


def test_a_variable_holds_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a file."""
    from provio.settings import load

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PROVIO_DOMAINS", '{"/s/" = "lab"}')
    assert load.load([]).domains == {"/s": "lab"}
    monkeypatch.setenv("PROVIO_DOMAINS", '{"/s/" = 3}')
    with pytest.raises(ConfigError, match=r"^PROVIO_DOMAINS: domains: /s/: 3 is not allowed"):
        load.load([])


CEPH = "2de6b8a4-1f0c-4e5e-9c3b-9f3a1d0e7c11.cephfs=/volumes/lab"
# A real line of mountinfo, and the name of the storage: the same on every host that mounts it.
LINES = [
    ("312 28 0:52 / /home rw shared:164 - nfs4 filer:/export/home rw,vers=4.2,addr=10.1.0.2", "filer:/export/home"),
    ("313 28 0:53 / /old rw - nfs 10.1.0.2:/vol/old rw,vers=3,proto=tcp", "10.1.0.2:/vol/old"),
    ("402 28 0:61 / /scratch rw - lustre 10.2.0.1@o2ib:10.2.0.2@o2ib:/work rw", "10.2.0.1@o2ib:10.2.0.2@o2ib:/work"),
    ("403 28 0:62 / /gpfs rw,relatime - gpfs gpfs0 rw,relatime", "gpfs0"),
    ("404 28 0:63 / /gpfs rw,relatime - gpfs /dev/gpfs0 rw,relatime", "gpfs0"),
    ("405 28 0:64 / /ceph rw,relatime - ceph mon-b:6789,mon-a:6789:/lab rw,name=ada,acl", "mon-a:6789,mon-b:6789:/lab"),
    (f"406 28 0:65 / /ceph rw,relatime - ceph ada@{CEPH} rw,mon_addr=10.3.0.1:3300", CEPH),
    (f"407 28 0:66 / /ceph rw,relatime - ceph bob@{CEPH} rw,mon_addr=10.3.0.2:3300", CEPH),
    ("408 28 0:67 / /win rw - cifs //server/share rw,username=ada", "//server/share"),
    ("409 28 0:68 / /b rw,relatime - beegfs beegfs_nodev rw,sysMgmtdHost=head01", "beegfs:head01:8008"),
]  # fmt: skip
# Storage local to the host, or without a name that other hosts know.
OWN = [
    "500 28 0:70 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w",
    "501 28 0:71 / /tmp rw - tmpfs tmpfs rw,size=1g",
    "502 28 0:72 / /ceph rw - fuse.ceph-fuse ceph-fuse rw,user_id=0",
    "503 28 0:73 / /n rw - nfs none rw",
    "504 28 0:74 / /b rw - beegfs beegfs_nodev rw,cfgFile=/not/there",
    "505 28 253:0 / /data rw - ext4 /dev/mapper/data rw",
    "506 28 0:75 / /remote rw - fuse.sshfs filer:/export rw,user_id=0",
]


@pytest.mark.parametrize(("line", "name"), LINES)
def test_a_shared_mount_has_the_name_that_all_hosts_see(line: str, name: str) -> None:
    """Without the parts of the description that are specific to a mount."""
    (mount,) = statx.parsed(line.encode())
    assert statx.shared(mount.file_system, mount.source, mount.options) == name


@pytest.mark.parametrize("line", OWN)
def test_storage_local_to_a_host_has_no_such_name(line: str) -> None:
    """Two overlays, or two tmpfs, are never the same storage because of their names."""
    (mount,) = statx.parsed(line.encode())
    assert statx.shared(mount.file_system, mount.source, mount.options) == ""


def test_beegfs_is_named_by_its_server(tmp_path: Path) -> None:
    """From the client's configuration file, because all mounts have the same source."""
    settings = tmp_path / "beegfs.conf"
    settings.write_text("# client\nsysMgmtdHost          = head02\nconnMgmtdPort = 8018\n")
    assert statx.shared("beegfs", "beegfs_nodev", f"rw,cfgFile={settings},_netdev") == "beegfs:head02:8018"


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "overlay"])
def test_local_storage_is_distinguished(tmp_path: Path, kind: str) -> None:
    """A disk is named by its UUID, which is the same after a new mount; storage without a permanent name is named by
    the boot."""
    with ExitStack() as undo:
        for name in ("one", "other"):
            _mounted(tmp_path, kind, name, undo)
        found = {mount.point: mount.domain for mount in statx.mounts()}
        one, other = (found[os.fsencode(tmp_path / name)] for name in ("one", "other"))
        assert one != other
        assert "overlay" not in (one, other)
        assert "tmpfs" not in (one, other)
        if kind in ("ext4", "xfs"):
            assert re.fullmatch(r"[0-9a-f]{32}", one)
            subprocess.run(["mount", "--bind", tmp_path / "one", tmp_path], check=True)
            undo.callback(subprocess.run, ["umount", "--lazy", tmp_path], check=True)
            again = {mount.point: mount.domain for mount in statx.mounts()}
            assert again[os.fsencode(tmp_path)] == one


def _mounted(folder: Path, kind: str, name: str, undo: ExitStack) -> None:
    if kind != "overlay":
        mount(folder / name, kind, undo)
        return
    mount(folder / f"{name}.disk", "tmpfs", undo)
    for part in ("lower", "upper", "work"):
        (folder / f"{name}.disk" / part).mkdir()
    (folder / name).mkdir()
    disk = folder / f"{name}.disk"
    options = f"lowerdir={disk}/lower,upperdir={disk}/upper,workdir={disk}/work"
    done = subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", options, folder / name], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"needs the right to mount an overlay: {done.stderr.strip()}")
    undo.callback(subprocess.run, ["umount", "--lazy", folder / name], check=True)


def test_a_mount_point_holds_what_lies_below_it_alone() -> None:
    """`/data` is no folder of `/database`; the nearest mount counts, a mounted folder keeps its place in its storage,
    and a file that only seems to be on a device has the name of that device."""
    mounts = [
        {"mountPoint": "/", "root": "/", "device": "1:1", "storageDomain": "disk"},
        {"mountPoint": "/data", "root": "/", "device": "0:40", "storageDomain": "lab"},
        {"mountPoint": "/data/deep", "root": "/", "device": "0:40", "storageDomain": "deep lab"},
        {"mountPoint": "/bound", "root": "/home/ada", "device": "1:1", "storageDomain": "disk"},
    ]
    found = Identity(Trace(Path("/"), "a", {"host": "node", "bootId": "b~1"}, mounts, {}, [], [], Digests()))
    names = {
        (b"/data/x", "0:40"): "file://lab/x",
        (b"/data", "0:40"): "file://lab",
        (b"/database/x", "0:40"): "file://deep%20lab/database/x",
        (b"/data/deep/x", "0:40"): "file://deep%20lab/x",
        (b"/data/deeper/x", "0:40"): "file://lab/deeper/x",
        (b"/bound/x", "1:1"): "file://disk/home/ada/x",
        (b"/boundless/x", "1:1"): "file://disk/boundless/x",
        (b"/x", "9:9"): "file://node.b%7E1.9%3A9/x",
    }
    assert {key: found.file(*key) for key in names} == names

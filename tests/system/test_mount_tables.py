"""The same storage under other names, in another mount namespace: one File, one version."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import Project

from provio.system import statx
from provio.trace.mount_names import UNKNOWN, MountTables, Table, _Outside

HOST = "https://w3id.org/provio/run/r/h/"
INSIDE = rb"""45 66 254:0 /images/deb / ro,relatime - ext4 /dev/vda rw
46 45 0:21 / /proc rw,relatime - proc proc rw
89 45 254:0 /home/ada /scratch rw,relatime - ext4 /dev/vda rw
90 89 0:50 / /scratch/tmp rw,relatime - tmpfs none rw
91 45 254:1 /a\040b /data rw,relatime - ext4 /dev/vdb rw
92 45 254:0 /gone//deleted /etc/passwd rw,relatime - ext4 /dev/vda rw
93 91 254:1 /other /data rw,relatime - ext4 /dev/vdb rw
"""


def table() -> Table:
    outside = [_Outside("254:0", b"", b""), _Outside("254:1", b"/a b", b"/mnt/ab"), _Outside("254:1", b"", b"/vdb")]
    return Table(statx.parsed(INSIDE), outside)


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (b"/", b"/images/deb"),
        (b"/usr/bin/python3", b"/images/deb/usr/bin/python3"),
        (b"/scratch", b"/home/ada"),
        (b"/scratch/x y\xff", b"/home/ada/x y\xff"),
        (b"/scratch/tmp/x", b"/scratch/tmp/x"),  # seen inside alone
        (b"/workshop/x", b"/images/deb/workshop/x"),
        (b"/data/x", b"/vdb/other/x"),  # the last mount is on top
        (b"/etc/passwd", b"/etc/passwd"),
        (b"@abstract", b"@abstract"),
    ],
)
def test_a_name_inside_is_a_name_outside(inside: bytes, outside: bytes) -> None:
    """By the mounts inside to file system and folder, and from there by those outside."""
    assert table().outside(inside) == outside


def test_a_table_whose_mounts_lie_on_each_other_ends() -> None:
    """Only a forged trace has one."""
    lines = rb"""1 2 254:0 /a / rw - ext4 /dev/vda rw
2 1 254:0 /b / rw - ext4 /dev/vda rw
"""
    assert Table(statx.parsed(lines), []).outside(b"/x/y") == b"/x/y"


def test_a_truncated_table_is_used_as_far_as_it_goes() -> None:
    """A line counts for nothing until its folder is written whole."""
    whole = [INSIDE.index(b"o,relatime"), INSIDE.index(b"w,relatime", 120)]
    for size in range(len(INSIDE)):
        expected = [b"/scratch/x", b"/images/deb/scratch/x", b"/home/ada/x"][sum(size >= end for end in whole)]
        found = Table(statx.parsed(INSIDE[:size]), [_Outside("254:0", b"", b"")])
        assert found.outside(b"/scratch/x") == expected, size


def test_records_are_read_by_the_table_of_their_image() -> None:
    """Those of a forked child of a vfork, in the same file, too; those of others stay as they are."""
    tables = MountTables([{"device": "254:0", "root": "/", "mountPoint": "/"}])
    assert tables.takes({f"{HOST}mounts/1.2": {"a": "MountTable", "table": INSIDE.decode()}}, "0.mounts.1.2.ttl", HOST)
    records = {
        f"{HOST}7.8.0/": {"a": "Process", "mounts": "1.2", "cwd": "/scratch"},
        f"{HOST}7.8.v/o1": {"a": "FileVersion", "pathEncoded": "/scratch/%FF"},
    }
    assert not tables.takes(records, "7.8.0.0.ttl", HOST)
    assert records[f"{HOST}7.8.0/"]["cwd"] == "/home/ada"
    assert records[f"{HOST}7.8.v/o1"]["pathEncoded"] == "/home/ada/%FF"
    other = {f"{HOST}7.9.0/o1": {"a": "FileVersion", "path": "/scratch/x"}}
    tables.takes(other, "7.9.0.0.ttl", HOST)
    assert other[f"{HOST}7.9.0/o1"]["path"] == "/scratch/x"


def namespaces() -> None:
    """Skip the test if this machine allows no mount namespace."""
    made = subprocess.run(["unshare", "-m", "mount", "--bind", "/", "/mnt"], capture_output=True, check=False)
    if os.geteuid() != 0 or made.returncode != 0:
        pytest.skip("needs root, and a mount namespace of its own")


@pytest.mark.integration
def test_one_file_and_one_version(project: Project) -> None:
    """Written there, renamed there, read here under another name: one File, one version, one lineage."""
    namespaces()
    project.sh("mkdir data 'a b'; echo in > data/in; echo x > 'a b/x'")
    steps = "cd /mnt && cat in > half && mv half whole && cat /srv/x whole > both"
    project.run(f'unshare -m sh -c \'mount --bind data /mnt && mount --bind "a b" /srv && exec sh -c "{steps}"\'')
    project.run("cat data/both > out")
    assert project.data("out") == {"data/both", "a b/x", "data/whole", "data/in"}
    for name, count in {"data/both": 1, "data/in": 1, "a b/x": 1}.items():
        path = project.path / name
        found = project.rows(f'SELECT DISTINCT ?f {{ ?f a provio:File ; provio:path "{path}" }}')
        assert len(found) == count
        versions = f"?v prov:specializationOf <{found[0]['f']}> ; a provio:FileVersion ; provio:size ?size"
        assert len(project.rows(f"SELECT DISTINCT ?v {{ {versions} }}")) <= 2  # empty when it was opened, and whole
    assert not project.rows('SELECT ?p { ?f provio:path ?p FILTER(STRSTARTS(?p, "/mnt/") || STRSTARTS(?p, "/srv/")) }')


def test_a_table_over_the_file_size_limit_ends_no_program(project: Project) -> None:
    """The needed space is requested first, because a write beyond the limit sends a signal to the program."""
    namespaces()
    assert project.run("echo 1 > in; ulimit -f 0; exec unshare -m cat in") == "1\n"


@pytest.mark.integration
def test_mounts_that_cannot_be_read_are_a_gap(project: Project) -> None:
    """The meaning of the names outside is unknown: they are not changed."""
    namespaces()
    project.sh("echo 1 > in")
    project.run("unshare -m sh -c 'mount --bind /dev/null /proc/$$/mountinfo && exec cat in > out'")
    assert [gap["reason"] for gap in project.lineage("out")["gaps"]] == [UNKNOWN]
    assert project.data("out") == {"in"}


@pytest.mark.integration
def test_mounts_that_cannot_be_kept_are_a_gap(project: Project) -> None:
    """No file may grow: the meaning of the names is unknown."""
    namespaces()
    project.sh("echo 1 > in")
    project.run("ulimit -f 8; exec unshare -m cat in")
    assert [row["r"] for row in project.rows("SELECT ?r { ?g a provio:Gap ; provio:reason ?r }")].count(UNKNOWN) == 1

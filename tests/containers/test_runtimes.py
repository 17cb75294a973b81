"""Podman and Docker, if they run here: records from inside match the files outside, and the image is recorded.

Each has its own settings and storage, and Docker its own daemon; one that cannot start a container here is skipped,
with its message.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, new_project, provio_command
from container_roots import USER, Ordinary, as_user, small
from hostile_names import NAMES

PROGRAMS = ("cat", "sh", "sort", "tr", "ls")
# Hard limits that an unprivileged process can set, no network and no control group.
SETTINGS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "host"
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "{}"
"""
STORAGE = """[storage]
driver = "vfs"
graphroot = "{0}/graph"
runroot = "{0}/run"
"""
OWN_GROUPS = 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
WAYS: dict[str, tuple[str, ...]] = {
    "runc": (), "crun": (), "crun ": ("unshare", "-m", "sh", "-c", OWN_GROUPS, "sh"),
}  # fmt: skip


@dataclass
class Started(Project):
    """A project with a runtime that works."""

    runtime: str = ""
    image: str = ""
    root: Path = Path()
    before: tuple[str, ...] = ()
    whose: str = ""

    def exec(self, *command: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Call a command in the image under provio."""
        words = ("container", "exec", "--quiet", "--runtime", self.runtime, self.image, "--", *command)
        return subprocess.run(
            [*self.before, *provio_command(), *words], cwd=self.path, env=self.env, capture_output=True, text=True,
            errors="surrogateescape", check=False, timeout=120, input=given,
        )  # fmt: skip


@dataclass
class Rootless(Started):
    """The same for an ordinary user, in a folder of that user."""

    def provio(self, *arguments: str | bytes, code: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """Call `provio` as that user."""
        return Ordinary(self.path, self.env).provio(*arguments, code=code, **options)


def packed(root: Path) -> Path:
    """A root as an archive for the import into runtimes."""
    subprocess.run(["tar", "-C", root, "-cf", root.with_suffix(".tar"), "."], check=True)
    return root.with_suffix(".tar")


def podman(place: Path, needs: Callable[..., None]) -> Iterator[Started]:
    """Podman with the first of its OCI runtimes that works."""
    needs("podman")
    home = new_project(place)
    root = small(place / "root", *PROGRAMS)
    settings = {"CONTAINERS_CONF": place / "containers.conf", "CONTAINERS_STORAGE_CONF": place / "storage.conf"}
    env = {**home.env, **{name: str(path) for name, path in settings.items()}}
    (place / "storage.conf").write_text(STORAGE.format(place))
    said = ""
    for way, before in WAYS.items():
        (place / "containers.conf").write_text(SETTINGS.format(way.strip()))
        tried = [*before, "podman", "run", "--rm", "--rootfs", root, "/bin/sh", "-c", ":"]
        done = subprocess.run(tried, env=env, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode == 0:
            subprocess.run(
                ["podman", "import", "--quiet", "--change", "LABEL made=here", packed(root), "localhost/small:1"],
                env=env, check=True, capture_output=True,
            )  # fmt: skip
            yield Started(home.path, env, "podman", "localhost/small:1", root, before)
            return
        said += f"; {way.strip()}: {done.stderr.strip()[-160:]}"
    pytest.skip(f"podman starts nothing here{said}")


def rootless(_: Path, needs: Callable[..., None]) -> Iterator[Started]:
    """Podman called by an ordinary user without subordinate ids."""
    needs("podman", "setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root to become an ordinary user")
    with tempfile.TemporaryDirectory(prefix="provio-rootless-") as folder:  # pytest's folders are closed to other users
        project, said, before = _users(Path(folder)), "", os.umask(0)  # the user can write into folders of the tests
        try:
            for way in ("runc", "crun"):
                refused = _refused(project, way)
                if not refused:
                    yield project
                    return
                said += f"; {way}: {refused}"
            pytest.skip(f"podman starts nothing of an ordinary user's here{said}")
        finally:
            os.umask(before)
            _as_user(project, "podman", "system", "migrate")  # ends the process that keeps the user's namespaces


def _users(place: Path) -> Rootless:
    """Make a project of an ordinary user, with its own settings and storage."""
    place.chmod(0o755)
    root, home = small(place / "root", *PROGRAMS), new_project(place)
    packed(root)
    (place / "storage.conf").write_text(STORAGE.format(place) + '[storage.options]\nignore_chown_errors = "true"\n')
    subprocess.run(["chown", "-R", f"{USER}:{USER}", place], check=True)
    env = {**home.env, "CONTAINERS_CONF": f"{place}/containers.conf", "USER": "ada", "XDG_RUNTIME_DIR": str(place)}
    env["CONTAINERS_STORAGE_CONF"] = f"{place}/storage.conf"
    whose = " (an ordinary user's)"
    return Rootless(home.path, env, "podman", "localhost/small:1", root, as_user(), whose)


def _refused(project: Rootless, way: str) -> str:
    """Return why Podman fails with one of its OCI runtimes; empty if it works, and has the image."""
    place = project.root.parent
    (place / "containers.conf").write_text(SETTINGS.format(way))
    label, archive = ("--change", "LABEL made=here"), f"{project.root}.tar"
    for tried in (("run", "--rm", "--rootfs", str(project.root), "/bin/sh", "-c", ":"),
                  ("import", "--quiet", *label, archive, project.image)):  # fmt: skip
        done = _as_user(project, "podman", *tried)
        if done.returncode:
            return done.stderr.strip()[-160:]
    return ""


def _as_user(project: Rootless, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*project.before, *words], env=project.env, cwd=project.path, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip


def _wait(daemon: subprocess.Popen[bytes], env: dict[str, str]) -> None:
    """Wait until a daemon responds or ends, at most half a minute."""
    for _ in range(300):
        asked = subprocess.run(["docker", "info"], env=env, capture_output=True, check=False)
        if daemon.poll() is not None or asked.returncode == 0:
            return
        time.sleep(0.1)


def docker(place: Path, needs: Callable[..., None]) -> Iterator[Started]:
    """Docker with a daemon that the test starts and stops."""
    needs("docker", "dockerd", "runc")
    if os.geteuid() != 0:
        pytest.skip("needs root to start a daemon of Docker")
    home = new_project(place)
    env = {**home.env, "DOCKER_HOST": f"unix://{place}/socket"}
    command = ["dockerd", "--data-root", place / "data", "--exec-root", place / "exec", "--pidfile", place / "pid",
               "--host", env["DOCKER_HOST"], "--iptables=false", "--ip6tables=false", "--bridge=none",
               "--storage-driver=vfs"]  # fmt: skip
    with (place / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as daemon:
        try:
            for _ in range(300):
                if (
                    daemon.poll() is not None
                    or subprocess.run(["docker", "info"], env=env, capture_output=True, check=False).returncode == 0
                ):
                    break
                time.sleep(0.1)
            root = small(place / "root", *PROGRAMS)
            for tried in (["docker", "import", "--change", "LABEL made=here", packed(root), "small:1"],
                          ["docker", "run", "--rm", "small:1", "/bin/sh", "-c", ":"]):  # fmt: skip
                done = subprocess.run(tried, env=env, capture_output=True, text=True, check=False, timeout=60)
                if done.returncode:
                    last = (place / "log").read_text()[-200:]
                    pytest.skip(f"docker starts nothing here: {done.stderr.strip()[-200:]}; its daemon: {last}")
            yield Started(home.path, env, "docker", "small:1", root)
        finally:
            daemon.terminate()
            daemon.wait(30)


@pytest.fixture(scope="module", params=[podman, rootless, docker], ids=["podman", "rootless", "docker"])
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Started]:
    """A project with a working runtime."""

    def needs(*programs: str) -> None:
        missing = [program for program in programs if shutil.which(program) is None]
        if missing:
            pytest.skip(f"not installed: {', '.join(missing)} (.ci/needs installs it where it may)")

    yield from request.param(tmp_path_factory.mktemp(request.param.__name__), needs)


@pytest.fixture(autouse=True)
def told(started: Started, record_property: Callable[[str, object], None]) -> None:
    """Add the working runtimes to the test summary."""
    record_property("runtime", started.runtime + started.whose)


@pytest.mark.slow
def test_a_pipeline_with_two_steps_inside(started: Started) -> None:
    """One exact lineage; both steps used one image, with its digest and labels."""
    (started.path / "in").write_text("c\na\nb\n")
    assert started.exec("/bin/sh", "-c", "sort in > sorted; echo told").stdout == "told\n"
    started.run("tr a-z A-Z < sorted > upper")
    done = started.exec("/bin/sh", "-c", "sort -r upper > last")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (started.path / "last").read_text() == "C\nB\nA\n"
    assert started.data("last") == {"in", "sorted", "upper"}
    document = started.lineage("last")
    (image,) = [node for node in document["nodes"] if node["type"] == "Image"]
    assert "sha256" in image["iri"] and document["gaps"] == []
    labels = started.rows(f"SELECT ?l {{ <{image['iri']}> provio:imageLabel ?l }}")
    assert {row["l"] for row in labels} >= {"made=here"}
    started.provio("validate", "--strict")


@pytest.mark.slow
def test_a_folder_is_an_image_of_podman(started: Started) -> None:
    """Files written there belong to the user, under the same name."""
    if started.runtime != "podman":
        pytest.skip("docker takes no folder")
    (started.path / "x").write_text("1\n")
    relative = os.path.relpath(started.root, started.path)
    named = Started(started.path, started.env, "podman", relative, started.root, started.before)
    assert named.exec("/bin/sh", "-c", "read x < x; echo $x > folder").returncode == 0
    assert started.data("folder") == {"x"}
    assert [n["path"] for n in started.lineage("folder")["nodes"] if n["type"] == "Image"] == [str(started.root)]


@pytest.mark.slow
def test_exit_code_and_streams_are_the_commands(started: Started) -> None:
    """Exit code, stdout, stdin and stderr."""
    done = started.exec("/bin/sh", "-c", "cat; echo apart >&2; exit 7", given="given\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "given\n", "apart\n")
    assert "exit 7" in started.provio("runs").stdout


@pytest.mark.slow
def test_names_of_any_bytes(started: Started) -> None:
    """Each file written inside has its name and its lineage outside."""
    (started.path / "source").write_text("1\n")
    for folder in ("given", "names"):
        (started.path / folder).mkdir()
    for name in NAMES.values():  # by files, because these runtimes change arguments that are not UTF-8
        Path(os.fsdecode(os.fsencode(started.path / "given") + b"/" + name)).touch()
    script = 'read x < source; for name in given/* given/.[!.]*; do echo "$x" > "names/${name#given/}"; done'
    assert started.exec("/bin/sh", "-c", script).returncode == 0
    assert sorted(os.listdir(os.fsencode(started.path / "names"))) == sorted(NAMES.values())
    for key in ("newline", "not UTF-8", "C1 as a byte", "backslashes", "255 bytes", "both quotes"):
        assert started.data("names/" + os.fsdecode(NAMES[key])) == {"source"}, key

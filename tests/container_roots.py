"""Shared by the tests of containers: root folders of other systems, and ordinary users who start containers on them."""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, provio_command
from portable_shims import needed

USER = 4242
FOLDERS = ("bin", "dev", "etc", "lib", "proc", "sys", "tmp")
FILES = ("passwd", "group", "hosts", "resolv.conf")  # that ch-run binds


@pytest.fixture(scope="session")
def cache() -> Path:
    """Return a folder next to the environment of the tests, which outlives the session."""
    folder = Path(sys.prefix) / "test-images"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def debian(cache: Path) -> Path:
    """A root of Debian with Python, made once for all sessions."""
    if not shutil.which("debootstrap") or os.geteuid() != 0:
        pytest.skip("needs debootstrap (apt-get install debootstrap), and root to call it")
    root, done = cache / "debian-python", cache / "debian-python.done"
    with (cache / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            bootstrapped(root)
            root.chmod(0o777)
            done.touch()
    return root


def responds(mirror: str) -> bool:
    """Return whether a server answers at an address, even with an error."""
    try:
        with urllib.request.urlopen(f"{mirror}/dists/stable/Release", timeout=30):
            return True
    except urllib.error.HTTPError as error:
        return error.code not in (502, 503, 504)  # a proxy answers for a server that does not
    except OSError:
        return False


def bootstrapped(root: Path, mirror: str = "http://deb.debian.org/debian") -> None:
    """Make a Debian root; without a mirror the test is skipped, any other error fails it."""
    call = ["unshare", "--mount", "--propagation=private"]  # its mounts in the root disappear with it in any case
    call += ["debootstrap", "--variant=minbase", "--include=python3,python3-pip", "stable", str(root), mirror]
    output = ""
    for _ in range(2):  # a mirror may be lost for a moment
        shutil.rmtree(root, ignore_errors=True)
        made = subprocess.run(call, capture_output=True, text=True, timeout=500, check=False)
        if made.returncode == 0:
            return
        output = made.stdout + made.stderr
    if "Failed getting release file" in output and not responds(mirror):
        pytest.skip(f"no mirror of Debian responds: {output[-200:]}")
    if "noexec or nodev" in output and not devices_work(root.parent):
        pytest.skip(f"no devices can be made here: {output[-200:]}")
    pytest.fail(f"debootstrap made no root: {output[-2000:]}")


def devices_work(folder: Path) -> bool:
    """Return whether a device can be made in a folder, and opened there."""
    device = folder / f"device-{os.getpid()}"
    try:
        os.mknod(device, stat.S_IFCHR | 0o600, os.stat(os.devnull).st_rdev)
        device.read_bytes()
    except PermissionError:
        return False
    finally:
        device.unlink(missing_ok=True)
    return True


@functools.cache
def as_user() -> tuple[str, ...]:
    """Return the words that make an ordinary user of root, with the right to read if this Python is in a folder of
    root; none for an ordinary user. The test is skipped if only root can read provio's folder: in containers this right
    has no effect."""
    if os.geteuid() != 0:
        return ()
    words = ("setpriv", "--reuid=4242", "--regid=4242", "--clear-groups")
    if subprocess.run([*words, "sh", "-c", 'test -r "$1"', "sh", __file__], check=False).returncode:
        pytest.skip(f"only root can read {Path(__file__).parent}: have the checkout where other users can, to run this")
    # A start of Python proves nothing: setpriv still has root's rights to search folders at that time.
    if subprocess.run([*words, *provio_command(), "--version"], capture_output=True, check=False).returncode:
        words += ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return words


class Ordinary(Project):
    """A project of an ordinary user."""

    def user(self, *words: str) -> list[str]:
        """Return the words that run a command as that user."""
        return [*as_user(), *words]

    def provio(self, *arguments: str | bytes, code: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """Call `provio` as that user."""
        given: dict[str, Any] = {
            "cwd": self.path,
            "env": self.env,
            "capture_output": True,
            "text": True,
            "timeout": 120,
            **options,
        }
        done: subprocess.CompletedProcess[str] = subprocess.run([*as_user(), *provio_command(), *arguments], **given)
        assert code is None or done.returncode == code, f"{arguments} ended with {done.returncode}\n{done.stderr}"
        return done


@pytest.fixture
def ordinary(project: Project, record_property: Callable[[str, object], None]) -> Iterator[Ordinary]:
    """A project of an ordinary user, where one may make containers."""
    if not shutil.which("ch-run"):
        pytest.skip("not installed: ch-run (apt-get install charliecloud)")
    namespace = subprocess.run([*as_user(), "unshare", "-Ur", "true"], capture_output=True, text=True, check=False)
    if any(reason in namespace.stderr for reason in ("Operation not permitted", "No space left on device")):
        pytest.skip("needs user namespaces for ordinary users")
    assert namespace.returncode == 0, namespace.stderr
    with tempfile.TemporaryDirectory(prefix="provio-ordinary-") as place:  # pytest's own folders are shut to others
        folder = Path(place) / "project"
        (folder / ".provio").mkdir(parents=True)
        for path in (Path(place), folder, folder / ".provio"):
            path.chmod(0o755)
            if os.geteuid() == 0:
                os.chown(path, 4242, 4242)
        record_property("runtime", "charliecloud")
        yield Ordinary(folder, {**project.env, "USER": "ada", "HOME": place})


def empty(root: Path) -> Path:
    """Make a root with only the files that every runtime needs."""
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    for name in FILES:
        (root / "etc" / name).touch()
    return root


def musl(root: Path, programs: Mapping[str, str]) -> Path:
    """Make a root with musl's loader, and programs for it of the texts of their sources."""
    libc = Path("/usr/lib/x86_64-linux-musl/libc.so")
    needed("x86_64-musl")
    shutil.copy(libc, empty(root) / "lib" / "ld-musl-x86_64.so.1")
    for name, text in programs.items():
        subprocess.run(["musl-gcc", "-o", root / "bin" / name, "-xc", "-"], input=text, text=True, check=True)
    return root


def small(root: Path, *programs: str) -> Path:
    """Make a root with some of this system's programs, their loader and their libraries."""
    empty(root)
    for program in programs:
        found = shutil.which(program)
        if found is None:
            pytest.skip(f"not installed: {program}")
        shutil.copy(found, root / "bin" / program)
        linked = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", linked):
            (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library[1:])
    return root

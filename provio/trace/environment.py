"""Facts about the machine, the batch job and the Git checkout of a run, read from the system's files."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import struct
from collections.abc import Container, Mapping
from pathlib import Path

from provio.base.records import frozen
from provio.system import mounts as storage

# Prefixes of the variables of batch systems; the rest of the name is in capitals.
JOB_FAMILIES = tuple("SLURM_ PBS_ LSB_ LSF_ FLUX_ PALS_ OMPI_COMM_WORLD_ PMI_ PMIX_".split())
# Variables with the root folders of installed software: lineage hides files below them.
SOFTWARE_FAMILIES = ("EBROOT", "R_LIBS")
VARIABLES = frozenset(
    "COBALT_JOBID JOB_ID SGE_TASK_ID "
    "LOADEDMODULES _LMFILES_ CONDA_PREFIX CONDA_DEFAULT_ENV VIRTUAL_ENV JULIA_DEPOT_PATH".split()
)
JOB_IDS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID")
CONTAINER_SIGNS = ("/.dockerenv", "/run/.containerenv", "/.singularity.d", "/ch")
FS_IOC_GETFSUUID = 0x80111500  # linux/fs.h, since 6.9: struct fsuuid2 { __u8 len; __u8 uuid[16]; }
NAMED = "PRETTY_NAME="
CPU = ("model name", "Model", "cpu")
NOT_STORAGE = frozenset(
    "proc sysfs cgroup cgroup2 devpts mqueue debugfs tracefs securityfs pstore bpf configfs fusectl autofs binfmt_misc "
    "efivarfs hugetlbfs rpc_pipefs nsfs selinuxfs".split()
)


@frozen
class Mount:
    """A line of `/proc/self/mountinfo`; paths as bytes. `domain` identifies the storage, equal for all its mounts."""

    id: int
    device: str
    root: bytes
    point: bytes
    file_system: str
    source: str
    domain: str


@frozen
class MountLine:
    """The storage facts of a line of a mount table; paths as bytes."""

    id: int
    parent: int
    device: str
    root: bytes
    point: bytes
    file_system: str
    source: str
    options: str = ""  # of the file system


def boot_id() -> str:
    """The identity of this boot of this kernel."""
    return _read("/proc/sys/kernel/random/boot_id") or "no-boot-id"


def mount_namespace() -> int:
    """Return the number of this process's mount namespace; 0 if the system does not provide it."""
    try:
        return os.stat("/proc/self/ns/mnt").st_ino
    except OSError:
        return 0


def machine_domain() -> str:
    """Return the prefix of storage domains that are known to this boot of this machine only."""
    machine = _read("/etc/machine-id") or os.uname().nodename
    return f"{machine}.{boot_id()}"


def user_name() -> str:
    """Return the user's name, or the number if there is no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def host() -> str:
    """The name of this host."""
    return os.uname().nodename


def system_facts() -> dict[str, str]:
    """Host, operating system, kernel and processor."""
    return {"host": host(), "system": _os_name(), "kernel": os.uname().release, "cpu": _cpu()}


def job_variables() -> dict[str, str]:
    """Batch-job variables and loaded modules."""
    return {name: value for name, value in sorted(os.environ.items()) if name in VARIABLES or _is_of_family(name)}


def _is_of_family(name: str) -> bool:
    job = name.startswith(JOB_FAMILIES) and name == name.upper()
    return (job or name.startswith(SOFTWARE_FAMILIES)) and name.isascii() and name.replace("_", "").isalnum()


def job_id() -> str | None:
    """Return the id of the batch job; None outside of jobs."""
    return next((os.environ[name] for name in JOB_IDS if os.environ.get(name)), None)


def in_container() -> str:
    """Return the sign that this process is in a container; empty if there is none."""
    variable = os.environ.get("container", "")  # noqa: SIM112 (so systemd and podman call it)
    return next((sign for sign in CONTAINER_SIGNS if os.path.exists(sign)), variable)


def git_state(folder: Path) -> tuple[str, bool] | None:
    """Return the commit checked out in `folder` and whether tracked files differ from it; None outside a checkout.

    Git is called only if there is a `.git` in the folder or above, and takes no lock.
    """
    if not any((above / ".git").exists() for above in (folder, *folder.parents)):
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    return commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))


def mounts(devices: Container[str] | None = None, domains: Mapping[str, str] | None = None) -> list[Mount]:
    """Return the mounts that hold files (those of `devices`, or all), each with its storage domain: from `domains`
    (folder → name) if a folder is on its device, else its own."""
    found = []
    named = _named_devices(domains) if domains else {}
    for line in parsed(Path("/proc/self/mountinfo").read_bytes()):
        if devices is None or line.device in devices:
            domain = named.get(line.device) or _domain(line)
            found.append(Mount(line.id, line.device, line.root, line.point, line.file_system, line.source, domain))
    return found


def parsed(table: bytes) -> list[MountLine]:
    """Return the mounts that hold files in a table with the format of `/proc/self/mountinfo` (proc(5)); incomplete
    lines are skipped."""
    found = []
    for line in table.splitlines():
        left, _, right = line.partition(b" - ")
        fields, (kind, source, options, *_) = left.split(), [*right.split(), b"", b"", b""]
        file_system = kind.decode("utf-8", "replace")
        if len(fields) < 6 or not fields[0].isdigit() or not fields[1].isdigit() or file_system in NOT_STORAGE:
            continue
        name = _octal(source).decode("utf-8", "replace")
        if "@" in name:
            from provio.trace.redact import without_passwords  # slow to import, and rarely needed

            name = without_passwords(name)
        numbers, places = (int(fields[0]), int(fields[1]), fields[2].decode()), (_octal(fields[3]), _octal(fields[4]))
        text = _octal(options).decode("utf-8", "replace")
        found.append(MountLine(*numbers, *places, file_system, name, text))
    return found


def _named_devices(domains: Mapping[str, str]) -> dict[str, str]:
    """Return the names of devices, from the names of folders on them; missing folders are skipped."""
    found: dict[str, str] = {}
    for folder, name in sorted(domains.items()):
        try:
            device = os.stat(folder).st_dev
        except OSError:
            continue
        found.setdefault(f"{os.major(device)}:{os.minor(device)}", name)
    return found


def mount_of(folder: Path) -> Mount | None:
    """Return the mount of a folder; None if it is on no mount that holds files."""
    real = os.path.realpath(os.fsencode(folder))
    above = [m for m in mounts() if m.point in (b"/", real) or real.startswith(m.point + b"/")]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def _domain(line: MountLine) -> str:
    known = line.file_system in storage.SHARED
    shared = storage.shared(line.file_system, line.source, line.options) if known else ""
    return shared or _uuid(line.point, line.device) or f"{machine_domain()}.{line.device}"


def _uuid(point: bytes, device: str) -> str | None:
    """Return the file system's UUID by ioctl, if the kernel knows it and the mount point still has that device."""
    try:
        fd = os.open(point, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        here = os.fstat(fd).st_dev
        if f"{os.major(here)}:{os.minor(here)}" != device:
            return None
        answer = bytearray(17)
        fcntl.ioctl(fd, FS_IOC_GETFSUUID, answer)
        length, uuid = struct.unpack("B16s", answer)
        return uuid[:length].hex() if any(uuid[:length]) else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _octal(text: bytes) -> bytes:
    r"""Undo mountinfo's escapes: `\040` is a space."""
    return text if b"\\" not in text else re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), text)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _os_name() -> str:
    """Return the name in os-release(5), a file of shell assignments; else the kernel's name."""
    text = _read("/etc/os-release") or _read("/usr/lib/os-release")
    found = [line[len(NAMED) :] for line in text.splitlines() if line.startswith(NAMED)]
    if not found:
        return os.uname().sysname
    name = found[-1].rstrip()
    name = name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'" else name
    return re.sub(r"\\([\\$\"'`])", r"\1", name) if "\\" in name else name


def _cpu() -> str:
    fields = (line.partition(":") for line in _read("/proc/cpuinfo").splitlines())
    return next((value.strip() for name, _, value in fields if name.rstrip() in CPU and value), os.uname().machine)


def _git(folder: Path, *arguments: str) -> str | None:
    import subprocess  # slow to import, and rarely needed

    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()

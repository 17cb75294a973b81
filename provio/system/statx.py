"""Facts of files, and of the mounts that hold them, from the kernel; with them a version of a file is identified.

`statx(2)` gives the birth time that `os.stat` lacks. A shared mount has the same name on every host that mounts it,
from its kind, source and options in mountinfo:

    nfs     server:/export                               lustre  10.0.0.1@tcp:/fsname
    gpfs    gpfs0 or /dev/gpfs0                          cifs    //server/share
    ceph    mon,mon:/path or user@fsid.fsname=/path      beegfs  beegfs_nodev: its client's file names the server

A file system that assigns inode numbers in the order in which each mount meets the files (sshfs) has no such name:
the same number means different files on different hosts.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import sys
from collections.abc import Container, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from provio.base.records import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes

Record = dict[str, str]
AT_FDCWD = -100
STATX_BASIC_STATS, STATX_BTIME = 0x7FF, 0x800
# struct statx: mask, inode, size; birth, change and modification time as seconds and nanoseconds; the device's two
# numbers.
STATX = "=I28xQQ32xqI4xqI4xqI4x8xII"
FS_IOC_GETFSUUID = 0x80111500  # linux/fs.h, since 6.9: struct fsuuid2 { __u8 len; __u8 uuid[16]; }
NOT_STORAGE = frozenset(
    "proc sysfs cgroup cgroup2 devpts mqueue debugfs tracefs securityfs pstore bpf configfs fusectl autofs binfmt_misc "
    "efivarfs hugetlbfs rpc_pipefs nsfs selinuxfs".split()
)
SHARED = frozenset(
    "nfs nfs4 cifs smb smb3 lustre gpfs beegfs ceph fuse.ceph fuse.glusterfs fuse.sshfs panfs pvfs2 orangefs 9p "
    "virtiofs".split()
)
OWN_NUMBERS = frozenset({"fuse.sshfs"})
NOTHING = frozenset({"", "none", "nodev", "beegfs_nodev", "ceph-fuse"})


@plain(frozen=True, slots=True)
class Facts:
    """The result of `statx` for a file: times in ns since 1970, size in bytes."""

    device: str
    inode: int
    birth: int
    mtime: int
    ctime: int
    size: int

    @staticmethod
    def of(record: Record) -> Facts:
        """Return the facts of a file that a record states."""
        get = record.get
        return _facts(
            get("device", ""), get("inode", "0"), get("birthNs", "0"), get("mtimeNs", "0"), get("ctimeNs", "0"),
            get("size", "0"),
        )  # fmt: skip

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        """The fields that identify a version: all but the change time."""
        return self.device, self.inode, self.birth, self.mtime, self.size

    @property
    def lasting(self) -> tuple[str, int, int]:
        """The fields that stay the same while the content of a file changes."""
        return self.device, self.inode, self.birth

    def at(self, mtime: int, ctime: int, size: int) -> Facts:
        """Return the same file at another time."""
        return Facts(self.device, self.inode, self.birth, mtime, ctime, size)

    def later(self, record: Record, prefix: str) -> Facts:
        """Return the later facts of the same file that a record states under names with the prefix `prefix`."""
        mtime, ctime, size = (record.get(name, "0") for name in _later_names(prefix))
        modified = int(mtime)
        changed = modified if ctime == mtime else int(ctime)
        return self.at(modified, changed, int(size))


@lru_cache(maxsize=512)  # many processes of a run open the same files
def _facts(device: str, inode: str, birth: str, mtime: str, ctime: str, size: str) -> Facts:
    """Return the facts; equal facts share one object, because there may be a hundred thousand in memory."""
    born = int(birth)
    modified = born if mtime == birth else int(mtime)
    changed = modified if ctime == mtime else int(ctime)
    return Facts(sys.intern(device), int(inode), born, modified, changed, int(size))


@cache
def _later_names(prefix: str) -> tuple[str, ...]:
    names = ("MtimeNs", "CtimeNs", "Size")
    return tuple(prefix + name if prefix else name[0].lower() + name[1:] for name in names)


def facts(path: bytes) -> Facts:
    """Return the facts of the file at `path` (links followed); raises OSError as `stat` does."""
    import ctypes  # slow to import, and rarely needed

    answer = ctypes.create_string_buffer(256)
    if _libc().statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, answer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(path))
    mask, inode, size, *times, major, minor = struct.unpack_from(STATX, answer)
    birth, ctime, mtime = (
        seconds * 1_000_000_000 + rest for seconds, rest in zip(times[::2], times[1::2], strict=True)
    )
    return Facts(f"{major}:{minor}", inode, birth if mask & STATX_BTIME else 0, mtime, ctime, size)


@cache
def _libc() -> ctypes.CDLL:
    """Return the C library; to open it takes ten times as long as a call."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


# Mounts.


@plain()
class Mount:
    """A mount that holds files, from a table with the format of `/proc/self/mountinfo`; paths as bytes."""

    id: int
    parent: int
    device: str
    root: bytes
    point: bytes
    file_system: str
    source: str
    options: str = ""  # of the file system
    domain: str = ""  # identifies the storage, equal for all its mounts; only `mounts` determines it


def boot_id() -> str:
    """The identity of this boot of this kernel."""
    return read_text("/proc/sys/kernel/random/boot_id") or "no-boot-id"


def machine_domain() -> str:
    """Return the prefix of storage domains that are known to this boot of this machine only."""
    machine = read_text("/etc/machine-id") or os.uname().nodename
    return f"{machine}.{boot_id()}"


def mounts(devices: Container[str] | None = None, domains: Mapping[str, str] | None = None) -> list[Mount]:
    """Return the mounts that hold files (those of `devices`, or all), each with its storage domain: from `domains`
    (folder → name) if a folder is on its device, else its own."""
    every = parsed(Path("/proc/self/mountinfo").read_bytes())
    found = [mount for mount in every if devices is None or mount.device in devices]
    named = _named_devices(domains) if domains else {}
    for mount in found:
        mount.domain = named.get(mount.device) or _domain(mount)
    return found


def parsed(table: bytes) -> list[Mount]:
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
            from provio.interceptors.python.secret_words import without_passwords  # rarely needed

            name = without_passwords(name)
        numbers, places = (int(fields[0]), int(fields[1]), fields[2].decode()), (_octal(fields[3]), _octal(fields[4]))
        text = _octal(options).decode("utf-8", "replace")
        found.append(Mount(*numbers, *places, file_system, name, text))
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
    return nearest(mounts(), folder)


def nearest(every: Iterable[Mount], folder: str | Path) -> Mount | None:
    """Return the mount of a folder among those of this machine."""
    real = os.path.realpath(os.fsencode(folder))
    above = [m for m in every if m.point in (b"/", real) or real.startswith(m.point + b"/")]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def _domain(mount: Mount) -> str:
    name = shared(mount.file_system, mount.source, mount.options)
    return name or _uuid(mount.point, mount.device) or f"{machine_domain()}.{mount.device}"


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


def read_text(path: str) -> str:
    """Return the text of a file of the system without surrounding spaces; empty if there is none."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def shared(kind: str, source: str, options: str = "") -> str:
    """Return the name of a shared mount; empty for a local mount, or without a name that is the same on other hosts."""
    if kind not in SHARED or kind in OWN_NUMBERS:
        return ""
    if kind == "beegfs":
        return _beegfs(options)
    if source in NOTHING:
        return ""
    if kind == "ceph":
        return _ceph(source)
    return source.removeprefix("/dev/") if kind == "gpfs" else source


def _ceph(source: str) -> str:
    """Return the source without the user, which differs between mounts, and with the monitors sorted."""
    if "=" in source:
        return source.partition("@")[2] or source
    monitors, colon, path = source.rpartition(":")
    return ",".join(sorted(monitors.split(","))) + colon + path


def _beegfs(options: str) -> str:
    """Return a name from the management server and its port, which the mount options or the client's file give."""
    given = dict(option.partition("=")[::2] for option in options.split(","))
    try:
        text = Path(given.get("cfgFile", "/etc/beegfs/beegfs-client.conf")).read_text(
            encoding="utf-8", errors="replace"
        )
    except OSError:
        text = ""
    known = dict(re.findall(r"(?m)^\s*(\w+)\s*=\s*(\S+)", text)) | given
    server, port = known.get("sysMgmtdHost", ""), known.get("connMgmtdPort", known.get("connMgmtdPortTCP", "8008"))
    return f"beegfs:{server}:{port}" if server else ""

"""The hardware and the system of this machine, as a program finds them: read from /proc and /sys in milliseconds.

Out: facts by layer (`hardware`, `system`), each a name and a text; None if this machine does not provide it, or if this
user may not read it.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import resource
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from provio.base.sizes import size
from provio.system.statx import read_text

Facts = dict[str, str | None]
GPUS = Path("/proc/driver/nvidia")
CUDA = ("/usr/local/cuda/version.json", "/usr/local/cuda/version.txt")
COMPILERS = "cc gcc g++ clang gfortran flang icx ifx nvcc hipcc nvc mpicc mpif90 rustc go".split()
LOCALE = "LANG LC_ALL LC_CTYPE LC_NUMERIC LC_COLLATE LC_TIME TZ".split()
THREADS = "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES".split()
LIMITS = {
    "open files": "RLIMIT_NOFILE", "memory": "RLIMIT_AS", "stack": "RLIMIT_STACK", "locked memory": "RLIMIT_MEMLOCK",
    "core file": "RLIMIT_CORE", "CPU seconds": "RLIMIT_CPU", "file size": "RLIMIT_FSIZE", "processes": "RLIMIT_NPROC",
}  # fmt: skip
COUNTED = frozenset({"open files", "processes", "CPU seconds"})  # the other limits are bytes
DISKS = re.compile(r"(?:loop|ram|zram|dm-|md|sr|fd)\d*")  # block devices that are no disks of their own
REAL = frozenset(
    "ext2 ext3 ext4 xfs btrfs zfs nfs nfs4 lustre gpfs beegfs ceph fuse.ceph pvfs2 fuse.sshfs overlay 9p virtiofs "
    "tmpfs f2fs vfat exfat ntfs3 cifs smb3 afs panfs wekafs daos fuse.juicefs".split()
)
MOST = 12  # disks, network interfaces, file systems


def facts() -> dict[str, Facts]:
    """Return the facts of both layers. A source that cannot be read costs only its own facts."""
    program = _found("lfs")
    striping = _all({"Lustre striping": partial(_striping, program)}) if program else {}
    return {"hardware": _all(HARDWARE), "system": _all(SYSTEM) | striping}


def _all(sources: Mapping[str, Callable[[], str | None]]) -> Facts:
    found: Facts = {}
    for name, read in sources.items():
        found[name] = None
        with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
            found[name] = read() or None
    return found


def _processor() -> str:
    fields = dict(re.findall(r"^([\w ]+?)\s*: (.+)$", read_text("/proc/cpuinfo").partition("\n\n")[0], re.MULTILINE))
    return fields.get("model name") or fields.get("Model") or os.uname().machine


def _cores() -> str:
    allowed, there = len(os.sched_getaffinity(0)), os.cpu_count() or 0
    return f"{there}" if allowed == there else f"{allowed} of {there} allowed ({_ranges(os.sched_getaffinity(0))})"


def _ranges(numbers: set[int]) -> str:
    """Return numbers as a list of ranges: `0-3,8`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _memory() -> str | None:
    fields = dict(re.findall(r"^(\w+):\s+(\d+) kB", read_text("/proc/meminfo"), re.MULTILINE))
    text = size(int(fields["MemTotal"]) * 1024)
    swap = int(fields.get("SwapTotal", 0)) * 1024
    limit = _cgroup_limit()
    text += f", {size(limit)} allowed" if limit else ""
    return text + (f", swap {size(swap)}" if swap else "")


def _cgroup_limit() -> int:
    """Return the memory limit of this process's control group; 0 if it has none."""
    group = next((line.rpartition(":")[2] for line in read_text("/proc/self/cgroup").splitlines()), "")
    for place in (f"/sys/fs/cgroup{group}/memory.max", "/sys/fs/cgroup/memory.max"):
        text = read_text(place).strip()
        if text.isdigit():
            return int(text)
    return 0


def _numa() -> str | None:
    nodes = sorted(glob.glob("/sys/devices/system/node/node[0-9]*"), key=lambda path: int(path.rpartition("node")[2]))
    lists = [read_text(f"{node}/cpulist").strip() for node in nodes]
    return f"{len(nodes)} node{'s' * (len(nodes) > 1)}: {' | '.join(lists)}" if nodes else None


def _gpus() -> str | None:
    models: Counter[str] = Counter()
    for information in (GPUS / "gpus").glob("*/information"):
        found = re.search(r"^Model:\s*(.+)$", read_text(str(information)), re.MULTILINE)
        models[found[1].strip() if found else "NVIDIA GPU"] += 1
    for file in glob.glob("/sys/class/drm/card[0-9]*/device/uevent"):
        if "DRIVER=amdgpu" in read_text(file):
            models["AMD " + (read_text(os.path.join(os.path.dirname(file), "product_name")).strip() or "GPU")] += 1
    return ", ".join(f"{count} × {model}" for model, count in models.items())


def _gpu_driver() -> str | None:
    found = re.search(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", read_text(str(GPUS / "version")))
    return found[1] if found else read_text("/sys/module/amdgpu/version").strip()


def _cuda() -> str | None:
    texts = "".join(read_text(path) for path in CUDA)
    found = re.search(r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([^"]+)"|CUDA Version ([\d.]+)', texts)
    return (found[1] or found[2]) if found else None


def _disks() -> str:
    found = []
    for folder in sorted(Path("/sys/block").iterdir()):
        sectors = read_text(f"{folder}/size").strip()
        if DISKS.fullmatch(folder.name) or sectors in ("", "0"):
            continue
        kind = {"0": "SSD", "1": "disk"}.get(read_text(f"{folder}/queue/rotational").strip(), "")
        model = read_text(f"{folder}/device/model").strip()
        found.append(" ".join(filter(None, [folder.name, model, kind, size(int(sectors) * 512)])))
    return _some(found)


def _interfaces() -> str:
    found = []
    for folder in sorted(Path("/sys/class/net").iterdir()):
        if folder.name == "lo":
            continue
        speed = ""
        with contextlib.suppress(OSError):  # an interface that is down
            speed = (folder / "speed").read_text(encoding="ascii").strip()
        found.append(folder.name + (f" {speed} Mb/s" if speed.isdigit() and speed != "0" else ""))
    for folder in sorted(Path("/sys/class/infiniband").iterdir()) if os.path.isdir("/sys/class/infiniband") else ():
        rates = [read_text(str(rate)).strip() for rate in sorted(folder.glob("ports/*/rate"))]
        found.append(f"{folder.name} {', '.join(filter(None, rates))}".strip())
    return _some(found)


def _some(found: list[str]) -> str:
    return ", ".join(found[:MOST]) + (f" and {len(found) - MOST} more" if len(found) > MOST else "")


def _libc() -> str:
    return str(os.confstr("CS_GNU_LIBC_VERSION"))


def _compilers() -> str:
    found = {}
    for name in COMPILERS:
        if path := _found(name):
            real = os.path.realpath(path)
            found[name] = real if os.path.basename(real) != name else path
    return ", ".join(f"{name} ({path})" for name, path in found.items())


def _found(name: str) -> str:
    """Return the path of a program on `PATH`; empty if there is none. `shutil` is slow to import."""
    paths = (os.path.join(folder, name) for folder in os.environ.get("PATH", os.defpath).split(":") if folder)
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), "")


def _file_systems() -> str:
    found: dict[str, None] = {}
    for line in read_text("/proc/self/mounts").splitlines():
        place, kind = line.split(" ")[1:3]
        if kind in REAL and not place.startswith(("/proc", "/sys", "/dev", "/run/")):
            found[f"{place} {kind}"] = None
    return _some(list(found))


def _striping(program: str) -> str | None:
    from provio.system import lustre  # most machines have no Lustre

    return lustre.layout(os.getcwd(), program)


def _limits() -> str:
    found = []
    for name, constant in LIMITS.items():
        soft, _ = resource.getrlimit(getattr(resource, constant))
        shown = f"{soft:,}" if name in COUNTED or soft == 0 else size(soft)
        found.append(f"{name} {'unlimited' if soft == resource.RLIM_INFINITY else shown}")
    return ", ".join(found)


def _variables(names: list[str]) -> str:
    return ", ".join(f"{name}={os.environ[name]}" for name in names if os.environ.get(name))


def _system_name() -> str:
    found = re.search(r'^PRETTY_NAME="?(.+?)"?$', read_text("/etc/os-release"), re.MULTILINE)
    return found[1] if found else os.uname().sysname


HARDWARE: dict[str, Callable[[], str | None]] = {
    "processor": _processor, "cores": _cores, "memory": _memory, "NUMA": _numa, "GPUs": _gpus,
    "GPU driver": _gpu_driver, "CUDA": _cuda, "disks": _disks, "network": _interfaces,
    "switch": lambda: os.environ.get("SLURM_TOPOLOGY_ADDR"),
}  # fmt: skip
SYSTEM: dict[str, Callable[[], str | None]] = {
    "system": _system_name, "kernel": lambda: f"{os.uname().sysname} {os.uname().release} {os.uname().machine}",
    "C library": _libc, "compilers": _compilers,
    "modules": lambda: os.environ.get("LOADEDMODULES", "").replace(":", " "),
    "file systems": _file_systems, "limits": _limits, "umask": lambda: f"{_umask():04o}",
    "locale": lambda: _variables(LOCALE), "threads": lambda: _variables(THREADS),
}  # fmt: skip


def _umask() -> int:
    found = re.search(r"^Umask:\s*([0-7]+)$", read_text("/proc/self/status"), re.MULTILINE)
    return int(found[1], 8) if found else 0

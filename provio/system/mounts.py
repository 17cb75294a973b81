"""Names a shared mount: the same name on every host that mounts it, from its kind, source and options in mountinfo.

    nfs     server:/export                               lustre  10.0.0.1@tcp:/fsname
    gpfs    gpfs0 or /dev/gpfs0                          cifs    //server/share
    ceph    mon,mon:/path or user@fsid.fsname=/path      beegfs  beegfs_nodev: its client's file names the server

A file system that assigns inode numbers in the order in which each mount meets the files (sshfs) has no such name:
the same number means different files on different hosts.
"""

from __future__ import annotations

import re
from pathlib import Path

SHARED = frozenset(
    "nfs nfs4 cifs smb smb3 lustre gpfs beegfs ceph fuse.ceph fuse.glusterfs fuse.sshfs panfs pvfs2 orangefs 9p "
    "virtiofs".split()
)
OWN_NUMBERS = frozenset({"fuse.sshfs"})
NOTHING = frozenset({"", "none", "nodev", "beegfs_nodev", "ceph-fuse"})


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

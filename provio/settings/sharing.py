"""Shares a `.provio` with a group: makes its folders and files readable and writable for the members.

The mode of the folder (`rwxrws---`) marks it as shared. Later files belong to the group because of the set-group-id
bit, and are open to it because provio sets its umask while it writes there.
"""

from __future__ import annotations

import grp
import os
import shutil

from provio.base.errors import NotAllowed, ProvioError
from provio.settings.home import Home, share

NOBODY = (1 << 32) - 1  # the group number by which chown leaves the group unchanged


def share_with(home: Home, group: str) -> None:
    """Give a group (name or number) access to a `.provio` and to everything in it.

    Raises NotAllowed if the user does not own it or is not in the group, ProvioError if the group does not exist.
    """
    number = _number(group)
    shutil.rmtree(home.events, ignore_errors=True)  # a shared record keeps none
    try:
        for path, _, files in os.walk(home.path):
            for entry in (path, *(os.path.join(path, name) for name in files)):
                os.chown(entry, -1, number, follow_symlinks=False)
        os.chmod(home.path, 0o2770)  # noqa: S103 (the group is let in on purpose)
    except PermissionError as error:
        raise NotAllowed(
            f"cannot give {home.path} to group {group}: only its owner can, if in that group (id -Gn lists yours)"
        ) from error
    share(home, home.path)


def _number(group: str) -> int:
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        if group.isascii() and group.isdigit() and len(group) <= 10 and int(group) < NOBODY:
            return int(group)
    raise ProvioError(f"there is no group {group!r}: name one of yours (id -Gn lists them)")

"""Makes a `.provio` a group's: a home and a group in, folders and files that its members can read and write out.

The mode of the folder says that it is shared (`rwxrws---`). Whatever is made in it later is the group's by the
set-group-id bit, and open to it because provio sets its umask while it writes there.
"""

from __future__ import annotations

import grp
import os

from provio.base.errors import NotAllowed, ProvioError
from provio.settings.home import Home, share

NOBODY = (1 << 32) - 1  # chown's word for "as it is": the number of no group


def share_with(home: Home, group: str) -> None:
    """Let a group (its name, or number) into a `.provio`, and into all that it holds.

    Raises NotAllowed for who does not own it or is not in the group, ProvioError for a group that there is not.
    """
    number = _number(group)
    try:
        for path, _, files in os.walk(home.path):
            for entry in (path, *(os.path.join(path, name) for name in files)):
                os.chown(entry, -1, number, follow_symlinks=False)
        os.chmod(home.path, 0o2770)  # noqa: S103 (the group is let in on purpose)
    except PermissionError as error:
        raise NotAllowed(
            f"cannot give {home.path} to group {group}: its owner can, who is in that group (id -Gn lists yours)"
        ) from error
    share(home, home.path)


def _number(group: str) -> int:
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        if group.isascii() and group.isdigit() and len(group) <= 10 and int(group) < NOBODY:
            return int(group)
    raise ProvioError(f"there is no group {group!r}: name one of yours (id -Gn lists them)")

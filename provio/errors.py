"""The old name of `provio.base.errors`, kept for one release: `provio.NothingKnown` and the other names replace it."""

from provio.base.errors import *  # noqa: F403

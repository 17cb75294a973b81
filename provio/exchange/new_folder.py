"""A folder that appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from provio.base.errors import ProvioError


@contextlib.contextmanager
def made(folder: Path) -> Iterator[Path]:
    """Yield an empty folder next to `folder`, which gets that name at the end of the block; it is removed after an
    error. Raises ProvioError if the name exists or the place cannot be written."""
    if os.path.lexists(folder):
        raise ProvioError(f"cannot write {folder}: it exists: name a folder that does not exist yet")
    try:
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    except OSError as error:
        raise ProvioError(f"cannot write {folder} ({error.strerror}): name another folder with -o") from error
    try:
        yield unfinished
        unfinished.chmod(0o777 & ~_umask())
        unfinished.rename(folder)
    except OSError as error:
        raise ProvioError(f"cannot write {folder} ({error.strerror}): name another folder with -o") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

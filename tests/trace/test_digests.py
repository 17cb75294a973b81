"""A run's hash does not depend on the implementation of SHA-256."""

from __future__ import annotations

import hashlib

from provio.trace import digests
from provio.trace.digests import FEW, Digests


def test_few_files_and_many() -> None:
    """The first files are hashed without OpenSSL, which is slow to load; the others and large ones with it."""
    contents = [b"%d" % number * number for number in range(2 * FEW)] + [b"x" * 1_000_000]
    known, whole = Digests(), hashlib.sha256()
    for number, content in enumerate(contents):
        known.add(("host", f"{number:03}"), content)
        whole.update(b"host/%03d\0" % number + hashlib.sha256(content).digest())
    assert known.hexdigest() == whole.hexdigest()
    assert digests._builtin()(b"some").digest() == hashlib.sha256(b"some").digest()

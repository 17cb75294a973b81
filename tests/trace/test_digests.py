"""A run's hash is that of its files, whoever computes it."""

from __future__ import annotations

import hashlib

from provio.trace import digests
from provio.trace.digests import FEW, Digests


def test_few_files_and_many() -> None:
    """The first are hashed without OpenSSL, which is dear to load, the rest and all that is large with it."""
    contents = [b"%d" % number * number for number in range(2 * FEW)] + [b"x" * 1_000_000]
    known, whole = Digests(), hashlib.sha256()
    for number, content in enumerate(contents):
        known.add(("host", f"{number:03}"), content)
        whole.update(b"host/%03d\0" % number + hashlib.sha256(content).digest())
    assert known.hexdigest() == whole.hexdigest()
    assert digests._builtin()(b"some").digest() == hashlib.sha256(b"some").digest()

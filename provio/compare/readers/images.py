"""Two images (PNG, JPEG, TIFF): the pixels as numbers; of several frames, each is a part. Metadata are not compared."""

from __future__ import annotations

import warnings
from typing import Any

from provio.compare.parts import Parts, Unreadable


def compare(first: str, second: str, found: Parts) -> None:
    """Add the pixels of both images."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about large images and damaged metadata
        try:
            with Image.open(first) as one, Image.open(second) as other:
                _frames(one, other, found)
        except Image.DecompressionBombError as error:
            raise Unreadable(f"is too large to be read as an image ({error})") from None


def _frames(one: Any, other: Any, found: Parts) -> None:
    import numpy as np

    counts = [getattr(own, "n_frames", 1) for own in (one, other)]
    if counts[0] != counts[1]:
        found.part("").describe(*(f"{count:,} frames" for count in counts))
        found.part("").differs("another number of frames")
    for number in range(min(counts)):
        part = found.part(f"frame {number}" if max(counts) > 1 else "")
        sides = []
        for own in (one, other):
            own.seek(number)
            sides.append(own.convert("RGBA") if own.mode in ("P", "PA") else own)
        if sides[0].mode != sides[1].mode:
            part.describe(*(f"mode {own.mode}" for own in sides))
            part.differs("another kind of pixels")
        else:
            part.add_arrays(np.asarray(sides[0]), np.asarray(sides[1]))

"""Top Reco: a training of 200 epochs that declares its configuration, and the loss and accuracy of each epoch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from case import HERE, Case, Place, Unit

EXAMPLE = HERE.parent / "examples" / "topreco"
EPOCHS = 200
FILES = ("topreco.ini", "events.npy", "weights.npz")
MOST = 1_575  # bytes an epoch: ProvLake's published log of this workflow


def _prepare(place: Place) -> None:
    text = (EXAMPLE / "topreco.ini").read_text(encoding="utf-8")
    (place.data / "topreco.ini").write_text(text.replace("epochs = 20", f"epochs = {EPOCHS}"), encoding="utf-8")
    events = place.data / "events.npy"
    if not events.exists():
        subprocess.run([sys.executable, EXAMPLE / "synthesise.py", events], check=True, stdout=subprocess.DEVNULL)


def _every_epoch(folder: Path, _: str) -> str:
    """Check the text that the epochs added: from the first metric to the last, with padding."""
    word = b" a :Metric "
    (text,) = (text for text in map(Path.read_bytes, folder.glob("*.ttl")) if word in text)
    count = text.count(word)
    size = (text.rindex(word) - text.index(word)) // EPOCHS
    if count != 2 * EPOCHS or size >= MOST:
        raise AssertionError(f"{count} metrics of {EPOCHS} epochs, {size} bytes an epoch (at most {MOST}) in {folder}")
    return f"{count} metrics, {size:,} bytes an epoch (ProvLake: {MOST:,})"


CASES = [
    Case(
        "topreco",
        f"Top Reco: {EPOCHS} epochs, each with loss and accuracy",
        "Top Reco",
        lambda _: [sys.executable, HERE / "programs" / "topreco.py", EXAMPLE / "train.py", *FILES],
        Unit.RATIO,
        {"op": 1.01},
        prepare=_prepare,
        check=_every_epoch,
    )
]

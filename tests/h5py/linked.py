import contextlib

import h5py
import numpy as np

with h5py.File("b.h5", "w") as f:
    f["far/data"] = np.arange(6)
with h5py.File("a.h5", "w") as f:
    f["g/d"] = np.arange(10)
    f["soft"] = h5py.SoftLink("/g/d")
    f["relative"] = h5py.SoftLink("g")
    f["dangling"] = h5py.SoftLink("/nothing")
    f["outer"] = h5py.ExternalLink("b.h5", "/far/data")
    f["hard"] = f["g/d"]
    f["type"] = np.dtype("i4")
    f.create_dataset("typed", (2,), dtype=f["type"])[...] = 3
with h5py.File("a.h5", "r") as f:
    f["soft"][:3]
    f["relative/d"][3:5]
    f["hard"][5]
    f["outer"][1:]
    f["type"].dtype
    f.get("soft", getlink=True), f.get("outer", getlink=True)
    with contextlib.suppress(KeyError):
        f["dangling"]

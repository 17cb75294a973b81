import h5py
import numpy as np

with open("raw.h5", "w+b") as raw, h5py.File(raw, "w") as f:
    f["d"] = np.arange(6)
with open("raw.h5", "rb") as raw, h5py.File(raw, "r") as f:
    assert f["d"][2:].sum() == 14

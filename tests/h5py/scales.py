import h5py
import numpy as np

with h5py.File("a.h5", "w") as f:
    f["t"] = np.arange(4.0)
    f["d"] = np.zeros((4, 2))
    f["t"].make_scale("time")
    f["d"].dims[0].attach_scale(f["t"])
    f["d"].dims[0].label = "t"
with h5py.File("a.h5", "r") as f:
    f["d"].dims[0]["time"][:2]

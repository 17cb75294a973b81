import h5py
import numpy as np

with h5py.File("log.h5", "w") as f:
    f.create_dataset("t", (0,), maxshape=(None,), chunks=(4,), dtype="f8")
for step in range(3):
    with h5py.File("log.h5", "a") as f:
        d = f["t"]
        d.resize(d.shape[0] + 5, axis=0)
        d[-5:] = np.arange(5.0) + step
with h5py.File("log.h5", "r") as f:
    assert f["t"][-1] == 6

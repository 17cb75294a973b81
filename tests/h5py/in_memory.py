import io

import h5py
import numpy as np

with h5py.File("core.h5", "w", driver="core", backing_store=True) as f:
    f["d"] = np.arange(3)
with h5py.File("nowhere.h5", "w", driver="core", backing_store=False) as f:
    f["d"] = np.arange(4)
    f["d"][1:]
held = io.BytesIO()
with h5py.File(held, "w") as f:
    f["d"] = np.arange(5)

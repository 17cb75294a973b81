import h5py
import numpy as np

with h5py.File("table.h5", "w") as f:
    for name in ("x", "y", "z"):
        f.create_dataset(f"frame/{name}", data=np.random.default_rng(1).random(100), chunks=(10,), compression=4)
    f["frame"].attrs["columns"] = ["x", "y", "z"]
with h5py.File("table.h5", "r") as f, h5py.File("means.h5", "w") as to:
    for name in f["frame"].attrs["columns"]:
        column = f["frame"][name]
        for start in range(0, 100, 25):
            column[start : start + 25].mean()
        to[f"mean/{name}"] = column[:].mean()
        to[f"mean/{name}"].attrs["of"] = name

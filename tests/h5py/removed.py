import h5py
import numpy as np

with h5py.File("a.h5", "w") as f:
    for part in ("old", "new"):
        f[f"far/off/{part}"] = np.arange(3)
        f[f"far/off/{part}"].attrs["unit"] = "m"
    f["farther"] = np.arange(2)
    del f["far"]  # with all members; objects with only a similar name stay
    f["far/off/old"] = np.arange(4)
    assert f["farther"][:].sum() == 1 and f["far/off/old"][:].sum() == 6
    del f["far/off/old"]
    f["far/off/old"] = np.arange(5)
    f["far/off/old"].attrs["unit"] = "s"

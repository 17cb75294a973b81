import h5py
import numpy as np

with h5py.File("a.h5", "w") as f:
    f["d"] = np.arange(4)
    f["d"].attrs["units"] = "m"
    f.create_group("g")["inner"] = np.arange(5.0)
    f.move("d", "g/e")
    f["g/e"][1:3]
    f.copy("g", "h")
    f.copy(f["g/inner"], f["h"], name="again")
    f["h/again"][...] = 5
    del f["g/inner"]
    f["g/inner"] = np.arange(2)
    f["g/inner"][0]
with h5py.File("a.h5", "r") as f, h5py.File("b.h5", "w") as to:
    f.copy("h", to)
    f.copy("g/e", to, "e")
    to["e"][:2]

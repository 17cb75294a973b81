import h5py
import numpy as np

with h5py.File("a.h5", "w") as f:
    d = f.create_dataset("g/d", data=np.arange(3))
    d.attrs["n"] = 1
    d.attrs["text"] = "some words"
    d.attrs["list"] = [1.0, 2.0, 3.0]
    d.attrs["empty"] = h5py.Empty("f4")
    d.attrs.create("made", np.arange(4), dtype="i2")
    f.attrs["of the root"] = np.float32(2)
    f["g"].attrs["strings"] = ["a", "bcd"]
with h5py.File("a.h5", "r+") as f:
    attributes = f["g/d"].attrs
    attributes["n"], attributes["empty"], attributes.get("nothing")
    attributes["n"] = 2
    attributes["text"] = "other words"
    attributes.modify("list", [4.0, 5.0, 6.0])
    attributes.modify("new", 7)
    dict(attributes.items())
    assert "n" in attributes and len(attributes) == 6
    del attributes["made"]
    h5py.h5a.rename(f["g/d"].id, b"n", b"count")
    attributes["count"]
    list(f["g"].attrs["strings"])
    f.attrs["of the root"]

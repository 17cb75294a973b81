import h5py
import numpy as np

with h5py.File("a.h5", "w") as f:
    pair = np.dtype([("x", "i4"), ("y", "f8")])
    f["compound"] = np.zeros(5, pair)
    f["strings"] = ["a", "bcd", "e"]
    f["fixed"] = np.array([b"ab", b"cd"])
    f["scalar"] = 3.5
    f["word"] = "text"
    f["empty"] = h5py.Empty("f8")
    f["flags"] = np.array([True, False])
    f["complex"] = np.zeros(2, "c16")
    f["arrays"] = np.zeros(3, np.dtype(("f4", (2, 2))))
    f.create_dataset("array type", (3,), dtype=np.dtype(("f4", (2, 2))))
    ragged = f.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("i4"))
    ragged[0] = [1, 2, 3]
    ragged[1:] = [np.array([4]), np.array([5, 6])]
    references = f.create_dataset("references", (2,), dtype=h5py.ref_dtype)
    references[0] = f["scalar"].ref
    regions = f.create_dataset("regions", (1,), dtype=h5py.regionref_dtype)
    regions[0] = f["fixed"].regionref[0:1]
    colours = f.create_dataset("colours", (4,), dtype=h5py.enum_dtype({"red": 1, "green": 2}, basetype="i1"))
    colours[:] = 1
    f.create_dataset("opaque", data=np.zeros(2, "V6"))
    f.create_dataset("unsigned", data=np.zeros(2, ">u2"))
with h5py.File("a.h5", "r+") as f:
    f["compound"]["x"]
    f["compound"][1:3]
    f["compound"].fields("y")[:2]
    f["compound"].fields(["x"])[:2]
    f["compound"][0] = (1, 2.0)
    f["compound"]["y"] = np.ones(5)
    f["strings"][:]
    f["strings"].asstr()[1:]
    f["fixed"][0]
    f["scalar"][()]
    f["scalar"][()] = 4.5
    f["word"][()]
    f["empty"][()]
    f["flags"][:]
    f["complex"][0]
    f["array type"][1:]
    f["array type"][0] = np.ones((2, 2))
    f["ragged"][0]
    f["ragged"][:]
    f[f["references"][0]][()]
    f["fixed"][f["regions"][0]]
    f["colours"][1:3]

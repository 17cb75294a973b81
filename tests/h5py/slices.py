import h5py
import numpy as np

with h5py.File("a.h5", "w") as f:
    d = f.create_dataset("d", data=np.arange(120, dtype="i4").reshape(6, 20), chunks=(2, 5))
    f.create_dataset("zero", shape=(0, 3), maxshape=(None, 3), dtype="f8")
with h5py.File("a.h5", "r+") as f:
    d = f["d"]
    d[0]
    d[...]
    d[()]
    d[1, 2]
    d[1:3, ::4]
    d[[0, 2, 5]]
    d[:, [1, 3]]
    d[d[:, 0] > 50]
    d[np.zeros((6, 20), bool)]
    d[2:2]
    f["zero"][:]
    list(d)
    np.array(d)
    np.asarray(d, dtype="f8")
    d.astype("f8")[3]
    out = np.empty((2, 20), "i4")
    d.read_direct(out, np.s_[4:6])
    for chunk in d.iter_chunks():
        d[chunk]
    d[3] = 7
    d[3:5] = np.arange(20)
    d[:, 0] = np.arange(6)
    d[[1, 4], 3] = [8, 9]
    d[d[...] == 7] = 0
    d.write_direct(np.ones((6, 20), "i4"))
    d[...] = np.zeros((6, 20), "i4")
    d.len(), d.shape, d.size, d.maxshape

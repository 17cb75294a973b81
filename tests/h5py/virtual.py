import h5py
import numpy as np

for i in range(3):
    with h5py.File(f"part{i}.h5", "w") as f:
        f["data"] = np.arange(10) + i
layout = h5py.VirtualLayout(shape=(4, 10), dtype="i8")
for i in range(3):
    layout[i] = h5py.VirtualSource(f"part{i}.h5", "data", shape=(10,))
with h5py.File("whole.h5", "w") as f:
    f["own"] = np.arange(10)
    layout[3] = h5py.VirtualSource(f["own"])
    f.create_virtual_dataset("all", layout, fillvalue=-1)
with h5py.File("whole.h5", "r") as f:
    assert f["all"][...].sum() == 45 * 4 + 30
    f["all"].virtual_sources()

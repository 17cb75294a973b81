import h5py
import numpy as np

with h5py.File("a.h5", "a") as f:
    f.require_group("a/b/c")
    f.require_group("a/b")
    f.require_dataset("a/d", (3,), "f8", data=np.zeros(3))
    f.require_dataset("a/d", (3,), "f8")[...] = 2
    f.create_dataset("x/y/z", data=1)
    f.create_dataset_like("like", f["a/d"])
    f.get("a/d")
    f.get("nothing")
    assert "a" in f and "nothing" not in f
    assert len(f["a"]) == 2
    for name, item in f["a"].items():
        item.name, name
    f.visititems(lambda name, item: None)
with h5py.File("a.h5", "a") as f:
    f["a/d"][1]

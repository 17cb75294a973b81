import gc

import h5py
import numpy as np

f = h5py.File("collected.h5", "w")
f["d"] = np.arange(3)
del f
gc.collect()
group = h5py.File("by a group.h5", "w").create_group("g")
group["d"] = np.arange(3)
group.file.flush()
group.file.close()
left = h5py.File("at the end.h5", "w")
left["d"] = np.arange(3)

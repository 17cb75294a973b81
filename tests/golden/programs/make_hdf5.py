"""Writes survey.h5: two datasets in a group, a scalar, a resized one, attributes, and links."""

import h5py
import numpy as np

values = np.loadtxt("west.csv")
with h5py.File("survey.h5", "w") as file:
    group = file.create_group("day1")
    east = group.create_dataset("east", data=values * 2, chunks=(4,), compression="gzip")
    east.attrs["units"] = "nm/s"
    group.create_dataset("west", data=values)
    growing = group.create_dataset("growing", shape=(2,), maxshape=(None,), dtype="i4")
    growing.resize((6,))
    growing[2:] = 7
    file["scale"] = 2.5
    file["latest"] = h5py.SoftLink("/day1")
    file.attrs["title"] = "survey"

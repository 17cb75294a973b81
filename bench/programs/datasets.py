"""`datasets.py FILE COUNT` writes COUNT chunked datasets of 32 KiB into an HDF5 file, and reads them again."""

import sys

import h5py
import numpy

name, count = sys.argv[1], int(sys.argv[2])
values = numpy.arange(64 * 64, dtype="f8").reshape(64, 64)
with h5py.File(name, "w") as file:
    for i in range(count):
        file.create_dataset(f"group{i // 100}/dataset{i}", data=values + i, chunks=(16, 64))
with h5py.File(name, "r") as file:
    for i in range(count):
        assert file[f"group{i // 100}/dataset{i}"][3, 5] == values[3, 5] + i

"""A field of waves at several times, as HDF5."""
import h5py
import numpy

with h5py.File("waves.h5", "w") as out:
    x = numpy.linspace(0, 1, 50)
    out["x"] = x
    field = out.create_dataset("field", (10, 50), "f4")
    for step in range(10):
        field[step] = numpy.sin(6 * x + step / 3)
    field.attrs["unit"] = "m"

"""together FOLDER: h5py, netCDF4, PyTables and h5netcdf in one process, each with its own HDF5, one after the other."""

import sys
from pathlib import Path

import h5netcdf
import h5py
import netCDF4
import numpy as np
import tables

folder = Path(sys.argv[1])
with h5py.File(folder / "h5py.h5") as file:
    values = file["values"][()]
with netCDF4.Dataset(folder / "netcdf.nc", "w") as file:
    file.createDimension("x", 8)
    file.createVariable("doubled", "f8", ("x",))[:] = 2 * values
with netCDF4.Dataset(folder / "netcdf.nc") as file:
    doubled = np.asarray(file["doubled"][:])
with tables.open_file(folder / "tables.h5", "w") as file:
    file.create_array("/", "trebled", doubled * 1.5)
with tables.open_file(folder / "tables.h5") as file:
    trebled = file.root.trebled[:4]
with h5netcdf.File(folder / "h5netcdf.nc", "w") as file:
    file.dimensions = {"x": 4}
    file.create_variable("first", ("x",), data=trebled)

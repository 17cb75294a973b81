"""The mean over time, as netCDF."""
import h5py
import netCDF4

with h5py.File("waves.h5") as source, netCDF4.Dataset("mean.nc", "w") as out:
    out.createDimension("x", len(source["x"]))
    out.createVariable("x", "f8", ("x",))[:] = source["x"][:]
    out.createVariable("mean", "f8", ("x",))[:] = source["field"][:].mean(axis=0)

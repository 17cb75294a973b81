"""The largest mean, read by xarray."""
import xarray

with xarray.open_dataset("mean.nc") as data, open("peak.txt", "w") as out:
    print(float(data["mean"].max()), file=out)

"""Chunks of xarray on a cluster of Dask: each task that reads a chunk has exactly the file of its variable."""

from __future__ import annotations

import re
import subprocess

import pytest
from conftest import Project
from dask_environments import python_with_dask

MAKE = """
import numpy, xarray
for name in ("one", "two"):
    data = numpy.arange(5000.0).reshape(100, 50)
    xarray.Dataset({name: (("x", "y"), data)}).to_netcdf(name + ".nc", engine="h5netcdf")
"""
PROGRAM = """
import xarray
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        opened = [xarray.open_dataset(name + ".nc", engine="h5netcdf", chunks={"x": 25}) for name in ("one", "two")]
        for name, dataset in zip(("one", "two"), opened):
            (dataset[name] * 2).mean().compute()
        (opened[0].one + opened[1].two).to_dataset(name="sum").to_netcdf("sum.nc", engine="h5netcdf")
"""
READS = """
SELECT DISTINCT ?task ?path ?opened {
  ?task a provio:Task ; provio:name ?key . FILTER(STRSTARTS(?key, "('mean_chunk-"))
  ?part provio:partOf ?task ; prov:used ?version, ?result .
  ?version prov:specializationOf/provio:path ?path . FILTER(STRENDS(?path, ".nc"))
  ?result prov:wasGeneratedBy/provio:name ?opened
}
"""


@pytest.mark.slow
def test_each_task_has_the_file_of_its_chunk(project: Project) -> None:
    """A worker reads chunks of both files, one after the other, through files that it keeps open."""
    python = python_with_dask()
    if subprocess.run([python, "-c", "import xarray, h5netcdf"], capture_output=True, check=False).returncode:
        pytest.skip("xarray is not installed (make test installs it where it may)")
    (project.path / "main.py").write_text(PROGRAM)
    project.sh(f"{python} -c '{MAKE}'")
    project.watch(python, "main.py")
    rows = project.rows(READS)
    assert len({row["task"] for row in rows}) == 8  # chunks
    for row in rows:
        name = re.fullmatch("original-open_dataset-(one|two)-[0-9a-f]+", row["opened"])
        assert name and row["path"] == str(project.path / f"{name[1]}.nc"), row
    assert project.files(project.lineage("sum.nc"))["data"] >= {"one.nc", "two.nc"}

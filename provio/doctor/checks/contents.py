"""Checks the packages that read the contents of files after a run."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from provio.doctor import Finding, Place, check, note, ok
from provio.system import installation

# Package to import; extra that installs it; data that is missing without it.
PACKAGES = (
    ("yaml", "yaml", "parameters and metrics in YAML files"),
    ("h5py", "metadata", "metadata of HDF5 and netCDF-4 files"),
    ("netCDF4", "metadata", "metadata of classic netCDF files"),
    ("PIL", "metadata", "metadata of images"),
)


@check("contents")
def check_contents(_place: Place) -> Iterator[Finding]:
    """Yield the packages that are missing to read the contents of files."""
    missing = [(module, extra, lost) for module, extra, lost in PACKAGES if find_spec(module) is None]
    for module, extra, lost in missing:
        yield note(f"{module} is not installed: {lost} are not recorded", installation.install(extra))
    if not missing:
        yield ok("the packages that read parameters, metrics and metadata of files are installed")

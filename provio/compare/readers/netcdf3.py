"""Two classic netCDF files: the variables and attributes by name (`x`, `x@units`). netCDF4 reads them, or SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from provio.compare.parts import Parts
from provio.compare.readers import pieces


def compare(first: str, second: str, found: Parts) -> None:
    """Add the variables and attributes of both files."""
    opened, attributes = _package()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, about the order in which mapped files are closed
        with opened(first) as one, opened(second) as other:
            _attributes(one, other, "", attributes, found)
            shown = [
                {name: f"shape {tuple(own.variables[name].shape)}" for name in own.variables} for own in (one, other)
            ]
            for name in found.common(*shown):
                with found.reading(name) as part:
                    old, new = one.variables[name], other.variables[name]
                    _attributes(old, new, name, attributes, found)
                    pieces.add(_Variable(old), _Variable(new), part)


class _Variable:
    """A variable of either package, as an array that is not read yet."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.shape = tuple(variable.shape)
        self.dtype = variable.dtype if hasattr(variable, "dtype") else variable.data.dtype

    def __getitem__(self, piece: Any) -> Any:
        return self.variable[piece] if hasattr(self.variable, "dtype") else self.variable.data[piece].copy()


def _package() -> tuple[Callable[[str], Any], Callable[[Any], dict[str, Any]]]:
    """Return the functions of a package that open a file and list the attributes of a part."""
    try:
        import netCDF4
    except ImportError:
        from scipy.io import netcdf_file

        return (lambda path: netcdf_file(path, "r")), (lambda part: dict(part._attributes))

    def opened(path: str) -> Any:
        file = netCDF4.Dataset(path)
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return file

    return opened, lambda part: {name: part.getncattr(name) for name in part.ncattrs()}


def _attributes(old: Any, new: Any, name: str, of: Callable[[Any], dict[str, Any]], found: Parts) -> None:
    import numpy as np

    both = [of(part) for part in (old, new)]
    for key in found.common(*({f"{name}@{key}": "attribute" for key in own} for own in both)):
        with found.reading(key) as part:
            one, other = (np.asarray(own[key[len(name) + 1 :]]) for own in both)
            part.add_arrays(one, other)

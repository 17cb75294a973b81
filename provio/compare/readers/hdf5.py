"""Two HDF5 files, netCDF-4 too: the datasets and attributes by name (`group/x`, `group/x@units`), piece by piece."""

from __future__ import annotations

from typing import Any

from provio.compare.parts import Parts
from provio.compare.readers import pieces

OF_SCALES = {"DIMENSION_LIST", "REFERENCE_LIST"}  # attributes that lead from data to its dimensions, and back


def compare(first: str, second: str, found: Parts) -> None:
    """Add the datasets and attributes of both files."""
    import h5py

    with h5py.File(first, "r") as one, h5py.File(second, "r") as other:
        for name in ["/", *found.common(_objects(one), _objects(other))]:
            shown = "" if name == "/" else name
            with found.reading(shown) as part:
                _add(one[name], other[name], shown, found)
            if part.is_equal and isinstance(one[name], h5py.Group):
                del found.parts[shown]  # a group has no values of its own


def _objects(file: Any) -> dict[str, str]:
    """Return a description of each object, by name."""
    found: dict[str, str] = {}
    file.visititems(lambda name, one: found.update({name: _kind(one)}))
    return found


def _kind(one: Any) -> str:
    import h5py

    if isinstance(one, h5py.Dataset):
        return f"shape {one.shape}" if one.shape is not None else "no data"
    return "group" if isinstance(one, h5py.Group) else "type"


def _add(old: Any, new: Any, name: str, found: Parts) -> None:
    import h5py

    shown = [one.attrs.keys() - OF_SCALES for one in (old, new)]
    for key in sorted(found.common(*({f"{name}@{key}": "attribute" for key in own} for own in shown))):
        with found.reading(key) as part:
            values = [_attribute(one, key[len(name) + 1 :]) for one in (old, new)]
            if values[0] is not None and values[1] is not None:
                part.add_arrays(*values)
            elif values[0] is not values[1]:
                part.differs("only one file has data")
    part = found.part(name)
    if type(old) is not type(new):
        part.describe(_kind(old), _kind(new))
        part.differs("another kind of object")
    elif isinstance(old, h5py.Datatype):
        if old.dtype != new.dtype:
            part.describe(str(old.dtype), str(new.dtype))
            part.differs("another type")
    elif isinstance(old, h5py.Dataset):
        if old.shape is not None and new.shape is not None:
            pieces.add(old, new, part, _plain)
        elif old.shape != new.shape:
            part.describe(_kind(old), _kind(new))
            part.differs("only one file has data")


def _attribute(one: Any, key: str) -> Any:
    """Return an attribute as an array; None if it has no data."""
    import h5py
    import numpy as np

    value = one.attrs[key]
    return None if isinstance(value, h5py.Empty) else _plain(one, np.asarray(value))


def _plain(one: Any, values: Any) -> Any:
    """Return an array in which references are the names of their targets: their addresses differ in each file."""
    import h5py
    import numpy as np

    values = np.asarray(values)
    if values.dtype.names:
        if not values.dtype.hasobject:
            return values
        parts = [(name, _plain(one, values[name])) for name in values.dtype.names]
        result = np.empty(values.shape, [(name, part.dtype, part.shape[values.ndim :]) for name, part in parts])
        for name, part in parts:
            result[name] = part
        return result
    if values.dtype != object:
        return values
    result = np.empty(values.shape, object)
    for index in np.ndindex(values.shape):
        value = values[index]
        if isinstance(value, h5py.Reference | h5py.RegionReference):
            value = _target(one, value)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            value = _plain(one, value)
        result[index] = value
    return result


def _target(one: Any, reference: Any) -> str:
    import h5py

    if not reference:
        return "-> nothing"
    target = h5py.h5r.get_name(reference, one.file.id)
    shown = f"-> {(target or b'an object without a name').decode('utf-8', 'surrogateescape')}"
    if isinstance(reference, h5py.RegionReference):
        region = h5py.h5r.get_region(reference, one.file.id)
        shown += f" {region.get_select_npoints()} of {region.shape}, {region.get_select_bounds()}"
    return shown

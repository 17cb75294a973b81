"""Describe the objects of an HDF5 file: open identifiers of h5py in, the facts of the trace out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

# By HDF5's numbers, which are the same in every version; `interceptors/hdf5/constants.h` has the same words.
CLASSES = "int float time string bitfield opaque compound reference enum vlen array complex".split()
FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf"}


def of_object(h5py: Any, identifier: Any, kind: str, creation: Any, created: bool) -> dict[str, Any]:
    """Return the facts of a group (none), a committed datatype or a dataset (chunks and filters if created)."""
    if kind == "Datatype":
        return {"datatype": datatype(h5py, identifier), "element_size": identifier.get_size()}
    if kind != "Dataset":
        return {}
    space = identifier.get_space()
    facts = of_elements(h5py, space, identifier.get_type())
    if space.get_simple_extent_type() == h5py.h5s.SIMPLE:
        most = space.get_simple_extent_dims(True)
        facts["max_shape"] = " ".join("*" if size == h5py.h5s.UNLIMITED else str(size) for size in most)
    if not created:
        return facts
    if creation.get_layout() == h5py.h5d.CHUNKED:
        facts["chunks"] = " ".join(map(str, creation.get_chunk()))
    names = [filter_name(creation.get_filter(i)) for i in range(creation.get_nfilters())]
    if names:
        facts["filters"] = " ".join(names)
    return facts


def of_attribute(h5py: Any, identifier: Any) -> dict[str, Any]:
    """Return the facts of an attribute."""
    return of_elements(h5py, identifier.get_space(), identifier.get_type())


def of_elements(h5py: Any, space: Any, kind: Any) -> dict[str, Any]:
    """Return the facts of a data space and a datatype; a null space has no shape."""
    facts = {"datatype": datatype(h5py, kind), "element_size": kind.get_size()}
    if space.get_simple_extent_type() != h5py.h5s.NULL:
        facts["shape"] = " ".join(map(str, space.get_simple_extent_dims()))
    return facts


def datatype(h5py: Any, kind: Any) -> str:
    """Return the name of a datatype's class, with its number of bits where it is a number."""
    h5t = h5py.h5t
    family, bits = kind.get_class(), 8 * kind.get_size()
    if family == h5t.INTEGER:
        return ("int" if kind.get_sign() == h5t.SGN_2 else "uint") + str(bits)
    if family == h5t.FLOAT:
        return f"float{bits}"
    return CLASSES[family] if 0 <= family < len(CLASSES) else "other"


def filter_name(described: tuple[int, int, Any, bytes]) -> str:
    """Return the name of a filter of HDF5, or the number of another filter."""
    return FILTERS.get(described[0]) or str(described[0])


def elements(h5py: Any, space: Any, dataset: Any) -> int:
    """Return the number of elements of a selection in a dataset."""
    return int((dataset.get_space() if space.id == h5py.h5s.ALL.id else space).get_select_npoints())


def virtual_sources(h5py: Any, creation: Any, path: bytes) -> Iterator[tuple[bytes | None, bytes]]:
    """Yield the file and the path of each source of a virtual dataset; None: the file of the virtual dataset."""
    if creation.get_layout() != h5py.h5d.VIRTUAL:
        return
    seen = set()
    for i in range(creation.get_virtual_count()):
        name = os.fsencode(creation.get_virtual_dsetname(i))
        source = os.fsencode(creation.get_virtual_filename(i))
        if (source, name) not in seen:
            seen.add((source, name))
            yield None if source == b"." else source_path(source, path), name if name.startswith(b"/") else b"/" + name


def source_path(source: bytes, path: bytes) -> bytes:
    """Return the path at which HDF5 finds the file of a source: relative to the virtual dataset's file, else as it
    is."""
    relative = os.path.join(os.path.dirname(os.path.abspath(path)), source)
    return relative if os.path.exists(relative) else os.path.abspath(source)

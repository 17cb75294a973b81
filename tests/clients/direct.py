"""direct LIBRARY FILE: calls functions of HDF5 by address, as a plug-in loader does, bypassing preloaded libraries."""

import ctypes
import sys

ID = ctypes.c_int64
NONE = ID(0)

hdf5 = ctypes.CDLL(sys.argv[1])
for name in "H5Fcreate H5Fopen H5Gcreate2 H5Dcreate2 H5Dopen2 H5Pcreate H5Screate_simple H5Screate H5Acreate2".split():
    getattr(hdf5, name).restype = ID
hdf5.H5open()
hdf5.H5Eset_auto2(NONE, None, None)
double, integer = (ID(ID.in_dll(hdf5, f"H5T_NATIVE_{name}_g").value) for name in ("DOUBLE", "INT"))
length = ctypes.c_uint64(100)

file = ID(hdf5.H5Fcreate(sys.argv[2].encode(), 2, NONE, NONE))
group = ID(hdf5.H5Gcreate2(file, b"group", NONE, NONE, NONE))
space = ID(hdf5.H5Screate_simple(1, ctypes.byref(length), None))
dataset = ID(hdf5.H5Dcreate2(group, b"raw", double, space, NONE, NONE, NONE))
values = (ctypes.c_double * 100)(*range(100))
for _ in range(3):
    assert hdf5.H5Dwrite(dataset, double, NONE, NONE, NONE, values) == 0
attribute = ID(hdf5.H5Acreate2(dataset, b"units", integer, ID(hdf5.H5Screate(0)), NONE, NONE))
assert hdf5.H5Awrite(attribute, integer, ctypes.byref(ctypes.c_int(7))) == 0
hdf5.H5Aclose(attribute)
hdf5.H5Aclose(ID(hdf5.H5Acreate2(group, b"times", double, space, NONE, NONE)))
hdf5.H5Dclose(dataset)
assert hdf5.H5Ocopy(file, b"/group/raw", file, b"/copy", NONE, NONE) == 0
assert hdf5.H5Lcreate_soft(b"/copy", file, b"/group/link", NONE, NONE) == 0
assert hdf5.H5Lmove(file, b"/group/link", NONE, b"moved", NONE, NONE) == 0
assert hdf5.H5Adelete_by_name(file, b"copy", b"units", NONE) == 0
assert hdf5.H5Dopen2(file, b"nothing", NONE) < 0
hdf5.H5Gclose(group)
hdf5.H5Fclose(file)

file = ID(hdf5.H5Fopen(sys.argv[2].encode(), 1, NONE))
dataset = ID(hdf5.H5Dopen2(file, b"copy", NONE))
assert hdf5.H5Dread(dataset, double, NONE, NONE, NONE, values) == 0
assert hdf5.H5Dwrite(dataset, double, NONE, NONE, NONE, values) == 0
none, one, half = (ctypes.byref(ctypes.c_uint64(number)) for number in (0, 1, 50))
if hasattr(hdf5, "H5Pset_dataset_io_hyperslab_selection"):  # not in HDF5 1.12
    transfer = ID(hdf5.H5Pcreate(ID.in_dll(hdf5, "H5P_CLS_DATASET_XFER_ID_g")))
    assert hdf5.H5Pset_dataset_io_hyperslab_selection(transfer, 1, 0, none, one, half, one) == 0
    part = ID(hdf5.H5Screate_simple(1, half, None))
    assert hdf5.H5Dread(dataset, double, part, ID(2), transfer, values) == 0  # 2: the selection is in the list
else:
    chosen = ID(hdf5.H5Screate_simple(1, ctypes.byref(length), None))
    assert hdf5.H5Sselect_hyperslab(chosen, 0, none, one, half, one) == 0
    assert hdf5.H5Dread(dataset, double, chosen, chosen, NONE, values) == 0
hdf5.H5Fclose(file)
hdf5.H5Dclose(dataset)
assert sum(values) == 4950

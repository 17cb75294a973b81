"""Observe the low level of h5py where the C layer does not see its calls of HDF5."""

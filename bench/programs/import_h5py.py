"""Prints how many nanoseconds `import h5py` takes; numpy, which it imports, is there already."""

import time

import numpy  # noqa: F401

start = time.perf_counter_ns()
import h5py  # noqa: E402, F401

print(time.perf_counter_ns() - start)

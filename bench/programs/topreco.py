"""Trains as examples/topreco/train.py does, which is the first argument. Where nothing is recorded, nothing is said.

One thread computes: by how long a library's threads wait for each other, spinning, runs differ more than by all that is
measured here.
"""

import os
import runpy
import sys

if "PROVIO_TRACE" not in os.environ:
    os.environ["PROVIO_OFF"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")

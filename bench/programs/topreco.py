"""Runs examples/topreco/train.py, which is the first argument; without recording, declarations are off.

Only one thread computes: the time that a library's threads spin while they wait for each other varies more than
anything measured here.
"""

import os
import runpy
import sys

if "PROVIO_TRACE" not in os.environ:
    os.environ["PROVIO_OFF"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")

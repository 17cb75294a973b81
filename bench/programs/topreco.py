"""Trains as examples/topreco/train.py does, which is the first argument. Where nothing is recorded, nothing is said."""

import os
import runpy
import sys

if "PROVIO_TRACE" not in os.environ:
    os.environ["PROVIO_OFF"] = "1"
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")

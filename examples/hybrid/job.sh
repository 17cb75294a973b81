#!/bin/sh
# A job of three stages: a simulation of several ranks, its reduction by Dask, a model trained from the result.
# PYTHON and DASK_PYTHON are the interpreters with PyTorch and with Dask; MPIRUN starts the ranks.
set -e
${MPIRUN:-mpirun} -n 2 ./simulate heat.cfg heat.h5
${DASK_PYTHON:-python3} reduce.py heat.h5 features.h5 --parts 4 --workers 2
${PYTHON:-python3} train.py features.h5 model.pt --epochs 200 --seed 1

"""Reads one dataset of survey.h5 and one attribute; writes stack.h5 from it, and then stack.txt."""

import h5py

with h5py.File("survey.h5") as file:
    east = file["day1/east"]
    values, units = east[:], east.attrs["units"]
with h5py.File("stack.h5", "w") as out:
    stack = out.create_dataset("stack", data=values.cumsum())
    stack.attrs["units"] = units
with open("stack.txt", "w") as text:
    text.write(f"{values.sum()} {units}\n")

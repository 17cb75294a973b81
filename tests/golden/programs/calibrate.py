"""Changes survey.h5 in place: a dataset in part, one moved, an attribute deleted; copies a group into copy.h5."""

import h5py

with open("stack.txt") as text:
    scale = float(text.read().split()[0])
with h5py.File("survey.h5", "r+") as file:
    file["day1/west"][:2] = scale
    del file["day1/east"].attrs["units"]
    file.move("day1/growing", "day1/grown")
    with h5py.File("copy.h5", "w") as out:
        file.copy("day1", out, name="first")

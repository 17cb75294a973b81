import multiprocessing
import threading

import h5py
import numpy as np


def fill(name):
    with h5py.File(f"{name}.h5", "w") as f:
        f["d"] = np.arange(10)
        f["d"][:4]


if __name__ == "__main__":
    with h5py.File("parent.h5", "w") as f:
        f["d"] = np.arange(3)
    threads = [threading.Thread(target=fill, args=(f"thread{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        pool.map(fill, ["child0", "child1"])

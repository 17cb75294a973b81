"""An image pipeline in four steps, with one graph for each step: normalise, grey, Gaussian filter, segmentation.

Each step reads the files that the step before it wrote. Usage: images.py, in the folder of make_data.py.
"""

import os

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def load(folder, block_id):
    """Read the image of a block."""
    return np.load(f"{folder}/{block_id[0]:02}.npy")[None]


def save(block, folder, block_id):
    """Write the image of a block, and return the number of its values."""
    np.save(f"{folder}/{block_id[0]:02}.npy", block[0])
    return np.array([block.size])


def normalise(image):
    """Return an image with values from 0 to 1."""
    low, high = image.min(), image.max()
    return (image - low) / (high - low)


def grey(image):
    """Return the brightness of an image."""
    return image @ np.array([0.299, 0.587, 0.114])


def gaussian(image, sigma=2.0):
    """Return an image that a Gaussian has smoothed, row by row and column by column."""
    place = np.arange(-8, 9)
    kernel = np.exp(-(place**2) / (2 * sigma**2))
    kernel /= kernel.sum()
    for axis in (1, 2):
        image = np.apply_along_axis(np.convolve, axis, image, kernel, mode="same")
    return image


def segment(image):
    """Return 1 where an image is brighter than the threshold of Otsu."""
    count, edges = np.histogram(image, 64)
    middle = (edges[:-1] + edges[1:]) / 2
    below, above = np.cumsum(count), count.sum() - np.cumsum(count)
    sums = np.cumsum(count * middle)
    with np.errstate(invalid="ignore", divide="ignore"):
        between = below * above * (sums / below - (sums[-1] - sums) / above) ** 2
    return (image > middle[np.nanargmax(between)]).astype(np.uint8)


def step(function, source, target, colours):
    """Compute and write all images of a step: one graph."""
    os.makedirs(target, exist_ok=True)
    count, (height, width) = len(os.listdir(source)), np.load(f"{source}/00.npy", mmap_mode="r").shape[:2]
    chunks = ((1,) * count, (height,), (width,)) + (((3,),) if colours else ())
    images = da.map_blocks(load, source, chunks=chunks, dtype=float, meta=np.empty((0,) * len(chunks)))
    axes = list(range(1, images.ndim))
    done = images.map_blocks(function, dtype=float, drop_axis=[3] if function is grey else None)
    pixels = done.map_blocks(save, target, dtype=int, drop_axis=axes[: done.ndim - 1]).compute()
    print(f"{target}: {len(pixels)} images, {pixels.sum()} values")


def main():
    """Compute the four steps."""
    step(normalise, "images", "normal", colours=True)
    step(grey, "normal", "grey", colours=True)
    step(gaussian, "grey", "smooth", colours=False)
    step(segment, "smooth", "segments", colours=False)


if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster, Client(cluster):
        main()

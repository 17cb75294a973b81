"""Make small input data for the three workflows: images, photos with a model, and trips of taxis.

Usage: make_data.py [FOLDER]
"""

import os
import sys

import numpy as np
import pandas as pd

IMAGES, PHOTOS, TRIPS, ROWS = 6, 40, 4, 2000


def discs(random, size):
    """Return an image of bright discs on a dark, noisy ground; bytes, three colours."""
    place = np.mgrid[:size, :size]
    image = random.normal(40, 10, (size, size, 3))
    for _ in range(5):
        centre, radius = random.integers(0, size, 2), random.uniform(size / 16, size / 6)
        image[np.hypot(place[0] - centre[0], place[1] - centre[1]) < radius] += random.uniform(90, 180, 3)
    return image.clip(0, 255).astype(np.uint8)


def trips(random, month):
    """Return trips with their durations (s)."""
    hour, distance = random.integers(0, 24, ROWS), random.gamma(2.0, 3.0, ROWS)
    crowded = np.isin(hour, (8, 9, 17, 18, 19))
    duration = 120 + distance * np.where(crowded, 260, 170) + random.normal(0, 60, ROWS)
    return pd.DataFrame({"month": month, "hour": hour, "distance": distance, "duration": duration.clip(60)})


def main(folder):
    """Write all data into a folder."""
    os.chdir(folder)
    random = np.random.default_rng(2)
    for name in ("images", "photos", "trips"):
        os.makedirs(name, exist_ok=True)
    for number in range(IMAGES):
        np.save(f"images/{number:02}.npy", discs(random, 256))
    for number in range(PHOTOS):
        np.save(f"photos/{number:02}.npy", discs(random, 32))
    np.savez(
        "weights.npz", mean=np.array([90.0, 35.0]), weights=random.normal(0, 1, (2, 3)), names=["few", "some", "many"]
    )
    for number in range(TRIPS):
        trips(random, number + 1).to_parquet(f"trips/{number}.parquet", index=False)
    print(f"{IMAGES} images, {PHOTOS} photos and a model, {TRIPS} files of {ROWS} trips")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")

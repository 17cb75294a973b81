"""The largest value of each file, by a multiprocessing.Pool, as one table that the parent writes."""
from multiprocessing import Pool
from pathlib import Path


def largest(path):
    return f"{path.stem} {max(float(line) for line in path.read_text().split())}\n"


if __name__ == "__main__":
    with Pool(2) as pool:
        rows = pool.map(largest, sorted(Path("raw").glob("*.txt")))
    Path("largest.txt").write_text("".join(rows))

"""The sum of each file, by workers of joblib; then all sums in one table."""
from pathlib import Path

from joblib import Parallel, delayed


def total(path):
    value = sum(float(line) for line in path.read_text().split())
    made = Path("sums") / path.name
    made.write_text(f"{path.stem} {value}\n")
    return made


if __name__ == "__main__":
    Path("sums").mkdir(exist_ok=True)
    made = Parallel(n_jobs=2)(delayed(total)(path) for path in sorted(Path("raw").glob("*.txt")))
    Path("table.txt").write_text("".join(path.read_text() for path in made))

"""Counts the values of a table (joined.csv) into counts.json, and updates a summary in place where there is one."""

import json
import os

with open("joined.csv") as table:
    values = [int(line) for line in table]
with open("counts.json", "w") as out:
    json.dump({"count": len(values), "sum": sum(values)}, out)
with open("summary.dat", "r+b" if os.path.exists("summary.dat") else "w+b") as summary:
    summary.seek(8)
    summary.write(len(values).to_bytes(8, "little"))

"""Reads a table, writes a half of it, and is killed in the middle."""

import os
import signal

with open("west.csv") as table:
    lines = table.readlines()
out = open("partial.csv", "w")
out.writelines(lines[: len(lines) // 2])
out.flush()
os.kill(os.getpid(), signal.SIGKILL)

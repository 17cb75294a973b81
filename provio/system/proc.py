"""Reads the start, parent and state of a process from `/proc/<pid>/stat`.

Every rank of a parallel program loads this module, so it imports nothing.
"""

STATE, PARENT, START = 0, 1, 19  # positions in the list that `fields` returns


def stat(pid: int | str = "self") -> str:
    """Return the text of `/proc/<pid>/stat` (or `<pid>/task/<tid>`); raise OSError if there is no such process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read()


def fields(text: str) -> list[str]:
    """Return the fields after the name of the process; the name may hold any character, so they follow the last `)`."""
    return text.rpartition(")")[2].split()


def start_tick(pid: int | str = "self") -> str:
    """Return the clock tick at which a process started, which with its id identifies it until the next boot."""
    return fields(stat(pid))[START]

"""Programs with a bottleneck, each with a variant that does the same work without it."""

TINY = """
import os
file = os.open("data", os.O_RDONLY)
while os.read(file, {size}): pass
"""
STREAM = """
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(b"data", b"r"))
if {unbuffered}: libc.setvbuf(stream, None, 2, 0)
for _ in range(2000): libc.fread(ctypes.create_string_buffer(1), 1, 1, stream)
libc.fclose(stream)
"""
PREAD = """
import os
file = os.open("data", os.O_RDONLY)
for place in {places}: os.pread(file, 4096, place * 4096)
"""
AGAIN = """
import os
for _ in range({times}):
    file = os.open("data", os.O_RDONLY)
    while os.read(file, 1 << 18): pass
    os.close(file)
"""
OPENS = """
import os
for _ in range({times}):
    file = os.open("data", os.O_RDONLY)
    os.read(file, 10)
    os.close(file)
"""
SYNCS = """
import os
file = os.open("synced", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for place in range(200):
    os.write(file, b"x" * 100)
    if place % {every} == 0: os.fsync(file)
"""
RENAMES = """
import os
file = os.open("data", os.O_RDONLY)
for _ in range(600):
    os.rename("name", "other"); os.rename("other", "name")
    for _ in range({reads}): os.pread(file, 4096, 0)
"""
FILES = """
import os
for number in range(1000):
    with open("files%d/%d" % (number % {folders}, number), "wb") as file: file.write(b"x" * 100)
"""
GONE = """
import os
with open("scratch", "wb") as file: file.write(b"x" * (2 << 20))
if {read}: open("scratch", "rb").read()
os.unlink("scratch")
"""
THREADS = """
import os, threading
def work(name, size):
    file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644)
    for _ in range((1 << 20) // size): os.write(file, b"x" * size)
    os.close(file)
workers = [threading.Thread(target=work, args=("of%d" % n, {slow} if n == 2 else 1 << 16)) for n in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
"""
RANKS = """
import os
for rank in range(3):
    if os.fork() == 0:
        os.environ["OMPI_COMM_WORLD_RANK"] = str(rank)
        size = {slow} if rank == 1 else 1 << 16
        os.execlp("dd", "dd", "if=data", "of=rank%d" % rank, "bs=%d" % size, "status=none")
    os.wait()
"""

# Rule → a program that shows it, and one that does not.
PAIRS = {
    "tiny accesses": (TINY.format(size=512), TINY.format(size=1 << 16)),
    "unbuffered": (STREAM.format(unbuffered=True), STREAM.format(unbuffered=False)),
    "seeks": (PREAD.format(places="range(250, 0, -1)"), PREAD.format(places="range(250)")),
    "read again": (AGAIN.format(times=5), AGAIN.format(times=3)),
    "many opens": (OPENS.format(times=100), OPENS.format(times=99)),
    "many syncs": (SYNCS.format(every=2), SYNCS.format(every=50)),
    "metadata": (RENAMES.format(reads=1), RENAMES.format(reads=3)),
    "small files": (FILES.format(folders=1), FILES.format(folders=2)),
    "never read": (GONE.format(read=False), GONE.format(read=True)),
    # enough calls to take far more than 100 ms longer on any machine
    "slow thread": (THREADS.format(slow=1), THREADS.format(slow=1 << 16)),
    "slow rank": (RANKS.format(slow=1), RANKS.format(slow=1 << 16)),
}  # fmt: skip

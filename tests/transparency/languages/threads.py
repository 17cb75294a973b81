# reads: in
# order: any
# writes: in by-0 by-15 shared appended
# also: run
# also: call
"""Sixteen threads: files of their own, one file at their own offsets, one in append mode, a pool, locals, a thread that outlives main."""
import concurrent.futures
import mmap
import os
import threading

with open("in", "w") as file:
    file.writelines(f"{number}\n" for number in range(10_000))


def work(number):
    with open("in") as source, open(f"by-{number}", "w", buffering=100) as target:
        for line in source:
            if int(line) % 16 == number:
                target.write(line)
    os.pwrite(shared, bytes([65 + number]) * 1000, number * 1000)
    os.write(appended, b"%02d\n" % number)


shared = os.open("shared", os.O_RDWR | os.O_CREAT, 0o640)
appended = os.open("appended", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open("appended") as file:
    print(sorted(file.read().split()))
os.ftruncate(appended, 0)
with mmap.mmap(shared, 16_000) as view:
    print(view[0:1], view[15_999:])
    view[0:3] = b"abc"
    view.flush()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda number: os.stat(f"by-{number}").st_size, range(16))))
for _ in range(300):  # short threads, one after the other
    thread = threading.Thread(target=lambda: os.pread(shared, 10, 0))
    thread.start()
    thread.join()


def late():
    threading.main_thread().join()
    with open("late", "w") as file:
        file.write("after main\n")
    print("late")


threading.Thread(target=late).start()
print("main ends")

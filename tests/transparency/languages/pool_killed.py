# slow: workers are waited for
# order: any
# writes: done-0 done-5
# also: run
"""A pool with workers that are killed during work; a terminated pool; a broken executor."""
import concurrent.futures
import multiprocessing
import os
import signal
import time


def work(number):
    with open(f"done-{number}", "w") as file:
        file.write(f"{number}\n")
    return number


def stay(number):
    with open(f"staying-{number}", "w", buffering=1) as file:
        file.write("begun\n")
        while True:
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            os.write(file.fileno(), b"still\n")


def killed(_):
    os.kill(os.getpid(), signal.SIGKILL)


def main():
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        print(pool.map(work, range(6)))
        pool.map_async(stay, [0, 1], chunksize=1)
        while not all(os.path.exists(f"staying-{n}") and os.path.getsize(f"staying-{n}") for n in (0, 1)):
            time.sleep(0.01)
        time.sleep(0.1)
        victims = [process.pid for process in pool._pool]
        os.kill(victims[0], signal.SIGKILL)
        time.sleep(0.3)  # the pool replaces it
        print(pool.apply_async(work, (7,)).get(30))
    print("terminated")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        print(list(executor.map(work, range(8, 12))))
        try:
            executor.submit(killed, 0).result(30)
        except concurrent.futures.process.BrokenProcessPool as error:
            print(type(error).__name__)


if __name__ == "__main__":
    main()

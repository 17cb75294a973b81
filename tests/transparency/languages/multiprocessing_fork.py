# order: any
# writes: square-3 from-queue
# also: run
# also: call
"""multiprocessing, by the method in the name: processes with queues, pipes, shared memory, locks, managers; a pool in a `with`."""
import multiprocessing
import multiprocessing.shared_memory
import os
import sys


def square(number):
    with open(f"square-{number}", "w") as file:
        file.write(str(number * number))
    with open(f"square-{number}") as file:
        return int(file.read())


def child(queue, pipe, lock, total, name):
    with lock:
        total.value += 1
    memory = multiprocessing.shared_memory.SharedMemory(name)
    memory.buf[0] = 7
    memory.close()
    pipe.send({"a": 1})
    with open("from-queue", "w") as file:
        file.write(queue.get())
    pipe.close()
    sys.exit(3)


def main():
    context = multiprocessing.get_context(os.path.basename(__file__)[len("multiprocessing_") : -len(".py")])
    queue, lock, total = context.Queue(), context.Lock(), context.Value("i", 0)
    ours, theirs = context.Pipe()
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=100)
    process = context.Process(target=child, args=(queue, theirs, lock, total, memory.name))
    process.start()
    queue.put("through the queue\n")
    print(ours.recv())
    process.join()
    print(process.exitcode, total.value, memory.buf[0])
    memory.close()
    memory.unlink()
    with context.Pool(3) as pool:
        print(pool.map(square, range(8)))
        print(pool.apply_async(square, (9,)).get(30))
        try:
            pool.apply(int, ("x",))
        except ValueError as error:
            print(error)
    with context.Manager() as manager:
        numbers = manager.list([1, 2])
        numbers.append(3)
        print(list(numbers))
    pool = context.Pool(2, maxtasksperchild=1)
    squares = list(pool.imap(square, range(10, 14)))
    pool.close()
    pool.join()  # before printing: a worker that replaces another would inherit buffered output
    print(squares)
    process = context.Process(target=os.abort)
    process.start()
    process.join()
    print(process.exitcode)


if __name__ == "__main__":
    main()

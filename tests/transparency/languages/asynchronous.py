# reads: in
# order: any
# writes: in copy-0 from-child
# also: run
"""asyncio: streams over AF_UNIX, loopback and pipes, subprocesses, files in threads, sendfile, signals, a cancelled task."""
import asyncio
import os
import signal
import socket


async def answer(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


async def ask(connection, text):
    reader, writer = await connection
    writer.write(text)
    line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return line


def copy(number):
    with open("in", "rb") as source, open(f"copy-{number}", "wb") as target:
        target.write(source.read())


async def main():
    with open("in", "w") as file:
        file.write("x" * 100_000)
    unix = await asyncio.start_unix_server(answer, "socket")
    loopback = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = loopback.sockets[0].getsockname()[1]
    questions = [ask(asyncio.open_unix_connection("socket"), b"unix %d\n" % n) for n in range(5)]
    questions += [ask(asyncio.open_connection("127.0.0.1", port), b"loopback %d\n" % n) for n in range(5)]
    print(await asyncio.gather(*questions))
    unix.close()
    loopback.close()
    await asyncio.gather(*(asyncio.to_thread(copy, number) for number in range(4)))
    child = await asyncio.create_subprocess_exec(
        "sh", "-c", "cat >from-child; echo done; exit 5", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    print(await child.communicate(b"to the child\n"), child.returncode)
    shell = await asyncio.create_subprocess_shell("exec sleep 10")
    shell.kill()
    print(await shell.wait())
    left, right = socket.socketpair()
    loop = asyncio.get_running_loop()
    left.setblocking(False)
    right.setblocking(False)
    with open("in", "rb") as file:
        sender = asyncio.create_task(loop.sock_sendfile(left, file))
        size = 0
        while size < 100_000:
            size += len(await loop.sock_recv(right, 65536))
        print(await sender, size)
    got = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, got.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(got.wait(), 5)
    task = asyncio.create_task(asyncio.sleep(10))
    await asyncio.sleep(0)
    task.cancel()
    print(await asyncio.gather(task, return_exceptions=True))
    os.unlink("socket")


asyncio.run(main())

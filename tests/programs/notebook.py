"""`notebook.py KERNEL CELL…`: executes the cells of a notebook with nbclient, and prints the output of each.

The cells `%restart`, `%interrupt:FILE:CODE` (after CODE has written FILE), `%kill`, `%end` (SIGTERM) and
`%end:FILE:CODE` are actions on the kernel.
"""

import asyncio
import os
import signal
import sys

import nbformat
from nbclient import NotebookClient


async def begun(client: NotebookClient, cell: nbformat.NotebookNode, file: str) -> "asyncio.Future[object]":
    client.nb.cells.append(cell)
    running = asyncio.ensure_future(client.async_execute_cell(cell, len(client.nb.cells) - 1))
    while not running.done() and not (os.path.exists(file) and os.path.getsize(file)):
        await asyncio.sleep(0.01)
    return running


async def interrupted(client: NotebookClient, file: str, code: str) -> None:
    cell = nbformat.v4.new_code_cell(code)
    running = await begun(client, cell, file)
    await client.km.interrupt_kernel()
    await running
    told(cell)


def told(cell: nbformat.NotebookNode) -> None:
    for output in cell.outputs:
        print(output.get("text") or output.get("ename") or output.get("data"), flush=True)


async def restarted(client: NotebookClient) -> None:
    client.kc.stop_channels()
    await client.km.restart_kernel()
    client.kc = client.km.client()
    client.kc.start_channels()
    await client.kc.wait_for_ready(timeout=60)


async def main(kernel: str, cells: list[str]) -> None:
    book = nbformat.v4.new_notebook()
    client = NotebookClient(book, timeout=120, kernel_name=kernel, allow_errors=True)
    async with client.async_setup_kernel(cwd=os.getcwd()):
        for code in cells:
            if code == "%restart":
                await restarted(client)
            elif code.startswith("%interrupt:"):
                _, file, text = code.split(":", 2)
                await interrupted(client, file, text)
            elif code.startswith("%end"):
                _, file, text = (code + "::").split(":", 2)
                running = (
                    await begun(client, nbformat.v4.new_code_cell(text.removesuffix("::")), file) if file else None
                )
                await client.km.signal_kernel(signal.SIGTERM)
                if running:
                    running.cancel()
                return
            elif code == "%kill":
                await client.km.signal_kernel(signal.SIGKILL)
                return
            else:
                cell = nbformat.v4.new_code_cell(code)
                book.cells.append(cell)
                await client.async_execute_cell(cell, len(book.cells) - 1)
                told(cell)


asyncio.run(main(sys.argv[1], sys.argv[2:]))

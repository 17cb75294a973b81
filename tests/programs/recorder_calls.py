"""Call functions of `layer.h` and `provio.h` in a recorded run: steps in as JSON on standard input, each a function and
its arguments.

`$RECORDER` selects the recorder: `shim` or `writer`. In a step `"$0"` is the result of the first step and `"now"` the
time; `"fork"` continues in a child, `"kill"` ends the process with SIGKILL.
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "interceptors"))


def recorder():
    if os.environ["RECORDER"] == "writer":
        from python.writer import writer

        return writer.found()
    from python import shim

    return shim.Shim(shim.found())


def value(one, name, recorder, results):
    if one == "now":
        return recorder.now()
    if isinstance(one, str) and one.startswith("$"):
        return results[int(one[1:])]
    return one.encode("utf-8", "surrogateescape") if isinstance(one, str) and name != "function" else one


def main(steps):
    called, results = recorder(), []
    for name, *arguments in steps:
        results.append(None)
        if name == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif name == "fork":
            if os.fork():
                os.wait()
                os._exit(0)
        else:
            named = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
            values = [value(one, name, called, results) for one in arguments]
            words = {key: value(one, name, called, results) for key, one in named.items()}
            results[-1] = getattr(called, name)(*values, **words)
    os._exit(0)


main(json.load(sys.stdin))

"""Tells a layer's story, in a run that is recorded: steps in as JSON on standard input, each a function of provio.h and
its arguments.

`$TELLER` says who writes: `shim` or `writer`. In a step `"$0"` is what the first step returned and `"now"` the time;
`"fork"` goes on in a child, `"kill"` is the end.
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "interceptors"))


def teller():
    if os.environ["TELLER"] == "writer":
        from python import writer

        return writer.found()
    from python import shim

    return shim.Shim(shim.found())


def value(one, name, writer, answers):
    if one == "now":
        return writer.now()
    if isinstance(one, str) and one.startswith("$"):
        return answers[int(one[1:])]
    return one.encode("utf-8", "surrogateescape") if isinstance(one, str) and name != "function" else one


def main(steps):
    writer, answers = teller(), []
    for name, *arguments in steps:
        answers.append(None)
        if name == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif name == "fork":
            if os.fork():
                os.wait()
                os._exit(0)
        else:
            named = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
            values = [value(one, name, writer, answers) for one in arguments]
            words = {key: value(one, name, writer, answers) for key, one in named.items()}
            answers[-1] = getattr(writer, name)(*values, **words)
    os._exit(0)


main(json.load(sys.stdin))

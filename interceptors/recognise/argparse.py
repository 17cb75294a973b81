"""argparse: the values of a parsed command line, with defaults, are a Configuration.

The command lines of libraries are none: those of workers and kernels, which no user types, and those that traitlets and
workflow engines parse for themselves.
"""

import sys

LIBRARIES = frozenset("ipykernel ipykernel_launcher joblib loky multiprocessing snakemake".split())


def _of_library(values, parser):
    main = getattr(sys.modules.get("__main__"), "__spec__", None)  # set by `python -m`
    started = (main.name if main else "").partition(".")[0]
    return started in LIBRARIES or parser.prog in LIBRARIES or any("__DOT__" in name for name in values)


def _parsed(declare, result, parser, *_, **__):
    values = vars(result[0] if isinstance(result, tuple) else result)
    if not _of_library(values, parser):
        declare.configuration(values, name=parser.prog)


def _watch(argparse, follow):
    for name in ("parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"):
        follow(argparse.ArgumentParser, name, _parsed)


WATCHED = {"argparse": _watch}

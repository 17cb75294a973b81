"""argparse: the values that a command line was parsed into, defaults too, are a Configuration."""


def _parsed(said, result, parser, *_, **__):
    values = result[0] if isinstance(result, tuple) else result
    said.configuration(vars(values), name=parser.prog)


def _watch(argparse, follow):
    for name in ("parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"):
        follow(argparse.ArgumentParser, name, _parsed)


WATCHED = {"argparse": _watch}

"""argparse: the values of a parsed command line, with defaults, are a Configuration."""


def _parsed(declare, result, parser, *_, **__):
    values = result[0] if isinstance(result, tuple) else result
    declare.configuration(vars(values), name=parser.prog)


def _watch(argparse, follow):
    for name in ("parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"):
        follow(argparse.ArgumentParser, name, _parsed)


WATCHED = {"argparse": _watch}

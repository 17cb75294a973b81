"""absl: the parsed flags of the program are a Configuration; absl's own flags are omitted."""


def _parsed(declare, result, flags, argv, *_, **__):
    by_module = flags.flags_by_module_dict().items()
    values = {flag.name: flag.value for module, of in by_module if not module.startswith("absl.") for flag in of}
    declare.configuration(values, name=str(argv[0]).rpartition("/")[2])


def _watch(flagvalues, follow):
    follow(flagvalues.FlagValues, "__call__", _parsed)


WATCHED = {"absl.flags._flagvalues": _watch}

"""The reference of all verbs: the command line itself in, docs/commands.md out (`python -m provio.cli.manual`)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from provio.cli import usage, verbs
from provio.cli.usage import cli

HEAD = """# Commands

Made from the commands themselves by `python -m provio.cli.manual`. `provio help VERB` prints the same on the terminal;
exit codes: [exit-codes.md](exit-codes.md); what is printed for programs: [output.md](output.md); what can be set for
good: [settings-howto.md](settings-howto.md).
`-h`, `--help` is an option of every verb.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for title, names in usage.groups(verbs.names()):
        parts.append(f"## {title}\n")
        parts += ["\n".join(_verb(name, verbs.load(name))) for name in names]
    return "\n".join(parts)


def _verb(name: str, command: click.Command, deeper: bool = False) -> Iterator[str]:
    with cli.make_context("provio", [], resilient_parsing=True) as root:
        context = usage.Context(command, info_name=name, parent=root)
        pieces = " ".join(command.collect_usage_pieces(context))
    yield f"###{'#' * deeper} provio {name}\n"
    yield f"    provio {name} {pieces}\n"
    yield from _text(inspect.cleandoc(command.help or ""))
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    if options:
        yield "| option | |\n|---|---|"
        yield from map(_option, options)
        yield ""
    for inner in sorted(command.commands.items()) if isinstance(command, click.Group) else ():
        yield from _verb(f"{name} {inner[0]}", inner[1], deeper=True)


def _text(text: str) -> Iterator[str]:
    """The paragraphs; what click leaves as it stands (after `\\b`), and examples, are code."""
    for paragraph in text.split("\n\n"):
        body = paragraph.removeprefix("\b\n")
        before, example, after = body.partition("Example: ")
        if before.strip():
            yield (_plain(before) if body == paragraph else before.rstrip()) + "\n"
        if example:
            lines = after.split("\n") if body != paragraph else [" ".join(after.split())]
            yield "\n".join("    " + re.sub(r"^ {9}", "", line) for line in lines) + "\n"


def _plain(text: str) -> str:
    """A paragraph as Markdown has it."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [re.sub(r"([<>*\[\]|])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _option(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in sorted([*option.opts, *option.secondary_opts], key=len))
    value = ""
    if not (option.is_flag or option.count):
        choices = "\\|".join(option.type.choices) if isinstance(option.type, click.Choice) else ""
        value = " " + (option.metavar or choices or option.type.name.upper().replace(" RANGE", ""))
    more = ["may be repeated"] if option.multiple else []
    more += ["must be said"] if option.required else []
    more += [f"default: {option.default}"] if option.show_default else []
    says = _plain(option.help or "") + (f" ({'; '.join(more)})" if more else "")
    return f"| {names}{value} | {says} |"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201

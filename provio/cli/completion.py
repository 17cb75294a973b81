"""Completion by the Tab key: a parameter and the start of a word in, the possible words out.

Nothing is merged and no store is opened: the words come from file names and the heads of run folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

if TYPE_CHECKING:
    from provio.ask.queries import Question

VARIABLE = "_PROVIO_COMPLETE"  # as click names it; set by the shell's function when Tab is pressed
SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
HEADS = 50  # newest runs, to search for names
FILE = [CompletionItem("", type="file")]

# Characters that no shell interprets: another user may have chosen the name of a run so that it contains a command.
PLAIN = re.compile(r"[\w.@%+,:=/-]+")

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def script(cli: click.Command, shell: str) -> str:
    """Return the completion function of a shell."""
    return SHELLS[shell](cli, {}, "provio", VARIABLE).source()


def add_completers(command: click.Command) -> None:
    """Give each parameter of a verb its completer, which depends on its name."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        add_completers(inner)
    for param in command.params:
        completer = BY_NAME.get(param.name or "")
        if completer and not isinstance(param.type, click.Choice):
            param.shell_complete = _bound(completer, param)  # type: ignore[assignment, method-assign]


def _bound(completer: Completer, param: click.Parameter) -> Callable[[click.Context, str], list[CompletionItem]]:
    return lambda context, incomplete: completer(context, param, incomplete)


def _files(_context: click.Context, _param: click.Parameter, _incomplete: str) -> list[CompletionItem]:
    return FILE


def _runs(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    ids, heads = _recorded()
    commands = {run: head.get("commandLine", "")[:60] for run, head in heads.items()}
    enough = next((n for n in (13, 18, 23) if len({run[:n] for run in ids}) == len(ids)), 36)
    items = [CompletionItem(run[: max(enough, len(incomplete))], help=commands.get(run)) for run in reversed(ids)]
    named = [CompletionItem(name) for name in sorted({head["name"] for head in heads.values() if "name" in head})]
    return _matching([*([CompletionItem("last")] if ids else []), *named, *items], incomplete)


def _runs_or_files(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return runs if the typed text starts a run and no file; otherwise let the shell complete file names."""
    folder, name = os.path.split(incomplete)
    if name or not folder:
        try:
            is_file = any(other.startswith(name) for other in os.listdir(folder or ".")) if incomplete else False
        except OSError:
            is_file = False
        found = [] if is_file else _runs(context, param, incomplete)
        return found or FILE
    return FILE


def _of_heads(fact: str) -> Completer:
    def offered(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = {head[fact] for head in _recorded()[1].values() if fact in head}
        return _matching(map(CompletionItem, sorted(found)), incomplete)

    return offered


def _named() -> list[Question]:
    from provio.ask import queries
    from provio.base.errors import ProvioError
    from provio.settings import home as homes
    from provio.settings import load

    try:
        configured = load.load(homes.project_folders(), forgive=lambda _: None, shown=True)
        return queries.questions(configured.queries)
    except ProvioError:
        return queries.questions()


def _questions(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _matching((CompletionItem(one.name, help=one.title) for one in _named()), incomplete) or FILE


def _parameters(context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    chosen = (one for one in _named() if one.name == context.params.get("question"))
    items = (CompletionItem(f"{known.name}=", help=known.says) for one in chosen for known in one.parameters)
    return _matching(items, incomplete)


def _forms(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from provio.cli.verbs import export

    return _matching(map(CompletionItem, export.forms()), incomplete)


def _verbs(context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    root = context.find_root()
    names = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    return _matching(map(CompletionItem, names), incomplete)


def _keys(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from provio.settings.schema import KEYS

    return _matching((CompletionItem(name, help=key.description) for name, key in sorted(KEYS.items())), incomplete)


def _classes(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from provio.settings.record_classes import SWITCHES

    return _matching((CompletionItem(name, help=text) for name, (_, text, _) in SWITCHES.items()), incomplete)


def _kinds(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _matching(map(CompletionItem, ("cell", "dask", "function")), incomplete)


def _words(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from provio.base.vocab import vocabulary

    return _matching(map(CompletionItem, sorted(vocabulary().terms)), incomplete)


def _command(context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return programs in PATH for the first word, files for the others."""
    if context.params.get("command") or "/" in incomplete or not incomplete:
        return FILE
    found = {name for folder in os.get_exec_path() for name in _programs(folder, incomplete)}
    return _matching(map(CompletionItem, sorted(found)), incomplete) or FILE


def _programs(folder: str, incomplete: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder or "."))
    except OSError:
        return
    yield from (e.name for e in entries if e.name.startswith(incomplete) and os.access(e.path, os.X_OK))


def _matching(items: Iterable[CompletionItem], incomplete: str) -> list[CompletionItem]:
    found = [item for item in items if item.value.startswith(incomplete) and PLAIN.fullmatch(item.value)]
    for item in found:  # a terminal would interpret control characters
        item.help = "".join(letter if letter.isprintable() else " " for letter in item.help) if item.help else None
    return found


def _recorded() -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return the ids of all runs, oldest first, and the heads of the newest; empty if the record cannot be read."""
    from provio.base.errors import ProvioError
    from provio.settings import home as homes
    from provio.trace.run_source import HEAD, content

    try:
        folders = homes.find().run_folders()
    except (ProvioError, OSError):
        return [], {}
    heads = {}
    for folder in folders[-HEADS:]:
        try:
            text = content(folder / HEAD).decode("utf-8", "replace")
        except OSError:  # packed, or of another user
            continue
        block = "".join(text.split(" .\n")[1:2])  # empty if the run has just started
        heads[folder.name] = dict(re.findall(r':(name|campaign|commandLine) "((?:[^"\\]|\\.)*)"', block))
    return [folder.name for folder in folders], heads


def _runtimes(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from provio.containers import runtimes

    return _matching((CompletionItem(name) for name in runtimes.names()), incomplete)


# Completers by the name of a parameter, which means the same in all verbs.
BY_NAME: dict[str, Completer] = {
    "container": _files,
    "image": _files,
    "rest": _files,
    "runtime": _runtimes,
    "campaign": _of_heads("campaign"),
    "command": _command,
    "configuration": _files,
    "file": _files,
    "first": _runs,
    "new": _files,
    "old": _files,
    "files": _files,
    "folder": _files,
    "maps": _files,
    "form": _forms,
    "key": _keys,
    "kind": _kinds,
    "exclude": _files,
    "include": _files,
    "name": _of_heads("name"),
    "names": _runs,
    "off": _classes,
    "on": _classes,
    "parameters": _parameters,
    "path": _files,
    "paths": _files,
    "question": _questions,
    "run": _runs,
    "runs": _runs,
    "second": _runs,
    "values": _files,
    "verb": _verbs,
    "arguments": _runs_or_files,
    "what": _runs_or_files,
    "word": _words,
}

"""The reference of all settings: their rows in, docs/settings.md out (`python -m provio.cli.settings_manual`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from provio.cli import verbs
from provio.settings.edit import plain, shown
from provio.settings.record_classes import SWITCHES
from provio.settings.schema import FIELDS, KEYS, USERS_OWN, Config, Key

HEAD = """# Settings

Made from the settings themselves by `python -m provio.cli.settings_manual`. Where they are set, and more of some of
them: [settings-howto.md](settings-howto.md); what counts, and what set it: `provio config`.

| key | variable | flag | may be | default | means |
|---|---|---|---|---|---|
"""
CLASSES = """
## Classes of record

Each is an entry of the table `record`, `true` or `false`: [how to select the recorded data](settings-howto.md#select-the-recorded-data).

| `record.…` | | is | what can no longer be asked without it |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    flags = _flags()
    rows = (_row(key, flags.get(name, [])) for name, key in KEYS.items())
    return HEAD + "".join(rows) + CLASSES + "".join(_classes())


def _flags() -> dict[str, list[str]]:
    """The options of verbs that set a key, by its name: those of `run`, and what several verbs take over a setting."""
    flags: dict[str, list[str]] = {}
    for name in ("run", "query"):
        for param in verbs.load(name).params:
            key = param.opts[0].removeprefix("--").removeprefix("no-") if isinstance(param, click.Option) else ""
            of_run = name == "run" or key in ("timeout", "store")
            if key in KEYS and of_run:
                flags.setdefault(key, []).extend([*param.opts, *param.secondary_opts])
    return flags


def _row(key: Key, flags: list[str]) -> str:
    default = shown(plain(getattr(Config(), FIELDS[key.name])))
    means = re.sub(r"docs/(\w+\.md)", r"[\1](\1)", key.says) + _place(key)
    cells = (f"`{key.name}`", f"`{key.variable}`", _code(flags), key.kind.allowed, f"`{default}`", means)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _place(key: Key) -> str:
    if key.secret:
        return "; in your own file alone, which nobody else may read"
    return "; never in `provio.toml`" if key.name in USERS_OWN else ""


def _code(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _classes() -> Iterator[str]:
    for word, (on, what, lost) in SWITCHES.items():
        yield f"| `{word}` | {'on' if on else 'off'} | {what} | {lost} |\n"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201

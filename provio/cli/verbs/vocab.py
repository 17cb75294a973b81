"""`provio vocab`: lists the vocabulary, provio's and the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.option_types import Choice
from provio.cli.options import form_option

if TYPE_CHECKING:
    from provio.render.vocabulary_list import Known


@click.command("vocab", short_help="List the vocabulary, including your own.")
@click.argument("word", required=False)
@click.option("--kind", type=Choice(["class", "property"]), help="Only these.")
@click.option("--own", is_flag=True, help="Only your own words (the setting ontology).")
@form_option
def command(word: str | None, kind: str | None, own: bool, form: str) -> int:
    """List classes and properties with their meaning; with WORD, only that one and those below it.

    Your own classes are in the Turtle files that the setting `ontology` names; a program uses them as the kind of a
    declaration (`provio.metric(…, kind="F1")`).

    Example: provio vocab Metric
    """
    from provio.base.errors import NothingKnown
    from provio.render import records, vocabulary_list
    from provio.settings.types import suggestion

    every = vocabulary_list.known_words(session.settings())
    found = [one for one in every if (kind in (None, one.kind)) and not (own and one.source == vocabulary_list.OURS)]
    if word is not None:
        below = vocabulary_list.below(every, word)
        if not below:
            near = suggestion(word, [one.local for one in every])
            raise NothingKnown(f"no word {word!r}{near} (provio vocab lists all)")
        found = [one for one in found if one.word in below]
    if not found and own:
        raise NothingKnown("you have no words of your own: name Turtle files in the setting ontology (provio config)")
    width, unicode = terminal.width(), terminal.unicode()
    if form == "table":
        terminal.out(_table(found, width, unicode))
    else:
        terminal.out(records.render("vocab", found, form))
    return 0


def _table(found: list[Known], width: int | None, unicode: bool) -> str:
    from provio.base import table

    lines = [[one.word, ", ".join(one.above.split(", ")[:1]), one.means] for one in found]
    return table.align(["word", "below", "means"], lines, width=width, unicode=unicode, fold={"means"})

"""The words of the command line: the verbs of every day, their groups, aliases, and synonyms that other tools use.

In: a word in place of a verb. Out: a clause with the call that it probably means.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence

EVERY_DAY = "Every day"

# In the order in which users need them; a verb in no group is listed in the last one.
GROUPS = {
    EVERY_DAY: (
        "run",
        "status",
        "lineage",
        "show",
        "runs",
        "tasks",
        "diff",
        "rerun",
        "stats",
        "view",
        "serve",
        "export",
    ),
    "Ask": ("why", "impact", "verify", "declared", "packages", "find", "note", "query"),
    "Experiments": ("params", "metrics", "best", "checkpoint", "repro"),
    "Integrate": ("container", "kernel", "mcp", "batch", "env", "include", "validate", "vocab", "completion", "help"),
    "Upkeep": ("init", "config", "doctor", "merge", "rm", "prune", "backup", "relocate"),
}
ALIASES = {"log": "runs"}

# Words of other tools that users try first, by the verb that does it.
SYNONYMS = {
    word: call
    for call, words in {
        "run --": "record exec start watch",
        "lineage": "upstream origin origins ancestors ancestry trace tree parents sources source inputs provenance",
        "lineage --forward": "downstream forward children descendants products outputs derived",
        "impact": "affected affects",
        "why": "blame explain",
        "show": "info describe inspect details get",
        "runs": "ls list history",
        "rm": "undo delete remove del",
        "prune": "clean gc cleanup",
        "view": "graph draw visualize visualise dag html",
        "mcp": "agent agents llm ai",
        "serve": "ui gui web server browse explore dashboard",
        "query": "sparql ask sql select",
        "find": "search locate lookup whereis which grep",
        "diff": "compare cmp",
        "repro": "reproducibility reproducible reproduce repeatability variance",
        "packages": "software sbom dependencies deps modules libraries",
        "params": "parameters hyperparameters args arguments",
        "metrics": "scores results",
        "stats": "statistics summary profile summarize",
        "export": "dump save",
        "config": "settings set setting configure",
        "note": "comment annotate annotation remark tag",
        "doctor": "check test diagnose",
        "init": "setup create new",
        "relocate": "mv move rename remap",
    }.items()
    for word in words.split()
}


def groups(known: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each group and its verbs among `known`."""
    rest = set(known)
    last = list(GROUPS)[-1]
    for title, listed in GROUPS.items():
        found = [name for name in listed if name in rest]
        rest -= set(found)
        yield title, found + (sorted(rest) if title == last else [])


def suggestion_for(name: str, rest: Sequence[str], known: Sequence[str]) -> str:
    """Return a clause with the call that a word in place of a verb probably means, or an empty string."""
    from provio.settings.types import suggestion

    words = name.split() or [name]  # a quoted command line is one word
    program = _recording(words[0], [*words[1:], *rest]) if shutil.which(words[0]) else ""
    if len(words) > 1 and words[0] in (*known, *ALIASES):
        return f": did you mean provio {shlex.join([*words, *rest])}?"
    if call := SYNONYMS.get(name.lower().lstrip("-")):
        return f": did you mean provio {call}?" + (f" To record the program: {program}" if program else "")
    near = suggestion(name, [*known, *ALIASES])
    if near:
        return near
    if os.path.isfile(name) and not (os.access(name, os.X_OK) and "/" in name):
        return f": did you mean provio lineage {shlex.quote(name)}?"
    return f": did you mean {program}?" if program else ""


def _recording(name: str, rest: Sequence[str]) -> str:
    words = [name, *rest] if len(rest) < 4 else [name, *rest[:3], "…"]
    return f"provio run -- {' '.join(shlex.quote(word) if word != '…' else word for word in words)}"

"""Files that programs keep for themselves: workflow engines, git, compilers, caches. The nodes of a lineage in; which
of them are hidden, or drawn through, out.

`RULES` is the one table of these files (docs/lineage.md, Housekeeping). A file that its reader or maker names on its
command line is never hidden, if that is a program that a user starts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Iterable
from functools import lru_cache
from typing import NamedTuple

from provio.ask.document import PIPES, RESULT, Lineage, Node, arguments, targets
from provio.base.vocab import NS, PROV
from provio.lineage.helpers import is_helper
from provio.lineage.identity import POOLED


class Rule(NamedTuple):
    """Files whose paths match `paths`, if the command lines of all their recorded readers match `readers`. If `paths`
    has a group `of`, only next to a file of this path.

    Data pass `through` a temporary file from its maker to its reader; without, a file ends the lineage. So does one of
    `imported` files, if no recorded program made it.
    """

    title: str
    paths: str
    readers: str = ""
    through: bool = False
    imported: bool = False


RULES = (
    Rule("Snakemake", r".*/\.snakemake/(?!shadow/|storage/).*|.*/[0-9a-f]{32}-pulp\.(mps|sol)"),
    Rule(
        "Parsl",
        r".*/\d{3}/[^/]+/certificates/(client|server)\.key(_secret)?"
        r"|.*/runinfo/\d{3}/(parsl\.log|submit_scripts/.*|[^/]+/(block-\d+/.*|interchange\.log))",
    ),
    Rule("Nextflow", r".*/\.nextflow(/.*|\.log.*)|.*/[0-9a-f]{2}/[0-9a-f]{30}/\.(command\.\w+|exitcode)"),
    Rule("DVC", r".*/\.dvc/(?!cache/).*"),
    Rule("git", r".*/\.git/(?!objects/).*", readers=r"(\S*/)?git(-\S*)?( .*)?"),
    Rule(
        "contents that git keeps",
        r".*/\.git/objects/.*",
        readers=r"(\S*/)?git(-\S*)?( .*)?",
        through=True,
        imported=True,
    ),
    Rule("caches", r".*/\.cache/.*"),
    Rule(
        "lists of fonts",
        r".*/fontlist-v\d+\.json(\.matplotlib-lock)?|.*/(etc|share|cache|\.config)/fontconfig/.*|.*/fonts\.conf",
    ),
    Rule("IPython", r".*/\.ipython/profile_[^/]+/(startup/README|[^/]+\.sqlite|(db|log|pid|security)/.*)"),
    Rule("translations", r".*/LC_MESSAGES/[^/]+\.mo|.*/locale-archive"),
    Rule("ports of kernels", r".*/(kernel-|tmp)[\w-]+\.json", readers=r"\S+ (-m ipykernel|\S*/jupyter-)\S* .*"),
    Rule("semaphores", r".*/shm/sem\..*"),
    Rule(
        "temporary files of compilers",
        r".*/cc\w{6}\.(s|o|res|ii?|l[de]|lto\S*|ltrans\S*|debug\S*)",
        readers=r"(\S*/)?(as|ld(\.\w+)?|collect2|cc1\w*|f951|lto1|lto-wrapper)( .*)?",
        through=True,
    ),
    Rule("byte code", r".*/__pycache__/[^/]+\.pyc", through=True),
    Rule("memory of joblib", r".*/joblib_memmapping_folder_.*", through=True),
    Rule("journals of databases", r"(?P<of>.*)(-(journal|wal|shm)|\.wal)", through=True),
)
# Attributes by which netCDF and HDF5 mark dimensions and their own version.
ATTRIBUTES = frozenset(
    "_NCProperties _Netcdf4Dimid _Netcdf4Coordinates _nc3_strict CLASS NAME DIMENSION_LIST REFERENCE_LIST "
    "DIMENSION_LABELS".split()
)
# Parts of the names or of the folders of all these files: for most other files, they exclude the rules at once.
_NAMES = (
    ".command.",
    ".exitcode",
    "client.key",
    "server.key",
    ".nextflow",
    "fontlist-",
    "fonts.conf",
    "locale-archive",
    "kernel-",
    "tmp",
    "sem.",
    "cc",
)
_ENDS = ("-journal", "-wal", "-shm", ".wal", "-pulp.mps", "-pulp.sol")
_FOLDERS = re.compile(
    r"/(\.snakemake|runinfo|\.nextflow|\.dvc|\.git|\.cache|\.ipython|__pycache__|fontconfig|LC_MESSAGES|joblib_memmapping_folder_[^/]*)/"
)
CALLS = POOLED - {"app"}  # apps of Parsl have names
USES = frozenset((PROV + "used", NS + "ran"))


def rule_of(path: str) -> Rule | None:
    """Return the rule that a path matches, without regard to readers."""
    folder, _, name = path.rpartition("/")
    if not (name.startswith(_NAMES) or name.endswith(_ENDS) or _is_marked(folder)):
        return None
    return next((rule for rule in RULES if re.fullmatch(rule.paths, path, re.DOTALL)), None)


@lru_cache(maxsize=4096)
def _is_marked(folder: str) -> bool:
    return _FOLDERS.search(folder + "/") is not None


def is_attribute(iri: str) -> bool:
    """Return whether an attribute inside a file is one of netCDF's or HDF5's own."""
    inside = iri.partition("#")[2]
    return "@" in inside and inside.rpartition("@")[2] in ATTRIBUTES


def found(nodes: Collection[Node], edges: Iterable[tuple[str, str, str]], through: bool = False) -> set[str]:
    """Return the files among these nodes that are housekeeping: those that data pass through, or the others."""
    files: dict[str, tuple[Node, Rule]] = {}
    paths = {node.get("path") for node in nodes}
    for node in nodes:
        if node["type"] == "FileVersion" and "path" in node:
            rule = rule_of(node["path"])
            if rule and (rule.through is through or rule.imported) and _is_beside(rule, node["path"], paths):
                files[node["iri"]] = node, rule
    own = set() if through else {node["iri"] for node in nodes if "@" in node["iri"] and is_attribute(node["iri"])}
    if not files:
        return own
    readers: dict[str, set[str]] = {iri: set() for iri in files}
    makers: dict[str, set[str]] = {iri: set() for iri in files}
    for subject, predicate, object_ in edges:
        if object_ in files and predicate in USES:
            readers[object_].add(subject)
        elif subject in files:
            makers[subject].add(object_)
    by_iri = {node["iri"]: node for node in nodes}
    return own | {
        iri
        for iri, (node, rule) in files.items()
        if (rule.through is through or not makers[iri])
        and _applies(rule, [by_iri[one] for one in readers[iri] if one in by_iri])
        and not _is_named(node["path"], (by_iri[one] for one in readers[iri] | makers[iri] if one in by_iri))
    }


def _applies(rule: Rule, readers: Iterable[Node]) -> bool:
    return all(re.fullmatch(rule.readers, one.get("argv", "")) for one in readers) if rule.readers else True


def _is_beside(rule: Rule, path: str, paths: Container[str | None]) -> bool:
    """Return whether the file that a file of a rule belongs to is among some paths, if the rule demands one."""
    of = re.fullmatch(rule.paths, path, re.DOTALL)
    owner = of.groupdict().get("of") if of else None
    return owner is None or owner in paths


def _is_named(path: str, activities: Iterable[Node]) -> bool:
    """Return whether a program that a user starts names a file on its command line."""
    for one in activities:
        words = arguments(one["argv"]) if one.get("argv") else []
        if not is_helper(words) and any(
            os.path.normpath(os.path.join(one.get("cwd", ""), w)) == path for w in words[1:]
        ):
            return True
    return False


def between(lineage: Lineage) -> set[str]:
    """Return the plumbing of a document: pipes, connections and shared memory without a name that its user knows,
    results of calls of pools, and temporary files, whose origin (forward: or use) is in the document."""
    document, forward = lineage.document, lineage.document["direction"] == "forward"
    edges = ((edge["subject"], edge["predicate"], edge["object"]) for edge in document["edges"])
    temporary = found(document["nodes"], edges, through=True)
    kept = set(targets(document))
    plumbing = set()
    for iri, node in lineage.node.items():
        if iri in kept or not (iri in temporary or _is_of_pool(lineage, iri) or _is_pipe(node)):
            continue
        origins = ("wasGeneratedBy", "wasDerivedFrom", "contentFrom")
        if forward or lineage.objects(iri, *origins) or lineage.objects(iri, "alternateOf"):
            plumbing.add(iri)
    return plumbing


def _is_pipe(node: Node) -> bool:
    """Return whether a node is a pipe, connection or shared memory, and no FIFO, whose name its user knows."""
    return node["type"] in PIPES and not (node["type"] == "Pipe" and "path" in node)


def _is_of_pool(lineage: Lineage, iri: str) -> bool:
    """Return whether a node is the result of a call of a pool, for which its user has no name."""
    if lineage.node[iri]["type"] != RESULT:
        return False
    return any(lineage.node[maker].get("kind") in CALLS for maker in lineage.objects(iri, "wasGeneratedBy"))

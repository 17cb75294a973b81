"""Programs as their user started them: recorded command lines in, short names and command lines out.

`python3 plot.py a` is named `plot.py`, `python3 -m json.tool` so, and `python3 /env/bin/jupyter-nbconvert an.ipynb`
`jupyter nbconvert an.ipynb`. A job of Snakemake is named by its rule, a recorded kernel by its notebook. A helper
(`provio.lineage.helpers`) is named like the program that started it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import dropwhile, pairwise
from urllib.parse import quote

from provio.ask.document import Edge, Node, arguments
from provio.ask.walk import Nodes, batches
from provio.base.vocab import NS, RDFS
from provio.lineage.helpers import is_helper
from provio.lineage.identity import POOLED, SEALED
from provio.lineage.interpreters import read_words, rule_of
from provio.store import Reader

OF_SNAKEMAKE = re.compile(r"(.*/)?\.snakemake/scripts/tmp[^/.]*\.")  # and the name of the rule's script
KERNEL = "provio/interceptors/kernel.py"  # the end of a word of the command line of a recorded kernel
_COPY = re.compile(r"(?<![^\s/])\S*/\.snakemake/scripts/tmp[^/.\s]*\.(?=\S)")  # the same, within the code of a shell
LABEL = RDFS + "label"
_JOB = re.compile(r"-m(%20| )snakemake(%20| ).*--target-jobs")  # a command line that Snakemake made for a job
MOST = 20  # programs that started each other, up to the first that is no helper


@lru_cache(maxsize=4096)
def name(argv: str, program: str) -> str:
    """Return the name of a process from its recorded command line; `program` is the name of its program, if known."""
    words = arguments(argv) if argv else []
    own = words[0].rpartition("/")[2].lstrip("-") if words else ""
    if not own or " " in own:
        return program
    rule = rule_of(own, {})
    if rule is None:  # or one of the settings
        return _with_notebook(
            program if program and program in (word.rpartition("/")[2] for word in words[1:]) else own, words
        )
    named, module, _ = read_words(words[1:], rule)
    if module == "snakemake" and (job := _option(words, "--target-jobs")):
        return f"rule {job.partition(':')[0]}"
    if module:
        return f"{own} -m {module}"
    script = OF_SNAKEMAKE.sub("", named or "").rstrip("/").rpartition("/")[2]
    return _with_notebook(own if script in ("", ".") else script, words)


def _with_notebook(program: str, words: Sequence[str]) -> str:
    """Return the name of a program that executes a notebook, with that notebook."""
    after = dropwhile(lambda word: word.rpartition("/")[2] != program, words)
    command = next((word for word in [*after][1:2] if program == "jupyter" and not word.startswith("-")), "")
    if not (command or program.startswith("jupyter-") or program == "papermill"):
        return program
    notebook = next((word.rpartition("/")[2] for word in words if word.endswith(".ipynb")), "")
    return " ".join(filter(None, (program.replace("-", " ", 1), command, notebook)))


def _option(words: Sequence[str], option: str) -> str:
    return next((value for one, value in pairwise(words) if one == option), "")


def command(argv: str, run: str) -> str:
    """Return a recorded command line as its user typed it; `run` is that of its run, which a `#!` line or a program
    that started another one in its place has changed."""
    typed = run.split(" ")
    rest = typed[2:] if typed[0] == "jupyter" else typed[1:]
    if argv != run and rest and argv.endswith(" " + " ".join(rest)) and name(argv, "") == name(run, ""):
        return run
    if "/bin/exec/R " in argv or "/lib/R/bin/R " in argv:
        words = arguments(argv)
        script = next((word[7:] for word in words if word.startswith("--file=")), "")
        after = words[words.index("--args") + 1 :] if "--args" in words else []
        return _quoted(["Rscript", script, *after]) if script else argv
    if "/.snakemake/scripts/tmp" in argv:
        words = [_COPY.sub("", word) for word in arguments(argv)]
        return _quoted([words[0].rpartition("/")[2], *words[1:]])
    return run if _JOB.search(argv) else argv


def is_kernel(argv: str) -> bool:
    """Return whether this is the command line of a recorded kernel."""
    return any(word.endswith(KERNEL) for word in argv.split(" ")[:3])


def is_notebook(argv: str, run: str) -> bool:
    """Return whether this is the command line of a recorded kernel, also of one that recorded itself (`%load_ext
    provio`): its command line is that of its run."""
    return is_kernel(argv) or (argv == run and "ipykernel_launcher" in argv.split(" ")[:4])


def _quoted(words: Sequence[str]) -> str:
    return " ".join(quote(word) or "%" for word in words)


class Starters:
    """Finds the program that a process is named after: its own, or the one that started a helper."""

    def __init__(self, known: Nodes) -> None:
        self.known = known
        self.found: dict[str, str] = {}

    def process(self, process: str) -> str:
        """Return the process that a process is named after."""
        if process not in self.found:
            one = process
            for _ in range(MOST):
                words = arguments(self.argv(one))
                above = self._starter(one) if is_helper(words) else None
                if above is None:
                    break
                one = above
            self.found[process] = process if is_helper(arguments(self.argv(one))) else one
        return self.found[process]

    def argv(self, iri: str) -> str:
        """Return the recorded command line of a process."""
        return min(self.known.of([iri])[iri].get(NS + "argv", ("",)))

    def rules(self, processes: Iterable[str]) -> dict[str, str]:
        """Return the rule of each process that a job of Snakemake started: that is a Task of Snakemake's process."""
        found: dict[str, str] = {}
        if next(iter(self.known.reader.table('SELECT ?t { ?t provio:kind "rule" } LIMIT 1')), None) is None:
            return found
        lowest = {process: process for process in processes}
        for _ in range(MOST):
            properties = self.known.of({*lowest.values()})
            for process, one in lowest.items():
                if "rule" in properties[one].get(NS + "kind", ()):
                    found[process] = min(properties[one].get(LABEL, ("",)))
            self.known.of({one + "phase/0" for one in lowest.values()})
            above = {process: self._starter(one) for process, one in lowest.items() if process not in found}
            lowest = {process: one for process, one in above.items() if one}
            if not lowest:
                break
        return found

    def _starter(self, process: str) -> str | None:
        first = process + "phase/0"
        properties = self.known.of([first])[first]
        above = min((*properties.get(NS + "launchedBy", ()), *properties.get(NS + "carriedFrom", ())), default=None)
        return above.rpartition("phase/")[0] if above else None


def name_activities(nodes: list[Node], programs: tuple[list[Node], list[Edge]], known: Nodes) -> dict[str, str]:
    """Label each activity, except Tasks, with its name, and add its `command`; return the command lines of their runs.

    `programs` are the programs that they ran.
    """
    labels = {node["iri"]: node["label"] for node in programs[0] if node["type"] == "Program"}
    names = {edge["subject"]: labels[edge["object"]] for edge in programs[1] if edge["object"] in labels}
    starters = Starters(known)
    acting = [node for node in nodes if node["iri"] in names and node["type"] != "Task" and "task" not in node]
    rules = starters.rules({node.get("task") or node["process"] for node in nodes if "process" in node})
    jobs = [(node, rules[key]) for node in nodes if (key := node.get("task") or node.get("process", "")) in rules]
    started = [node for node in nodes if "run" in node and "argv" in node]
    typed = _command_lines(
        known.reader, {node["run"] for node in [*acting, *started, *(one for one, _ in jobs)] if "run" in node}
    )
    _add_notebooks(known, [node for node in started if is_notebook(node["argv"], typed.get(node["run"], ""))])
    for node, rule in jobs:
        node["rule"], node["label"] = rule, f"rule {rule}"
        if _JOB.search(node.get("argv", "")) and (own := typed.get(node.get("run", ""))):
            node["command"] = own
    for node in started:
        of_pool = node.get("kind") in POOLED and is_helper(arguments(node["argv"]))
        if (node.get("kind") in SEALED or of_pool) and node["run"] in typed:  # a framework started its process
            node["command"] = typed[node["run"]]
            node.pop("argv", None)
    for node in acting:
        process = node.get("process", "")
        named = starters.process(process) if node.get("argv") else process
        argv = starters.argv(named) if named != process else node.get("argv", "")
        if "rule" not in node:
            node["label"] = node.get("notebook") or name(argv, names[node["iri"]] if named == process else "")
        own = command(argv, typed.get(node.get("run", ""), "")) if argv else ""
        if own != node.get("argv", ""):
            node["command"] = own
    return typed


def _add_notebooks(known: Nodes, nodes: Iterable[Node]) -> None:
    """Add the notebook of the activities of recorded kernels: the name of their runs."""
    properties = known.of({node["run"] for node in nodes})
    for node in nodes:
        if of := properties[node["run"]].get(NS + "name"):
            node["notebook"] = min(of)


def _command_lines(reader: Reader, runs: Iterable[str]) -> dict[str, str]:
    """Return the command lines of runs."""
    found: dict[str, str] = {}
    for batch in batches(sorted(runs)):
        values = " ".join(f"<{iri}>" for iri in batch)
        rows = reader.table(f"SELECT ?r ?c {{ VALUES ?r {{ {values} }} ?r provio:commandLine ?c }}")
        found.update((run, argv) for run, argv in rows)
    return found

"""The subject of an export: all runs, some runs, or the lineage of files, and the options of all formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from provio.base.vocab import RUN_BASE
from provio.exchange.hidden import Hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provio.ask.document import LineageDocument
    from provio.ask.target import Target
    from provio.settings.home import Home
    from provio.store import Store


@dataclass(frozen=True)
class Subject:
    """The content of an export, and its options. Without `runs` and `files`: all runs.

    `level` is the granularity of things (`folder`, `file`, `dataset`), `steps` that of activities (`process`, `task`,
    `io`); empty is the usual one of the format. `hide` replaces values that the user does not publish (`--redact`).
    `with_data` copies the files' contents, too; `anyway` writes also a record with gaps, where a format refuses it.
    `profile` is that of a crate (`process`, `workflow` or `provenance`).
    """

    reader: Store
    home: Home
    runs: tuple[str, ...] = ()
    files: tuple[Target, ...] = ()
    level: str = ""
    steps: str = ""
    hide: Hidden = field(default_factory=Hidden)
    with_data: bool = False
    anyway: bool = False
    profile: str = "provenance"

    @cached_property
    def document(self) -> LineageDocument:
        """The lineage of the files."""
        from provio.ask import lineage

        return lineage.lineage(self.reader, self.files, lineage.Scope(inside=self.level == "dataset"))

    def documents(self, level: str, steps: str) -> Iterator[LineageDocument]:
        """Yield the lineage of the files, or the data flow of each run, with things and activities of this detail."""
        from provio.ask import detail, whole_run

        found = [self.document] if self.files else (whole_run.document(self.reader, run) for run in self.run_ids)
        return (detail.at(self.reader, document, level, steps) for document in found)

    @cached_property
    def run_ids(self) -> list[str]:
        """The ids of the runs in the export, oldest first."""
        from provio.ask import runs

        if self.runs:
            return sorted(self.runs)
        if self.files:
            return sorted({node["run"].removeprefix(RUN_BASE) for node in self.document["nodes"] if "run" in node})
        return sorted(row["run"] for row in self.reader.rows(runs.LISTING))

"""The subject of an export: all runs, some runs, or the lineage of files, and the options of all formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from provio.base.vocab import RUN_BASE
from provio.exchange.hidden import Hidden

if TYPE_CHECKING:
    from provio.ask.document import LineageDocument
    from provio.ask.target import Target
    from provio.settings.home import Home
    from provio.store import Store


@dataclass(frozen=True)
class Subject:
    """The part of the record that a format writes, and its options. Without `runs` and `files`: all runs.

    `level` is the granularity of things (`file`, `dataset`, `folder`), `steps` that of activities (`process`, `task`,
    `io`). `hide` replaces values that the user does not publish (`--redact`). `with_data` copies the files' contents,
    too; `anyway` writes also a record with gaps, where a format refuses it.
    """

    reader: Store
    home: Home
    runs: tuple[str, ...] = ()
    files: tuple[Target, ...] = ()
    level: str = "file"
    steps: str = "process"
    hide: Hidden = field(default_factory=Hidden)
    with_data: bool = False
    anyway: bool = False

    @cached_property
    def document(self) -> LineageDocument:
        """The lineage of the files, or the data flow of the one run."""
        from provio.ask import lineage, whole_run

        if self.files:
            return lineage.lineage(self.reader, self.files, lineage.Scope(inside=self.level == "dataset"))
        return whole_run.document(self.reader, self.runs[0])

    @cached_property
    def run_ids(self) -> list[str]:
        """The ids of the runs in the export, oldest first."""
        from provio.ask import runs

        if self.runs:
            return sorted(self.runs)
        if self.files:
            return sorted({node["run"].removeprefix(RUN_BASE) for node in self.document["nodes"] if "run" in node})
        return sorted(row["run"] for row in self.reader.rows(runs.LISTING))

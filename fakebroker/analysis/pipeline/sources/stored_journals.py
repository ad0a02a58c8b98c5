"""Journals are read by tasks, which write the rows of `journal_lines` as Parquet. No Spark here."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fakebroker.analysis.pipeline.rows import write_rows
from fakebroker.analysis.pipeline.sources.journal_files import Span, journal_lines, spans_of
from fakebroker.analysis.pipeline.sources.parts import PARTS_PER_CORE
from fakebroker.analysis.pipeline.sources.splits import balanced
from fakebroker.analysis.pipeline.tables.journal_lines import TABLE

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.engines import Engine


def store_journals(engine: "Engine", files: Iterable[Path], folder: Path, *, is_growing: bool) -> int:
    """Write the rows of all lines of journals into a folder, which is made; returns how many."""
    spans = [span for file in files for span in spans_of(file)]
    parts = balanced(spans, PARTS_PER_CORE * engine.tasks_at_once)
    folder.mkdir(parents=True)
    return sum(engine.ran(partial(_write, folder=folder, is_growing=is_growing), parts))


def _write(spans: Sequence[Span], folder: Path, is_growing: bool) -> int:
    return write_rows(TABLE, journal_lines(spans, is_growing=is_growing), folder)

"""Adding journals to the table of events."""

from collections.abc import Sequence
from typing import Any, Final

from fakebroker.analysis.pipeline.contract import columns_only
from fakebroker.analysis.pipeline.engines import Engine, Frame, make
from fakebroker.analysis.pipeline.publish import Staging
from fakebroker.analysis.pipeline.recipe import Recipe
from fakebroker.protocol.errors import FakebrokerError

_REASONS: Final = columns_only("""
    reason string?: the error; null for lines that can be read
    lines long: how many lines
    file string: a file with such a line
""")
_WHY_REJECTED: Final = Recipe(
    "SELECT reject_reason AS reason, COUNT(*) AS lines, MIN(file) AS file FROM journal_lines GROUP BY reject_reason"
)


def ingest(stage: Staging, paths: Sequence[str], *, is_growing: bool = False) -> dict[str, Any]:
    """Add the events of journals that the table does not have yet; returns what the manifest says of the input.

    Of files that are growing, what a broker has not written completely is left out, and not every line may be a reject.
    Raises InvalidArgument naming the path where there is no file or folder, FakebrokerError if no line can be read.
    """
    lines, rows_in = _journal_lines(stage, paths, is_growing)
    known = stage.load("events")
    stage.add("events", make(stage.engine, "events", {"journal_lines": lines}))
    stage.add("rejects", make(stage.engine, "journal_rejects", {"journal_lines": lines, "events": known}))
    if not is_growing and 0 < rows_in <= stage.made["rejects"]:
        _check_readable(stage.engine, lines)
    return {"rows_in": rows_in, "rejected": stage.made["rejects"], "paths": list(paths)}


def _check_readable(engine: Engine, lines: Frame) -> None:
    """Raises FakebrokerError with the commonest reason if every line is rejected: nothing could be made of them."""
    reasons = engine.rows(engine.made(_WHY_REJECTED, _REASONS, {"journal_lines": lines}))
    if any(row["reason"] is None for row in reasons):
        return
    commonest = max(reasons, key=lambda row: (row["lines"], row["reason"]))
    count = sum(row["lines"] for row in reasons)
    raise FakebrokerError(
        f"none of {count:,} lines can be read; of {commonest['lines']:,}, among them some of {commonest['file']}:"
        f" {commonest['reason']}"
    )


def _journal_lines(stage: Staging, paths: Sequence[str], is_growing: bool) -> tuple[Frame, int]:
    """The rows of all lines, and how many there are."""
    if stage.engine.name == "spark":
        from fakebroker.analysis.pipeline.sources import journal_frames

        return stage.keep("journal_lines", journal_frames.journal_lines(stage.engine.session, paths))
    from fakebroker.analysis.pipeline.sources.journal_files import journal_files
    from fakebroker.analysis.pipeline.sources.stored_journals import store_journals

    files = journal_files(paths)
    return stage.write_ahead(
        "journal_lines", (), lambda folder: store_journals(stage.engine, files, folder, is_growing=is_growing)
    )

"""Adding journals to the table of events."""

from collections.abc import Sequence
from typing import Any

from fakebroker.analysis.pipeline.engines import Engine, Frame, make
from fakebroker.analysis.pipeline.publish import Staging


def ingest(stage: Staging, paths: Sequence[str]) -> dict[str, Any]:
    """Add the events of journals that the table does not have yet; returns what the manifest says of the input.

    Raises InvalidArgument naming the path where there is no file or folder.
    """
    lines, rows_in = stage.keep("journal_lines", _journal_lines(stage.engine, paths))
    known = stage.load("events")
    stage.add("events", make(stage.engine, "events", {"journal_lines": lines}))
    stage.add("rejects", make(stage.engine, "journal_rejects", {"journal_lines": lines, "events": known}))
    return {"rows_in": rows_in, "rejected": stage.made["rejects"], "paths": list(paths)}


def _journal_lines(engine: Engine, paths: Sequence[str]) -> Frame:
    if engine.name == "embedded":
        from fakebroker.analysis.pipeline.sources.journal_files import journal_files, journal_lines

        return journal_lines(journal_files(paths))
    from fakebroker.analysis.pipeline.sources import journal_frames

    session: Any = engine.session  # type: ignore[attr-defined]
    return journal_frames.journal_lines(session, paths)

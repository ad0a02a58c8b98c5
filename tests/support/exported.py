"""Tables that change, for tests of exports."""

import io
from pathlib import Path

from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.analysis.pipeline.publish import Published, staging
from fakebroker.analysis.pipeline.rows import read_rows
from fakebroker.analysis.pipeline.tables import table


def published(folder: Path, *offsets: int) -> Published:
    """A folder whose table of log ends has these offsets, and whose table of rejects stays as it is."""
    engine = DuckEngine()
    with staging(engine, folder, Progress(io.StringIO())) as stage:
        rows = [
            {"source": "run", "topic": "orders", "partition": n, "log_end_offset": offset, "at": n, "seq": n, "part": 0}
            for n, offset in enumerate(offsets)
        ]
        stage.store("log_ends", engine.frame(table("log_ends"), rows))
        if not stage.has("rejects"):
            stage.store("rejects", engine.frame(table("rejects"), []))
        stage.publish({"rows_in": len(rows)})
    return Published(folder)


def offsets_in(folder: Path) -> list[int]:
    """The offsets that a folder has now."""
    rows = read_rows(table("log_ends"), Published(folder).folder_of("log_ends"))
    return sorted(row["log_end_offset"] for row in rows)

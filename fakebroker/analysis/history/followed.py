"""What was read of a log that goes on: its rows in Parquet files beside the tables, and how far they go.

The tables are made of all of them: what a broker compacts away is still there. `position.json` is written last and
names the files; others are left by a process that was killed, and removed.
"""

import json
import os
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.live import read_partition
from fakebroker.analysis.pipeline.engines import Engine, Frame
from fakebroker.analysis.pipeline.publish import MOST_FILES
from fakebroker.analysis.pipeline.rows import parquet_files, write_rows
from fakebroker.analysis.pipeline.sources.inputs import Live, Positions
from fakebroker.analysis.pipeline.tables.decoded import TABLE
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument
from fakebroker.protocol.json_text import parse_json

POSITION: Final = "position.json"


class Followed:
    """The folder with the rows of one log, whose name is `source`.

    Raises InvalidArgument naming `source` if it has those of another one, FakebrokerError if it cannot be read.
    """

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self._source = source
        folder.mkdir(parents=True, exist_ok=True)
        found = self._position()
        if found["source"] != source:
            problem = f"{folder} has rows of the log {found['source']!r}, not of {source!r}"
            raise InvalidArgument("source", source, problem)
        self.positions: Positions = found["read"]
        for file in parquet_files(folder):
            if file.name not in found["files"]:
                file.unlink()

    def read(self, kafka: ClientConfig) -> bool:
        """Add what the log of a running Kafka has got; whether there was anything. Raises ClusterError.

        Raises FakebrokerError if the log ends before what was read of it.
        """
        live = Live(kafka)
        first, end = live.first(), live.latest(is_growing=True)
        start = {each: max(offset, self.positions.get(each, 0)) for each, offset in first.items()}
        for each in end:
            if end[each] < start[each]:
                raise FakebrokerError(
                    f"partition {each} ends at offset {end[each]}, and was read to {start[each]}: this is another log. "
                    f"Remove {self.folder} to start over"
                )
        new = [each for each in end if end[each] > start[each]]
        parts = (read_partition(kafka, int(each), start[each], end[each], self._source) for each in new)
        if new:
            self._add(decode_all(chain.from_iterable(parts)), end)
        return bool(new)

    def frame(self, engine: Engine) -> Frame:
        """All rows, as a frame of the table `decoded`; of many files one is made."""
        if len(parquet_files(self.folder)) >= MOST_FILES:
            self._merge(engine)
        return engine.load(TABLE, self.folder)

    def _add(self, rows: Iterable[Mapping[str, Any]], read: Positions) -> None:
        write_rows(TABLE, rows, self.folder)
        self.positions = {**self.positions, **read}
        self._note(parquet_files(self.folder))

    def _merge(self, engine: Engine) -> None:
        before = parquet_files(self.folder)
        engine.store(TABLE, engine.load(TABLE, self.folder), self.folder)
        self._note([file for file in parquet_files(self.folder) if file not in before])
        for file in before:
            file.unlink()

    def _position(self) -> dict[str, Any]:
        path = self.folder / POSITION
        if not path.exists():
            return {"source": self._source, "read": {}, "files": []}
        try:
            found = parse_json(path.read_bytes())
            return {"source": found["source"], "read": dict(found["read"]), "files": list(found["files"])}
        except (ValueError, KeyError, TypeError) as error:
            raise FakebrokerError(f"{path} is not a position that can be read; remove {self.folder}") from error

    def _note(self, files: Iterable[Path]) -> None:
        unfinished = self.folder / f".{POSITION}.unfinished"
        names = [file.name for file in files]
        unfinished.write_text(json.dumps({"source": self._source, "read": self.positions, "files": names}) + "\n")
        os.replace(unfinished, self.folder / POSITION)

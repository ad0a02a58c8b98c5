"""Records of `__transaction_state` in a broker's data directory or a running Kafka, as rows of `transaction_log`.

A data directory has this log beside `__consumer_offsets`. Sinks are not read: what a key means is known only by its
topic.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fakebroker.analysis.history.decode import reject_row
from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject, sample_of
from fakebroker.analysis.history.reading import has_scheme, read_file
from fakebroker.analysis.pipeline.contract import Row, time_or_none
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.transaction_log import TransactionEntry, TransactionValue, read_transaction

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.publish import Staging
    from fakebroker.client.security import ClientConfig

TOPIC: Final = "__transaction_state"
STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
    "PrepareEpochFence",
)
"""The states of transactional ids by their numbers in records, as Kafka spells them."""
_FOLDER: Final = re.compile(rf"{TOPIC}-(\d{{1,9}})")
_NO_VALUE: Final[Row] = dict.fromkeys(
    ("state", "producer_id", "producer_epoch", "timeout_ms", "partitions", "topics", "started_at", "updated_at",
     "client_version")
)  # fmt: skip


def transaction_segments(paths: Iterable[str | Path], source: str) -> list[LogFile]:
    """The segments of the log in folders and files, each once, in the order of partitions and base offsets."""
    found: dict[Path, LogFile] = {}
    for path in map(Path, paths):
        for file in path.rglob("*.log") if path.is_dir() else [path]:
            if folder := _FOLDER.fullmatch(file.absolute().parent.name):
                found.setdefault(file.resolve(), LogFile(file, int(folder[1]), source))
    return sorted(found.values(), key=lambda each: (each.log_partition, str(each.path)))


def read_transactions(paths: Iterable[str | Path], source: str) -> Iterator[LogRecord | Reject]:
    """What is in these segments. A file that cannot be opened is a reject."""
    for segment in transaction_segments(paths, source):
        yield from read_file("segment", segment)


def decode_transactions(records: Iterable[LogRecord | Reject], rejects: list[Row]) -> Iterator[Row]:
    """The rows of `transaction_log` of what a reader gives. What cannot be read becomes rows of `decoded` in `rejects`.

    Kafka skips keys of a version that it does not know, and so does this.
    """
    for record in records:
        if isinstance(record, Reject):
            rejects.append(reject_row(record))
        elif record.control is None:
            try:
                entry = read_transaction(record.key, record.value)
            except WireError as error:
                data = record.key if record.key is not None else record.value
                rejects.append(reject_row(record.reject(str(error), None if data is None else sample_of(data))))
            else:
                if entry is not None:
                    yield _row(record, entry)


def _row(record: LogRecord, entry: TransactionEntry) -> Row:
    return {
        "at": time_or_none(record.at_ms),
        "transactional_id": entry.transactional_id,
        **(_NO_VALUE if entry.value is None else _columns_of(entry.value)),
        "source": record.source,
        "log_partition": record.log_partition,
        "log_offset": record.log_offset,
        "file": record.file,
    }


def _columns_of(value: TransactionValue) -> Row:
    is_known = 0 <= value.status < len(STATES)
    return {
        "state": STATES[value.status] if is_known else f"status {value.status}",
        "producer_id": value.producer_id,
        "producer_epoch": value.producer_epoch,
        "timeout_ms": value.timeout_ms,
        "partitions": len(value.partitions),
        "topics": sorted({each.topic for each in value.partitions}),
        "started_at": None if value.start_ms == NO_TIMESTAMP else time_or_none(value.start_ms),
        "updated_at": time_or_none(value.last_update_ms),
        "client_version": value.client_transaction_version,
    }


def transaction_frames(
    stage: "Staging", paths: Sequence[str], kafka: "ClientConfig | None", source: str
) -> tuple[Any, list[Row], int]:
    """The frame `transaction_log`, rejects as rows of `decoded`, and how many rows there are of both.

    Paths of other file systems have none. It is read in this process: of a transaction there are four records, of a
    group's offsets thousands. Raises ClusterError.
    """
    from fakebroker.analysis.pipeline.rows import write_rows
    from fakebroker.analysis.pipeline.tables.transaction_log import TABLE

    rejects: list[Row] = []
    frame, rows = stage.write_ahead(
        TABLE.name,
        (),
        lambda folder: write_rows(TABLE, decode_transactions(_records(paths, kafka, source), rejects), folder),
    )
    return frame, rejects, rows + len(rejects)


def _records(paths: Sequence[str], kafka: "ClientConfig | None", source: str) -> Iterator[LogRecord | Reject]:
    if kafka is None:
        yield from read_transactions((path for path in paths if not has_scheme(path)), source)
        return
    from fakebroker.analysis.history.live import read_live_transactions

    yield from read_live_transactions(kafka, source)

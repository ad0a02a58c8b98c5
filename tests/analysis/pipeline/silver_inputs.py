"""Random histories of brokers as the tables that silver tables are made of."""

from functools import cache
from typing import Any

from fakebroker.analysis.history.decode import decode_record
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.sources.journal_line import Line, parse_line
from fakebroker.testing.exchanges.writing import line_of
from tests.support.chance import SEED
from tests.support.histories import History, make_history
from tests.support.histories import LogRecord as Recorded
from tests.support.tables_made import events

Row = dict[str, Any]

SEEDS = range(SEED, SEED + 12)


@cache
def history(seed: int) -> History:
    """A history with all that can happen, of one seed."""
    return make_history(seed, steps=60, transactions=True, steps_back=True)


@cache
def journal_rows(seed: int) -> tuple[Row, ...]:
    """The rows of `events` of its journal."""
    data = [line_of(row).rstrip() for row in history(seed).rows]
    parsed = [parse_line(Line(f"{seed}.jsonl", number, each)) for number, each in enumerate(data, 1)]
    assert [row["reject_reason"] for row in parsed if "reject_reason" in row] == []
    return tuple(events(parsed))


@cache
def log_records(seed: int) -> tuple[LogRecord, ...]:
    """The records of its log; the source is log-SEED."""
    return tuple(_log_record(f"log-{seed}", record) for record in history(seed).records)


@cache
def log_rows(seed: int) -> tuple[Row, ...]:
    """The rows of `coordinator_records` of its log."""
    decoded = [row for record in log_records(seed) for row in decode_record(record)]
    return tuple(row for row in decoded if row["what"] == "record")


def _log_record(source: str, record: Recorded) -> LogRecord:
    in_transaction = record.producer_id >= 0
    control = ("abort", "commit")[record.key[3]] if record.is_control and record.key is not None else None
    return LogRecord(
        source=source,
        file="file",
        position=record.offset,
        log_partition=record.partition,
        log_offset=record.offset,
        at_ms=record.timestamp_ms,
        key=record.key,
        value=record.value,
        producer_id=record.producer_id if in_transaction else None,
        producer_epoch=0 if in_transaction else None,
        is_transactional=in_transaction,
        control=control,
    )

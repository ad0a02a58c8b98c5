"""Random histories of brokers as the tables that silver tables are made of."""

from functools import cache
from typing import Any

from fakebroker.history.decode import decode_record
from fakebroker.history.log_record import LogRecord
from fakebroker.journal.files import line_of
from fakebroker.pipeline.oracle.events import events
from fakebroker.pipeline.sources.journal_line import Line, parse_line
from tests.support.histories import History, make_history

Row = dict[str, Any]

SEEDS = range(12)


@cache
def history(seed: int) -> History:
    """A history with all that can happen, of one seed."""
    return make_history(seed, steps=60, transactions=True, steps_back=True)


@cache
def journal_rows(seed: int) -> tuple[Row, ...]:
    """The rows of `events` of its journal."""
    data = [line_of(row).rstrip() for row in history(seed).rows]
    parsed = [parse_line(Line(f"{seed}.jsonl", number, each)) for number, each in enumerate(data, 1)]
    assert [row["reject_reason"] for row in parsed if row["reject_reason"]] == []
    return tuple(events(parsed))


@cache
def log_rows(seed: int) -> tuple[Row, ...]:
    """The rows of `coordinator_records` of its log; the source is log-SEED."""
    found: list[Row] = []
    for each in history(seed).records:
        is_marker = each.is_control and each.key is not None
        record = LogRecord(
            f"log-{seed}", "file", each.offset, each.partition, each.offset, each.timestamp_ms, each.key, each.value,
            control=("abort", "commit")[each.key[3]] if is_marker and each.key else None,
        )  # fmt: skip
        found += [row for row in decode_record(record) if row["what"] == "record"]
    return tuple(found)

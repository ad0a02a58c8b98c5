"""Which records of a refused batch are wrong (KIP-467, PD-16 to PD-21): found out after the refusal, and bounded.

A Produce of some KB may have a million records that are wrong, each with an index and a text in the answer. Kafka names
them all. MOCK: here the records that are gone through for one request have a bound.
"""

from collections.abc import Generator
from typing import Final

from fakebroker.broker.core.logs.appends import AppendErrorContent, BadRecords, time_fault
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import read_records
from fakebroker.protocol.records.record_codec import Record

RECORDS_PER_REQUEST: Final = 20_000  # of all its refused batches
_RECORD_COSTS: Final = 2  # of the units in which a Produce is counted
BYTES_PER_BATCH: Final = 4 << 20  # of its records, which are unpacked once more, in a single step


class BadRecordsOfRequest:
    """What is found out about the refused batches of one request."""

    def __init__(self) -> None:
        self._left_records = RECORDS_PER_REQUEST

    def content(
        self, unnamed: AppendErrorContent, bad: BadRecords, pace: Pace
    ) -> Generator[None, None, AppendErrorContent | None]:
        """The error of a batch: with its wrong records, `unnamed` if they are too many; None if there are none."""
        count = bad.header.records_count
        most = self._left_records if bad.is_certain else RECORDS_PER_REQUEST
        if count > most or bad.seen.size_bytes > BYTES_PER_BATCH:
            return unnamed
        found = yield from named(bad, pace)
        if found is None:
            return None
        self._left_records -= count
        return found if self._left_records >= 0 else unnamed


def named(bad: BadRecords, pace: Pace) -> Generator[None, None, AppendErrorContent | None]:
    """The error that names every wrong record of a batch, in steps of records; None if there are none."""
    judging = _Judging(bad)
    for index, record in enumerate(read_records(bad.batch, is_checked=True)):
        judging.judge(index, record)
        if pace.is_over(_RECORD_COSTS):
            yield
    return judging.content() if judging.errors else None


class _Judging:
    """The judgement of the records of one batch, one after the other. Most that are wrong share their texts."""

    def __init__(self, bad: BadRecords) -> None:
        self.errors: list[tuple[int, str]] = []
        self._bad = bad
        self._code = ErrorCode.INVALID_RECORD
        self._key_fault = f"{bad.partition}: every record of a compacted topic needs a key"
        self._time_faults: dict[int, str | None] = {}

    def judge(self, index: int, record: Record) -> None:
        """Note what is wrong with a record, if anything is: its key rather than its time."""
        if self._bad.config.compact and record.key is None:
            self.errors.append((index, self._key_fault))
            return
        fault = self._time_fault(record.timestamp_ms)
        if fault is not None:
            self._code = ErrorCode.INVALID_TIMESTAMP
            self.errors.append((index, fault))

    def content(self) -> AppendErrorContent:
        """The error of the batch."""
        what = "invalid timestamps" if self._code == ErrorCode.INVALID_TIMESTAMP else "missing keys"
        text = f"{len(self.errors)} records were rejected for {what}"
        return AppendErrorContent(self._code, text, self.errors, show_message=True)

    def _time_fault(self, timestamp_ms: int) -> str | None:
        if timestamp_ms not in self._time_faults:
            bad = self._bad
            self._time_faults[timestamp_ms] = time_fault(timestamp_ms, bad.header, bad.config, bad.low_ms, bad.high_ms)
        return self._time_faults[timestamp_ms]

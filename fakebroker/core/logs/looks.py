"""How the batches of one Produce request are looked into, so that it neither takes too much nor holds up others.

A look is what an append asks for the scan of its batch (`check_batch`). One that would be long is taken ahead of the
append, in steps; the append itself is done in one. What all batches of a request unpack to is bounded.
"""

from collections.abc import Callable, Generator
from typing import Final

from fakebroker.core.logs.appends import check_header
from fakebroker.core.logs.config import LogConfig
from fakebroker.errors import ErrorCode
from fakebroker.records.batch import BatchHeader, parse_header
from fakebroker.records.compression import DECOMPRESSED_LIMIT_BYTES, STEP_BYTES
from fakebroker.records.faults import InvalidRecord, TooLarge
from fakebroker.records.record_scan import Scan, scan, scan_in_steps, short_scan

Look = Callable[[bytes, BatchHeader], Scan]

UNPACKED_PER_REQUEST_BYTES: Final = 256 << 20
RECORDS_PER_REQUEST: Final = 1_000_000  # in compressed batches; others are bounded by the size of the request
SHORT_BATCH_BYTES: Final = 1 << 20  # as it is sent; for a larger one no short look is tried
_BATCH_COSTS_BYTES: Final = STEP_BYTES >> 9  # also the smallest: some hundred of them are a step


class Looks:
    """The looks of one request."""

    def __init__(self) -> None:
        self._left_bytes = UNPACKED_PER_REQUEST_BYTES
        self._left_records = RECORDS_PER_REQUEST
        self._step_bytes = 0  # looked at since the last pause

    def short(self, batch: bytes, header: BatchHeader) -> Scan:
        """A look in a single step. Raises LongScan if that would be too long."""
        seen = short_scan(batch, header)
        self._count(header, seen)
        return seen

    def at_once(self, batch: bytes, header: BatchHeader) -> Scan:
        """A look of any length in a single step."""
        try:
            seen = scan(batch, header, self._limit_bytes())
        except TooLarge as fault:
            raise self._refusal(fault) from None
        self._count(header, seen)
        return seen

    def is_pause_due(self) -> bool:
        """Whether so much was looked at that it is the others' turn."""
        is_due = self._step_bytes > STEP_BYTES
        if is_due:
            self._step_bytes = 0
        return is_due

    def ahead(self, batch: bytes, config: LogConfig, partition: str) -> Generator[None, None, Look]:
        """Take a long look. Returns one that knows the result, good or bad, for when the append gets to it."""
        try:
            header = parse_header(batch)
            check_header(batch, header, config, partition)
            yield
            if header.codec and header.records_count > self._left_records:
                return _failing(_request_too_large())
            seen = yield from scan_in_steps(batch, header, self._limit_bytes())
        except TooLarge as fault:
            return _failing(self._refusal(fault))
        except InvalidRecord as fault:
            return _failing(fault)
        self._count(header, seen)
        return lambda _batch, _header: seen

    def _limit_bytes(self) -> int:
        return max(0, min(self._left_bytes, DECOMPRESSED_LIMIT_BYTES))

    def _count(self, header: BatchHeader, seen: Scan) -> None:
        self._step_bytes += seen.size_bytes + _BATCH_COSTS_BYTES
        if header.codec:
            self._left_bytes -= seen.size_bytes
            self._left_records -= header.records_count

    def _refusal(self, fault: InvalidRecord) -> InvalidRecord:
        """Too much for one batch, or for the request; then nothing more is unpacked for it."""
        if self._left_bytes >= DECOMPRESSED_LIMIT_BYTES:
            return fault
        self._left_bytes = 0
        return _request_too_large()


def _request_too_large() -> InvalidRecord:
    return InvalidRecord(
        "the batches of one request unpack to more than "
        f"{UNPACKED_PER_REQUEST_BYTES} bytes or {RECORDS_PER_REQUEST} records",
        ErrorCode.MESSAGE_TOO_LARGE,
    )


def _failing(fault: InvalidRecord) -> Look:
    code, message = fault.code, fault.message or ""

    def look(_batch: bytes, _header: BatchHeader) -> Scan:
        raise InvalidRecord(message, code)

    return look

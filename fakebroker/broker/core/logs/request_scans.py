"""The scans of the batches of one Produce request: bounded, so that no request takes too much memory or time.

Before a batch is appended every record of it is scanned (`check_batch` in appends.py). A scan that would be long is
done ahead of the append, in steps between which other connections are served; the append itself is one step. What the
batches of one request that are scanned in steps unpack to is bounded (MOCK: Kafka has no such bound).
"""

from collections.abc import Callable, Generator
from typing import Final, Protocol, TypeVar

from fakebroker.broker.core.logs.appends import check_header
from fakebroker.broker.core.logs.config import LogConfig
from fakebroker.broker.core.logs.recompression import has_too_much, holds_much, is_long, recompress_in_steps
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Line, Pace
from fakebroker.protocol.records.batch import BatchHeader, parse_header
from fakebroker.protocol.records.compression import DECOMPRESSED_LIMIT_BYTES, STEP_BYTES
from fakebroker.protocol.records.faults import InvalidRecord, TooLarge
from fakebroker.protocol.records.record_scan import LongScan, Scan, scan, scan_in_steps, short_scan

T = TypeVar("T")
ScanBatch = Callable[[bytes, BatchHeader], Scan]
"""How `check_batch` gets the scan of a batch and its header. Raises InvalidRecord for records that do not parse."""

UNPACKED_PER_REQUEST_BYTES: Final = 256 << 20
RECORDS_PER_REQUEST: Final = 1_000_000  # in compressed batches; others are bounded by the size of the request
SHORT_BATCH_BYTES: Final = 1 << 20  # of a batch as it is sent; a larger one is always scanned in steps
_BATCH_COSTS_BYTES: Final = STEP_BYTES >> 9  # what the smallest batch counts as: some hundred of them are a step
_COMPRESSED_COSTS: Final = 8  # what a byte of a compressed batch counts as, packed and unpacked


class InLine(Protocol):
    """`Call.in_line`."""

    def __call__(self, steps: Generator[None, None, T], line: Line, /) -> Generator[None, None, T]:
        """The steps, from the second on only while no other request takes such ones of that line."""


class RequestScans:
    """The scans of one request, and what is left of the request's bounds.

    `is_again`: a batch is scanned once more, of which it was found out that the time of no record is wrong.
    """

    def __init__(self, in_line: InLine) -> None:
        """`in_line`: what holds an unpacked batch goes through it."""
        self._in_line = in_line
        self.is_again = False
        self._left_bytes = UNPACKED_PER_REQUEST_BYTES
        self._left_records = RECORDS_PER_REQUEST
        self._pace = Pace(STEP_BYTES)

    def scan_short(self, batch: bytes, header: BatchHeader) -> Scan:
        """Scan in a single step. Raises LongScan if that would be too long, InvalidRecord."""
        return self._noted(header, short_scan(batch, header))

    def scan_any(self, batch: bytes, header: BatchHeader) -> Scan:
        """Scan in a single step however long it is. Raises InvalidRecord."""
        try:
            result = scan(batch, header, self._limit_bytes())
        except TooLarge as fault:
            raise self._over_limit(fault) from None
        return self._noted(header, result)

    def scan_ahead(self, batch: bytes, config: LogConfig, partition: str) -> Generator[None, None, ScanBatch]:
        """Scan in steps, before the append. Returns a function with which the append gets the result.

        That function raises what the scan raised: `check_batch` comes to it in its own order of checks. `partition`
        is "topic-0", for messages. Raises AppendError of `check_header`, so that no bad batch is unpacked.
        """
        try:
            header = parse_header(batch)
            check_header(batch, header, config, partition)
            if header.codec and header.records_count > self._left_records and not self.is_again:
                return _failing(_request_too_large())
            result = yield from self._scanned(batch, header, config)
        except TooLarge as fault:
            return _failing(self._over_limit(fault))
        except InvalidRecord as fault:
            return _failing(fault)
        noted = self._noted(header, result)
        return lambda _batch, _header: noted

    def _scanned(self, batch: bytes, header: BatchHeader, config: LogConfig) -> Generator[None, None, Scan]:
        """The scan, with the batch in the topic's compression if that takes long."""
        if not is_long(batch, config):
            return (yield from self._scanned_in_steps(batch, header))
        try:
            seen = short_scan(batch, header)
        except LongScan:
            seen = yield from self._scanned_in_steps(batch, header)
        if has_too_much(header, seen):
            return seen
        packing = recompress_in_steps(batch, header, config)
        packed = yield from (self._in_line(packing, Line.PACKING) if holds_much(seen, config) else packing)
        return seen._replace(recompressed=packed)

    def _scanned_in_steps(self, batch: bytes, header: BatchHeader) -> Generator[None, None, Scan]:
        scanning = scan_in_steps(batch, header, self._limit_bytes())
        return (yield from self._in_line(scanning, Line.UNPACKING) if header.codec else scanning)

    def is_pause_due(self) -> bool:
        """Whether so much was scanned since the last pause that other connections should be served now."""
        return self._pace.is_over(0)

    def _limit_bytes(self) -> int:
        """What the next batch may unpack to."""
        if self.is_again:
            return DECOMPRESSED_LIMIT_BYTES
        return max(0, min(self._left_bytes, DECOMPRESSED_LIMIT_BYTES))

    def _noted(self, header: BatchHeader, result: Scan) -> Scan:
        """The scan, as the checks of the append are to see it; what is scanned again counts once."""
        if self.is_again:
            return result._replace(min_timestamp_ms=result.max_timestamp_ms)
        self._count(header, result)
        return result

    def _count(self, header: BatchHeader, result: Scan) -> None:
        self._pace.count(result.size_bytes + _BATCH_COSTS_BYTES)
        if header.codec:
            self._pace.count(_COMPRESSED_COSTS * (header.size_bytes + result.size_bytes))
            self._left_bytes -= result.size_bytes
            self._left_records -= header.records_count

    def _over_limit(self, fault: InvalidRecord) -> InvalidRecord:
        """The error of a batch that unpacks to too much: its own, or the request's if that bound was the lower one.

        In the second case nothing more is unpacked for the request.
        """
        if self._left_bytes >= DECOMPRESSED_LIMIT_BYTES:
            return fault
        self._left_bytes = 0
        return _request_too_large()


def _request_too_large() -> InvalidRecord:
    return InvalidRecord(
        f"the batches of one request decompress to more than {UNPACKED_PER_REQUEST_BYTES} bytes or "
        f"{RECORDS_PER_REQUEST} records",
        ErrorCode.MESSAGE_TOO_LARGE,
    )


def _failing(fault: InvalidRecord) -> ScanBatch:
    """A ScanBatch that raises `fault` anew: a kept exception would keep the frames it was raised through."""
    code, message = fault.code, fault.message or ""

    def scan_batch(_batch: bytes, _header: BatchHeader) -> Scan:
        raise InvalidRecord(message, code)

    return scan_batch

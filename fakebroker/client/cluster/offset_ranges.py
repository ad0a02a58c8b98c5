"""All the records of a partition between two offsets, fetched while those before them are being looked at."""

from collections.abc import Iterator
from typing import NamedTuple

from fakebroker.client.cluster.cluster_client import ClusterClient, Fetch, Fetched
from fakebroker.client.cluster.errors import ClusterError
from fakebroker.protocol.records.batch import BatchHeader, parse_header, peek
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.records.record_codec import decode_record

WAIT_MS = 500
_MAX_WAITS = 20  # empty answers, one after another, before a read gives up


class EndsEarly(ClusterError):
    """A partition does not have the records that were to be read: its log ends before, and does not grow."""


class Chunk(NamedTuple):
    """What one Fetch brought, and the offset to read on from."""

    fetched: Fetched
    next_offset: int


def read_range(cluster: ClusterClient, first: Fetch, end: int) -> Iterator[Chunk]:
    """Everything from where `first` asks up to the offset `end`, which is left out; batches are whole.

    Raises EndsEarly, and what `ClusterClient.fetch` raises.
    """
    if first.offset >= end:
        return  # and no Fetch that the broker would hold back until it has a record
    fetch = first._replace(max_wait_ms=WAIT_MS)
    sent, waits = cluster.begin_fetch(fetch), 0
    while fetch.offset < end:
        fetched = cluster.fetched(sent)
        next_offset = _after(fetched.records, fetch.offset)
        if next_offset == fetch.offset:
            waits += 1
            if waits > _MAX_WAITS:
                text = f"{fetch.partition} ends at offset {fetched.high_watermark}, before offset {end}"
                raise EndsEarly(f"{text} to which it was to be read; reading stopped at offset {fetch.offset}")
        else:
            waits = 0
        fetch = fetch._replace(offset=next_offset)
        if next_offset < end:
            sent = cluster.begin_fetch(fetch)
        if fetched.records:
            yield Chunk(fetched, next_offset)


def entries_of(records: bytes) -> Iterator[tuple[int, int, int]]:
    """(position, size in bytes, magic) of every complete batch or message of old formats in a Fetch answer."""
    position = 0
    while (entry := peek(records, position)) is not None:
        size_bytes, magic = entry
        yield position, size_bytes, magic
        position += size_bytes


def committed_entries(fetched: Fetched) -> Iterator[tuple[int, int, int]]:
    """As `entries_of`, without transaction markers, and without batches of transactions that were aborted.

    The broker lists aborted transactions when it is asked for committed records only.
    """
    coming = sorted(fetched.aborted, key=lambda each: each[1])
    aborting: dict[int, None] = {}  # producers with a transaction that is going to be aborted
    for position, size_bytes, magic in entries_of(fetched.records):
        if magic < 2:
            yield position, size_bytes, magic
            continue
        header = parse_header(fetched.records, position)
        while coming and coming[0][1] <= header.last_offset:
            aborting[coming.pop(0)[0]] = None
        if header.is_control:
            if _is_abort(fetched.records, position, header):
                aborting.pop(header.producer_id, None)
        elif not (header.is_transactional and header.producer_id in aborting):
            yield position, size_bytes, magic


def _is_abort(records: bytes, position: int, header: BatchHeader) -> bool:
    """Whether a control batch ends a transaction by aborting it."""
    if not header.records_count:
        return False
    key = decode_record(records[position + HEADER_BYTES : position + header.size_bytes], 0, 0)[3]
    return control_record_type(key) == ControlRecordType.ABORT


def _after(records: bytes, offset: int) -> int:
    """The offset after the last complete batch, `offset` if there is none."""
    last = None
    for position, _, magic in entries_of(records):
        last = position, magic
    if last is None:
        return offset
    position, magic = last
    if magic >= 2:
        return max(offset, parse_header(records, position).last_offset + 1)
    return max(offset, int.from_bytes(records[position : position + 8], "big", signed=True) + 1)

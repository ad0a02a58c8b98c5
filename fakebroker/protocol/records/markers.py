"""Transaction markers: control batches of one record that say how a producer's transaction ended (KIP-98, RC-3).

The key is a `ControlRecordTypeSchema`, the value an `EndTxnMarker`; each begins with its version as int16.
"""

from enum import IntEnum
from functools import lru_cache
from struct import Struct

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import BatchHeader, assemble
from fakebroker.protocol.records.batch_format import CONTROL_BIT, TRANSACTIONAL_BIT
from fakebroker.protocol.records.record_codec import Record, encode_record
from fakebroker.protocol.schema import Int16, Int32, Message, field

_VERSION = 0
_VERSION_PREFIX = Struct(">h")


class ControlRecordType(IntEnum):
    """What a control record says. Readers skip types that they do not know."""

    ABORT = 0
    COMMIT = 1
    # Of the log of a KRaft quorum (quorum_records.py).
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class ControlRecordTypeSchema(Message, versions="0"):
    """The key of a control record."""

    type: Int16 = field("0+")


class EndTxnMarker(Message, versions="0"):
    """The value of a transaction marker: the epoch of the transaction coordinator that wrote it."""

    coordinator_epoch: Int32 = field("0+")


def build_marker(
    producer_id: int, producer_epoch: int, *, commit: bool, coordinator_epoch: int, timestamp_ms: int
) -> bytes:
    """The control batch that ends a producer's transaction on a partition."""
    header = BatchHeader(
        base_offset=0,
        length=0,
        leader_epoch=0,
        magic=2,
        crc=0,
        attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
        last_offset_delta=0,
        base_timestamp_ms=timestamp_ms,
        max_timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=-1,
        records_count=1,
    )
    return assemble(
        header, _marker_record(ControlRecordType.COMMIT if commit else ControlRecordType.ABORT, coordinator_epoch)
    )


@lru_cache(maxsize=64)
def _marker_record(kind: ControlRecordType, coordinator_epoch: int) -> bytes:
    """The record of a marker: as its offset and time are those of its batch, it is the same in all transactions."""
    prefix = _VERSION_PREFIX.pack(_VERSION)
    key = prefix + ControlRecordTypeSchema(type=kind).encode(_VERSION)
    value = prefix + EndTxnMarker(coordinator_epoch=coordinator_epoch).encode(_VERSION)
    return encode_record(Record(0, 0, key, value), 0, 0)


def control_record_type(key: bytes | None) -> int:
    """The type in the key of a control record, a `ControlRecordType` or one of later releases. Raises WireError."""
    if key is None or len(key) < _VERSION_PREFIX.size:
        raise WireError("the key of a control record does not name its type")
    return ControlRecordTypeSchema.decode(key, _VERSION, _VERSION_PREFIX.size)[0].type


def coordinator_epoch_of(value: bytes | None) -> int:
    """The coordinator epoch in the value of a transaction marker, -1 when it cannot be read."""
    try:
        return EndTxnMarker.decode(value or b"", _VERSION, _VERSION_PREFIX.size)[0].coordinator_epoch
    except WireError:
        return -1

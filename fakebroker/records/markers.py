"""Transaction markers: control batches of one record that say how a producer's transaction ended (KIP-98, RC-3).

The key is a `ControlRecordTypeSchema`, the value an `EndTxnMarker`; each begins with its version as int16.
"""

from enum import IntEnum
from struct import Struct

from fakebroker.errors import WireError
from fakebroker.records.batch import build_batch
from fakebroker.records.record_codec import Record
from fakebroker.schema import Int16, Int32, Message, field

_VERSION = 0
_VERSION_PREFIX = Struct(">h")


class ControlRecordType(IntEnum):
    """What a control record says. Readers skip types that they do not know."""

    ABORT = 0
    COMMIT = 1


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
    prefix = _VERSION_PREFIX.pack(_VERSION)
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    key = prefix + ControlRecordTypeSchema(type=kind).encode(_VERSION)
    value = prefix + EndTxnMarker(coordinator_epoch=coordinator_epoch).encode(_VERSION)
    return build_batch(
        [Record(0, timestamp_ms, key, value)],
        transactional=True,
        control=True,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


def control_record_type(key: bytes | None) -> int:
    """The type in the key of a control record, a `ControlRecordType` or one of later releases. Raises WireError."""
    if key is None or len(key) < _VERSION_PREFIX.size:
        raise WireError("a control record without a key that names its type")
    return ControlRecordTypeSchema.decode(key, _VERSION, _VERSION_PREFIX.size)[0].type


def coordinator_epoch_of(value: bytes | None) -> int:
    """The coordinator epoch in the value of a transaction marker, -1 when it cannot be read."""
    try:
        return EndTxnMarker.decode(value or b"", _VERSION, _VERSION_PREFIX.size)[0].coordinator_epoch
    except WireError:
        return -1

"""Transaction markers: control batches of one record that say how a transaction ended (CM-1, RC-3, CR-18)."""

from struct import Struct

from fakebroker.errors import WireError
from fakebroker.records.batch import build_batch
from fakebroker.records.record_codec import Record

_KEY = Struct(">hh")  # version, type
_VALUE = Struct(">hi")  # version, coordinator epoch
_ABORT, _COMMIT = 0, 1


def build_marker(
    producer_id: int, producer_epoch: int, *, commit: bool, coordinator_epoch: int, timestamp_ms: int
) -> bytes:
    """The control batch that ends a producer's transaction on a partition."""
    key = _KEY.pack(0, _COMMIT if commit else _ABORT)
    return build_batch(
        [Record(0, timestamp_ms, key, _VALUE.pack(0, coordinator_epoch))],
        transactional=True,
        control=True,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


def is_commit_marker(key: bytes | None) -> bool:
    """Whether the marker with this record key commits its transaction. Raises WireError if the key has no type."""
    if key is None or len(key) < _KEY.size:
        raise WireError("a transaction marker without a type")
    marker_type: int = _KEY.unpack_from(key)[1]
    return marker_type == _COMMIT


def coordinator_epoch_of(value: bytes | None) -> int:
    """The coordinator epoch in the value of a control record, -1 when it cannot be read."""
    epoch: int = _VALUE.unpack_from(value)[1] if value is not None and len(value) >= _VALUE.size else -1
    return epoch

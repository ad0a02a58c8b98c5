"""Producer ids inside record batches: replaced, with the checksum computed anew."""

import struct
from typing import Any

from fakebroker.protocol.records.batch import crc32c, split_batches
from fakebroker.protocol.records.batch_format import CRC_START, MAGIC_POSITION
from fakebroker.protocol.records.record_content import bytes_of
from fakebroker.scenarios.comparison.pairs import Pairs

Json = Any
_CRC_POSITION = 17
_PRODUCER_ID_POSITION = 43
_ID = struct.Struct(">q")
_CRC = struct.Struct(">I")


def with_our_producers(request: Json, pairs: Pairs) -> Json:
    """A Produce request whose batches carry our producer ids in place of the recorded ones; in place."""
    for topic in request.get("TopicData", ()):
        for partition in topic["PartitionData"]:
            data = bytes_of(partition["Records"])
            if data is not None:
                partition["Records"] = {"hex": _translated(data, pairs).hex()}
    return request


def _translated(data: bytes, pairs: Pairs) -> bytes:
    parts, size = [], 0
    for batch in split_batches(data):
        size += len(batch)
        parts.append(_with_producer(batch, pairs))
    return b"".join(parts) + data[size:]


def _with_producer(batch: bytes, pairs: Pairs) -> bytes:
    if batch[MAGIC_POSITION] < 2 or len(batch) < _PRODUCER_ID_POSITION + _ID.size:
        return batch
    recorded = _ID.unpack_from(batch, _PRODUCER_ID_POSITION)[0]
    ours = pairs.ours("producer", recorded)
    if ours is None or ours == recorded:
        return batch
    was_right = _CRC.unpack_from(batch, _CRC_POSITION)[0] == crc32c(batch[CRC_START:])
    changed = bytearray(batch)
    _ID.pack_into(changed, _PRODUCER_ID_POSITION, ours)
    if was_right:  # a batch that was broken stays broken
        _CRC.pack_into(changed, _CRC_POSITION, crc32c(bytes(changed[CRC_START:])))
    return bytes(changed)

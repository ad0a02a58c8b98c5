"""OffsetFetch v2 as KIP-17 proposed it: offsets as in the released v1, and beside each the high watermark (DR-9)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.offset_fetch import OffsetRow, no_offset, offsets_of, rows_of
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.drafts import Kip17OffsetFetchRequest, Kip17OffsetFetchResponse, Kip17ResponseTopic

_UNKNOWN = -1


def handle(call: Call, request: Kip17OffsetFetchRequest) -> Kip17OffsetFetchResponse:
    """OffsetFetch v2 has no top-level error: an error of the group is repeated on every partition, as in v1."""
    try:
        offsets = offsets_of(call, request.group_id)
    except KafkaError as error:
        code = error.code
        found = [
            (asked.name, [no_offset(index, code) for index in asked.partition_indexes]) for asked in request.topics
        ]
    else:
        found = [(asked.name, rows_of(offsets, asked.name, asked.partition_indexes, False)) for asked in request.topics]
    return Kip17OffsetFetchResponse(
        topics=[
            Kip17ResponseTopic(name=name, partitions=[_extended(call, name, row) for row in rows])
            for name, rows in found
        ]
    )


def _extended(call: Call, topic_name: str, row: OffsetRow) -> tuple[int, int, str, int, int]:
    """A row of v1 with the high watermark; -1 if there is no such partition, or beside an error."""
    index, offset, _, metadata, code = row
    partition = call.cluster.topics.partition(topic_name, index)
    known = partition is not None and code == ErrorCode.NONE
    return (index, offset, metadata or "", code, partition.log.high_watermark if partition and known else _UNKNOWN)

"""What a Fetch answers for what its partitions gave, in every version (FT, MS).

Of a batch that does not fit the beginning is sent, as by Kafka; converted answers are cut, too, and not padded (MS-5).
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar, cast

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.leader_hint import name_leader
from fakebroker.broker.core.logs.fetching import LogReadResult, PartitionFetch
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import peek
from fakebroker.protocol.records.conversion import RECORDS_PER_PART, message_set_parts
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.schema.pieces import Pieces
from fakebroker.protocol.wire.framing import LARGE_BYTES
from fakebroker.protocol.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from fakebroker.protocol.wire.messages.share_fetch import ShareFetchResponse

Answer = TypeVar("Answer", FetchResponse, ShareFetchResponse)

MAX_CONVERTED_BYTES = 4 << 20
_NOT_DIVERGING, _NO_LEADER, _NO_SNAPSHOT = EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId()  # shared, never changed
_HINTED = {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH}


def fetch_response(
    call: Call, answers: Iterable[tuple[PartitionFetch, LogReadResult]], pace: Pace, session_id: int = 0
) -> Generator[None, None, FetchResponse]:
    """The response to `call` that lists `answers` in order, under one entry as long as the topic stays the same.

    In steps.
    """
    response = FetchResponse(responses=[], node_endpoints=[], session_id=session_id)
    entry: FetchableTopicResponse | None = None
    size_bytes = 0
    for fetch, read in answers:
        if entry is None or (entry.topic, entry.topic_id) != (fetch.topic, fetch.topic_id):
            entry = FetchableTopicResponse(topic=fetch.topic, topic_id=fetch.topic_id, partitions=[])
            response.responses.append(entry)
        data = partition_data(fetch.partition, read, size_bytes)
        if data.error_code:
            _complete(call, fetch, read, data, response)
        elif data.records:
            size_bytes += len(data.records)
        entry.partitions.append(data)
        if pace.is_over():
            yield
    return response


def partition_data(index: int, read: LogReadResult, before_bytes: int = 0) -> PartitionData:
    """The entry of the partition of that index; `before_bytes` are the records' of the partitions before it."""
    data = PartitionData(
        partition_index=index,
        error_code=read.code,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        diverging_epoch=_NOT_DIVERGING,
        current_leader=_NO_LEADER,
        snapshot_id=_NO_SNAPSHOT,
        aborted_transactions=None,
        preferred_read_replica=read.preferred_replica,
        records=together(read.batches, before_bytes),
    )
    if read.aborted is not None:
        data.aborted_transactions = [
            AbortedTransaction(producer_id=producer_id, first_offset=offset) for producer_id, offset in read.aborted
        ]
    if read.diverging is not None:
        data.diverging_epoch = EpochEndOffset(epoch=read.diverging[0], end_offset=read.diverging[1])
    if read.code and read.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
        data.records = None
    return data


def throttle_ms(call: Call, response: Answer) -> Generator[None, None, int]:
    """For how long the client is throttled if it gets this answer. The session id and times do not change its size."""
    assert call.quota is not None
    pieces = yield from type(response).stepwise_encoder(call.version)(response)
    return call.quota.fetched(sum(map(len, pieces)))


def together(batches: Sequence[bytes], before_bytes: int) -> bytes:
    """The batches joined, as long as the records of the answer are few; `before_bytes` are those before these.

    What is beyond LARGE_BYTES is not copied: it stays the stored batches, as `Pieces`.
    """
    if len(batches) == 1:
        return batches[0]
    pieces = Pieces(batches)
    return b"".join(batches) if before_bytes + len(pieces) <= LARGE_BYTES else cast("bytes", pieces)


def in_old_format(
    version: int, fetches: Iterable[PartitionFetch], reads: Iterable[LogReadResult]
) -> Generator[None, None, list[LogReadResult]]:
    """What the partitions gave with its batches in message format 0 or 1, for v0 to v3 (MS-3 to MS-5); in steps.

    MOCK: what has no room in MAX_CONVERTED_BYTES is left for the next Fetch. Kafka converts while it sends; here a
    client that does not read would keep the whole copy.
    """
    magic, pace, converted, room = 0 if version < 2 else 1, Pace(RECORDS_PER_PART), [], MAX_CONVERTED_BYTES
    for fetch, read in zip(fetches, reads, strict=True):
        if read.batches:
            read = (yield from _converted(fetch, read, magic, pace, room)) if room > 0 else replace(read, batches=[])
            room -= sum(map(len, read.batches))
        converted.append(read)
    return converted


def _converted(
    fetch: PartitionFetch, read: LogReadResult, magic: int, pace: Pace, limit_bytes: int
) -> Generator[None, None, LogReadResult]:
    """One partition: as many messages as have room in what was read, at least the first part of a batch (MS-5).

    UNSUPPORTED_COMPRESSION_TYPE if zstd would have to be converted, CORRUPT_MESSAGE for stored bytes that do not parse.
    """
    room, size_bytes = min(sum(map(len, read.batches)), limit_bytes), 0
    whole = (batch for batch in read.batches if peek(batch) is not None)
    sets: list[bytes] = []
    try:
        for part, records in chain.from_iterable(message_set_parts(batch, magic, fetch.offset) for batch in whole):
            if part:
                sets.append(part)
                size_bytes += len(part)
            if pace.is_over(1 + records):
                yield
            if size_bytes >= room:
                break
    except InvalidRecord as fault:
        unsupported = fault.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return LogReadResult(fault.code if unsupported else ErrorCode.CORRUPT_MESSAGE)
    return replace(read, batches=[b"".join(sets)[: max(room, len(sets[0]))]] if sets else [])


def _complete(
    call: Call, fetch: PartitionFetch, read: LogReadResult, data: PartitionData, response: FetchResponse
) -> None:
    """What stands beside an error."""
    if data.records is None and not call.cluster.behaviours.zstd_error_has_null_records:
        data.records = b""
    if read.code in _HINTED and call.version >= 16:
        _name_leader(call, fetch, data, response)


def _name_leader(call: Call, fetch: PartitionFetch, data: PartitionData, response: FetchResponse) -> None:
    """Who leads, if the partition still exists (FT-11)."""
    partition = call.cluster.topics.partition(fetch.topic, fetch.partition)
    if partition is not None:
        name_leader(call, partition, data, response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)

"""TxnOffsetCommit, key 28, v0-v5 (OC-16, OC-18): offsets that wait for the end of a transaction.

v2: leader epoch. v3: generation, member, static member. v0-v1 say 15 where later versions say 14.
Left out until there are transactions: whether the producer has one open, and its end.
"""

from collections.abc import Callable

from fakebroker.apis.call import Call
from fakebroker.apis.offset_commit import utf16_units
from fakebroker.core.coordinator.shard import Shard
from fakebroker.core.groups.classic_group import ClassicGroup
from fakebroker.core.offsets.commit_rules import refusal_to_commit_in_transaction
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.records.offsets_topic import StoredOffset, stored_offset
from fakebroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_FIRST_VERSION_THAT_SAYS_LOADING = 2


def handle(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    """Topics first, then the group, then each partition; without a known partition nobody asks the coordinator."""
    if not any(_exists(call, topic.name, entry) for topic in request.topics for entry in topic.partitions):
        return _answer(request, lambda _topic, _entry: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        shard, group = _admit(call, request)
    except KafkaError as error:
        refusal = error.code
        return _answer(
            request,
            lambda topic, entry: refusal if _exists(call, topic, entry) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        )
    offsets: list[StoredOffset] = []
    response = _answer(request, lambda topic, entry: _accept(call, topic, entry, offsets))
    if offsets:
        try:
            shard.commit_pending(group, (request.producer_id, request.producer_epoch), offsets, call.now)
        except KafkaError as failed:
            _withdraw(response, failed.code)
    return response


def _withdraw(response: TxnOffsetCommitResponse, code: ErrorCode) -> None:
    """What was good so far could not be stored (OC-14)."""
    for topic in response.topics:
        for entry in topic.partitions:
            entry.error_code = entry.error_code or code


def _answer(
    request: TxnOffsetCommitRequest, judge: Callable[[str, TxnOffsetCommitRequestPartition], ErrorCode]
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=entry.partition_index, error_code=judge(topic.name, entry)
                    )
                    for entry in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _exists(call: Call, topic_name: str, entry: TxnOffsetCommitRequestPartition) -> bool:
    topic = call.cluster.topics.get(topic_name)
    return topic is not None and topic.partition(entry.partition_index) is not None


def _admit(call: Call, request: TxnOffsetCommitRequest) -> tuple[Shard, ClassicGroup]:
    """The group that takes the commit, made if need be. Raises KafkaError with the code to answer."""
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    shard = _shard(call, request.group_id)
    group = shard.group(request.group_id)
    if group is None:
        if request.generation_id >= 0 and not shard.behaviours.txn_commit_creates_group:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        group = shard.create_group(request.group_id, call.now)
    refusal = refusal_to_commit_in_transaction(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    if refusal:
        raise KafkaError(refusal)
    return shard, group


def _shard(call: Call, group_id: str) -> Shard:
    try:
        return call.node.coordinator.shard(group_id, call.now)
    except KafkaError as refused:
        loading = refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if loading and call.version < _FIRST_VERSION_THAT_SAYS_LOADING:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE) from refused
        raise


def _accept(
    call: Call, topic_name: str, entry: TxnOffsetCommitRequestPartition, offsets: list[StoredOffset]
) -> ErrorCode:
    """Judge one partition; a good one is added to `offsets`. The topic's id is not stored (CR-5)."""
    if not _exists(call, topic_name, entry):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    metadata = entry.committed_metadata or ""
    if utf16_units(metadata) > call.node.settings.int("offset.metadata.max.bytes"):
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    offsets.append(
        stored_offset(
            topic_name,
            entry.partition_index,
            entry.committed_offset,
            leader_epoch=entry.committed_leader_epoch,
            metadata=metadata,
            commit_ms=call.now.wall_ms,
        )
    )
    return ErrorCode.NONE

"""TxnOffsetCommit, key 28, v0-v5: offsets that are committed when their transaction is (KIP-98, OC-16, OC-18, TO).

v2: leader epoch (KIP-320); v0-v1 answer COORDINATOR_NOT_AVAILABLE where later versions answer
COORDINATOR_LOAD_IN_PROGRESS. v3: flexible; generation, member, static member (KIP-447). v4 TRANSACTION_ABORTABLE; v5 is
TV2: it adds the partition of `__consumer_offsets` to the transaction, which may begin with it (KIP-890, TX-11).
"""

from collections.abc import Callable, Mapping

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.logs.producers import Verification
from fakebroker.broker.core.offsets.commit_validator import is_metadata_too_large
from fakebroker.broker.core.transactions.membership import ask_coordinator
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_topic import PARTITION, TOPIC, StoredOffset, TopicPartition, stored_offset
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_FIRST_LOADING_VERSION = 2
_FIRST_ABORTABLE_VERSION = 4
_FIRST_TV2_VERSION = 5


def handle(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse | None:
    """Check topics first, then the transaction, the group, and each partition; store what is accepted as pending.

    Without a partition that exists no coordinator is asked (TO-6).
    """
    if not any(_exists(call, topic.name, entry) for topic in request.topics for entry in topic.partitions):
        return _answer(call, request, lambda _topic, _entry: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not request.group_id:
        return _refuse(call, request, ErrorCode.INVALID_GROUP_ID)
    try:
        shard = _shard(call, request.group_id)
    except KafkaError as error:
        return _refuse(call, request, error.code)
    if _needs_no_verification(call, request, shard):
        return _commit(call, request)
    _verify(call, request, shard)
    return None


def _refuse(call: Call, request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    """`code` for every partition that exists."""
    return _answer(
        call,
        request,
        lambda topic, entry: code if _exists(call, topic, entry) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )


def _needs_no_verification(call: Call, request: TxnOffsetCommitRequest, shard: Shard) -> bool:
    """Whether the transaction coordinator is not asked: the producer's transaction is open in this partition of
    `__consumer_offsets` already, or producers of TV1 are not verified here (TX-6).
    """
    if shard.partition.log.producers.is_in_transaction(request.producer_id, request.producer_epoch):
        return True
    is_verifying = call.cluster.settings.get_bool("transaction.partition.verification.enable")
    return call.version < _FIRST_TV2_VERSION and not is_verifying


def _verify(call: Call, request: TxnOffsetCommitRequest, shard: Shard) -> None:
    """Ask the transaction coordinator whether the offsets belong to a transaction; under TV2 they do from then on.

    If the answer is late, offsets are stored with the time of then, and also if the client has gone: they may be in the
    transaction already.
    """
    partition = TopicPartition(shard.partition.topic.name, shard.partition.index)
    producer = Producer(request.producer_id, request.producer_epoch)
    is_tv2 = call.version >= _FIRST_TV2_VERSION
    verification = shard.partition.log.begin_verification(*producer, 0, call.now, is_tv2=is_tv2)
    is_late = False

    def answer(codes: Mapping[TopicPartition, ErrorCode]) -> None:
        steps = _steps_when_verified(call, request, codes[partition], verification)
        if is_late:
            call.connection.work(call, steps, must_finish=True)
            return
        response = call.work(steps)
        if response is not None:
            call.reply(response)

    ask_coordinator(
        call.node,
        request.transactional_id,
        producer,
        [partition],
        adds=is_tv2,
        retry_ms=None,
        answer=answer,
        now=call.now,
    )
    is_late = True


def _steps_when_verified(
    call: Call, request: TxnOffsetCommitRequest, code: ErrorCode, verification: Verification
) -> Steps[TxnOffsetCommitResponse]:
    """What is left to do with the coordinator's answer, in one step."""
    yield from ()
    return _refuse(call, request, _as_sent(call, code)) if code else _commit(call, request, verification)


def _as_sent(call: Call, code: ErrorCode) -> ErrorCode:
    """What the transaction coordinator said, as clients of TxnOffsetCommit know it (TO-5, TO-7)."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and call.version < _FIRST_ABORTABLE_VERSION:
        return ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.NETWORK_EXCEPTION:  # clients go on asking the same coordinator
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and call.version < _FIRST_LOADING_VERSION:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _commit(
    call: Call, request: TxnOffsetCommitRequest, verification: Verification | None = None
) -> TxnOffsetCommitResponse | None:
    """The group and each partition are checked; what is accepted is stored, and answered when replicas have it.

    A marker may have ended the transaction since the coordinator was asked with `verification`: then nothing is stored
    that no marker would end. None: it was not asked.
    """
    try:
        shard, group, late_code = _admit(call, request)
    except KafkaError as error:
        return _refuse(call, request, error.code)
    offsets: list[StoredOffset] = []
    response = _answer(call, request, lambda topic, entry: _accept(call, shard, topic, entry, offsets))
    if late_code and not _had_all(group, request, offsets):
        return _refuse(call, request, late_code)
    if not offsets:
        return response
    if verification is not None and not shard.partition.log.producers.is_verified(
        request.producer_id, request.producer_epoch, verification
    ):
        return _replace_none(response, ErrorCode.INVALID_TXN_STATE)
    try:
        shard.commit_pending(group, (request.producer_id, request.producer_epoch), offsets, call.now)
    except KafkaError as error:
        return _replace_none(response, error.code)
    return when_replicated(call, shard, response, lambda code: _replace_none(response, code))


def _replace_none(response: TxnOffsetCommitResponse, code: ErrorCode) -> TxnOffsetCommitResponse:
    """Put `code` on every partition that was accepted: nothing could be stored (OC-14)."""
    for topic in response.topics:
        for entry in topic.partitions:
            entry.error_code = entry.error_code or code
    return response


def _answer(
    call: Call,
    request: TxnOffsetCommitRequest,
    code_of: Callable[[str, TxnOffsetCommitRequestPartition], ErrorCode],
) -> TxnOffsetCommitResponse:
    """Every partition of the request with the code that `code_of(topic name, entry)` gives.

    A topic that the request names twice is answered once if any partition does not exist (OC-22); in 3.9.1 so is every
    topic and partition (OC-15).
    """
    topics = [
        TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                TxnOffsetCommitResponsePartition(
                    partition_index=entry.partition_index, error_code=code_of(topic.name, entry)
                )
                for entry in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    once = not call.cluster.behaviours.commits_answer_duplicates
    if once or _names_an_unknown(topics):
        topics = _merged(topics)
    if once:
        for topic in topics:
            topic.partitions = list({entry.partition_index: entry for entry in topic.partitions}.values())
    return TxnOffsetCommitResponse(topics=topics)


def _names_an_unknown(topics: list[TxnOffsetCommitResponseTopic]) -> bool:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return any(entry.error_code == unknown for topic in topics for entry in topic.partitions)


def _merged(topics: list[TxnOffsetCommitResponseTopic]) -> list[TxnOffsetCommitResponseTopic]:
    """One entry for each topic."""
    by_name: dict[str, TxnOffsetCommitResponseTopic] = {}
    for topic in topics:
        known = by_name.setdefault(topic.name, topic)
        if known is not topic:
            known.partitions += topic.partitions
    return list(by_name.values())


def _exists(call: Call, topic_name: str, entry: TxnOffsetCommitRequestPartition) -> bool:
    return call.cluster.topics.partition(topic_name, entry.partition_index) is not None


def _admit(call: Call, request: TxnOffsetCommitRequest) -> tuple[Shard, Group, ErrorCode]:
    """The group that accepts the commit, created if need be. Raises KafkaError with the error for all partitions.

    The code is what the commit of a member that is late is refused with unless it had all partitions then (CGO-5), NONE
    of any other.
    """
    shard = _shard(call, request.group_id)
    group = shard.group(request.group_id)
    if group is None:
        if request.generation_id >= 0 and not shard.behaviours.txn_commit_creates_group:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        group = shard.create_group(request.group_id, call.now)
        shard.hide_until_written(group)
    code = group.error_for_txn_commit(request.member_id, request.group_instance_id, request.generation_id)
    if code and not (
        code is ErrorCode.ILLEGAL_GENERATION and group.is_late_commit(request.member_id, request.generation_id)
    ):
        raise KafkaError(code)
    return shard, group, code


def _had_all(group: Group, request: TxnOffsetCommitRequest, offsets: list[StoredOffset]) -> bool:
    """Whether the member had all these partitions at the epoch with which it commits."""
    member_id, epoch = request.member_id, request.generation_id
    return all(group.had_at(member_id, epoch, offset[TOPIC], offset[PARTITION]) for offset in offsets)


def _shard(call: Call, group_id: str) -> Shard:
    try:
        return call.shard(group_id)
    except KafkaError as error:
        is_loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if is_loading and call.version < _FIRST_LOADING_VERSION:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE) from error
        raise


def _accept(
    call: Call, shard: Shard, topic_name: str, entry: TxnOffsetCommitRequestPartition, offsets: list[StoredOffset]
) -> ErrorCode:
    """The code of one partition; what is NONE is appended to `offsets`. The topic's id is not stored (CR-5)."""
    if not _exists(call, topic_name, entry):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    metadata = entry.committed_metadata or ""
    if is_metadata_too_large(metadata, shard.metadata_max_bytes):
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

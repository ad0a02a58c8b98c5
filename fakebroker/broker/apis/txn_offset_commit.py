"""TxnOffsetCommit, key 28, v0-v5: offsets that are committed when their transaction is (KIP-98, OC-16, OC-18, TO).

v2: leader epoch (KIP-320); v0-v1 answer COORDINATOR_NOT_AVAILABLE where later versions answer
COORDINATOR_LOAD_IN_PROGRESS. v3: flexible; generation, member, static member (KIP-447). v4 TRANSACTION_ABORTABLE; v5 is
TV2: it adds the partition of `__consumer_offsets` to the transaction, which may begin with it (KIP-890, TX-11).
"""

from collections.abc import Callable, Generator, Mapping
from typing import Final

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.logs.producers import Verification
from fakebroker.broker.core.offsets.commit_validator import is_metadata_too_large
from fakebroker.broker.core.transactions.membership import ask_coordinator
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.records.offsets_topic import PARTITION, TOPIC, StoredOffset, TopicPartition, stored_offset
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ENTRIES_PER_STEP: Final = 2_000  # topics and partitions
MAX_AT_ONCE: Final = ENTRIES_PER_STEP  # of which a request is handled in one step
_FIRST_LOADING_VERSION = 2
_FIRST_ABORTABLE_VERSION = 4
_FIRST_TV2_VERSION = 5


def handle(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse | None:
    """Check topics first, then the transaction, the group, and each partition; store what is accepted as pending.

    Without a partition that exists no coordinator is asked (TO-6).
    """
    topics = request.topics
    if len(topics) + sum([len(topic.partitions) for topic in topics]) > MAX_AT_ONCE:
        return call.work(_in_steps(call, request, call.pace(ENTRIES_PER_STEP)))
    return finished(_in_steps(call, request, AT_ONCE))


def _in_steps(call: Call, request: TxnOffsetCommitRequest, pace: Pace) -> Steps[TxnOffsetCommitResponse]:
    """Returns None when the transaction coordinator is asked: the answer is sent after its own."""
    if not (yield from _is_any_known(call, request, pace)):
        return (yield from _answer(call, request, lambda _topic, _entry: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, pace))
    if not request.group_id:
        return (yield from _refuse(call, request, ErrorCode.INVALID_GROUP_ID, pace))
    try:
        shard = _shard(call, request.group_id)
    except KafkaError as error:
        return (yield from _refuse(call, request, error.code, pace))
    if _needs_no_verification(call, request, shard):
        return (yield from _commit(call, request, pace))
    _verify(call, request, shard, pace)
    return None


def _is_any_known(call: Call, request: TxnOffsetCommitRequest, pace: Pace) -> Generator[None, None, bool]:
    """Whether at least one partition of the request exists."""
    for topic in request.topics:
        if any(_exists(call, topic.name, entry) for entry in topic.partitions):
            return True
        if pace.is_over(1 + len(topic.partitions)):
            yield
    return False


def _refuse(
    call: Call, request: TxnOffsetCommitRequest, code: ErrorCode, pace: Pace
) -> Generator[None, None, TxnOffsetCommitResponse]:
    """`code` for every partition that exists."""
    return _answer(
        call,
        request,
        lambda topic, entry: code if _exists(call, topic, entry) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        pace,
    )


def _needs_no_verification(call: Call, request: TxnOffsetCommitRequest, shard: Shard) -> bool:
    """Whether the transaction coordinator is not asked: the producer's transaction is open in this partition of
    `__consumer_offsets` already, or producers of TV1 are not verified here (TX-6).
    """
    if shard.partition.log.producers.is_in_transaction(request.producer_id, request.producer_epoch):
        return True
    is_verifying = call.cluster.settings.get_bool("transaction.partition.verification.enable")
    return call.version < _FIRST_TV2_VERSION and not is_verifying


def _verify(call: Call, request: TxnOffsetCommitRequest, shard: Shard, pace: Pace) -> None:
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
        steps = _steps_when_verified(call, request, codes[partition], verification, pace)
        if is_late:
            call.connection.work(call, steps, must_finish=True)
            return
        response = call.work(steps, must_finish=True)
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
    call: Call, request: TxnOffsetCommitRequest, code: ErrorCode, verification: Verification, pace: Pace
) -> Steps[TxnOffsetCommitResponse]:
    """What is left to do with the coordinator's answer."""
    if code:
        return (yield from _refuse(call, request, _as_sent(call, code), pace))
    return (yield from _commit(call, request, pace, verification))


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
    call: Call, request: TxnOffsetCommitRequest, pace: Pace, verification: Verification | None = None
) -> Steps[TxnOffsetCommitResponse]:
    """The group and each partition are checked; what is accepted is stored, and answered when replicas have it.

    Partitions come first: between two steps the group may change. A marker may have ended the transaction since the
    coordinator was asked with `verification`: then nothing is stored that no marker would end. None: it was not asked.
    """
    offsets: list[StoredOffset] = []
    try:
        metadata_max_bytes = _shard(call, request.group_id).metadata_max_bytes
        response = yield from _answer(
            call, request, lambda topic, entry: _accept(call, metadata_max_bytes, topic, entry, offsets), pace
        )
        shard, group, late_code = _admit(call, request)
    except KafkaError as error:
        return (yield from _refuse(call, request, error.code, pace))
    if late_code and not _had_all(group, request, offsets):
        return (yield from _refuse(call, request, late_code, pace))
    if not offsets:
        return response
    if verification is not None and not shard.partition.log.producers.is_verified(
        request.producer_id, request.producer_epoch, verification
    ):
        return (yield from _replace_none(response, ErrorCode.INVALID_TXN_STATE, pace))
    try:
        shard.commit_pending(group, (request.producer_id, request.producer_epoch), offsets, call.now)
    except KafkaError as error:
        return (yield from _replace_none(response, error.code, pace))
    return when_replicated(call, shard, response, lambda code: finished(_replace_none(response, code, AT_ONCE)))


def _replace_none(
    response: TxnOffsetCommitResponse, code: ErrorCode, pace: Pace
) -> Generator[None, None, TxnOffsetCommitResponse]:
    """Put `code` on every partition that was accepted: nothing could be stored (OC-14)."""
    for topic in response.topics:
        for entry in topic.partitions:
            entry.error_code = entry.error_code or code
        if pace.is_over(1 + len(topic.partitions)):
            yield
    return response


def _answer(
    call: Call,
    request: TxnOffsetCommitRequest,
    code_of: Callable[[str, TxnOffsetCommitRequestPartition], ErrorCode],
    pace: Pace,
) -> Generator[None, None, TxnOffsetCommitResponse]:
    """Every partition of the request with the code that `code_of(topic name, entry)` gives.

    A topic that the request names twice is answered once if any partition does not exist (OC-22); in 3.9.1 so is every
    topic and partition (OC-15).
    """
    topics = list[TxnOffsetCommitResponseTopic]()
    once, is_unknown = not call.cluster.behaviours.commits_answer_duplicates, False
    for topic in request.topics:
        partitions = list[TxnOffsetCommitResponsePartition]()
        for entry in topic.partitions:
            code = code_of(topic.name, entry)
            is_unknown = is_unknown or code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            partitions.append(TxnOffsetCommitResponsePartition(partition_index=entry.partition_index, error_code=code))
            if pace.is_over():
                yield
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        if pace.is_over():
            yield
    if once or is_unknown:
        topics = yield from _merged(topics, pace)
    if once:
        for each in topics:
            each.partitions = list({entry.partition_index: entry for entry in each.partitions}.values())
    return TxnOffsetCommitResponse(topics=topics)


def _merged(
    topics: list[TxnOffsetCommitResponseTopic], pace: Pace
) -> Generator[None, None, list[TxnOffsetCommitResponseTopic]]:
    """One entry for each topic."""
    by_name: dict[str, TxnOffsetCommitResponseTopic] = {}
    for topic in topics:
        known = by_name.setdefault(topic.name, topic)
        if known is not topic:
            known.partitions += topic.partitions
        if pace.is_over(1 + len(topic.partitions)):
            yield
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
    call: Call,
    metadata_max_bytes: int,
    topic_name: str,
    entry: TxnOffsetCommitRequestPartition,
    offsets: list[StoredOffset],
) -> ErrorCode:
    """The code of one partition; what is NONE is appended to `offsets`. The topic's id is not stored (CR-5)."""
    if not _exists(call, topic_name, entry):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    metadata = entry.committed_metadata or ""
    if is_metadata_too_large(metadata, metadata_max_bytes):
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

"""OffsetCommit, key 8, v0-v10: store the offsets up to which a group has read (OC).

v0 stored in ZooKeeper: UNSUPPORTED_VERSION (OC-1). v1: generation and member, a commit timestamp per partition. v2-v4:
retention_time, an explicit retention (KIP-211 removed it). v6: leader epoch (KIP-320). v7: static members (KIP-345).
v8: flexible. v9: an unknown group is GROUP_ID_NOT_FOUND (KIP-848). v10: topic ids in place of names (KIP-848).

There is no top-level error: an error of the group stands on every partition that exists (OC-4).

A request with very many entries is handled in steps. What the group says of it, and what is stored, comes in the last.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, TypeVar

from fakebroker.broker.apis.call import Call, Repeat, Steps
from fakebroker.broker.apis.replicated import when_replicated
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.groups.group import Group
from fakebroker.broker.core.offsets.commit_validator import CommitRejection, CommitRow, CommitValidator
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.records.offsets_topic import PARTITION, TOPIC, StoredOffset
from fakebroker.protocol.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)

T = TypeVar("T")
NO_RETENTION: Final = -1
ENTRIES_PER_STEP: Final = 5_000  # topics and partitions
MAX_AT_ONCE: Final = ENTRIES_PER_STEP  # of which a request is handled in one step
_ENTRIES_OF_PART: Final = 100
_ZOOKEEPER_VERSION = 0
_COMMIT_TIMESTAMP_VERSION = 1
_UNKNOWN_GROUP_VERSION = 9
_TOPIC_ID_VERSION = 10
_EMPTY = State.EMPTY  # read from the class at each commit, it would cost as much as a call (until Python 3.12)
_NONE = int(ErrorCode.NONE)
_LATE = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION)
_NO_PARTITION = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_NO_TOPIC_ID = int(ErrorCode.UNKNOWN_TOPIC_ID)

# One topic entry of the request: name and id as they came, the topic if there is one, the partitions' rows.
_Entry = tuple[str, bytes, Topic | None, Sequence[CommitRow]]
_Admitted = tuple[Shard, Group, ErrorCode, bool]


def handle(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse | None:
    """Check topics first, then the group, then each partition; store what is accepted (OC-2..OC-11)."""
    topics = request.topics
    size = len(topics)
    for topic in topics:
        size += len(topic.partitions)
    if size > MAX_AT_ONCE:
        return call.work(_in_steps(call, request, call.pace(ENTRIES_PER_STEP)))
    entries = _entries(call, topics)
    if not _is_any_known(entries):
        return _answer(call, entries, CommitRejection())  # without asking the coordinator (OC-3)
    if call.version == _ZOOKEEPER_VERSION:
        return finished(_unsupported(request, AT_ONCE))
    try:
        admitted = _admit(call, request)
        validator = admitted[0].commit_validator(call.now, _retention_ms(request))
        return _stored(call, request, admitted, validator, _answer(call, entries, validator))
    except KafkaError as error:
        return _answer(call, entries, CommitRejection(error.code))


def _in_steps(call: Call, request: OffsetCommitRequest, pace: Pace) -> Steps[OffsetCommitResponse]:
    """The same for very many entries. The group is asked in the last step: it may change before."""
    entries, is_any_known = _entries(call, request.topics), False  # rights were judged by what ids mean now
    for part in _parts(entries):
        is_any_known = is_any_known or _is_any_known(part)
        if pace.is_over(_size(part)):
            yield
    if not is_any_known:
        return (yield from _answer_in_steps(call, entries, CommitRejection(), pace))
    if call.version == _ZOOKEEPER_VERSION:
        return (yield from _unsupported(request, pace))
    try:
        validator = call.shard(request.group_id).commit_validator(call.now, _retention_ms(request))
        response = yield from _answer_in_steps(call, entries, validator, pace)
        return _stored(call, request, _admit(call, request), validator, response)
    except KafkaError as error:
        return (yield from _answer_in_steps(call, entries, CommitRejection(error.code), pace))


def _stored(
    call: Call,
    request: OffsetCommitRequest,
    admitted: _Admitted,
    validator: CommitValidator,
    response: OffsetCommitResponse,
) -> OffsetCommitResponse | None:
    """The response, after what the validator accepted is stored. Raises KafkaError if the group takes nothing."""
    shard, group, late_code, is_new = admitted
    if late_code and not _had_all(group, request, validator.accepted):
        raise KafkaError(ErrorCode(late_code))
    if not validator.accepted:
        shard.look_at(group, call.now)
        if is_new:
            shard.hide_until_written(group)
        return response
    try:
        client_timestamps = call.version == _COMMIT_TIMESTAMP_VERSION
        shard.commit(group, validator.accepted, call.now, client_timestamps=client_timestamps)
    except KafkaError as error:
        shard.look_at(group, call.now)
        _replace_none(response, int(error.code))
    if shard.is_replicated:
        return response
    return when_replicated(call, shard, response, lambda code: _replace_none(response, int(code)))


def _retention_ms(request: OffsetCommitRequest) -> int | None:
    """The explicit retention of the request (OC-12), or None."""
    return None if request.retention_time_ms == NO_RETENTION else request.retention_time_ms


def _replace_none(response: OffsetCommitResponse, code: int) -> OffsetCommitResponse:
    """Put `code` on every partition that was accepted: nothing could be stored (OC-14)."""
    for topic in response.topics:
        topic.partitions = [(index, code if known == _NONE else known) for index, known in topic.partitions]
    return response


def _unsupported(request: OffsetCommitRequest, pace: Pace) -> Generator[None, None, OffsetCommitResponse]:
    code, response = int(ErrorCode.UNSUPPORTED_VERSION), OffsetCommitResponse()
    for topic in request.topics:
        partitions = [(row[0], code) for row in topic.partitions]
        response.topics.append(OffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        if pace.is_over(1 + len(partitions)):
            yield
    return response


# -- topics ------------------------------------------------------------------------------------------------------------


def _parts(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    """The entries in parts that are handled without a look at the pace."""
    return (entries[at : at + _ENTRIES_OF_PART] for at in range(0, len(entries), _ENTRIES_OF_PART))


def _size(entries: Sequence[_Entry]) -> int:
    return len(entries) + sum([len(rows) for _, _, _, rows in entries])


def _entries(call: Call, asked: Sequence[OffsetCommitRequestTopic]) -> list[_Entry]:
    """Topics of the request, looked up by name or, since v10, by id (OC-2, OC-17)."""
    topics = call.cluster.topics
    if call.version >= _TOPIC_ID_VERSION:
        return [(each.name, each.topic_id, topics.by_id(each.topic_id), each.partitions) for each in asked]
    return [(each.name, each.topic_id, topics.get(each.name), each.partitions) for each in asked]


def _is_any_known(entries: Sequence[_Entry]) -> bool:
    """Whether at least one partition of these exists."""
    for _, _, topic, rows in entries:
        if topic is not None:
            count = len(topic.partitions)
            for row in rows:
                if 0 <= row[0] < count:
                    return True
    return False


def _answer(call: Call, entries: list[_Entry], validator: CommitValidator | CommitRejection) -> OffsetCommitResponse:
    """Validate every partition, entry by entry, and list the codes as Kafka lists them."""
    if not call.cluster.behaviours.commits_answer_duplicates:
        return finished(_answer_in_steps(call, entries, validator, AT_ONCE))
    topics = _codes(call, entries, validator)
    if validator.saw_unknown:
        topics = finished(_merged(topics, AT_ONCE))
    return OffsetCommitResponse(topics=topics)


def _answer_in_steps(
    call: Call, entries: list[_Entry], validator: CommitValidator | CommitRejection, pace: Pace
) -> Generator[None, None, OffsetCommitResponse]:
    """The same in steps."""
    behaviours, topics = call.cluster.behaviours, list[OffsetCommitResponseTopic]()
    merges = not behaviours.commits_answer_duplicates
    if merges:
        merges_unknown = not behaviours.commits_answer_unknown_duplicates
        entries = yield from _last_of_each(entries, pace, merges_unknown=merges_unknown)
    for part in _parts(entries):
        topics += _codes(call, part, validator)
        if pace.is_over(_size(part)):
            yield
    if merges or validator.saw_unknown:
        topics = yield from _merged(topics, pace)
    return OffsetCommitResponse(topics=topics)


def _codes(
    call: Call, entries: Sequence[_Entry], validator: CommitValidator | CommitRejection
) -> list[OffsetCommitResponseTopic]:
    """What each entry is answered. One without partitions is left out, unless there is no such topic."""
    no_topic = _NO_TOPIC_ID if call.version >= _TOPIC_ID_VERSION else _NO_PARTITION
    topics = []
    for name, topic_id, topic, rows in entries:
        if topic is None:
            validator.saw_unknown = True
            partitions = [(row[0], no_topic) for row in rows]
        elif rows:
            partitions = validator.validate(topic, rows)
        else:
            continue
        topics.append(OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=partitions))
    return topics


def _merged(
    topics: list[OffsetCommitResponseTopic], pace: Pace
) -> Generator[None, None, list[OffsetCommitResponseTopic]]:
    """One entry for each topic; unknown topics and partitions come first (OC-15, OC-22).

    Kafka builds its answer like this as soon as any topic or partition is unknown.
    """
    merged: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}
    for topic in topics:
        first = merged.setdefault((topic.name, topic.topic_id), topic)
        if first is not topic:
            first.partitions += topic.partitions
        if pace.is_over(1 + len(topic.partitions)):
            yield
    known, others = list[OffsetCommitResponseTopic](), list[OffsetCommitResponseTopic]()
    for topic in merged.values():
        topic.partitions.sort(key=_is_known)
        is_known = bool(topic.partitions) and _is_known(topic.partitions[0])
        (known if is_known else others).append(topic)
        if pace.is_over(1 + len(topic.partitions)):
            yield
    return others + known


def _is_known(row: tuple[int, int]) -> bool:
    return row[1] not in (_NO_PARTITION, _NO_TOPIC_ID)


def _last_of_each(entries: list[_Entry], pace: Pace, *, merges_unknown: bool) -> Generator[None, None, list[_Entry]]:
    """One entry for each topic; of several rows for one partition that exists only the last (up to 3.9.1, OC-15).

    With `merges_unknown` also of one that does not exist.
    """
    merged: dict[str, tuple[bytes, Topic | None, list[CommitRow]]] = {}
    for name, topic_id, topic, rows in entries:
        merged.setdefault(name, (topic_id, topic, []))[2].extend(rows)
        if pace.is_over(1 + len(rows)):
            yield
    found = list[_Entry]()
    for name, (topic_id, topic, all_rows) in merged.items():
        last = _without_duplicates(topic, all_rows, merges_unknown=merges_unknown)
        found.append((name, topic_id, topic, last))
        if pace.is_over(1 + len(all_rows)):
            yield
    return found


def _without_duplicates(topic: Topic | None, rows: Sequence[CommitRow], *, merges_unknown: bool) -> list[CommitRow]:
    count = 0 if topic is None else len(topic.partitions)
    last = {row[0]: row for row in rows if merges_unknown or 0 <= row[0] < count}
    return [row for row in rows if last.get(row[0], row) is row]


# -- commits like one before --------------------------------------------------------------------------------------


def repeat(call: Call, request: OffsetCommitRequest, response: OffsetCommitResponse) -> Repeat | None:
    """The next commits of the same partitions, after one of which everything was stored.

    What the topics say can have changed only if `Topics.changes` has; whether the group accepts the commit, and its log
    takes it at once, is asked as `handle` asks.
    """
    shard = call.node.coordinator.loaded_shard(request.group_id)
    group = None if shard is None else shard.group(request.group_id)
    if shard is None or group is None:
        return None
    stored = _stored_as_sent(call, shard, request, response)
    if not stored:
        return None
    repeat_commit = shard.repeatable_commit(group, stored, _retention_ms(request))
    group_id, member_id, instance_id = request.group_id, request.member_id, request.group_instance_id
    generation, version = request.generation_id_or_member_epoch, call.version
    topics, changes = call.cluster.topics, call.cluster.topics.changes
    accepted = response.encode(call.version)

    def answer(call: Call, offsets: tuple[Any, ...]) -> bytes | None:
        if topics.changes != changes or shard.groups.get(group_id) is not group:
            return None
        if group.error_for_commit(member_id, instance_id, generation, version):
            return None
        now = call.now
        if not repeat_commit(offsets, now):
            return None
        if group.state is not _EMPTY:
            group.restart_session_of(member_id, now)
        return accepted

    return answer


def _stored_as_sent(
    call: Call, shard: Shard, request: OffsetCommitRequest, response: OffsetCommitResponse
) -> list[StoredOffset]:
    """What was stored of the request, in its order; nothing unless every partition was, with the time of the commit."""
    if call.version <= _COMMIT_TIMESTAMP_VERSION:
        return []
    sent = [(topic.name, topic.topic_id, [(row[0], _NONE) for row in topic.partitions]) for topic in request.topics]
    if sent != [(topic.name, topic.topic_id, list(topic.partitions)) for topic in response.topics]:
        return []
    validator = shard.commit_validator(call.now, _retention_ms(request))
    for _, _, topic, rows in _entries(call, request.topics):
        if topic is not None:
            validator.validate(topic, rows)
    return validator.accepted


# -- the group ---------------------------------------------------------------------------------------------------------


def _admit(call: Call, request: OffsetCommitRequest) -> _Admitted:
    """The group that accepts the commit, created if need be; a member's session restarts (OC-5..OC-8, TM-1).

    The code is what the commit of a member that is late is refused with unless it had all partitions then (CGO-5), NONE
    of any other. The last value says whether the group is new. Raises KafkaError with the error for all partitions.
    """
    now, group_id, generation = call.now, request.group_id, request.generation_id_or_member_epoch
    shard = call.shard(group_id)
    group = shard.group(group_id)
    if group is None:
        if generation >= 0:
            reports = call.version >= _UNKNOWN_GROUP_VERSION and shard.behaviours.commit_v9_reports_unknown_group
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if reports else ErrorCode.ILLEGAL_GENERATION)
        return shard, shard.create_group(group_id, now, for_commit=True), ErrorCode.NONE, True
    code = group.error_for_commit(request.member_id, request.group_instance_id, generation, call.version)
    if code and not (code in _LATE and group.is_late_commit(request.member_id, generation)):
        raise KafkaError(code)
    if group.state is not _EMPTY:
        group.restart_session_of(request.member_id, now)
    return shard, group, code, False


def _had_all(group: Group, request: OffsetCommitRequest, offsets: Sequence[StoredOffset]) -> bool:
    """Whether the member had all these partitions at the epoch with which it commits."""
    member_id, epoch = request.member_id, request.generation_id_or_member_epoch
    return all(group.had_at(member_id, epoch, offset[TOPIC], offset[PARTITION]) for offset in offsets)

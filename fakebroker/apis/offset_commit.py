"""OffsetCommit, key 8, v0-v10 (OC).

v0 was ZooKeeper's: 35 (OC-1). v1: a commit timestamp per partition. v2-v4: retention_time, the explicit retention.
v6: leader epoch. v7: static members. v9: an unknown group is 69. v10: topic ids in place of names.

There is no top-level error: what concerns the group stands on every partition that passed its own checks (OC-4).
"""

from typing import Final

from fakebroker.apis.call import Call
from fakebroker.core.commit_rules import refusal_to_commit
from fakebroker.core.group_states import State
from fakebroker.core.shard import Shard
from fakebroker.core.topics import Topic
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.records.offsets_topic import NO_TIMESTAMP, NO_TOPIC_ID, StoredOffset
from fakebroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)

NO_RETENTION: Final = -1
_ZOOKEEPER_VERSION = 0
_OWN_TIMES_VERSION = 1
_UNKNOWN_GROUP_VERSION = 9
_TOPIC_ID_VERSION = 10
_NONE = int(ErrorCode.NONE)
_TOO_LARGE = int(ErrorCode.OFFSET_METADATA_TOO_LARGE)
_NO_PARTITION = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

_Row = tuple[int, int, int, int, str | None]
_Known = tuple[Topic, list[_Row], list[tuple[int, int]]]  # topic, its rows that are left, its part of the answer


def handle(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Topics first, then the group, then each partition (OC-2..OC-11)."""
    if call.version == _ZOOKEEPER_VERSION:
        return _refused(request, ErrorCode.UNSUPPORTED_VERSION)
    response = OffsetCommitResponse()
    known = _known_partitions(call, request, response)
    if known:  # else nobody asks the coordinator (OC-3)
        code = _commit(call, request, known)
        if code:
            for _, rows, answers in known:
                answers += [(row[0], code) for row in rows]
    return response


def _refused(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """The same code on every partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=[(row[0], int(code)) for row in topic.partitions]
            )
            for topic in request.topics
        ]
    )


# -- topics ----------------------------------------------------------------------------------------------------------


def _known_partitions(call: Call, request: OffsetCommitRequest, response: OffsetCommitResponse) -> list[_Known]:
    """Open an entry of the answer for each topic, put refusals into it, and return what is left (OC-2, OC-15)."""
    by_id = call.version >= _TOPIC_ID_VERSION
    topics = call.cluster.topics
    entries: dict[str | bytes, OffsetCommitResponseTopic] = {}
    known: list[_Known] = []
    for asked in request.topics:
        key = asked.topic_id if by_id else asked.name
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id)
            response.topics.append(entry)
        topic = topics.by_id(asked.topic_id) if by_id else topics.get(asked.name)
        if topic is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            entry.partitions += [(row[0], int(code)) for row in asked.partitions]
        else:
            rows = _known_rows(asked, topic, entry)
            if rows:
                known.append((topic, rows, entry.partitions))
    if len(entries) > 1:
        response.topics.sort(key=lambda entry: not entry.partitions)  # those with a refusal come first (OC-22)
    return known if call.cluster.behaviours.commits_answer_duplicates else _last_of_each(known)


def _known_rows(asked: OffsetCommitRequestTopic, topic: Topic, entry: OffsetCommitResponseTopic) -> list[_Row]:
    count = len(topic.partitions)
    rows = [row for row in asked.partitions if 0 <= row[0] < count]
    if len(rows) < len(asked.partitions):
        entry.partitions += [(row[0], _NO_PARTITION) for row in asked.partitions if not 0 <= row[0] < count]
    return rows


def _last_of_each(known: list[_Known]) -> list[_Known]:
    """Of several entries for one partition the last (OC-15, 3.9.1)."""
    merged: dict[str, tuple[Topic, dict[int, _Row], list[tuple[int, int]]]] = {}
    for topic, rows, answers in known:
        merged.setdefault(topic.name, (topic, {}, answers))[1].update((row[0], row) for row in rows)
    return [(topic, list(rows.values()), answers) for topic, rows, answers in merged.values()]


# -- the group -------------------------------------------------------------------------------------------------------


def _commit(call: Call, request: OffsetCommitRequest, known: list[_Known]) -> ErrorCode:
    """Store what is left and put its answers in place, or return why the group takes none of it (OC-5..OC-8)."""
    now, group_id, generation = call.now, request.group_id, request.generation_id_or_member_epoch
    try:
        shard = call.node.coordinator.shard(group_id, now)
    except KafkaError as refused:
        return refused.code
    group = shard.groups.get(group_id)
    if group is None:
        if generation >= 0:
            says_so = call.version >= _UNKNOWN_GROUP_VERSION and shard.behaviours.commit_to_unknown_group_says_so
            return ErrorCode.GROUP_ID_NOT_FOUND if says_so else ErrorCode.ILLEGAL_GENERATION
        group = shard.create_group(group_id, now, for_commit=True)
    else:
        refusal = refusal_to_commit(group, request.member_id, request.group_instance_id, generation)
        if refusal:
            return refusal
        if group.state is not State.EMPTY:
            group.touch(request.member_id, now)
    offsets = _accepted(request, known, shard, now.wall_ms)
    if offsets:
        shard.commit(group, offsets, now, own_times=call.version == _OWN_TIMES_VERSION)
    else:
        shard.look_at(group, now)  # it may have been made for nothing (OC-19)
    return ErrorCode.NONE


# -- the partitions --------------------------------------------------------------------------------------------------


def _accepted(request: OffsetCommitRequest, known: list[_Known], shard: Shard, now_ms: int) -> list[StoredOffset]:
    """Judge each partition's metadata (OC-11), and make what is to be stored of the good ones (OC-10, OC-12)."""
    retention_ms = _own_retention_ms(request, shard)
    limit = shard.metadata_limit
    surely_short = limit // 2  # a character is at most two UTF-16 units
    expire_ms = _expire_ms(now_ms, retention_ms)
    offsets: list[StoredOffset] = []
    for topic, rows, answers in known:
        name = topic.name
        topic_id = topic.id if retention_ms is None and shard.stores_topic_ids else NO_TOPIC_ID  # CR-5
        for index, offset, leader_epoch, own_ms, metadata in rows:
            if metadata is None:
                metadata = ""
            elif len(metadata) > surely_short and utf16_units(metadata) > limit:
                answers.append((index, _TOO_LARGE))
                continue
            if own_ms == NO_TIMESTAMP:
                offsets.append((name, index, offset, leader_epoch, metadata, now_ms, expire_ms, topic_id))
            else:
                own_expire_ms = _expire_ms(own_ms, retention_ms)
                offsets.append((name, index, offset, leader_epoch, metadata, own_ms, own_expire_ms, topic_id))
            answers.append((index, _NONE))
    return offsets


def _own_retention_ms(request: OffsetCommitRequest, shard: Shard) -> int | None:
    """The request's explicit retention (OC-12), or everybody's where each offset expires by itself (EX-17)."""
    if request.retention_time_ms != NO_RETENTION:
        return request.retention_time_ms
    return shard.cleanup.retention_ms if shard.behaviours.every_offset_expires_by_itself else None


def _expire_ms(commit_ms: int, retention_ms: int | None) -> int:
    """64 bits, and it wraps (OC-21)."""
    if retention_ms is None:
        return NO_TIMESTAMP
    return (commit_ms + retention_ms + 2**63) % 2**64 - 2**63


def utf16_units(text: str) -> int:
    """Java's length of a string."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2

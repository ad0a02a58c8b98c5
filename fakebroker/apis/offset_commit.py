"""OffsetCommit, key 8, v0-v10 (OC).

v0 was ZooKeeper's: 35 (OC-1). v1: a commit timestamp per partition. v2-v4: retention_time, the explicit retention.
v6: leader epoch. v7: static members. v9: an unknown group is 69. v10: topic ids in place of names.

There is no top-level error: what concerns the group stands on every partition that passed its own checks (OC-4).
"""

from collections.abc import Sequence
from typing import Final

from fakebroker.apis.call import Call
from fakebroker.core.coordinator.shard import Shard
from fakebroker.core.groups.classic_group import ClassicGroup
from fakebroker.core.groups.states import State
from fakebroker.core.offsets.commit_rules import refusal_to_commit
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
_NO_TOPIC_ID = int(ErrorCode.UNKNOWN_TOPIC_ID)

_Row = tuple[int, int, int, int, str | None]
_Asked = tuple[OffsetCommitRequestTopic, Topic | None]  # an entry of the request, and its topic if there is one


def handle(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Topics first, then the group, then each partition (OC-2..OC-11)."""
    if call.version == _ZOOKEEPER_VERSION:
        return _zookeeper_is_gone(request)
    asked = _topics(call, request)
    if not _is_any_known(asked):
        return _answer(call, asked, _Judge(call.version))  # and nobody asks the coordinator (OC-3)
    try:
        shard, group = _admit(call, request)
    except KafkaError as refused:
        return _answer(call, asked, _Judge(call.version, int(refused.code)))
    judge = _Judge.accepting(call, request, shard)
    response = _answer(call, asked, judge)
    if not judge.accepted:
        shard.look_at(group, call.now)  # it may have been made for nothing (OC-19)
        return response
    try:
        shard.commit(group, judge.accepted, call.now, own_times=call.version == _OWN_TIMES_VERSION)
    except KafkaError as failed:
        shard.look_at(group, call.now)
        _withdraw(response, int(failed.code))
    return response


def _withdraw(response: OffsetCommitResponse, code: int) -> None:
    """What was good so far could not be stored (OC-14)."""
    for topic in response.topics:
        topic.partitions = [(index, code if known == _NONE else known) for index, known in topic.partitions]


def utf16_units(text: str) -> int:
    """Java's length of a string."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _zookeeper_is_gone(request: OffsetCommitRequest) -> OffsetCommitResponse:
    code = int(ErrorCode.UNSUPPORTED_VERSION)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(name=topic.name, partitions=[(row[0], code) for row in topic.partitions])
            for topic in request.topics
        ]
    )


# -- topics ------------------------------------------------------------------------------------------------------------


def _topics(call: Call, request: OffsetCommitRequest) -> list[_Asked]:
    """The entries of the request with their topics (OC-2, OC-17)."""
    topics = call.cluster.topics
    if call.version >= _TOPIC_ID_VERSION:
        return [(entry, topics.by_id(entry.topic_id)) for entry in request.topics]
    return [(entry, topics.get(entry.name)) for entry in request.topics]


def _is_any_known(asked: list[_Asked]) -> bool:
    for entry, topic in asked:
        if topic is not None:
            count = len(topic.partitions)
            for row in entry.partitions:
                if 0 <= row[0] < count:
                    return True
    return False


def _answer(call: Call, asked: list[_Asked], judge: "_Judge") -> OffsetCommitResponse:
    """Judge every partition, entry by entry; one without partitions is left out, unless there is no such topic."""
    merges = not call.cluster.behaviours.commits_answer_duplicates
    if merges:
        asked = _last_of_each(asked)
    topics = [
        OffsetCommitResponseTopic(
            name=entry.name, topic_id=entry.topic_id, partitions=judge.answers(topic, entry.partitions)
        )
        for entry, topic in asked
        if entry.partitions or topic is None
    ]
    if merges or judge.saw_unknown:
        topics = _merged(topics)
    return OffsetCommitResponse(topics=topics)


def _merged(topics: list[OffsetCommitResponseTopic]) -> list[OffsetCommitResponseTopic]:
    """One entry for each topic; what topics and partitions themselves refuse comes first (OC-15, OC-22).

    So Kafka's answer looks as soon as there is such a refusal.
    """
    merged: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}
    for topic in topics:
        first = merged.setdefault((topic.name, topic.topic_id), topic)
        if first is not topic:
            first.partitions += topic.partitions
    for topic in merged.values():
        topic.partitions.sort(key=_is_known)
    return sorted(merged.values(), key=lambda topic: bool(topic.partitions) and all(map(_is_known, topic.partitions)))


def _is_known(row: tuple[int, int]) -> bool:
    return row[1] not in (_NO_PARTITION, _NO_TOPIC_ID)


def _last_of_each(asked: list[_Asked]) -> list[_Asked]:
    """3.9.1: of several rows for one partition that exists the last (OC-15)."""
    merged: dict[str, _Asked] = {}
    for entry, topic in asked:
        first, _ = merged.setdefault(entry.name, (entry, topic))
        if first is not entry:
            first.partitions = [*first.partitions, *entry.partitions]
    for entry, topic in merged.values():
        count = 0 if topic is None else len(topic.partitions)
        last = {row[0]: row for row in entry.partitions if 0 <= row[0] < count}
        entry.partitions = [row for row in entry.partitions if last.get(row[0], row) is row]
    return list(merged.values())


# -- the group ---------------------------------------------------------------------------------------------------------


def _admit(call: Call, request: OffsetCommitRequest) -> tuple[Shard, ClassicGroup]:
    """The group that takes the commit, made if need be (OC-5..OC-8). Raises KafkaError with the code to answer."""
    now, group_id, generation = call.now, request.group_id, request.generation_id_or_member_epoch
    shard = call.node.coordinator.shard(group_id, now)
    group = shard.groups.get(group_id)
    if group is None:
        if generation >= 0:
            says_so = call.version >= _UNKNOWN_GROUP_VERSION and shard.behaviours.commit_to_unknown_group_says_so
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if says_so else ErrorCode.ILLEGAL_GENERATION)
        return shard, shard.create_group(group_id, now, for_commit=True)
    refusal = refusal_to_commit(group, request.member_id, request.group_instance_id, generation)
    if refusal:
        raise KafkaError(refusal)
    if group.state is not State.EMPTY:
        group.restart_session_of(request.member_id, now)
    return shard, group


# -- the partitions ----------------------------------------------------------------------------------------------------


class _Judge:
    """Answers partition by partition. `code`: the group takes nothing; else what it takes is in `accepted`."""

    __slots__ = (
        "accepted",
        "code",
        "code_of_no_topic",
        "expire_ms",
        "limit",
        "now_ms",
        "retention_ms",
        "saw_unknown",
        "stores_own_times",
        "stores_topic_ids",
    )

    def __init__(self, version: int, code: int = _NONE) -> None:
        self.code = code
        self.code_of_no_topic = _NO_TOPIC_ID if version >= _TOPIC_ID_VERSION else _NO_PARTITION
        self.accepted: list[StoredOffset] = []
        self.limit = self.now_ms = 0
        self.retention_ms: int | None = None
        self.expire_ms = NO_TIMESTAMP
        self.stores_topic_ids = False
        self.stores_own_times = True
        self.saw_unknown = False

    @classmethod
    def accepting(cls, call: Call, request: OffsetCommitRequest, shard: Shard) -> "_Judge":
        """For a group that takes the commit."""
        judge, now_ms = cls(call.version), call.now.wall_ms
        judge.limit = shard.metadata_limit
        judge.now_ms = now_ms
        retention_ms = judge.retention_ms = _own_retention_ms(request, shard)
        if retention_ms is None:
            judge.stores_topic_ids = shard.stores_topic_ids
        else:
            judge.expire_ms = _sum_ms(now_ms, retention_ms)
            judge.stores_own_times = shard.behaviours.own_commit_times_are_stored
        return judge

    def answers(self, topic: Topic | None, rows: Sequence[_Row]) -> list[tuple[int, int]]:
        """The codes of these partitions (OC-2, OC-4, OC-11, OC-17)."""
        if topic is None:
            self.saw_unknown = True
            return [(row[0], self.code_of_no_topic) for row in rows]
        name, count, limit, accept = topic.name, len(topic.partitions), self.limit, self.accepted.append
        surely_short = limit // 2  # a character is at most two UTF-16 units
        topic_id = topic.id if self.stores_topic_ids else NO_TOPIC_ID
        now_ms, expire_ms = self.now_ms, self.expire_ms
        answers = []
        for index, offset, leader_epoch, own_ms, metadata in rows:
            if not 0 <= index < count:
                answers.append((index, _NO_PARTITION))
                self.saw_unknown = True
            elif self.code:
                answers.append((index, self.code))
            elif metadata and len(metadata) > surely_short and utf16_units(metadata) > limit:
                answers.append((index, _TOO_LARGE))
            else:
                answers.append((index, _NONE))
                if own_ms == NO_TIMESTAMP:
                    accept((name, index, offset, leader_epoch, metadata or "", now_ms, expire_ms, topic_id))
                else:
                    own_expire_ms = NO_TIMESTAMP if self.retention_ms is None else _sum_ms(own_ms, self.retention_ms)
                    stored_ms = own_ms if self.stores_own_times else now_ms
                    accept((name, index, offset, leader_epoch, metadata or "", stored_ms, own_expire_ms, topic_id))
        return answers


def _own_retention_ms(request: OffsetCommitRequest, shard: Shard) -> int | None:
    """The request's explicit retention (OC-12), or everybody's where each offset expires by itself (EX-17)."""
    if request.retention_time_ms != NO_RETENTION:
        return request.retention_time_ms
    return shard.cleanup.retention_ms if shard.behaviours.every_offset_expires_by_itself else None


def _sum_ms(commit_ms: int, retention_ms: int) -> int:
    """64 bits, and it wraps (OC-21)."""
    return (commit_ms + retention_ms + 2**63) % 2**64 - 2**63

"""Start offsets of share groups: given by an administrator, described, forgotten (SGO, SGL-3).

They are kept by the share coordinator; the group notes which partitions have a state. Every `answer` is called once,
when the share coordinator has answered for all partitions. Kafka: `GroupCoordinatorService`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.modern.heartbeats import group_for_heartbeat
from fakebroker.broker.core.groups.share import records
from fakebroker.broker.core.groups.share.initialization import Codes, ShareGroupHost, initialize, keys_of, note
from fakebroker.broker.core.groups.share.pending_answers import PendingAnswers, ask_all
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.groups.share.state_partitions import Partitions, TopicPartitions
from fakebroker.broker.core.share_state import asking
from fakebroker.broker.core.share_state.states import SharePartition, ShareState
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.asking import ShareStateNode

TopicCodes = Mapping[bytes, ErrorCode]  # by topic id


def alter_offsets(
    shard: ShareGroupHost,
    group_id: str,
    start_offsets: Mapping[SharePartition, int],
    answer: Callable[[Codes, Instant], None],
    now: Instant,
) -> None:
    """Let existing partitions begin at these offsets; a group that is not there is made (SGO-4).

    Raises KafkaError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND for a group of another kind.
    """
    group = _empty_group(shard, group_id, now, may_create=True)
    if not start_offsets:
        answer({}, now)
        return
    partitions = _partitions_of(shard, start_offsets)
    began = records.state_partitions_record(group_id, group.state_partitions.began(partitions))
    group = group.write([began], now, "its start offsets are being altered")

    def altered(codes: Codes, now: Instant) -> None:
        note(shard, group, partitions, not any(codes.values()), now)
        answer(codes, now)

    initialize(shard, start_offsets, group.group_epoch, altered, now)


def delete_offsets(
    shard: ShareGroupHost,
    group_id: str,
    topic_ids: Iterable[bytes],
    answer: Callable[[TopicCodes, Instant], None],
    now: Instant,
) -> None:
    """Forget the states of topics (SGO-5). `answer` gets a code for each of them that has a state, for no other.

    Raises KafkaError: GROUP_ID_NOT_FOUND, also for a group of another kind, NON_EMPTY_GROUP.
    """
    group = _empty_group(shard, group_id, now, may_create=False)
    asked = dict.fromkeys(topic_ids)
    known = group.state_partitions
    meant = {topic_id: each for topic_id, each in known.initialized.items() if topic_id in asked}
    after = known.deletion_began(meant.__contains__)
    group.write([records.state_partitions_record(group_id, after)], now, "its start offsets are being deleted")

    def deleted(codes: Codes, now: Instant) -> None:
        topic_codes = _worst_by_topic(codes)
        gone = [topic_id for topic_id, code in topic_codes.items() if not code]
        if gone and not group.is_dead:
            left = group.state_partitions.forgot(gone)
            group.try_to_write([records.state_partitions_record(group_id, left)], now, "its start offsets were deleted")
        answer(topic_codes, now)

    _delete_states(shard, keys_of(group_id, meant), deleted, now)


def delete_all_states(
    shard: ShareGroupHost, group: ShareGroup, answer: Callable[[ErrorCode, Instant], None], now: Instant
) -> None:
    """Forget all states of an Empty group before it is deleted (SGL-3). `answer` gets NONE or the first error."""
    known = group.state_partitions
    if known.since_ms >= 0:  # it has a record of them
        after = known.deletion_began(lambda _topic_id: True)
        try:
            group.write([records.state_partitions_record(group.group_id, after)], now, "it is being deleted")
        except KafkaError as error:
            answer(error.code, now)
            return

    def deleted(codes: Codes, now: Instant) -> None:
        answer(next((code for code in codes.values() if code), ErrorCode.NONE), now)

    keys = dict.fromkeys([*keys_of(group.group_id, known.initialized), *keys_of(group.group_id, known.initializing)])
    _delete_states(shard, keys, deleted, now)


def describe_states(
    node: "ShareStateNode",
    keys: Iterable[SharePartition],
    answer: Callable[[Mapping[SharePartition, tuple[ErrorCode, ShareState]], Instant], None],
    now: Instant,
) -> None:
    """The states of share partitions without their batches, each with its code (SGO-1)."""

    def described(codes: Codes, now: Instant) -> None:
        answer({key: (code, pending.states[key]) for key, code in codes.items()}, now)

    pending = PendingAnswers(keys, described)
    ask_all(node, pending, lambda key, now: asking.read_summary(node, key, pending.state_for(key), now), now)


def _delete_states(
    shard: ShareGroupHost, keys: Iterable[SharePartition], answer: Callable[[Codes, Instant], None], now: Instant
) -> None:
    node, pending = shard.node, PendingAnswers(keys, answer)
    ask_all(node, pending, lambda key, now: asking.delete(node, key, pending.one_for(key), now), now)


def _empty_group(shard: ShareGroupHost, group_id: str, now: Instant, *, may_create: bool) -> ShareGroup:
    group = group_for_heartbeat(shard, ShareGroup, group_id, now, may_create=may_create, may_replace_classic=False)
    if not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP, f"share group {group_id!r} has members")
    return group


def _partitions_of(shard: ShareGroupHost, keys: Iterable[SharePartition]) -> Partitions:
    """The partitions by topic, with the topics' names; they exist."""
    indexes: dict[bytes, list[int]] = {}
    for key in keys:
        indexes.setdefault(key.topic_id, []).append(key.partition)
    topics = [(shard.topics.by_id(topic_id), found) for topic_id, found in indexes.items()]
    return {topic.id: TopicPartitions(topic.name, tuple(sorted(found))) for topic, found in topics if topic is not None}


def _worst_by_topic(codes: Codes) -> TopicCodes:
    """For each topic the first code that is an error, NONE if there is none."""
    by_topic: dict[bytes, ErrorCode] = {}
    for key, code in codes.items():
        by_topic[key.topic_id] = by_topic.get(key.topic_id, ErrorCode.NONE) or code
    return by_topic

"""A share group's partitions as a test sees them: which records are in delivery, to whom, how often, until when.

A share partition is looked at in the memory of the leader of the topic's partition. What no fetch has loaded there is
shown as the share coordinator has stored it. A look loads nothing and changes nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.dates import date_text
from fakebroker.broker.core.share_partitions.states import RecordState
from fakebroker.broker.core.share_state.states import NO_OFFSET, SharePartition
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.groups.share.share_group import ShareGroup
    from fakebroker.broker.core.share_partitions.record_window import RecordWindow
    from fakebroker.broker.core.topics import Partition

SHOWN = 10  # ranges of records in a text, the others are counted


class DeliveredRecords(NamedTuple):
    """Neighbouring records with one state: "Available" (again), "Acquired", "Acknowledged", "Archiving" or "Archived".

    `member_id` has acquired them, until its lock ends by the broker's clock (`lock_ends_ms`, ms since the epoch); None
    if they are not acquired.
    """

    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    member_id: str | None = None
    lock_ends_ms: int | None = None

    def __str__(self) -> str:
        one = self.first_offset == self.last_offset
        offsets = str(self.first_offset) if one else f"{self.first_offset}-{self.last_offset}"
        times = {0: "never", 1: "once"}.get(self.delivery_count, f"{self.delivery_count} times")
        text = f"{offsets} {self.state}, delivered {times}"
        if self.member_id is not None:
            text += f", by {self.member_id}"
        if self.lock_ends_ms is not None:
            text += f" until {date_text(self.lock_ends_ms)}"
        return text


class SharePartitionView(NamedTuple):
    """One partition of a share group.

    `start_offset` is the first unfinished record, -1 before the first fetch. Records from `next_offset` on have no
    state yet; `records` are those between. `is_loaded` says whether the partition's leader has it in memory.
    """

    topic: str
    partition: int
    start_offset: int
    next_offset: int
    is_loaded: bool
    records: tuple[DeliveredRecords, ...] = ()

    def __str__(self) -> str:
        if self.start_offset == NO_OFFSET:
            text = "nothing fetched yet; share.auto.offset.reset decides the start offset (SGP-1)"
        else:
            text = f"starts at {self.start_offset}; records from {self.next_offset} on are new"
        more = f"; {len(self.records) - SHOWN} more" if len(self.records) > SHOWN else ""
        records = "".join(f"; {each}" for each in self.records[:SHOWN])
        return f"{self.topic}-{self.partition}: {text}{records}{more}"


def share_partitions_of(cluster: "Cluster", group: "ShareGroup", now: Instant) -> list[SharePartitionView]:
    """The partitions of a share group that have a state, by topic and number."""
    found = []
    for topic_id, (name, partitions) in group.state_partitions.initialized.items():
        topic = cluster.topics.by_id(topic_id)
        for index in partitions if topic is not None else ():
            partition = topic.partition(index) if topic is not None else None
            if partition is not None:
                key = SharePartition(group.group_id, topic_id, index)
                found.append(_view(cluster, key, name, partition, now))
    return sorted(found)


def _view(
    cluster: "Cluster", key: SharePartition, topic: str, partition: "Partition", now: Instant
) -> SharePartitionView:
    leader = cluster.nodes.get(partition.leader)
    loaded = leader.share_partitions.get(key) if leader is not None and leader.has_share_partitions else None
    if loaded is None or loaded.window is None:
        return _stored(cluster, key, topic, now)
    window = loaded.window
    records = tuple(_merged(_delivered(window, now)))
    return SharePartitionView(topic, key.partition, window.start_offset, window.next_offset, True, records)


def _name_of(number: int) -> str:
    """The name of a stored state. A state may be any number of 8 bits: what Kafka cannot read is a number here."""
    return next((state.kafka_name for state in RecordState if state == number), str(number))


def _delivered(window: "RecordWindow", now: Instant) -> Iterator[DeliveredRecords]:
    for batch in window:
        for first, last, state in batch.states():
            if last < window.start_offset:
                continue
            is_acquired = state.state is RecordState.ACQUIRED
            due_ms = state.lock.due_ms if is_acquired and state.lock is not None else None
            yield DeliveredRecords(
                max(first, window.start_offset),
                last,
                state.state.kafka_name,
                state.delivery_count,
                state.member_id if is_acquired else None,
                None if due_ms is None else now.wall_ms + due_ms - now.mono_ms,
            )


def _merged(records: Iterator[DeliveredRecords]) -> Iterator[DeliveredRecords]:
    """Neighbours that differ in their offsets only are one entry."""
    last: DeliveredRecords | None = None
    for each in records:
        if last is not None and last.last_offset == each.first_offset - 1 and last[2:] == each[2:]:
            last = last._replace(last_offset=each.last_offset)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def _stored(cluster: "Cluster", key: SharePartition, topic: str, now: Instant) -> SharePartitionView:
    """What the share coordinator has of it; as good as nothing while there is no coordinator that could tell."""
    unknown = SharePartitionView(topic, key.partition, NO_OFFSET, NO_OFFSET, False)
    if SHARE_GROUP_STATE not in cluster.topics:
        return unknown
    partition = cluster.coordinator_partition(SHARE_GROUP_STATE, str(key))
    coordinator = cluster.nodes.get(partition.leader)
    if coordinator is None or not partition.has_log:
        return unknown
    try:
        stored = coordinator.share_coordinator.shard(str(key), now).states.get(key)
    except KafkaError:
        return unknown
    if stored is None:
        return unknown
    state = stored.state
    records = tuple(
        DeliveredRecords(first, last, _name_of(number), count) for first, last, number, count in state.batches
    )
    following = records[-1].last_offset + 1 if records else state.start_offset
    return unknown._replace(start_offset=state.start_offset, next_offset=following, records=records)

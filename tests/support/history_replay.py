"""Replays a history of groups and committed offsets on a broker in virtual time, with another retention.

Only what somebody asked for is replayed: commits, states of groups, markers of transactions, deletions. What expires
is then up to the broker. The inputs go to the coordinator as it stores and loads them itself, below the requests: who
may commit was decided when the history was made.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.offsets.expiry import due_ms
from fakebroker.broker.core.offsets.expiry_policies import aging_of, policy_named
from fakebroker.broker.core.offsets.group_offsets import NEVER
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import GroupValue, StoredOffset, TopicPartition
from fakebroker.testing.journal.rows import Row, rows_of
from fakebroker.testing.virtual_broker import VirtualBroker

MINUTE_MS: Final = 60_000
LONGEST_RETENTION_MS: Final = 100 * 366 * 24 * 60 * MINUTE_MS
NO_CLEANUP_MS: Final = LONGEST_RETENTION_MS


class Committed(NamedTuple):
    """An offset is stored; with `producer_id` it waits for the marker of its transaction."""

    at_ms: int
    group_id: str
    offset: StoredOffset
    producer_id: int | None = None


class TransactionEnded(NamedTuple):
    """The marker of a transaction."""

    at_ms: int
    producer_id: int
    is_committed: bool


class OffsetDeleted(NamedTuple):
    """Somebody deletes an offset."""

    at_ms: int
    group_id: str
    partition: TopicPartition


class GroupStored(NamedTuple):
    """A group becomes what a record says; None: somebody deletes it."""

    at_ms: int
    group_id: str
    value: GroupValue | None


class GroupChanged(NamedTuple):
    """A group comes into a state that leaves no record, as a journal tells it.

    `subscribed_topics` None is unknown; `state_ms` is what the retention of an Empty group counts from.
    """

    at_ms: int
    group_id: str
    state: str
    protocol_type: str | None
    subscribed_topics: frozenset[str] | None
    state_ms: int


Input = Committed | TransactionEnded | OffsetDeleted | GroupStored | GroupChanged


class Expired(NamedTuple):
    """An offset that expired in a replay. Times in milliseconds since the epoch."""

    group_id: str
    topic: str
    partition: int
    offset: int
    committed_ms: int
    due_ms: int
    expired_ms: int
    rule: str


def replay(
    inputs: Iterable[Input],
    *,
    retention_ms: int,
    since_ms: int,
    until_ms: int,
    check_interval_ms: int = 10 * MINUTE_MS,
    policy: str = "4.3",
) -> list[Expired]:
    """What expires when `inputs` happen, in this order, under a retention of `retention_ms`, whole minutes.

    Cleanups come at whole intervals from `since_ms` on, the last at or before `until_ms`. An input whose time is past
    already happens at once.
    """
    settings = _settings(retention_ms, check_interval_ms, policy)
    with VirtualBroker(config=settings, start_wall_ms=since_ms) as broker:
        played = _Replay(broker)
        for each in inputs:
            played.advance_to(each.at_ms)
            played.apply(each)
        played.advance_to(until_ms)
        return played.expired


def asked_for(
    inputs: Iterable[Input], *, recorded_retention_ms: int, since_ms: int, policy: str = "4.3"
) -> list[Input]:
    """The inputs without those that the recorded retention itself caused: its tombstones, and removals of groups.

    The history is replayed, and nothing expires by itself; at each tombstone the broker's own policy says whether the
    offset was due under `recorded_retention_ms` at that time. A group's tombstone is an effect unless an offset of the
    group was deleted, not expired, at the same time, or the group had members.
    """
    chosen: list[Input] = []
    deleted: set[tuple[str, int]] = set()
    with VirtualBroker(config=_settings(LONGEST_RETENTION_MS, NO_CLEANUP_MS, policy), start_wall_ms=since_ms) as broker:
        played = _Replay(broker)
        for each in inputs:
            played.advance_to(each.at_ms)
            if isinstance(each, OffsetDeleted):
                is_effect = played.is_due(each, recorded_retention_ms, policy)
                if not is_effect:
                    deleted.add((each.group_id, each.at_ms))
            else:
                is_effect = (
                    isinstance(each, GroupStored)
                    and each.value is None
                    and played.is_empty(each.group_id)
                    and (each.group_id, each.at_ms) not in deleted
                )
            if not is_effect:
                chosen.append(each)
            played.apply(each)
    return chosen


def _settings(retention_ms: int, check_interval_ms: int, policy: str) -> dict[str, object]:
    return {
        "offsets.retention.minutes": retention_ms // MINUTE_MS,
        "offsets.retention.check.interval.ms": check_interval_ms,
        "offsets.topic.num.partitions": 1,
        "fakebroker.expiry.policy": policy,
    }


class _Replay:
    """A broker with one partition of `__consumer_offsets`, and what expired on it so far."""

    def __init__(self, broker: VirtualBroker) -> None:
        self._broker = broker
        self._next_seq = 0
        self.expired: list[Expired] = []
        broker._call(self._shard)  # cleanups count from the first look at it

    def advance_to(self, at_ms: int) -> None:
        """Let the time of day reach `at_ms`, unless it has, and note what expires on the way."""
        by_ms = at_ms - self._broker.clock.now_ms
        if by_ms > 0:
            self._broker.clock.advance(ms=by_ms)
            self._take_expired()

    def apply(self, happened: Input) -> None:
        """Let it happen now."""
        self._broker._call(lambda: self._apply(happened, self._now()))

    def is_due(self, deleted: OffsetDeleted, retention_ms: int, policy: str) -> bool:
        """Whether a cleanup that comes now would drop the offset."""
        group = self._broker._call(self._shard).group(deleted.group_id)
        topic, partition = deleted.partition
        stored = None if group is None else group.offsets.topics.get(topic, {}).get(partition)
        if group is None or stored is None or group.offsets.is_pending(*deleted.partition):
            return False
        return due_ms(aging_of(group, policy_named(policy), retention_ms), stored) <= self._now().wall_ms

    def is_empty(self, group_id: str) -> bool:
        """Whether the group has no members, or is not there."""
        group = self._broker._call(self._shard).group(group_id)
        return group is None or group.is_empty

    def _now(self) -> Instant:
        return self._broker.network.now

    def _shard(self) -> Shard:
        return next(iter(self._broker._engine.cluster.nodes.values())).coordinator.shard("", self._now())

    def _take_expired(self) -> None:
        journal = self._broker.journal
        for entry in journal.entries(since=self._next_seq):
            self.expired += [_expired(row) for row in rows_of(entry, "") if row["kind"] == "offset_expired"]
        self._next_seq = journal.next_seq

    def _apply(self, happened: Input, now: Instant) -> None:
        shard = self._shard()
        match happened:
            case Committed(_, group_id, offset, producer_id):
                group = shard.group(group_id) or shard.create_group(group_id, now, for_commit=True)
                if producer_id is None:
                    shard.commit(group, [offset], now, client_timestamps=True)
                else:
                    shard.commit_pending(group, (producer_id, 0), [offset], now)
            case TransactionEnded(_, producer_id, is_committed):
                shard.replay_end_transaction_marker(producer_id, is_committed, now)
            case OffsetDeleted(_, group_id, partition):
                found = shard.group(group_id)
                if found is not None:
                    shard.delete_offsets(found, [partition], now)
            case GroupStored(_, group_id, None):
                found = shard.group(group_id)
                if found is not None:
                    shard.forget(found, now, "deleted")
            case GroupStored(_, group_id, value) if value is not None:
                _replaced(shard, group_id, now).restore(value, now)
                shard.look_at(shard.groups[group_id], now)
            case GroupChanged():
                _change(_replaced(shard, happened.group_id, now), happened)
                shard.look_at(shard.groups[happened.group_id], now)


def _replaced(shard: Shard, group_id: str, now: Instant) -> ClassicGroup:
    """A new group in place of the one of that id, with its offsets."""
    before = shard.group_of(ClassicGroup, group_id)
    group = ClassicGroup(group_id, shard, now)
    if before is not None:
        group.offsets = before.offsets
        group.offsets.check_ms = NEVER
        before.end_timers()
        before.state = State.DEAD  # its entry in the cleanup's queue is void
    shard.groups[group_id] = group
    return group


def _change(group: ClassicGroup, event: GroupChanged) -> None:
    group.state = State(event.state)
    group.protocol_type = event.protocol_type
    group.subscribed_topics = event.subscribed_topics
    group.state_ms = event.state_ms


def _expired(row: Row) -> Expired:
    return Expired(
        row["group"],
        row["topic"],
        row["partition"],
        row["offset"],
        row["committed_ms"],
        row["due_ms"],
        row["wall_ms"],
        row["rule"],
    )

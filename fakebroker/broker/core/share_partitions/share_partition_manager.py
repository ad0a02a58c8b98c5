"""The share partitions and share sessions of one broker, and what ends them (SGP-7, SGP-9).

Kafka: `SharePartitionManager`.
"""

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from fakebroker.broker.core.share_partitions.acknowledgement import AcknowledgedBatch
from fakebroker.broker.core.share_partitions.sessions import ShareSession, ShareSessions, TopicIdPartition
from fakebroker.broker.core.share_partitions.share_partition import Answer, SharePartition
from fakebroker.broker.core.share_state.states import SharePartition as SharePartitionKey
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from fakebroker.broker.core.share_partitions.acquisition import Acquired
    from fakebroker.broker.core.share_state.asking import ShareStateNode
    from fakebroker.broker.core.topics import Partition, Topic


Key = TypeVar("Key")

PARTITIONS_PER_STEP: Final = 500


class SharePartitionManager:
    """What one broker process has in memory of share groups; another process begins with nothing.

    `_groups_of` has for each connection the groups whose sessions it has opened, without those that have no session and
    no share partition any more. `_acknowledging` has the connections on whose sessions records are being acknowledged,
    and whether they were closed meanwhile: what they have is forgotten when that is done.
    """

    def __init__(self, node: "ShareStateNode") -> None:
        self.node = node
        self.sessions = ShareSessions(node.settings)
        self._partitions: dict[SharePartitionKey, SharePartition] = {}
        self._of_partition: dict[Partition, dict[SharePartition, None]] = {}
        self._of_group: dict[str, dict[SharePartition, None]] = {}
        self._groups_of: dict[int, dict[str, None]] = {}
        self._acknowledging: dict[int, bool] = {}
        topics = node.cluster.topics
        topics.on_deleted.append(self._topic_deleted)
        topics.on_leader_changed.append(self._leader_changed)

    def end(self) -> None:
        """The process ends: nothing is left in memory."""
        topics = self.node.cluster.topics
        topics.on_deleted.remove(self._topic_deleted)
        topics.on_leader_changed.remove(self._leader_changed)
        for partition in list(self._partitions.values()):
            self.drop(partition)

    # -- share partitions -----------------------------------------------------------------------------------------

    def __iter__(self) -> "Iterator[SharePartition]":
        return iter(list(self._partitions.values()))

    def get(self, key: SharePartitionKey) -> SharePartition | None:
        """The share partition if it is in memory, loaded or not."""
        return self._partitions.get(key)

    def get_or_make(self, key: SharePartitionKey, partition: "Partition") -> SharePartition:
        """The share partition; it is in memory from now on."""
        found = self._partitions.get(key)
        if found is None:
            found = self._partitions[key] = SharePartition(self.node, key, partition, self._fenced)
            self._of_partition.setdefault(partition, {})[found] = None
            self._of_group.setdefault(key.group_id, {})[found] = None
        return found

    def drop(self, partition: SharePartition) -> None:
        """Forget a share partition; the next fetch loads what is stored (SGP-9)."""
        if self._partitions.get(partition.key) is partition:
            del self._partitions[partition.key]
            _take_out(self._of_partition, partition.partition, partition)
            _take_out(self._of_group, partition.key.group_id, partition)
        partition.end()

    def _fenced(self, partition: SharePartition, now: Instant) -> None:
        """Somebody else writes the state of a share partition by now."""
        self.drop(partition)
        partition.wake(now)

    def _topic_deleted(self, topic: "Topic", now: Instant) -> None:
        for partition in topic.partitions:
            self._leader_changed(partition, now)

    def _leader_changed(self, partition: "Partition", now: Instant) -> None:
        """A partition has another leader, or this one in another epoch: what was acquired here is void."""
        for each in list(self._of_partition.get(partition, ())):
            self._fenced(each, now)

    # -- acknowledging --------------------------------------------------------------------------------------------

    def acknowledge(
        self,
        session: ShareSession,
        partition: TopicIdPartition,
        batches: "Sequence[AcknowledgedBatch]",
        now: Instant,
    ) -> "Callable[[Answer, Instant], None]":
        """Begin a member's acknowledgements for one partition; returns what stores them (SGK).

        Raises KafkaError: UNKNOWN_SERVER_ERROR where Kafka fails the whole request, else what the partition answers.
        """
        share_partition = self.get(SharePartitionKey(session.group_id, *partition))
        if share_partition is None or share_partition.window is None:
            text = "This server does not host this topic-partition."
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        return partial(share_partition.store, share_partition.acknowledge(session.member_id, batches, now))

    def begin_acknowledging(self, session: ShareSession) -> None:
        """The steps of a request begin that acknowledges records; they end with `end_acknowledging`."""
        self._acknowledging.setdefault(session.connection_id, False)

    def end_acknowledging(self, session: ShareSession, now: Instant) -> None:
        """All that the request acknowledges is on its way to the share coordinator."""
        if self._acknowledging.pop(session.connection_id, False):
            self.connection_closed(session.connection_id, now)

    # -- sessions -------------------------------------------------------------------------------------------------

    def open_session(
        self, group_id: str, member_id: str, connection_id: int, partitions: "Sequence[TopicIdPartition]"
    ) -> ShareSession:
        """A new session of a member, on a connection (SGF-1). Raises KafkaError as `ShareSessions.open` does."""
        session = self.sessions.open(group_id, member_id, connection_id, partitions)
        self._groups_of.setdefault(connection_id, {})[group_id] = None
        return session

    def close_session(self, session: ShareSession, closed: "Callable[[Instant], None]", now: Instant) -> None:
        """Close a session, and release what its member has acquired on its partitions (SGF-6, SGP-7).

        `closed` is called when all of it is released: there may be thousands of partitions.
        """
        self.sessions.close(session)
        steps = self._release_in_steps(session)
        self.node.cluster.timers.passes.begin(steps, lambda _nothing, now: closed(now), now)

    def _release_in_steps(self, session: ShareSession) -> "Generator[None, None, None]":
        passes = self.node.cluster.timers.passes
        pace = passes.pace(PARTITIONS_PER_STEP)
        for each in list(session.partitions):
            partition = self.get(SharePartitionKey(session.group_id, *each))
            if partition is not None and partition.window is not None:
                partition.release(session.member_id, _nobody_asked, passes.now)
            if pace.is_over():
                yield
        group_id = session.group_id
        if group_id not in self._of_group and not self.sessions.has_group(group_id):
            self._groups_of.get(session.connection_id, {}).pop(group_id, None)

    def release_acquired(
        self, session: ShareSession, acquired: "Mapping[TopicIdPartition, Sequence[Acquired]]", now: Instant
    ) -> None:
        """Release what was acquired for an answer that cannot be sent; the delivery counts, as in Kafka (SGP-7)."""
        steps = self._release_ranges_in_steps(session, acquired)
        self.node.cluster.timers.passes.begin(steps, lambda _nothing, _now: None, now)

    def _release_ranges_in_steps(
        self, session: ShareSession, acquired: "Mapping[TopicIdPartition, Sequence[Acquired]]"
    ) -> "Generator[None, None, None]":
        passes = self.node.cluster.timers.passes
        pace = passes.pace(PARTITIONS_PER_STEP)
        for each, ranges in acquired.items():
            partition = self.get(SharePartitionKey(session.group_id, *each))
            if partition is not None and partition.window is not None:
                partition.release(session.member_id, _nobody_asked, passes.now, ranges)
            if pace.is_over():
                yield

    def connection_closed(self, connection_id: int, now: Instant) -> None:
        """A connection is gone: the sessions that it opened are closed; groups without sessions are dropped (SGP-9)."""
        if connection_id in self._acknowledging:
            self._acknowledging[connection_id] = True
            return
        closed = self.sessions.of_connection(connection_id)
        for session in closed:
            self.sessions.close(session)
        steps = self._forget_in_steps(closed, self._groups_of.pop(connection_id, {}))
        self.node.cluster.timers.passes.begin(steps, lambda _nothing, _now: None, now)

    def _forget_in_steps(
        self, sessions: "Iterable[ShareSession]", group_ids: "Iterable[str]"
    ) -> "Generator[None, None, None]":
        """Release what these sessions have, then drop the groups that have no session, nor got one meanwhile."""
        pace = self.node.cluster.timers.passes.pace(PARTITIONS_PER_STEP)
        for session in sessions:
            yield from self._release_in_steps(session)
        for group_id in group_ids:
            for partition in list(self._of_group.get(group_id, ())):
                if self.sessions.has_group(group_id):
                    break
                self.drop(partition)
                if pace.is_over():
                    yield


def _take_out(index: "dict[Key, dict[SharePartition, None]]", key: "Key", partition: SharePartition) -> None:
    del index[key][partition]
    if not index[key]:
        del index[key]


def _nobody_asked(_code: ErrorCode, _message: str | None, _now: Instant) -> None:
    """What a release by the broker itself answers."""

"""Which share partitions a broker coordinates: those of the partitions of `__share_group_state` that it leads.

A partition is loaded from its log: the states are what its records say. Kafka: `CoordinatorLoaderImpl`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.runtime.host import CoordinatorNode
from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.coordinator.runtime.process_steps import Steps
from fakebroker.broker.core.coordinator.runtime.reading import cost_of, read_in_steps
from fakebroker.broker.core.share_state.shard import ShareStateShard
from fakebroker.broker.core.share_state.states import SharePartition
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.share_state_log import read_share_state

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition, Topic


class ShareCoordinator(PartitionCoordinator[ShareStateShard, CoordinatorNode]):
    """The share coordinator of one broker: a shard for each partition that it leads and has been asked for."""

    topic_name = SHARE_GROUP_STATE

    def _new_shard(self, partition: "Partition", since: Instant) -> ShareStateShard:  # noqa: ARG002
        return ShareStateShard(self.node, partition)

    def _fill(self, shard: ShareStateShard) -> Steps:
        return load_states(shard)

    def _forget_topic(self, shard: ShareStateShard, topic: "Topic", now: Instant) -> Iterator[int]:
        """Forget the states of a deleted topic, in steps."""
        return shard.delete_topic(topic.id, now)


def load_states(shard: "ShareStateShard") -> Steps:
    """Fill the shard from its log, in steps. Raises WireError naming the batch that cannot be read."""

    def replay(batch: bytes, pace: Pace) -> Iterator[None]:
        for record in () if parse_header(batch).is_control else read_records(batch):
            entry = read_share_state(record.key, record.value)
            if entry is not None:
                shard.replay(SharePartition(*entry[:3]), entry.value)
            if pace.is_over(cost_of(record)):
                yield

    yield from read_in_steps(shard, replay)

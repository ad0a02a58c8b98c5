"""Which groups a broker coordinates: those of the partitions of `__consumer_offsets` that it leads (FC-4)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.host import GroupNode
from fakebroker.broker.core.coordinator.loading import load_groups
from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.coordinator.runtime.process_steps import Steps
from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition, Topic


class GroupCoordinator(PartitionCoordinator[Shard, GroupNode]):
    """The group coordinator of one broker: a shard for each partition that it leads and has been asked for."""

    topic_name = CONSUMER_OFFSETS

    def _new_shard(self, partition: "Partition", since: Instant) -> Shard:
        return Shard(self.node, partition, since)

    def _fill(self, shard: Shard) -> Steps:
        return load_groups(shard)

    def _forget_topic(self, shard: Shard, topic: "Topic", now: Instant) -> Iterator[int]:
        """Delete the offsets of a deleted topic (EX-12), in steps."""
        return shard.delete_topic(topic.name, now)

"""Which groups a broker coordinates: those of the partitions of `__consumer_offsets` that it leads (FC-4)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.host import GroupNode
from fakebroker.broker.core.coordinator.loading import load_groups
from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
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

    def _fill(self, shard: Shard, now: Instant) -> None:
        load_groups(shard, now)

    def _loaded(self, shard: Shard, now: Instant) -> None:
        """Delete the offsets of topics whose deletion began before the load: whoever goes from shard to shard for it
        may have been with this broker already, and not yet with the one that the partition comes from.
        """
        for topic in self.cluster.topics.being_deleted:
            for _ in shard.delete_topic(topic, now):
                pass

    def _forget_topic(self, topic: "Topic", now: Instant) -> Iterator[int]:
        """Delete the offsets of a deleted topic (EX-12), in steps."""
        for index, shard in list(self.shards.items()):
            if self.shards.get(index) is shard:  # it may have been moved away between two steps
                yield from shard.delete_topic(topic.name, now)

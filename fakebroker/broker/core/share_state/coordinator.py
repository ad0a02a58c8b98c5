"""Which share partitions a broker coordinates: those of the partitions of `__share_group_state` that it leads."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.runtime.host import CoordinatorNode
from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.share_state.loading import load_states
from fakebroker.broker.core.share_state.shard import ShareStateShard
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition, Topic


class ShareCoordinator(PartitionCoordinator[ShareStateShard, CoordinatorNode]):
    """The share coordinator of one broker: a shard for each partition that it leads and has been asked for."""

    topic_name = SHARE_GROUP_STATE

    def _new_shard(self, partition: "Partition", since: Instant) -> ShareStateShard:  # noqa: ARG002
        return ShareStateShard(self.node, partition)

    def _fill(self, shard: ShareStateShard, now: Instant) -> None:  # noqa: ARG002
        load_states(shard)

    def _forget_topic(self, topic: "Topic", now: Instant) -> Iterator[int]:
        """Forget the states of a deleted topic, in steps."""
        for index, shard in list(self.shards.items()):
            if self.shards.get(index) is shard:  # it may have been moved away between two steps
                shard.delete_topic(topic.id, now)
                yield 1

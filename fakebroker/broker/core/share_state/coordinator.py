"""Which share partitions a broker coordinates: those of the partitions of `__share_group_state` that it leads.

A partition is loaded from its log: the states are what its records say. Kafka: `CoordinatorLoaderImpl`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakebroker.broker.core.coordinator.runtime.host import CoordinatorNode
from fakebroker.broker.core.coordinator.runtime.partition_coordinator import PartitionCoordinator
from fakebroker.broker.core.share_state.shard import ShareStateShard
from fakebroker.broker.core.share_state.states import SharePartition
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.share_state_log import read_share_state

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


def load_states(shard: "ShareStateShard") -> None:
    """Fill the shard from its log. Raises WireError naming the batch that cannot be read."""
    for batch in shard.partition.log.batches():
        header = parse_header(batch)
        if header.is_control:
            continue
        try:
            for record in read_records(batch):
                entry = read_share_state(record.key, record.value)
                if entry is not None:
                    shard.replay(SharePartition(*entry[:3]), entry.value)
        except (WireError, InvalidRecord) as error:
            raise WireError(f"{shard.partition.log.name}: batch at {header.base_offset}: {error}") from error

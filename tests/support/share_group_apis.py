"""Requests of administrators about share groups, on a cluster without a network."""

from collections.abc import Callable
from typing import Any

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.wire.messages import alter_share_group_offsets as altering
from fakebroker.protocol.wire.messages import delete_share_group_offsets as deleting
from fakebroker.protocol.wire.messages import describe_share_group_offsets as describing
from tests.support.group_apis import GroupApis
from tests.support.logs import Pairs

NO_ID = bytes(16)


class ShareGroupApis(GroupApis):
    """A cluster with topic "t" of 2 partitions, the first with 10 records, and short names for the requests."""

    def __init__(self, make_call: Callable[..., Call]) -> None:
        super().__init__(make_call, share_coordinator_state_topic_replication_factor=1)
        self.topic = self.cluster.topics.create("t", 2, 1)
        self.topic.partitions[0].log.append_records(Pairs(*[(None, b"v")] * 10), self.now)

    def beat(self, epoch: int) -> None:
        request = {"group_id": "g", "member_id": "m1", "member_epoch": epoch, "subscribed_topic_names": ["t"]}
        self.ask("ShareGroupHeartbeat", 1, **request)
        self.wait(0)

    def alter(self, topics: dict[str, dict[int, int]], group_id: str = "g") -> Any:
        entries = [
            altering.AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    altering.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
                    for index, offset in offsets.items()
                ],
            )
            for name, offsets in topics.items()
        ]
        return self.ask("AlterShareGroupOffsets", 0, group_id=group_id, topics=entries)

    def delete(self, *names: str, group_id: str = "g") -> Any:
        entries = [deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
        return self.ask("DeleteShareGroupOffsets", 0, group_id=group_id, topics=entries)

    def describe(self, topics: dict[str, list[int]] | None = None, group_id: str = "g", version: int = 1) -> Any:
        entries = (
            None
            if topics is None
            else [
                describing.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=indexes)
                for name, indexes in topics.items()
            ]
        )
        group = describing.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=entries)
        return self.ask("DescribeShareGroupOffsets", version, groups=[group]).groups[0]


def rows(topic: Any) -> list[tuple[int, int, int]]:
    """Of each partition its index, start offset and lag."""
    return [(each.partition_index, each.start_offset, each.lag) for each in topic.partitions]

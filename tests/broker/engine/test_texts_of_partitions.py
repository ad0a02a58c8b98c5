"""A long name beside very many partitions: the answer says it once, or its beginning, not whole for each partition."""

from typing import Any

import pytest

from fakebroker.protocol.wire.messages import (
    alter_partition_reassignments as reassignments,
)
from fakebroker.protocol.wire.messages import (
    alter_share_group_offsets as share_offsets,
)
from fakebroker.protocol.wire.messages import (
    delete_share_group_offsets as deletions,
)
from fakebroker.protocol.wire.messages import (
    describe_producers as producers,
)
from fakebroker.protocol.wire.messages import (
    describe_share_group_offsets as described,
)
from fakebroker.protocol.wire.messages import (
    write_share_group_state as states,
)
from tests.support.engine import SimEngine
from tests.support.frames import request

NAME, COUNT = "x" * 30_000, 1_000
INDEXES = range(COUNT)


def reassigned() -> dict[str, Any]:
    partitions = [reassignments.ReassignablePartition(partition_index=index, replicas=None) for index in INDEXES]
    return {"timeout_ms": 60_000, "topics": [reassignments.ReassignableTopic(name=NAME, partitions=partitions)]}


def share_offsets_of() -> dict[str, Any]:
    partitions = [
        share_offsets.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=0) for index in INDEXES
    ]
    topic = share_offsets.AlterShareGroupOffsetsRequestTopic(topic_name=NAME, partitions=partitions)
    return {"group_id": "g", "topics": [topic]}


def share_states() -> dict[str, Any]:
    partitions = [states.PartitionData(partition=index, state_epoch=5, leader_epoch=5) for index in INDEXES]
    return {"group_id": NAME, "topics": [states.WriteStateData(topic_id=b"t" * 16, partitions=partitions)]}


CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "AlterPartitionReassignments": (1, reassigned()),
    "AlterShareGroupOffsets": (0, share_offsets_of()),
    "DeleteShareGroupOffsets": (
        0,
        {"group_id": "g", "topics": [deletions.DeleteShareGroupOffsetsRequestTopic(topic_name=NAME)]},
    ),
    "DescribeProducers": (0, {"topics": [producers.TopicRequest(name=NAME, partition_indexes=[*INDEXES])]}),
    "DescribeShareGroupOffsets": (
        0,
        {
            "groups": [
                described.DescribeShareGroupOffsetsRequestGroup(
                    group_id="g",
                    topics=[described.DescribeShareGroupOffsetsRequestTopic(topic_name=NAME, partitions=[*INDEXES])],
                )
            ]
        },
    ),
    "WriteShareGroupState": (0, share_states()),
}


@pytest.mark.parametrize("name", CASES)
def test_an_answer_is_not_much_longer_than_its_request(name: str) -> None:
    """330 KB of a request became 2 GB of texts."""
    lab = SimEngine()
    client = lab.client()
    client.ask("CreateTopics", 7, topics=[], timeout_ms=1)
    client.ask("ShareGroupHeartbeat", 1, group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["t"])
    client.ask("ShareGroupHeartbeat", 1, group_id="g", member_id="m", member_epoch=-1, subscribed_topic_names=None)
    version, fields = CASES[name]
    data = request(name, version, **fields)
    client.socket.send(data)
    answer = client.socket.take()
    assert answer
    assert len(answer) < 10 * len(data)

"""AlterShareGroupOffsets, DeleteShareGroupOffsets, DescribeShareGroupOffsets, and DeleteGroups of share groups."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.apis.call import Call
from fakebroker.wire.messages import alter_share_group_offsets as altering
from fakebroker.wire.messages import delete_share_group_offsets as deleting
from fakebroker.wire.messages import describe_share_group_offsets as describing
from tests.support.group_apis import GroupApis, join
from tests.support.logs import Pairs

MakeCall = Callable[..., Call]
NO_ID = bytes(16)


class Lab(GroupApis):
    """A cluster with topic "t" of 2 partitions, the first with 10 records, and short names for the requests."""

    def __init__(self, make_call: MakeCall) -> None:
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
        entries = topics and [
            describing.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=indexes)
            for name, indexes in topics.items()
        ]
        group = describing.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=entries)
        return self.ask("DescribeShareGroupOffsets", version, groups=[group]).groups[0]


@pytest.fixture
def lab(make_call: MakeCall) -> Lab:
    return Lab(make_call)


def rows(topic: Any) -> list[tuple[int, int, int]]:
    """Of each partition its index, start offset and lag."""
    return [(each.partition_index, each.start_offset, each.lag) for each in topic.partitions]


@pytest.mark.rules("SGO-4")
def test_altering(lab: Lab) -> None:
    """What exists is altered, what does not is error 3; in the order of the request."""
    answer = lab.alter({"t": {1: 7, 5: 0, 0: 4}, "none": {0: 1}})

    assert (answer.error_code, answer.error_message) == (0, None)
    known, unknown = answer.responses
    assert (known.topic_name, known.topic_id) == ("t", lab.topic.id)
    assert [(each.partition_index, each.error_code) for each in known.partitions] == [(1, 0), (5, 3), (0, 0)]
    assert (unknown.topic_id, unknown.partitions[0].error_code) == (NO_ID, 3)
    assert unknown.partitions[0].error_message


@pytest.mark.rules("SGO-4", "SGO-5")
def test_members_are_in_the_way(lab: Lab) -> None:
    """68 at top level."""
    lab.beat(0)

    for answer in (lab.alter({"t": {0: 1}}), lab.delete("t")):
        assert (answer.error_code, answer.responses) == (68, [])
        assert answer.error_message


@pytest.mark.rules("SGO-1", "SGO-2")
def test_describing_all(lab: Lab) -> None:
    """Null means all initialized partitions; the lag is what comes from the start offset on, -1 without one."""
    lab.beat(0)
    lab.beat(-1)
    lab.alter({"t": {0: 4}})

    group = lab.describe()

    assert (group.error_code, group.error_message) == (0, None)
    [topic] = group.topics
    assert (topic.topic_name, topic.topic_id) == ("t", lab.topic.id)
    assert rows(topic) == [(0, 4, 6), (1, -1, -1)]
    assert rows(lab.describe(version=0).topics[0]) == [(0, 4, -1), (1, -1, -1)]


@pytest.mark.rules("SGO-2")
def test_finished_records_are_no_lag(lab: Lab) -> None:
    """The count that the leader stored is taken off."""
    from fakebroker.wire.messages.write_share_group_state import PartitionData, StateBatch, WriteStateData

    lab.alter({"t": {0: 4}})
    batch = StateBatch(first_offset=5, last_offset=6, delivery_state=2, delivery_count=1)
    entry = PartitionData(partition=0, state_epoch=1, start_offset=4, delivery_complete_count=2, state_batches=[batch])
    topics = [WriteStateData(topic_id=lab.topic.id, partitions=[entry])]
    lab.ask("WriteShareGroupState", 1, group_id="g", topics=topics)

    assert rows(lab.describe().topics[0]) == [(0, 4, 4)]


@pytest.mark.rules("SGO-1", "SGO-3")
def test_describing_by_name(lab: Lab) -> None:
    """What has no state or does not exist has start offset -1, which is no error; an unknown topic has no id."""
    lab.alter({"t": {0: 4}})

    known, unknown = lab.describe({"t": [1, 0, 7], "none": [0]}).topics

    assert rows(known) == [(1, -1, -1), (0, 4, 6), (7, -1, -1)]
    assert (unknown.topic_id, rows(unknown)) == (NO_ID, [(0, -1, -1)])


@pytest.mark.rules("SGO-1")
def test_describing_what_is_no_share_group(lab: Lab) -> None:
    """No error and no topics; an empty group id is 24."""
    lab.send("JoinGroup", 3, **join("classic"))

    assert [
        (each.error_code, each.topics) for each in (lab.describe(group_id=name) for name in ("none", "classic"))
    ] == [(0, [])] * 2
    assert lab.describe(group_id="").error_code == 24


@pytest.mark.rules("SGO-5")
def test_deleting(lab: Lab) -> None:
    """Topics with a state go; unknown ones and those without are 3 and have no id."""
    lab.cluster.topics.create("u", 1, 1)
    lab.alter({"t": {0: 4}})

    answer = lab.delete("t", "u", "none")

    assert answer.error_code == 0
    assert [(each.topic_name, each.topic_id, each.error_code) for each in answer.responses] == [
        ("t", lab.topic.id, 0),
        ("u", NO_ID, 3),
        ("none", NO_ID, 3),
    ]
    assert [bool(each.error_message) for each in answer.responses] == [False, True, True]
    assert lab.describe().topics == []


@pytest.mark.rules("SGO-5")
def test_deleting_of_an_unknown_group(lab: Lab) -> None:
    """69 at top level."""
    assert lab.delete("t").error_code == 69


@pytest.mark.parametrize("api", ["AlterShareGroupOffsets", "DeleteShareGroupOffsets"])
def test_without_a_group_id(lab: Lab, api: str) -> None:
    """24."""
    assert lab.ask(api, 0, group_id="", topics=[]).error_code == 24


@pytest.mark.rules("SGL-3")
def test_deleting_groups(lab: Lab) -> None:
    """One with members stays; an Empty one goes with its states; others in the same request are as ever."""
    lab.beat(0)
    (left,) = lab.stable("classic")
    lab.ask("LeaveGroup", 0, group_id="classic", member_id=left)

    def delete(*names: str) -> list[tuple[str, int]]:
        answer = lab.ask("DeleteGroups", 2, groups_names=list(names))
        return [(each.group_id, each.error_code) for each in answer.results]

    assert delete("g", "none") == [("g", 68), ("none", 69)]
    lab.beat(-1)
    assert delete("none", "g", "classic") == [("none", 69), ("g", 0), ("classic", 0)]
    assert delete("g") == [("g", 69)]
    assert all(not shard.states for shard in lab.cluster.nodes[1].share_coordinator.all_shards(lab.now))


@pytest.mark.rules("SGL-3")
def test_a_group_whose_states_cannot_be_deleted_stays(lab: Lab) -> None:
    """It is answered with the share coordinator's error, when that is told for good."""
    lab.alter({"t": {0: 4}})
    key = f"g:{_text(lab.topic.id)}:0"
    partition = lab.cluster.coordinator_partition("__share_group_state", key).index
    lab.cluster.nodes[1].share_coordinator.load(partition, lab.now, for_ms=60_000)

    sent = lab.send("DeleteGroups", 2, groups_names=["g"])
    assert sent.answer is None
    lab.wait(15_000)

    assert [(each.group_id, each.error_code) for each in sent.answer.results] == [("g", 14)]
    assert lab.coordinator.shard("g", lab.now).group("g") is not None


def _text(topic_id: bytes) -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(topic_id).rstrip(b"=").decode()

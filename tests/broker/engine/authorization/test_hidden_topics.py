"""What a client may not describe: its questions cost little more where there is much of it, and time tells nothing."""

from typing import Any

import pytest

from fakebroker.broker.apis import list_groups
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.wire.messages.list_groups import ListedGroup
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from tests.support.frames import request
from tests.support.rights import client_of, guarded_lab
from tests.support.turns_of_request import turns

FEW, MANY = 10, 3_000
REQUESTS: list[tuple[str, int, dict[str, Any]]] = [
    ("Metadata", 0, {"topics": []}),
    ("Metadata", 12, {"topics": None}),
    ("DescribeTopicPartitions", 0, {"topics": []}),
    ("DescribeLogDirs", 4, {"topics": None}),
    ("ListPartitionReassignments", 0, {"topics": None}),
]


def cost(partitions: int, name: str, version: int, fields: dict[str, Any]) -> int:
    """The calls of a stranger's request, where there is a topic with so many partitions."""
    lab = guarded_lab()
    lab.cluster.topics.create("salaries", partitions)
    client = client_of(lab, "stranger")
    made = sum(turns(lab, client.socket.connection, request(name, version, **fields)))
    assert lab.engine.errors == []
    return made


@pytest.mark.parametrize(("name", "version", "fields"), REQUESTS, ids=[f"{each[0]} v{each[1]}" for each in REQUESTS])
def test_partitions_that_are_hidden_cost_nothing(name: str, version: int, fields: dict[str, Any]) -> None:
    """A question about all topics is judged topic by topic, before anything is made of one."""
    cost(FEW, name, version, fields)  # the first may load and compile things
    few, many = (cost(count, name, version, fields) for count in (FEW, MANY))
    assert many < few + 100


def test_groups_that_are_hidden_make_no_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is judged before anything is made of it."""
    made: list[str] = []

    def entry(group: Group) -> ListedGroup:
        made.append(group.group_id)
        return ListedGroup(group_id=group.group_id)

    monkeypatch.setattr(list_groups, "_entry", entry)
    lab = guarded_lab()
    root, stranger = client_of(lab, "root"), client_of(lab, "stranger")
    rows = [OffsetCommitRequestTopic(name="t", partitions=[(0, 1, -1, -1, "")])]
    for number in range(3):
        fields = {"group_id": f"g{number}", "generation_id_or_member_epoch": -1, "topics": rows}
        root.ask("OffsetCommit", 7, **fields)
    assert stranger.ask("ListGroups", 4).groups == []
    assert made == []
    root.ask("ListGroups", 4)
    assert made == ["g0", "g1", "g2"]

"""What messages are about, whatever their API: groups, topics with partitions, errors where they stand."""

import pytest

from fakebroker.broker.engine.subjects import FoundError, errors_of, groups_of, topics_of
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.registry import APIS, api

T3 = {"name": "t", "partitions": [3]}


def request(name: str, **fields: object) -> Message:
    made: Message = built(api(name).request, fields)
    return made


@pytest.mark.parametrize(
    ("asked", "topics"),
    [
        (request("AddPartitionsToTxn", v3_and_below_topics=[T3]), {"t": [3]}),
        (request("AddPartitionsToTxn", transactions=[{"transactional_id": "x", "topics": [T3]}]), {"t": [3]}),
        (request("AlterReplicaLogDirs", dirs=[{"path": "/d", "topics": [T3]}]), {"t": [3]}),
        (request("CreateTopics", topics=[{"name": "t", "assignments": [{"partition_index": 3}]}]), {"t": [3]}),
        (request("DeleteTopics", topic_names=["t", "u"]), {"t": [], "u": []}),
        (request("DescribeConfigs", resources=[{"resource_type": 2, "resource_name": "t"}]), {"t": []}),
        (request("DescribeConfigs", resources=[{"resource_type": 4, "resource_name": "1"}]), {}),
        (request("Metadata", topics=None), {}),
        (request("StreamsGroupHeartbeat", topology={"subtopologies": [{"source_topics": ["t"]}]}), {"t": []}),
        (
            request("WriteTxnMarkers", markers=[{"topics": [{"name": "t", "partition_indexes": [3, 3]}]}]),
            {"t": [3]},
        ),
    ],
)
def test_topics_are_found_at_any_depth(asked: Message, topics: dict[str, list[int]]) -> None:
    """A topic counts wherever the request names it, and each of its partitions once."""
    assert topics_of(asked) == topics


@pytest.mark.parametrize(
    ("asked", "groups"),
    [
        (request("DescribeGroups", groups=["a", "b", "a"]), ("a", "b")),
        (request("FindCoordinator", key="a", key_type=0), ("a",)),
        (request("FindCoordinator", coordinator_keys=["a", "b"], key_type=1), ()),
        (request("DescribeConfigs", resources=[{"resource_type": 32, "resource_name": "a"}]), ("a",)),
        (request("Heartbeat", group_id="a"), ("a",)),
        (request("OffsetFetch", groups=[{"group_id": "a"}, {"group_id": "b"}]), ("a", "b")),
        (request("WriteShareGroupState", group_id="a"), ("a",)),
    ],
)
def test_groups_are_found(asked: Message, groups: tuple[str, ...]) -> None:
    """The groups a request names, each once; a coordinator's key and a resource are groups if their type says so."""
    assert groups_of(asked) == groups


def test_errors_stand_at_their_partition() -> None:
    """The partition is that of the entry with the code, by whatever name its field goes."""
    entry = {"topic": "t", "partition_result": [{"partition_id": 3, "error_code": 80}]}
    answer: Message = built(api("ElectLeaders").response, {"replica_election_results": [entry]})

    assert list(errors_of(answer)) == [FoundError(80, "t", 3)]


def test_empty_messages_are_about_nothing() -> None:
    """A message of defaults names nothing and has no error."""
    for each in APIS.values():
        assert (groups_of(each.request()), topics_of(each.request())) == ((), {}), each.name
        assert list(errors_of(each.response())) == [], each.name

"""What requests name, for the faults that mean some of them."""

import pytest

from fakebroker.broker.engine.faults.naming import Named, nameable, names_of, transactional_ids_of
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.registry import api
from tests.support.cluster import make_cluster

CLUSTER = make_cluster()
TOPIC_ID = CLUSTER.topics.create("by-id", 1).id


def request(name: str, **fields: object) -> Message:
    made: Message = built(api(name).request, fields)
    return made


BARE_T3 = {"topic_name": "t", "partitions": [3]}
N3 = {"name": "t", "partitions": [3]}
ASSIGNED_T3 = {"name": "t", "assignments": [{"partition_index": 3}]}
T3 = {"topic_name": "t", "partitions": [{"partition_index": 3}]}


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (
            request("AlterShareGroupOffsets", group_id="g", topics=[T3]),
            [Named("g", "t", 3)],
        ),
        (request("CreateTopics", topics=[ASSIGNED_T3]), [Named(None, "t", 3)]),
        (request("DeleteGroups", groups_names=["g", "h"]), [Named("g"), Named("h")]),
        (request("DeleteShareGroupOffsets", group_id="g", topics=[{"topic_name": "t"}]), [Named("g", "t")]),
        (request("DescribeQuorum", topics=[T3]), [Named(None, "t", 3)]),
        (
            request("DescribeShareGroupOffsets", groups=[{"group_id": "g", "topics": [BARE_T3]}]),
            [Named("g", "t", 3)],
        ),
        (request("DescribeTransactions", transactional_ids=["x"]), [Named()]),
        (
            request("AddPartitionsToTxn", transactions=[{"transactional_id": "x", "topics": [N3]}]),
            [Named(None, "t", 3)],
        ),
        (request("ConsumerGroupHeartbeat", group_id="g", subscribed_topic_names=["t"]), [Named("g", "t")]),
        (request("ShareGroupHeartbeat", group_id="g", subscribed_topic_names=["t"]), [Named("g", "t")]),
        (request("FindCoordinator", coordinator_keys=["g"], key_type=0), [Named("g")]),
        (request("FindCoordinator", coordinator_keys=["x"], key_type=1), [Named()]),
        (
            request("Fetch", forgotten_topics_data=[{"topic": "t", "partitions": [3]}]),
            [Named()],
        ),
        (request("Metadata", topics=[{"topic_id": TOPIC_ID}]), [Named(None, "by-id")]),
        (request("Metadata", topics=None), [Named()]),
    ],
)
def test_what_a_request_names(asked: Message, named: list[Named]) -> None:
    """A triple for each entry; one without anything where it names nothing."""
    assert list(names_of(asked, CLUSTER.topics)) == named


@pytest.mark.parametrize(
    ("name", "able"),
    [
        ("CreateTopics", {"topic", "partition"}),
        ("DeleteGroups", {"group"}),
        ("DescribeConfigs", {"group", "topic"}),
        ("DescribeTransactions", {"transactional_id"}),
        ("FindCoordinator", {"group", "transactional_id"}),
        ("Heartbeat", {"group"}),
        ("ListGroups", set()),
        ("ShareGroupHeartbeat", {"group", "topic"}),
    ],
)
def test_what_requests_can_name(name: str, able: set[str]) -> None:
    """A fault may be for what a request of some version names, and for nothing else."""
    names = nameable(api(name).request)._asdict()

    assert {each for each, is_able in names.items() if is_able} == able


def test_transactional_ids() -> None:
    """Of all fields that have them; a coordinator's key is one if its type says so."""
    assert list(transactional_ids_of(request("AddPartitionsToTxn", transactions=[{"transactional_id": "x"}]))) == ["x"]
    assert list(transactional_ids_of(request("AddPartitionsToTxn", v3_and_below_transactional_id="y"))) == ["y"]
    assert list(transactional_ids_of(request("DescribeTransactions", transactional_ids=["x", "y"]))) == ["x", "y"]
    assert list(transactional_ids_of(request("FindCoordinator", key="x", key_type=1))) == ["x"]
    assert list(transactional_ids_of(request("FindCoordinator", key="g", key_type=0))) == []
    assert list(transactional_ids_of(request("Produce", transactional_id=None))) == []

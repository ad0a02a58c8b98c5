"""Clusters whose first broker has another id than 1: 0 is an id like any other, wherever ids are used."""

from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker, VirtualBroker
from fakebroker.protocol.errors import ErrorCode, InvalidArgument
from fakebroker.testing.snapshot.snapshot import Snapshot
from tests.support.control import Client, with_control

IDS = [0, 1, 2]


@pytest.fixture
def broker() -> VirtualBroker:
    """Three brokers with ids from 0 on, and a topic with a replica on each."""
    broker = VirtualBroker(nodes=3, node_id=0, racks=["a", "b", "c"])
    broker.create_topic("orders", partitions=3, replication_factor=3)
    return broker


@pytest.mark.parametrize("node_id", [0, 1, 5, 1001])
def test_ids_go_on_from_the_first(node_id: int) -> None:
    """Of the brokers that it begins with, of one that is added, and of the one that `listen` means."""
    with FakeBroker(nodes=2, node_id=node_id, listen="127.0.0.1:0") as broker:
        assert [node.node_id for node in broker.nodes] == [node_id, node_id + 1]
        assert broker.listeners[0].node_id == node_id
        assert broker.add_node().node_id == node_id + 2
        metadata = broker.client().request("Metadata", 12, topics=[])
        assert sorted(each.node_id for each in metadata.brokers) == [node_id, node_id + 1, node_id + 2]
        assert metadata.controller_id in range(node_id, node_id + 3)
        broker.reset()
        assert [node.node_id for node in broker.nodes] == [node_id, node_id + 1]


@pytest.mark.parametrize("node_id", [-1, True, "0", 2**31])
def test_an_id_that_no_broker_can_have(node_id: Any) -> None:
    """The error names the option and what is right."""
    with pytest.raises(InvalidArgument, match=r"node_id: should be a whole number from 0 to"):
        VirtualBroker(node_id=node_id)


def test_metadata_and_leaders(broker: VirtualBroker) -> None:
    """Broker 0 is listed, leads and is in sync as the others are."""
    metadata = broker.client(node_id=0).request("Metadata", 12, topics=[{"name": "orders"}])
    assert sorted(each.node_id for each in metadata.brokers) == IDS
    partitions = metadata.topics[0].partitions
    assert sorted(each.leader_id for each in partitions) == IDS
    assert all(sorted(each.isr_nodes) == sorted(each.replica_nodes) == IDS for each in partitions)


def test_elections(broker: VirtualBroker) -> None:
    """Its death elects another leader, and its return as the preferred replica makes it the leader again."""
    orders = broker.topic("orders")
    led = next(orders.partition(index) for index, leader in orders.leaders.items() if leader == 0)
    broker.node(0).stop()
    assert (led.leader in (1, 2), sorted(led.in_sync)) == (True, [1, 2])
    broker.node(0).start()
    broker.clock.advance(minutes=10)
    assert sorted(led.in_sync) == IDS
    led.move_leader(to=0)
    assert led.leader == 0


def test_groups_and_transactions(broker: VirtualBroker) -> None:
    """Broker 0 coordinates what falls to it and is named for it."""
    found: dict[int, str] = {}
    for group_id in (f"g{number}" for number in range(50)):
        found.setdefault(broker.coordinator(group_id).node_id, group_id)
    assert sorted(found) == IDS
    client = broker.client(node_id=1)
    answer = client.request("FindCoordinator", 4, key_type=0, coordinator_keys=[found[0]])
    assert (answer.coordinators[0].error_code, answer.coordinators[0].node_id) == (0, 0)
    member = broker.client(node_id=0)
    member.join(found[0], ["orders"])
    assert [each.client_id for each in broker.group(found[0]).members] == ["client"]
    refused = client.request("Heartbeat", 4, group_id=found[0], generation_id=1, member_id="m")
    assert refused.error_code == ErrorCode.NOT_COORDINATOR
    broker.coordinator(found[0]).move(to=1)
    assert broker.coordinator(found[0]).node_id == 1
    broker.coordinator(found[0]).move(to=0)
    assert broker.coordinator(found[0]).node_id == 0


def test_it_is_described(broker: VirtualBroker) -> None:
    """DescribeCluster, DescribeConfigs and DescribeQuorum of broker 0."""
    client = broker.client(node_id=0)
    assert sorted(each.broker_id for each in client.request("DescribeCluster", 1).brokers) == IDS
    configs = client.request(
        "DescribeConfigs", 4, resources=[{"resource_type": 4, "resource_name": "0", "configuration_keys": ["node.id"]}]
    )
    assert [each.value for each in configs.results[0].configs] == ["0"]


def test_a_snapshot_keeps_the_ids(broker: VirtualBroker, tmp_path: Path) -> None:
    """Its fork has them; a cluster with other ids is none that it can be restored in."""
    broker.snapshot().save(tmp_path / "saved")
    snapshot = Snapshot.load(tmp_path / "saved")
    fork = snapshot.virtual_fork()
    assert [node.node_id for node in fork.nodes] == IDS
    assert sorted(fork.topic("orders").leaders.values()) == IDS
    with pytest.raises(InvalidArgument, match="nodes 0, 1, 2, but this broker has 1, 2, 3"):
        VirtualBroker(nodes=3).restore(snapshot)


def test_by_http() -> None:
    """An isolated broker has the option; paths name its nodes."""

    async def test(control: Client) -> None:
        made = await control.do("POST", "/brokers", {"nodes": 2, "node_id": 0})
        assert made["nodes"] == [0, 1]
        own = f"/brokers/{made['broker_id']}"
        assert [each["node_id"] for each in await control.get(f"{own}/nodes")] == [0, 1]
        await control.do("POST", f"{own}/nodes/0/stop")
        assert (await control.get(f"{own}/nodes/0"))["is_alive"] is False
        await control.do("POST", f"{own}/nodes/0/start")
        problem = await control.problem("POST", "/brokers", {"node_id": -1})
        assert (problem["status"], problem["field"]) == (422, "node_id")

    with_control(test)


def test_a_scenario_is_played_on_it() -> None:
    """An actor that consumes by itself finds the brokers by their ids."""
    text = """about: A consumer by itself.
topics: {orders: {partitions: 2}}
actors: [a]
timeline:
  - {a: consume billing, topics: [orders]}
  - {wait: {group: billing, state: Stable}, within: 30s}
"""

    async def test(control: Client) -> None:
        made = await control.do("POST", "/brokers", {"node_id": 0})
        own = f"/brokers/{made['broker_id']}"
        answer = await control.ask("POST", f"{own}/scenarios", {"scenario": text})
        assert answer.status_code == 202, answer.text
        play = answer.json()
        done = await control.do("POST", f"{own}/scenarios/{play['scenario_id']}/wait", {"timeout_s": 30.0})
        assert done["state"] == "passed", done

    with_control(test)


@pytest.mark.clients
def test_a_real_client_commits_at_broker_0() -> None:
    """librdkafka has no trouble with the id."""
    import confluent_kafka

    with FakeBroker(node_id=0) as broker:
        broker.create_topic("orders")
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "copier"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("orders", b"a")
        producer.commit_transaction(30)
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": "billing", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["orders"])
        message = consumer.poll(30)
        assert message is not None
        assert message.value() == b"a"
        consumer.commit(message=message, asynchronous=False)
        consumer.close()
        del producer, consumer  # while there is a broker
        assert [each.topic for each in broker.group("billing").committed] == ["orders"]

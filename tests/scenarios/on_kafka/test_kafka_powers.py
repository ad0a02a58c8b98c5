"""What a scenario asks a Kafka by its protocol: the same answers from a real one and from ours."""

import inspect
from collections.abc import Callable, Iterator, Mapping

import pytest

from fakebroker import FakeBroker
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import KafkaError, WaitTimeout
from fakebroker.scenarios.on_kafka.kafka_powers import MEMBERS, KafkaGroup, KafkaPowers, KafkaTopic
from fakebroker.testing.handles.group import GroupHandle
from fakebroker.testing.handles.topic import TopicHandle
from tests.support.real_kafka import RealKafka, needs_real_kafka, start_kafka

__all__ = ["start_kafka"]

SETTINGS = {"group.initial.rebalance.delay.ms": 0}


@pytest.fixture(params=["fakebroker", pytest.param("kafka", marks=[*needs_real_kafka, pytest.mark.slow])])
def driver(request: pytest.FixtureRequest) -> Iterator[TcpDriver]:
    """A way to a fakebroker, and one to a real Kafka."""
    if request.param == "kafka":
        start: Callable[[Mapping[str, object]], RealKafka] = request.getfixturevalue("start_kafka")
        kafka = start(SETTINGS)
        host, port = kafka.host, kafka.port
    else:
        broker: FakeBroker = request.getfixturevalue("fakebroker")
        host, _, text = broker.bootstrap.rpartition(":")
        port = int(text)
    driver = TcpDriver(host, port)
    yield driver
    driver.close_all()


def test_groups_are_as_describe_groups_and_offset_fetch_show_them(driver: TcpDriver) -> None:
    """State, protocol, members with subscription and assignment, offsets; then the group is deleted."""
    powers = KafkaPowers(ClusterClient(driver=driver))
    powers.create_topic("powers-orders", partitions=2)
    powers.prepare("powers-billing", transactions=True)
    group = powers.group("powers-billing")
    assert (group.state, group.exists, group.members, group.offsets) == ("Dead", False, [], {})

    client = ScriptedClients(driver).client("a")
    client.join("powers-billing", ["powers-orders"])
    client.sync({client.member_id: {"powers-orders": [0, 1]}})
    client.commit({("powers-orders", 1): 7})

    (member,) = group.members
    assert (group.state, group.protocol, group.exists) == ("Stable", "range", True)
    assert (member.member_id, member.client_id) == (client.member_id, "a")
    assert (member.subscription, member.assignment) == (("powers-orders",), {"powers-orders": [0, 1]})
    assert group.offsets == {("powers-orders", 1): 7}

    group.wait(state="Stable", members=1, offsets={("powers-orders", 1): 7})
    assert [each[:5] for each in group.committed] == [("powers-orders", 1, 7, -1, "")]
    with pytest.raises(WaitTimeout, match="Empty"):
        group.wait(state="Empty", timeout_s=0.1)

    client.leave()
    group.commit({("powers-orders", 0): 3, ("powers-orders", 1): 8})
    assert group.offsets == {("powers-orders", 0): 3, ("powers-orders", 1): 8}
    group.delete()
    assert group.state == "Dead"
    with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND"):
        group.delete()


def test_groups_with_epochs_are_as_their_describing_apis_show_them(driver: TcpDriver) -> None:
    """Kind, epochs, and whether members are where they shall be; a share group is one, too."""
    powers = KafkaPowers(ClusterClient(driver=driver))
    powers.create_topic("powers-jobs", partitions=2)
    powers.prepare("powers-modern", transactions=False)
    group = powers.group("powers-modern")
    assert (group.kind, group.state, group.epoch, group.is_reconciled) == (None, "Dead", -1, False)

    clients = ScriptedClients(driver)
    first, second = clients.client("a"), clients.client("b")
    first.join_consumer_group("powers-modern", ["powers-jobs"])
    group.wait(state="Stable", members=1, reconciled=True)
    assert (group.kind, group.epoch, group.assignment_epoch, group.is_reconciled) == ("consumer", 2, 2, True)
    driver.pass_time(1100)
    second.join_consumer_group("powers-modern", ["powers-jobs"])
    assert (group.state, group.epoch, group.is_reconciled) == ("Reconciling", 3, False)
    first.consumer_group_heartbeat()
    first.reconcile()
    second.consumer_group_heartbeat()
    group.wait(members=2, reconciled=True)

    first.join_share_group("powers-queue", ["powers-jobs"])
    assert (powers.group("powers-queue").kind, powers.group("powers-queue").state) == ("share", "Stable")
    first.leave_share_group()
    second.leave_consumer_group()


def test_topics_are_made_filled_read_and_deleted(driver: TcpDriver) -> None:
    """Records come back as they were produced; a topic that exists is not made again."""
    powers = KafkaPowers(ClusterClient(driver=driver))
    topic = powers.topic("powers-audit")
    assert not topic.exists

    powers.create_topic("powers-audit", partitions=2, config={"cleanup.policy": "compact"})
    assert (topic.exists, topic.partitions, topic.end_offsets) == (True, 2, {0: 0, 1: 0})
    assert topic.produce("a", "b", key="k", partition=1, headers=[("h", "1")], timestamp_ms=5) == 0
    assert topic.produce("c", key="l", partition=1) == 2

    first, _, third = topic.records(1)
    assert first == (1, 0, 5, b"k", b"a", (("h", b"1"),))
    assert (third.offset, third.value) == (2, b"c")
    assert len(topic.records()) == 3
    with pytest.raises(KafkaError, match="TOPIC_ALREADY_EXISTS"):
        powers.create_topic("powers-audit")
    topic.delete()


def test_its_settings_versions_and_brokers_are_asked_for(driver: TcpDriver) -> None:
    """A setting that does not exist is left out."""
    powers = KafkaPowers(ClusterClient(driver=driver))

    wanted = ["group.initial.rebalance.delay.ms", "offsets.retention.minutes", "no.such.setting"]
    assert powers.settings(wanted) == {
        "group.initial.rebalance.delay.ms": "0",
        "offsets.retention.minutes": "10080",
    }
    assert powers.node_ids() == [1]
    assert powers.versions()[11] == (0, 9)


@pytest.mark.parametrize(("kafkas", "ours"), [(KafkaGroup, GroupHandle), (KafkaTopic, TopicHandle)])
def test_what_a_kafka_does_has_the_arguments_of_the_object_model(kafkas: type[object], ours: type[object]) -> None:
    """A step that is played on both is written once."""
    subject = {KafkaGroup: "group", KafkaTopic: "topic"}[kafkas]
    for name in MEMBERS[subject]:
        mine, theirs = inspect.getattr_static(ours, name), inspect.getattr_static(kafkas, name)
        assert isinstance(mine, property) == isinstance(theirs, property), name
        if not isinstance(mine, property):
            known = inspect.signature(mine).parameters
            assert {each for each in inspect.signature(theirs).parameters if each not in known} == set(), name

"""Real clients in groups: every assignor, static members that restart, a second consumer that joins.

The same stories are played on a real Kafka (long), so that what is asked for here is what Kafka does.
"""

import time

import pytest

from tests.clients.brokers import Broker
from tests.clients.every_library import LIBRARIES, every_library, of
from tests.clients.group_of_topic import PARTITIONS, Join, broker, group_of, join, library, topic
from tests.clients.story import QUICK, Adapter, formed, joined, make_records, wait_all
from tests.support.real_kafka import start_kafka

__all__ = ["broker", "join", "library", "start_kafka", "topic"]

COOPERATIVE = "cooperative-sticky"
HEARTBEAT_S = QUICK["heartbeat_interval_ms"] / 1000
pytestmark = [pytest.mark.clients, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]


def with_strategies(*wanted: str) -> pytest.MarkDecorator:
    """Each library with each of these assignors that it has."""
    pairs = [(name, each) for name, library in LIBRARIES.items() for each in library.strategies if each in wanted]
    return pytest.mark.parametrize(("name", "strategy"), [of(*pair) for pair in pairs])


@pytest.mark.behaviour("Eager assignors")
@with_strategies("range", "roundrobin", "sticky")
def test_every_assignor(broker: Broker, topic: str, library: Adapter, join: Join, strategy: str) -> None:
    """With each assignor two members share the topic, and the survivor gets all of it when one leaves.

    Who of the two reads how much is not asserted: kafka-python 3.0.12 sometimes falls asleep when topic metadata and
    a sync answer come together, against Kafka 4.3.1 too, and its session timeout then hands all to the other one.
    """
    _two_members_and_one_leaves(broker, topic, library, join, strategy)


@pytest.mark.behaviour("Cooperative assignor")
@with_strategies(COOPERATIVE)
def test_the_cooperative_assignor(broker: Broker, topic: str, library: Adapter, join: Join, strategy: str) -> None:
    """The same with the assignor that takes partitions away only from those that give them up."""
    _two_members_and_one_leaves(broker, topic, library, join, strategy)


def _two_members_and_one_leaves(broker: Broker, topic: str, library: Adapter, join: Join, strategy: str) -> None:
    group = broker.group(group_of(topic))
    members = [join(partition_assignment_strategy=strategy) for _ in range(2)]
    formed(group, members)
    first, second = make_records(400, PARTITIONS), make_records(400, PARTITIONS, first=400)
    library.produce(broker.bootstrap, topic, first, "none")
    wait_all(members, {record.value for record in first})
    assert group.described().protocol == library.strategies[strategy]

    members[0].stop()
    formed(group, members[1:])
    library.produce(broker.bootstrap, topic, second, "none")
    wait_all(members, {record.value for record in second})
    members[1].stop()


COOPERATIVE_BY_DEFAULT = ("franz-go",)


@pytest.mark.rules("JG-23", "LG-10")
@pytest.mark.behaviour("A static member restarts")
@pytest.mark.parametrize("name", [of(name) for name in LIBRARIES if name != "kafkajs"])  # it has no static members
def test_a_static_member_restarts(broker: Broker, topic: str, library: Adapter, join: Join) -> None:
    """It comes back within its session timeout and goes on without a rebalance."""
    group = broker.group(group_of(topic))
    members = [join(group_instance_id=each) for each in ("a", "b")]
    formed(group, members)
    records = make_records(400, PARTITIONS)
    library.produce(broker.bootstrap, topic, records, "none")
    wait_all(members, {record.value for record in records})
    generation = group.generation

    members[1].stop()
    members[1] = join(group_instance_id="b")
    more = make_records(400, PARTITIONS, first=400)
    library.produce(broker.bootstrap, topic, more, "none")
    wait_all(members, {record.value for record in more})

    assert members[1].received
    # What a cooperative client owned is in its metadata after one rebalance more than usual, as on a busy machine. It
    # comes back without, and other metadata are a rebalance in Kafka, too.
    most = generation + 1 if library.name in COOPERATIVE_BY_DEFAULT else generation
    assert group.described().state == "Stable"
    assert generation <= group.generation <= most
    for member in members:
        member.stop()


@every_library
def test_a_second_consumer_gets_its_share_soon(broker: Broker, topic: str, join: Join) -> None:
    """The first member hears of the rebalance with its next heartbeat; more than that nobody has to wait."""
    group = broker.group(group_of(topic))
    members = [join()]
    formed(group, members)

    members.append(join())
    joined(group, 2)
    began_s = time.monotonic()
    formed(group, members)

    assert time.monotonic() - began_s < HEARTBEAT_S + 2  # 0.2 s on a quiet machine; the client's own poll counts too
    for member in members:
        member.stop()

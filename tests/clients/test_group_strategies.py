"""Real Python clients in groups: every assignor, static members that restart, a second consumer that joins."""

import importlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from fakebroker import FakeBroker
from tests.clients.libraries import LIBRARIES
from tests.clients.story import KEEPS_OLD_RECORDS, Adapter, Member, formed, make_records, wait_all

PARTITIONS = 4
HEARTBEAT_S = 0.2  # of libraries.QUICK
pytestmark = [KEEPS_OLD_RECORDS, pytest.mark.clients, pytest.mark.filterwarnings("ignore")]

Options = dict[str, Any]


def kafka_python(module: str, name: str) -> Callable[[], Options]:
    def options() -> Options:
        assignor = getattr(importlib.import_module(f"kafka.coordinator.assignors.{module}"), name)
        return {"partition_assignment_strategy": [assignor]}

    return options


def aiokafka(module: str, name: str) -> Callable[[], Options]:
    def options() -> Options:
        assignor = getattr(importlib.import_module(f"aiokafka.coordinator.assignors.{module}"), name)
        return {"partition_assignment_strategy": (assignor,)}

    return options


def confluent(name: str) -> Callable[[], Options]:
    return lambda: {"partition_assignment_strategy": name}


STRATEGIES: dict[str, tuple[str, str, Callable[[], Options]]] = {
    **{
        f"confluent-{name}": ("confluent", name, confluent(name))
        for name in ("range", "roundrobin", "cooperative-sticky")
    },
    "kafka-python-range": ("kafka-python", "range", kafka_python("range", "RangePartitionAssignor")),
    "kafka-python-roundrobin": (
        "kafka-python",
        "roundrobin",
        kafka_python("roundrobin", "RoundRobinPartitionAssignor"),
    ),
    "kafka-python-sticky": (
        "kafka-python",
        "sticky",
        kafka_python("sticky.sticky_assignor", "StickyPartitionAssignor"),
    ),
    "aiokafka-range": ("aiokafka", "range", aiokafka("range", "RangePartitionAssignor")),
    "aiokafka-roundrobin": ("aiokafka", "roundrobin", aiokafka("roundrobin", "RoundRobinPartitionAssignor")),
    "aiokafka-sticky": ("aiokafka", "sticky", aiokafka("sticky.sticky_assignor", "StickyPartitionAssignor")),
}


def start(broker: FakeBroker, library: Adapter, options: Options) -> Member:
    return Member(lambda: library.consumer(broker.bootstrap, "orders", "billing", **options))


@pytest.mark.parametrize(("library", "protocol", "options"), STRATEGIES.values(), ids=STRATEGIES)
def test_every_assignor(fakebroker: FakeBroker, library: str, protocol: str, options: Callable[[], Options]) -> None:
    """With each assignor two members share the topic, and the survivor gets all of it when one leaves.

    Who of the two reads how much is not asserted: kafka-python 3.0.12 sometimes falls asleep when topic metadata and
    a sync answer come together, against Kafka 4.3.1 too, and its session timeout then hands all to the other one.
    """
    client = LIBRARIES[library]
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    group = fakebroker.group("billing")
    members = [start(fakebroker, client, options()) for _ in range(2)]
    formed(group, members)
    first, second = make_records(400, PARTITIONS), make_records(400, PARTITIONS, first=400)
    client.produce(fakebroker.bootstrap, "orders", first, "none")
    wait_all(members, {record.value for record in first})
    assert group.protocol == protocol

    members[0].stop()
    formed(group, members[1:])
    client.produce(fakebroker.bootstrap, "orders", second, "none")
    wait_all(members, {record.value for record in second})
    members[1].stop()


@pytest.mark.rules("JG-23", "LG-10")
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_static_member_restarts(fakebroker: FakeBroker, name: str) -> None:
    """It comes back within its session timeout and goes on without a rebalance."""
    library = LIBRARIES[name]
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    group = fakebroker.group("billing")
    members = [start(fakebroker, library, {"group_instance_id": each}) for each in ("a", "b")]
    formed(group, members)
    records = make_records(400, PARTITIONS)
    library.produce(fakebroker.bootstrap, "orders", records, "none")
    wait_all(members, {record.value for record in records})
    generation = group.generation

    members[1].stop()
    members[1] = start(fakebroker, library, {"group_instance_id": "b"})
    more = make_records(400, PARTITIONS, first=400)
    library.produce(fakebroker.bootstrap, "orders", more, "none")
    wait_all(members, {record.value for record in more})

    assert members[1].received
    assert (group.state, group.generation) == ("Stable", generation)
    for member in members:
        member.stop()


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_second_consumer_gets_its_share_soon(fakebroker: FakeBroker, name: str) -> None:
    """The first member hears of the rebalance with its next heartbeat; more than that nobody has to wait."""
    library = LIBRARIES[name]
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    group = fakebroker.group("billing")
    members = [start(fakebroker, library, {})]
    formed(group, members)

    members.append(start(fakebroker, library, {}))
    group.wait(members=2, timeout_s=30)  # it has joined
    joined = time.monotonic()
    formed(group, members)

    assert time.monotonic() - joined < HEARTBEAT_S + 2  # 0.2 s on a quiet machine; the client's own poll counts too
    for member in members:
        member.stop()

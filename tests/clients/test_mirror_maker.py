"""MirrorMaker 2 between two brokers: records, offsets of groups, and no error line."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.clients.java_programs import JavaProgram, needs_jars
from tests.support.eventually import eventually
from tests.support.real_kafka import needs_real_kafka, running_kafka

pytestmark = [
    pytest.mark.clients,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    needs_jars("connect-mirror", "MIRRORMAKER"),
]
PROGRAM = "org.apache.kafka.connect.mirror.MirrorMaker"
COUNT = 10
WITH_KAFKA = [*needs_real_kafka, pytest.mark.long]
INTERVALS = ("emit.checkpoints", "sync.group.offsets", "refresh.topics", "refresh.groups", "sync.topic.acls")
OWN_TOPICS = ("", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.")
STORES = ("offset.storage.", "status.storage.", "config.storage.")


@pytest.fixture(
    params=[
        pytest.param(("fakebroker", "fakebroker")),
        pytest.param(("kafka", "fakebroker"), marks=WITH_KAFKA),
        pytest.param(("fakebroker", "kafka"), marks=WITH_KAFKA),
    ],
    ids="-to-".join,
)
def both(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Where the brokers listen between which MirrorMaker copies, east to west."""
    with ExitStack() as stack:
        brokers: list[Any] = [
            stack.enter_context(FakeBroker() if kind == "fakebroker" else running_kafka()) for kind in request.param
        ]
        yield brokers[0].bootstrap, brokers[1].bootstrap


def settings(east: str, west: str) -> str:
    """What MirrorMaker is started with: it copies and asks every second."""
    lines = ["clusters=east,west", f"east.bootstrap.servers={east}", f"west.bootstrap.servers={west}"]
    lines += ["east->west.enabled=true", "west->east.enabled=true", "topics=orders", "groups=billing"]
    lines += [f"{name}.interval.seconds=1" for name in INTERVALS]
    lines += [f"{name}replication.factor=1" for name in (*OWN_TOPICS, *STORES)]
    return "\n".join([*lines, "sync.group.offsets.enabled=true", ""])


def client_of(bootstrap: str, clients: list[ScriptedClients]) -> ScriptedClient:
    """A client of our own."""
    host, port = bootstrap.rsplit(":", 1)
    clients.append(ScriptedClients(TcpDriver(host, int(port))))
    return clients[-1].client("test")


def end_offset(client: ScriptedClient, topic: str) -> int:
    """How many records a topic of one partition has; -1 if there is none yet."""
    _, _, _, _, offset, _ = client.list_offsets(topic, 0, at="latest").topics[0].partitions[0]
    return int(offset)


def committed(client: ScriptedClient, topic: str) -> int:
    """The offset that the group has committed; -1 if none."""
    _, offset, *_ = client.committed("billing", [(topic, 0)]).topics[0].partitions[0]
    return int(offset)


def test_mirror_maker_copies_records_and_offsets_and_has_no_error_to_log(both: tuple[str, str], tmp_path: Path) -> None:
    """What is in east comes to west under its name with a prefix, and so does the group's offset."""
    clients: list[ScriptedClients] = []
    east, west = (client_of(bootstrap, clients) for bootstrap in both)
    east.create_topic("orders", 1)
    eventually(lambda: end_offset(east, "orders") == 0)
    east.produce("orders", 0, [f"record {n}" for n in range(COUNT)])
    east.commit({("orders", 0): COUNT}, group_id="billing")
    properties = tmp_path / "mirror.properties"
    properties.write_text(settings(*both))

    mirror = JavaProgram(PROGRAM, [str(properties)], tmp_path / "mirror.log")
    try:
        mirror.wait("the records are in west", lambda: end_offset(west, "east.orders") == COUNT, 180)
        mirror.wait("the offset is in west", lambda: committed(west, "east.orders") == COUNT, 120)
        errors = re.findall(r"^.* ERROR .*$", mirror.printed, re.M)
    finally:
        mirror.kill()
        for each in clients:
            each.close()

    assert errors == []

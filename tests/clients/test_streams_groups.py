"""Kafka Streams whose tasks the broker assigns (group.protocol=streams): standby tasks, and an instance that is killed.

The same story is played on a real Kafka, so that what is asked for here is what Kafka does.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.clients.committed import (
    EITHER_BROKER,
    bootstrap_of,
    committed,
    configure_group,
    create_topics,
    produce,
)
from tests.clients.java_programs import JavaProgram, needs_jars
from tests.clients.test_java_transactions import Start, counted, start
from tests.support.real_kafka import start_kafka

__all__ = ["start", "start_kafka"]

GROUP = "word-count"  # the application's id
PARTITIONS = 4
WORDS = ["to", "be", "or", "not", "that", "is", "the", "question"]
# So that who was killed is missed soon, its transaction is over soon, and members hear of a change at once.
SOON = {
    "group.streams.min.session.timeout.ms": 1_000,
    "group.streams.session.timeout.ms": 8_000,
    "group.streams.min.heartbeat.interval.ms": 100,
    "group.streams.heartbeat.interval.ms": 300,
    "group.streams.initial.rebalance.delay.ms": 500,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
}

pytestmark = [
    pytest.mark.clients,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
    needs_jars("kafka-streams", "A STREAMS GROUP"),
]


@pytest.fixture(params=EITHER_BROKER)
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Where a broker listens: fakebroker, or a real Kafka."""
    return bootstrap_of(request, SOON)


@pytest.fixture
def admin(bootstrap: str) -> Iterator[ScriptedClient]:
    """A client that asks what the group is like."""
    host, port = bootstrap.rsplit(":", 1)
    clients = ScriptedClients(TcpDriver(host, int(port)))
    yield clients.client("admin")
    clients.close()


Tasks = list[tuple[str, int]]


def tasks(admin: ScriptedClient, role: str) -> list[Tasks]:
    """The tasks of each member in a role, "active" or "standby"; empty while the group is not Stable."""
    (group,) = admin.request("StreamsGroupDescribe", group_ids=[GROUP]).groups
    if group.group_state != "Stable":
        return []
    return [
        sorted(
            (entry.subtopology_id, number)
            for entry in getattr(member.assignment, f"{role}_tasks")
            for number in entry.partitions
        )
        for member in group.members
    ]


@pytest.mark.rules("STH-10", "STT-5", "STT-7", "STA-4", "STA-5", "STM-1", "STE-3", "STC-2")
def test_two_instances_count_words_exactly_once_and_one_is_killed(
    bootstrap: str, admin: ScriptedClient, start: Start, tmp_path: Path
) -> None:
    """The broker makes the internal topics and shares out the tasks, each state with a standby elsewhere.

    The survivor has every task after the dead one's session, and each word's counts are 1, 2, 3, ...
    """
    create_topics(bootstrap, lines=PARTITIONS, counts=1)
    configure_group(bootstrap, GROUP, streams_num_standby_replicas=1)
    survivor, killed = [
        start("WordCount.java", bootstrap, str(tmp_path / f"state-{number}"), "group.protocol=streams")
        for number in range(2)
    ]
    everything = sorted((subtopology, number) for subtopology in "01" for number in range(PARTITIONS))
    stateful = [each for each in everything if each[0] == "1"]
    await_tasks(survivor, admin, active=everything, members=2, standby=stateful)
    lines = [f"{WORDS[n % 8]} {WORDS[n // 8 % 8]} {WORDS[n * n % 8]}" for n in range(600)]

    produce(bootstrap, "lines", lines[:300])
    survivor.wait("the first counts", lambda: len(committed(bootstrap, "counts")) > 100)
    produce(bootstrap, "lines", lines[300:400])
    killed.kill()
    produce(bootstrap, "lines", lines[400:])
    wanted = Counter(" ".join(lines).split())
    survivor.wait("all counts", lambda: len(committed(bootstrap, "counts")) >= wanted.total())
    await_tasks(survivor, admin, active=everything, members=1, standby=[])

    assert counted(committed(bootstrap, "counts")) == {
        word: list(range(1, count + 1)) for word, count in wanted.items()
    }
    survivor.end()
    assert "closed" in survivor.printed


def await_tasks(program: JavaProgram, admin: ScriptedClient, active: Tasks, members: int, standby: Tasks) -> None:
    """Until so many members have these active and standby tasks among them, as equally as can be."""

    def are_there() -> bool:
        found = tasks(admin, "active")
        sizes = {len(each) for each in found}
        has_all = sorted(task for each in found for task in each) == active and sizes == {len(active) // members}
        return has_all and sorted(task for each in tasks(admin, "standby") for task in each) == standby

    program.wait(f"{members} members have all tasks", are_there)

"""Groups of the new protocols in a cluster whose brokers come and go: real clients find the coordinator and go on."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.clients.committed import committed, configure_group, produce
from tests.clients.java_programs import JavaProgram, needs_jars
from tests.clients.members import LANGUAGES, Cast
from tests.clients.test_consumer_groups import SOON, all_read, balanced, partitions, values
from tests.clients.test_java_transactions import counted

GROUP = "billing"
# Members hear of a change at once; nobody's session ends while a broker is away.
CONFIG = {**SOON, "group.consumer.session.timeout.ms": 45_000, "group.share.min.heartbeat.interval.ms": 100}
CONFIG |= {"group.share.heartbeat.interval.ms": 300, "group.streams.min.heartbeat.interval.ms": 100}
CONFIG |= {"group.streams.heartbeat.interval.ms": 300, "group.streams.initial.rebalance.delay.ms": 500}
CONFIG |= {"log.retention.ms": -1, "default.replication.factor": 3}

pytestmark = [
    pytest.mark.fakebroker(nodes=3, config=CONFIG),
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]


@pytest.fixture(params=LANGUAGES)
def cast(request: pytest.FixtureRequest, fakebroker: FakeBroker, tmp_path: Path) -> Iterator[Cast]:
    """The members of a test, of one language."""
    made = Cast(fakebroker.bootstrap, request.param, tmp_path)
    yield made
    made.close()


def move_coordinator(broker: FakeBroker) -> None:
    """The group's coordinator goes to the next node."""
    coordinator = broker.coordinator(GROUP)
    coordinator.move(coordinator.node_id % 3 + 1)


@pytest.mark.rules("CGT-4", "CGH-6", "CGB-1")
def test_consumers_go_on_when_their_coordinator_moves_and_dies(fakebroker: FakeBroker, cast: Cast) -> None:
    """It moves twice, is killed and comes back; between that records are read, and a third member gets its share."""
    fakebroker.create_topic("orders", partitions=6)
    stage, settings = cast.stage(), {"topics": "orders", "group.id": GROUP, "group.protocol": "consumer"}
    members = [stage.start("consumer", **settings) for _ in range(2)]
    balanced(cast, partitions("orders"), *members)
    sent = itertools.count(0, 60)

    def more_is_read() -> None:
        first = next(sent)
        produce(fakebroker.bootstrap, "orders", values(60, first=first))
        all_read(cast, values(first + 60), *members)

    more_is_read()
    for _ in range(2):
        move_coordinator(fakebroker)
        more_is_read()
    killed = fakebroker.node(fakebroker.coordinator(GROUP).node_id)
    killed.kill()
    more_is_read()
    members.append(stage.start("consumer", **settings))
    balanced(cast, partitions("orders"), *members)
    killed.start()
    more_is_read()
    fakebroker.group(GROUP).wait(reconciled=True, members=3, timeout_s=60)

    assert sorted(value for each in members for value in set(each.values)) == sorted(values(next(sent)))


@pytest.mark.rules("SGP-1", "SGP-9", "SGB-3", "SGH-12")
def test_share_consumers_lose_nothing_when_leaders_die(fakebroker: FakeBroker, cast: Cast) -> None:
    """Each node is killed once and comes back: every record is delivered, and nothing is left when all was accepted."""
    fakebroker.create_topic("jobs", partitions=2)
    configure_group(fakebroker.bootstrap, GROUP, share_auto_offset_reset="earliest")
    stage = cast.stage()
    members = [stage.start("share", **{"topics": "jobs", "group.id": GROUP}) for _ in range(2)]
    cast.wait("they take part", lambda: len(fakebroker.group(GROUP).members) == 2)

    for node_id in (1, 2, 3):
        first = 40 * (node_id - 1)
        produce(fakebroker.bootstrap, "jobs", values(20, first=first))
        fakebroker.node(node_id).kill()
        produce(fakebroker.bootstrap, "jobs", values(20, first=first + 20))
        all_read(cast, values(first + 40), *members)
        fakebroker.node(node_id).start()
    for each in members:
        each.stop()

    heir = stage.start("share", **{"topics": "jobs", "group.id": GROUP})
    produce(fakebroker.bootstrap, "jobs", ["last"])
    cast.wait("the last one", lambda: bool(heir.read))
    assert heir.values == ["last"]


@pytest.mark.java
@needs_jars("kafka-streams", "A STREAMS GROUP IN A CLUSTER")
@pytest.mark.rules("STE-1", "STM-1", "STB-1")
def test_streams_count_exactly_once_while_brokers_die(fakebroker: FakeBroker, tmp_path: Path) -> None:
    """The coordinator moves, then each node is killed once and comes back: counts are 1, 2, 3, ... nevertheless."""
    fakebroker.create_topic("lines", partitions=4)
    fakebroker.create_topic("counts", partitions=1)
    settings = ["group.protocol=streams", "replication.factor=3", f"application.id={GROUP}"]
    log = tmp_path / "word-count.log"
    program = JavaProgram("WordCount.java", [fakebroker.bootstrap, str(tmp_path / "state"), *settings], log)
    words = ["to be", "or not", "to be", "that is", "the question"]
    sent: list[str] = []

    def more_is_counted() -> None:
        produce(fakebroker.bootstrap, "lines", words)
        sent.extend(" ".join(words).split())
        program.wait("all counts", lambda: len(committed(fakebroker.bootstrap, "counts")) >= len(sent))

    try:
        program.wait("it runs", lambda: "RUNNING" in program.printed)
        more_is_counted()
        move_coordinator(fakebroker)
        more_is_counted()
        for node_id in (1, 2, 3):
            fakebroker.node(node_id).kill()
            more_is_counted()
            fakebroker.node(node_id).start()
        more_is_counted()
        wanted = {word: list(range(1, count + 1)) for word, count in Counter(sent).items()}
        assert counted(committed(fakebroker.bootstrap, "counts")) == wanted
        program.end()
        assert "closed" in program.printed
    finally:
        program.kill()

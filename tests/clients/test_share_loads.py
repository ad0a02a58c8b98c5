"""Share consumers that real clients keep busy: small batches in rapid turn, and records far above a fetch's limit.

Every record is delivered once and acknowledged, and no answer of the broker has an error.
"""

import importlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.clients.committed import TIMEOUT_S, configure_group
from tests.clients.members import LANGUAGES, Cast

pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]
GROUP = "workers"
TOPICS = [f"jobs{number}" for number in range(8)]
PARTITIONS = 4
RECORDS, BURST = 1600, 40
SIZES = (10, 10, 10, 10, 10, 10, 10, 1_000, 20_000, 200_000)
SETTINGS = {
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": 300,
    "group.initial.rebalance.delay.ms": 0,
}
# Less than most batches have, in the words of each client; librdkafka takes no fewer than its largest message.
LITTLE: dict[str, dict[str, object]] = {
    "java": {"fetch.max.bytes": 1000, "max.partition.fetch.bytes": 1000, "max.poll.records": 50},
    "confluent-kafka": {"fetch.max.bytes": 1000, "message.max.bytes": 1000, "max.poll.records": 50},
    "franz-go": {"fetch.max.bytes": 1000, "max.poll.records": 50},
}


@pytest.fixture
def broker(fakebroker_factory: Callable[..., FakeBroker]) -> FakeBroker:
    """A broker with the topics."""
    made = fakebroker_factory(config=SETTINGS)
    for topic in TOPICS:
        made.create_topic(topic, partitions=PARTITIONS)
    return made


@pytest.fixture(params=LANGUAGES)
def cast(request: pytest.FixtureRequest, broker: FakeBroker, tmp_path: Path) -> Iterator[Cast]:
    """The members of a test, of one language."""
    made = Cast(broker.bootstrap, request.param, tmp_path)
    yield made
    made.close()


def load(bootstrap: str) -> list[str]:
    """Produce records in small batches, partition by partition in turn; all values."""
    kafka = importlib.import_module("confluent_kafka")
    producer = kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "batch.num.messages": 3})
    sizes = random.Random(1)
    values = []
    for number in range(RECORDS):
        topic, partition = TOPICS[number % len(TOPICS)], number // len(TOPICS) % PARTITIONS
        value = f"{number}:".ljust(sizes.choice(SIZES), "x")
        producer.produce(topic, value, partition=partition)
        values.append(value)
        if number % BURST == 0:
            producer.flush(TIMEOUT_S)
    assert producer.flush(TIMEOUT_S) == 0
    return values


def unfinished(broker: FakeBroker) -> list[str]:
    """Share partitions with records that are not acknowledged."""
    views = {(each.topic, each.partition): each for each in broker.group(GROUP).share_partitions}
    each_has = RECORDS // len(TOPICS) // PARTITIONS
    wanted = [(topic, partition) for topic in TOPICS for partition in range(PARTITIONS)]
    return [f"{key}: {views.get(key)}" for key in wanted if key not in views or views[key].start_offset != each_has]


@pytest.mark.rules("SGF-14", "SGP-1", "SGP-4", "SGK-1")
def test_small_batches_and_records_above_the_limit(broker: FakeBroker, cast: Cast) -> None:
    """Two members read 32 partitions while they are written."""
    configure_group(cast.bootstrap, GROUP, share_auto_offset_reset="earliest")
    settings = {"topics": ",".join(TOPICS), "group.id": GROUP, **LITTLE[cast.language]}
    members = [stage.start("share", **settings) for stage in (cast.stage(), cast.stage())]
    cast.wait("they take part", lambda: len(broker.group(GROUP).members) == 2)

    produced = load(cast.bootstrap)
    cast.wait("all records", lambda: sum(len(each.read) for each in members) >= len(produced))
    cast.wait("all acknowledged", lambda: not unfinished(broker), timeout_s=30)
    read = [record for each in members for record in each.read]
    assert Counter(each.value for each in read) == Counter(produced)
    assert {each.delivery_count for each in read} == {1}
    for each in members:
        each.stop()

    for api in ("ShareFetch", "ShareAcknowledge"):
        answered = broker.journal.requests(api)
        assert [(each.api, each.errors) for each in answered if any(each.errors)] == []
    assert broker.errors == []
    assert broker.journal.events("internal_error") == []

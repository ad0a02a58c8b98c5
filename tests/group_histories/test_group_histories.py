"""Random histories of groups tell on a running Kafka 4.3.1 what they tell here, down to the records.

FAKEBROKER_SEED is the first seed; without one the histories are always the same.
"""

from collections.abc import Iterator

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.group_histories.consumer_history import SETTINGS as CONSUMER_SETTINGS
from tests.group_histories.consumer_history import ConsumerHistory
from tests.group_histories.history import Answered, GroupHistory, TopicIds, first_difference
from tests.group_histories.migration_history import MigrationHistory
from tests.group_histories.share_fetch_history import ShareFetchHistory
from tests.group_histories.share_history import SETTINGS as SHARE_SETTINGS
from tests.group_histories.share_history import ShareHistory
from tests.group_histories.streams_history import SETTINGS as STREAMS_SETTINGS
from tests.group_histories.streams_history import StreamsHistory
from tests.support.chance import SEED
from tests.support.real_kafka import SETTINGS as KAFKA_SETTINGS
from tests.support.real_kafka import RealKafka, needs_real_kafka, running_kafka

HISTORIES = 6
NUMBERS = [0, *[pytest.param(number, marks=pytest.mark.long) for number in range(1, HISTORIES)]]
KINDS: list[type[GroupHistory]] = [ConsumerHistory, MigrationHistory, ShareHistory, ShareFetchHistory, StreamsHistory]
SETTINGS = {**CONSUMER_SETTINGS, **SHARE_SETTINGS, **STREAMS_SETTINGS}
OURS = {**SETTINGS, **{name: value for name, value in KAFKA_SETTINGS.items() if name.endswith("num.partitions")}}


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """A running Kafka."""
    with running_kafka(SETTINGS) as running:
        yield running


def answers_of_kafka(running: RealKafka, kind: type[GroupHistory], seed: int) -> tuple[list[Answered], list[bytes]]:
    """What a history tells on Kafka, and the ids of its topics."""
    clients = ScriptedClients(TcpDriver(running.host, running.port))
    ids = TopicIds()
    answers = kind(clients, seed, ids).play()
    clients.close()
    return answers, ids.ids


def answers_here(kind: type[GroupHistory], seed: int, ids: list[bytes] | None = None) -> list[Answered]:
    """What a history tells on a broker in virtual time, whose topics have these ids."""
    with VirtualBroker(profile="kafka", config=OURS) as broker:
        topic_ids = TopicIds() if ids is None else TopicIds(broker._server.engine.cluster, ids)
        return kind(ScriptedClients(broker.driver), seed, topic_ids).play()


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_history_tells_the_same_on_a_running_kafka(kafka: RealKafka, kind: type[GroupHistory], number: int) -> None:
    """Every answer that a client got, and every record that was written."""
    seed = SEED + number
    answers, ids = answers_of_kafka(kafka, kind, seed)

    difference = first_difference(answers, answers_here(kind, seed, ids))
    assert difference is None, f"seed {seed}, one is Kafka, the other is fakebroker:\n{difference}"


for mark in needs_real_kafka:
    test_a_history_tells_the_same_on_a_running_kafka = mark(test_a_history_tells_the_same_on_a_running_kafka)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_same_seed_is_the_same_history(kind: type[GroupHistory]) -> None:
    """In virtual time, whatever it is played on."""
    assert answers_here(kind, 7) == answers_here(kind, 7)

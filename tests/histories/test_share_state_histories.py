"""Random states of share partitions are on a running Kafka what they are here.

FAKEBROKER_SEED is the first seed; without one the histories are always the same.
"""

from collections.abc import Iterator

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.chance import SEED
from tests.support.real_kafka import VERSION, RealKafka, needs_kafka, running_kafka
from tests.support.share_state_history import SETTINGS, ShareStateHistory
from tests.support.transaction_history import Answered, first_difference

HISTORIES = 4


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """A Kafka that takes a snapshot after every third update."""
    with running_kafka(SETTINGS) as running:
        yield running


def answers_here(seed: int) -> list[Answered]:
    """What a history tells on a broker in virtual time."""
    with VirtualBroker(profile="kafka", config=dict(SETTINGS)) as broker:
        return ShareStateHistory(ScriptedClients(broker.driver), seed).play()


def marked(number: int) -> object:
    """The parameter of a test that asks a Kafka."""
    return pytest.param(number, marks=[*needs_kafka(VERSION), pytest.mark.slow])


@pytest.mark.rules("SGB-3", "SGB-4")
@pytest.mark.random
@pytest.mark.parametrize("number", [marked(number) for number in range(HISTORIES)])
def test_a_history_tells_the_same_on_a_running_kafka(kafka: RealKafka, number: int) -> None:
    """Codes, epochs, offsets, counts, and the state of every record."""
    seed = SEED + number
    clients = ScriptedClients(TcpDriver(kafka.host, kafka.port))
    answers = ShareStateHistory(clients, seed).play()
    clients.close()

    difference = first_difference(answers, answers_here(seed))
    assert difference is None, f"seed {seed}, one is Kafka {VERSION}, the other is fakebroker:\n{difference}"


def test_a_history_asks_for_much() -> None:
    """Among its answers are all codes that a share coordinator gives, and states with several records."""
    answers = [answer for seed in range(2) for _, answer in answers_here(seed)]

    assert {answer["error_code"] for answer in answers} == {
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
    }
    assert max(len(answer) for answer in answers) > 20


def test_the_same_seed_is_the_same_history() -> None:
    """In virtual time, whatever it is played on."""
    assert answers_here(7) == answers_here(7)

"""Random rights, and requests of clients that have them or not: a running Kafka answers what is answered here.

FAKEBROKER_SEED is the first seed; without one the histories are always the same.
"""

from collections.abc import Iterator

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.chance import SEED
from tests.support.real_kafka import VERSION, RealKafka, needs_kafka, running_kafka
from tests.support.rights_history import SETTINGS, RightsHistory, codes_in
from tests.support.transaction_history import Answered, first_difference

HISTORIES = 3
SETTLE_MS = 40  # between the authorizers of broker and controller


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """A Kafka with the same authorizer, and a listener where users log in."""
    with running_kafka(SETTINGS, listeners={"SASL_PLAINTEXT": "SASL_PLAINTEXT"}) as running:
        yield running


def answers_here(seed: int) -> list[Answered]:
    """What a history tells on a broker in virtual time."""
    config = {**SETTINGS, "listeners": "SASL_PLAINTEXT://:9092"}
    with VirtualBroker(profile="kafka", config=config) as broker:
        answers = RightsHistory(ScriptedClients(broker.driver), seed, settle_ms=0).play()
        assert broker.errors == []
        return answers


def marked(number: int) -> object:
    """The parameter of a test that asks a Kafka."""
    return pytest.param(number, marks=[*needs_kafka(VERSION), pytest.mark.slow])


@pytest.mark.rules("AU-2", "AU-4", "AU-6", "AU-14")
@pytest.mark.random
@pytest.mark.parametrize("number", [marked(number) for number in range(HISTORIES)])
def test_a_history_tells_the_same_on_a_running_kafka(kafka: RealKafka, number: int) -> None:
    """Every API's codes, what is left out, and authorized operations."""
    seed = SEED + number
    host, _, port = kafka.addresses["SASL_PLAINTEXT"].rpartition(":")
    clients = ScriptedClients(TcpDriver(host, int(port)))
    answers = RightsHistory(clients, seed, settle_ms=SETTLE_MS).play()
    clients.close()

    difference = first_difference(answers, answers_here(seed))
    assert difference is None, f"seed {seed}, one is Kafka {VERSION}, the other is fakebroker:\n{difference}"


def test_a_history_refuses_and_allows() -> None:
    """Among its answers are the codes of all refusals, and as many requests that went through."""
    codes = [code for seed in range(3) for each in answers_here(seed) for code in codes_in(each.answer)]

    assert {29, 30, 31, 53, 65} <= set(codes)
    assert codes.count(0) > len(codes) / 5


def test_the_same_seed_is_the_same_history() -> None:
    """In virtual time, whatever it is played on."""
    assert answers_here(7) == answers_here(7)

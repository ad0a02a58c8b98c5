"""Random transactional histories tell on a running Kafka, 4.3.1 and 3.9.1, what they tell here.

FAKEBROKER_SEED is the first seed; without one the histories are always the same.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.testing.virtual_broker import VirtualBroker
from fakebroker.types import ReleaseName
from tests.support.chance import SEED
from tests.support.real_kafka import OLDER_VERSION, VERSION, RealKafka, needs_kafka, running_kafka
from tests.support.real_kafka import SETTINGS as KAFKA_SETTINGS
from tests.support.transaction_history import SETTINGS, Answered, TransactionHistory, first_difference

HISTORIES = 6
NUMBERS = [0, 1, *[pytest.param(number, marks=pytest.mark.long) for number in range(2, HISTORIES)]]
RELEASES: dict[str, ReleaseName] = {VERSION: "4.3", OLDER_VERSION: "3.9"}

# A history needs as many partitions of internal topics here as there are on the Kafka, and offsets that say the same.
OURS = {**SETTINGS, **{name: value for name, value in KAFKA_SETTINGS.items() if name.endswith("num.partitions")}}


@pytest.fixture(
    scope="module",
    params=[pytest.param(version, marks=[*needs_kafka(version), pytest.mark.slow]) for version in RELEASES],
)
def kafka(request: pytest.FixtureRequest) -> Iterator[tuple[str, RealKafka]]:
    """A Kafka of each release, and which release that is."""
    with ExitStack() as stack:
        yield request.param, stack.enter_context(running_kafka(SETTINGS, request.param))


def answers_here(seed: int, as_release: ReleaseName, *, has_tv2: bool) -> list[Answered]:
    """What a history tells on a broker in virtual time."""
    with VirtualBroker(as_release=as_release, profile="kafka", config=OURS) as broker:
        return TransactionHistory(ScriptedClients(broker.driver), seed, has_tv2=has_tv2).play()


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_a_history_tells_the_same_on_a_running_kafka(kafka: tuple[str, RealKafka], number: int) -> None:
    """Every answer that a client got, whatever became of the transactions."""
    version, running = kafka
    seed, has_tv2 = SEED + number, version == VERSION and number % 3 != 0
    clients = ScriptedClients(TcpDriver(running.host, running.port))
    answers = TransactionHistory(clients, seed, has_tv2=has_tv2).play()
    clients.close()

    difference = first_difference(answers, answers_here(seed, RELEASES[version], has_tv2=has_tv2))
    assert difference is None, f"seed {seed}, one is Kafka {version}, the other is fakebroker:\n{difference}"


@pytest.mark.parametrize("as_release", ["4.3", "3.9"])
def test_the_same_seed_is_the_same_history(as_release: ReleaseName) -> None:
    """In virtual time, whatever it is played on."""
    has_tv2 = as_release == "4.3"
    answers = answers_here(7, as_release, has_tv2=has_tv2)

    assert answers == answers_here(7, as_release, has_tv2=has_tv2)
    assert {each.asked.split()[0] for each in answers} >= {
        "InitProducerId",
        "EndTxn",
        "Produce",
        "TxnOffsetCommit",
        "Fetch",
    }

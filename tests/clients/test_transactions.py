"""Transactions of real Python clients: a copier that dies, is replaced and fenced loses nothing and repeats nothing.

The same stories are played on a real Kafka (slow), so that what is asked for here is what Kafka does.
"""

from collections.abc import Iterator

import pytest

from tests.clients.committed import EITHER_BROKER, bootstrap_of, create_topics
from tests.clients.copiers import COPIERS, Copier, Copy
from tests.clients.every_library import LIBRARIES
from tests.clients.story import Adapter, make_records
from tests.support.real_kafka import start_kafka

__all__ = ["start_kafka"]

RECORDS = 200
FENCED = {
    "confluent-kafka": {"_FENCED"},
    "confluent-kafka-server-side": {"_FENCED"},
    "kafka-python": {"ProducerFencedError", "InvalidProducerEpochError"},
    "aiokafka": {"ProducerFenced"},
}
pytestmark = [
    pytest.mark.clients,
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]


@pytest.fixture(params=EITHER_BROKER)
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Where a broker listens: fakebroker, or a real Kafka."""
    return bootstrap_of(request, {})


@pytest.fixture(params=COPIERS)
def library(request: pytest.FixtureRequest) -> str:
    """The name of a client library."""
    return str(request.param)


def base(library: str) -> str:
    """The library itself, whose ways to be in a group may be several."""
    return library.removesuffix("-server-side")


@pytest.fixture
def copy(bootstrap: str, library: str) -> Copy:
    """Topics of this test, the source with its records, all of them in two partitions."""
    copy = Copy(bootstrap, f"in-{library}", f"out-{library}", f"group-{library}", f"copier-{library}")
    create_topics(bootstrap, **{copy.source: 2, copy.target: 2})
    LIBRARIES[base(library)].produce(bootstrap, copy.source, make_records(RECORDS, 2), "none")
    return copy


def values(library: Adapter, copy: Copy, isolation_level: str, count: int) -> list[bytes]:
    """What a reader of the copies reads: at least `count` values, and whatever else comes with them or after them."""
    reader = library.consumer(copy.bootstrap, copy.target, f"reader-{isolation_level}", isolation_level=isolation_level)
    found: list[bytes] = []
    try:
        while len(found) < count:
            found += [each.value for each in reader.poll()]
        for _ in range(3):
            found += [each.value for each in reader.poll()]
    finally:
        reader.close()
    return found


@pytest.fixture
def copiers(copy: Copy, library: str) -> Iterator[list[Copier]]:
    """Those of a test, whose producers are closed at its end."""
    made: list[Copier] = []
    yield made
    for each in made:
        each.close()


@pytest.mark.behaviour("Transactions")
@pytest.mark.rules("TX-4", "TX-5", "TO-2", "TO-3", "PI-10", "FT-14", "FT-15")
def test_each_record_is_copied_exactly_once(copy: Copy, library: str, copiers: list[Copier]) -> None:
    """A copier dies inside a transaction, the next aborts one and goes on: read_committed has each value once.

    A reader of everything has what was aborted, too. The first copier, which wakes up later, is fenced.
    """
    make = COPIERS[library]
    dies = make(copy)
    copiers.append(dies)
    copied = dies.begin()
    dies.end(commit=True)
    never_ended = dies.begin()
    dies.leave()

    aborts = make(copy)
    copiers.append(aborts)
    aborted = aborts.begin()
    aborts.end(commit=False)
    aborts.leave()

    last = make(copy)
    copiers.append(last)
    while copied < RECORDS:
        copied += last.begin()
        last.end(commit=True)
    last.leave()
    assert dies.refused() in FENCED[library]

    read = LIBRARIES[base(library)]
    wanted = sorted(each.value for each in make_records(RECORDS, 2))
    assert sorted(values(read, copy, "read_committed", RECORDS)) == wanted
    everything = RECORDS + never_ended + aborted
    assert len(values(read, copy, "read_uncommitted", everything)) == everything

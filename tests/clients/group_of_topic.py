"""Fixtures of the stories of every library: a broker, a topic, and members of the group that reads it.

A test has the parameter `name`, a library of every_library.py.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.brokers import Broker
from tests.clients.committed import EITHER_BROKER, bootstrap_of
from tests.clients.every_library import LIBRARIES
from tests.clients.story import Adapter, Member

PARTITIONS = 4
Join = Callable[..., Member]


@pytest.fixture(params=EITHER_BROKER)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A fakebroker, or a real Kafka."""
    fake = request.getfixturevalue("fakebroker") if request.param == "fakebroker" else None
    made = Broker(fake.bootstrap if fake else bootstrap_of(request, {}), fake)
    yield made
    made.close()


@pytest.fixture
def topic(broker: Broker) -> str:
    """A topic of this test."""
    return broker.new_topic(PARTITIONS)


@pytest.fixture
def library(name: str) -> Adapter:
    """The library of this test."""
    return LIBRARIES[name]


@pytest.fixture
def join(broker: Broker, topic: str, library: Adapter) -> Join:
    """Start a member of the topic's group, with options of its library and the limit after which it stops."""

    def joined(limit: int | None = None, group: str = "", **options: object) -> Member:
        group_id = group or group_of(topic)
        return Member(lambda: library.consumer(broker.bootstrap, topic, group_id, **options), limit)

    return joined


def group_of(topic: str) -> str:
    """The group that reads a topic."""
    return f"{topic}-group"

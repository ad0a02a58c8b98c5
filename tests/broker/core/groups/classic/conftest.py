import pytest

from tests.support.groups import OneGroup


@pytest.fixture
def lab() -> OneGroup:
    """A new group under Kafka's own defaults: initial delay 3 s, session timeouts of members 10 s."""
    return OneGroup()

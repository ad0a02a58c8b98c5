import pytest

from tests.core.groups.lab import Lab


@pytest.fixture
def lab() -> Lab:
    """A new group under Kafka's own defaults: initial delay 3 s, session timeouts of members 10 s."""
    return Lab()

"""The AsyncFakeBroker of tests that anyio runs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fakebroker.cli.pytest.async_brokers import ANYIO_FIXTURE, fresh_broker


@pytest.fixture(name=ANYIO_FIXTURE)
async def in_anyio(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A fresh AsyncFakeBroker, running in the test's loop."""
    async for broker in fresh_broker(request):
        yield broker

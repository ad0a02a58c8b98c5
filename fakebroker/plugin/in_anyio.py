"""The AsyncFakeBroker of tests that anyio runs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fakebroker.plugin.async_brokers import ANYIO_FIXTURE


@pytest.fixture(name=ANYIO_FIXTURE)
async def in_anyio(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A fresh AsyncFakeBroker, running in the test's loop."""
    from fakebroker.broker import AsyncFakeBroker
    from fakebroker.plugin import brokers

    async with brokers.made(AsyncFakeBroker, request.node, brokers.marked_options(request.node)) as broker:
        yield broker

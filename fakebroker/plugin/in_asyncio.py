"""The AsyncFakeBroker of tests that pytest-asyncio runs: one fixture for each loop that a test may run in."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from fakebroker.plugin.async_brokers import ASYNCIO_FIXTURE

_LOOP_SCOPES = ("function", "class", "module", "package", "session")


async def _broker(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A fresh AsyncFakeBroker, running in the test's loop."""
    from fakebroker.broker import AsyncFakeBroker
    from fakebroker.plugin import brokers

    async with brokers.made(AsyncFakeBroker, request.node, brokers.marked_options(request.node)) as broker:
        yield broker


def _fixture(loop_scope: Any) -> Any:
    async def of_scope(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
        async for broker in _broker(request):
            yield broker

    return pytest_asyncio.fixture(of_scope, loop_scope=loop_scope, name=ASYNCIO_FIXTURE.format(loop_scope))


globals().update({f"in_loop_of_{scope}": _fixture(scope) for scope in _LOOP_SCOPES})

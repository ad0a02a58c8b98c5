"""The AsyncFakeBroker of tests that pytest-asyncio runs: one fixture for each loop that a test may run in."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from fakebroker.cli.pytest.async_brokers import ASYNCIO_FIXTURE, fresh_broker

_LOOP_SCOPES = ("function", "class", "module", "package", "session")


def _fixture(loop_scope: Any) -> Any:
    async def of_scope(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
        async for broker in fresh_broker(request):
            yield broker

    return pytest_asyncio.fixture(of_scope, loop_scope=loop_scope, name=ASYNCIO_FIXTURE.format(loop_scope))


globals().update({f"in_loop_of_{scope}": _fixture(scope) for scope in _LOOP_SCOPES})

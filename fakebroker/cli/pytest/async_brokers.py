"""Which fixture makes the AsyncFakeBroker of a test: that of the plugin which runs the test, so that it is in its loop.

The fixtures are in `in_asyncio.py` and `in_anyio.py`, which are loaded only where pytest-asyncio or anyio is.
"""

from collections.abc import AsyncIterator
from inspect import iscoroutinefunction
from typing import Any

import pytest

ASYNCIO_FIXTURE = "_fakebroker_in_asyncio_{}"
ANYIO_FIXTURE = "_fakebroker_in_anyio"


async def fresh_broker(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """An AsyncFakeBroker with the options that the test's marker says, running in the test's loop."""
    from fakebroker.cli.pytest import brokers
    from fakebroker.testing.broker import AsyncFakeBroker

    async with brokers.made(AsyncFakeBroker, request.node, brokers.marked_options(request.node)) as broker:
        yield broker


def fixture_for(request: pytest.FixtureRequest) -> str:
    """The name of the fixture to use. A test that cannot have an AsyncFakeBroker fails with the reason."""
    if not iscoroutinefunction(getattr(request.node, "obj", None)):
        pytest.fail(
            "fakebroker_async is for `async def` tests; use fakebroker in other tests and in fixtures of wider scope",
            pytrace=False,
        )
    if "anyio_backend" in request.fixturenames:
        return _anyio_fixture(request)
    if request.config.pluginmanager.hasplugin("asyncio"):
        return ASYNCIO_FIXTURE.format(_loop_scope(request))
    pytest.fail("fakebroker_async needs pytest-asyncio or anyio, which run async tests", pytrace=False)


def _anyio_fixture(request: pytest.FixtureRequest) -> str:
    backend = request.getfixturevalue("anyio_backend")
    name = backend if isinstance(backend, str) else backend[0]
    if name != "asyncio":
        pytest.fail(
            f"fakebroker_async needs asyncio, but this test runs in {name}; use the fixture "
            f"fakebroker, which needs no loop",
            pytrace=False,
        )
    return ANYIO_FIXTURE


def _loop_scope(request: pytest.FixtureRequest) -> str:
    """Whose loop the test runs in: the function's own, or that of its class, module, package or of the session."""
    mark = request.node.get_closest_marker("asyncio")
    options: dict[str, Any] = mark.kwargs if mark is not None else {}
    scope = (
        options.get("loop_scope") or options.get("scope") or request.config.getini("asyncio_default_test_loop_scope")
    )
    return str(scope or "function")

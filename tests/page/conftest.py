"""Fixtures: one Chromium for all tests of a process; a broker with its page for each test."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.support.chromium import CHROMIUM, ShownPage, chromium
from tests.support.serving import controlled

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """A headless Chromium; without one, or without Playwright, the tests are skipped."""
    if CHROMIUM is None or find_spec("playwright") is None:
        pytest.skip("needs Chromium (apt install chromium) and Playwright (pip install playwright)")
    with chromium() as running:
        yield running


@pytest.fixture
def broker_url() -> Iterator[str]:
    """Where a broker with two topics is controlled."""
    with controlled("--topic", "orders:3", "--topic", "audit:1") as url:
        yield url


@pytest.fixture
def shown(browser: "Browser", broker_url: str) -> Iterator[ShownPage]:
    """The page of that broker. At the end nothing was complained of: no error, no violation of the policy."""
    context = browser.new_context(viewport={"width": 1360, "height": 860}, reduced_motion="reduce")
    shown = ShownPage(context, broker_url)
    yield shown
    context.close()
    assert shown.complaints == []


@pytest.fixture
def clients(shown: ShownPage) -> Iterator[ScriptedClients]:
    """Scripted clients of that broker, over TCP."""
    host, _, port = shown.bootstrap.partition(":")
    made = ScriptedClients(TcpDriver(host, int(port)))
    yield made
    made.close()

"""What the object model needs of a broker, whether it runs in a thread of its own, in the caller's loop or in none."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from fakebroker.broker.engine.clock import BrokerClock
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.server import EngineServer

T = TypeVar("T")


class EngineAccess(Protocol):
    """How handles reach the engine. Everything that touches it goes through `_call` or `wait`."""

    @property
    def _engine(self) -> Engine:
        """The engine of the moment; `reset()` makes a new one."""

    @property
    def _broker_clock(self) -> BrokerClock:
        """The broker's clock; to be used inside `_call`."""

    @property
    def _server(self) -> EngineServer:
        """What serves the broker's clients; to be used inside `_call`."""

    def _call(self, function: Callable[[], T]) -> T:
        """Run `function` on the engine's thread; returns what it returns and raises what it raises."""

    def wait(self, probe: Callable[[], T | None], timeout_s: float, failure: Callable[[], str]) -> Any:
        """Try `probe` now and after everything the engine does, until it is not None; give that, or an awaitable of it.

        Raises WaitTimeout with the text of `failure` when it gives up.
        """

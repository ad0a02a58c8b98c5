"""A stand-in for the broker in virtual time."""

from collections.abc import Callable
from typing import Any

from fakebroker.core.cluster import Cluster
from fakebroker.engine.engine import Engine
from fakebroker.engine.journal import Journal
from fakebroker.errors import WaitTimeout
from fakebroker.handles.powers import Powers
from fakebroker.instant import Instant
from fakebroker.listeners import Listener
from fakebroker.release import release
from fakebroker.settings import Settings
from fakebroker.testclient.sim_driver import SimDriver


class VirtualBroker(Powers):
    """A stand-in."""

    def __init__(self, *, nodes: Any, racks: Any, config: Any, seed: Any, profile: Any, as_release: Any) -> None:
        values = {key: str(value) for key, value in config.items()}
        ids = tuple(range(1, nodes + 1))
        cluster = Cluster(Settings(values, profile=profile), release(as_release), seed, ids, racks)
        listeners = [Listener(each, "127.0.0.1", 9091 + each) for each in ids]
        self._engine = Engine(cluster, listeners, Journal(), Instant(1_767_225_600_000, 0))
        self.driver = SimDriver(self._engine)
        self.network = self.driver._network
        self.errors = self._engine.errors

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def loop_clock(self) -> Any:
        return self

    def now(self) -> Instant:
        return self._engine.now

    def advance(self, ms: int, timers: bool = False) -> None:
        if timers:
            self.network.advance(ms)
        else:
            self.network.move_wall(ms)

    @property
    def server(self) -> Any:
        return None

    def call(self, function: Callable[[], Any]) -> Any:
        result = function()
        self._engine.drain()
        self.network.flush()
        return result

    def wait(self, probe: Callable[[], Any], timeout_s: float, failure: Callable[[], str]) -> Any:
        if not self.network.run_until(lambda: probe() is not None, round(timeout_s * 1000)):
            raise WaitTimeout(failure())
        return probe()

    def _take_snapshot(self) -> Any:
        return None

    def _restore(self, snapshot: Any) -> None:
        pass

"""A broker in virtual time: no sockets, no threads, and nothing happens but inside of a call.

    broker = VirtualBroker()
    a = broker.client("a")
    a.join("billing", ["orders"])
    broker.pass_time(s=3)                                  # for everybody: timers run, answers arrive
    broker.group("billing").wait(state="Empty")            # passes as much time as it takes

It has the object model of FakeBroker with the same meaning: `clock.advance` moves the time of day alone, `clock.rate`
says how much of it passes while time does. Same seed and same calls give the same bytes, in every process.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Never, Self, TypeVar

from fakebroker.broker.engine.clock import check_wall_ms
from fakebroker.broker.engine.journal import Journal
from fakebroker.protocol.arguments.checks import check_options
from fakebroker.protocol.arguments.types import Count, Name, Passwords, TimeoutS
from fakebroker.protocol.errors import BrokerStopped, InvalidArgument, SettingError, WaitTimeout
from fakebroker.protocol.instant import Instant
from fakebroker.serve.listener_options import FIRST_NODE_ID, FirstNodeId, NodeCount
from fakebroker.serve.sim.network import DAY_MS, SimNetwork
from fakebroker.serve.sim.sim_listeners import listeners_of
from fakebroker.testing.broker_base import BrokerBase, noted_on
from fakebroker.testing.literals import Profile, ReleaseName
from fakebroker.testing.sim_driver import SimDriver

if TYPE_CHECKING:
    from fakebroker.broker.engine.security.key_sets import Fetched

T = TypeVar("T")

START_WALL_MS = 1_767_225_600_000  # the first midnight of 2026, UTC
LONGEST_MS = 366 * DAY_MS  # that passes in one call, so that nothing hangs


class VirtualBroker(BrokerBase):
    """A broker in the caller's thread, which alone may use it. It serves as soon as it is created."""

    _server: SimNetwork

    def __init__(
        self,
        *,
        nodes: NodeCount = 1,
        node_id: FirstNodeId = FIRST_NODE_ID,
        racks: Sequence[Name | None] | None = None,
        config: Mapping[str, object] | None = None,
        users: Passwords | None = None,
        acls: Sequence[Mapping[str, object]] | None = None,
        seed: int = 0,
        profile: Profile = "test",
        as_release: ReleaseName = "4.3",
        start_wall_ms: int = START_WALL_MS,
        data: str | os.PathLike[str] | None = None,
        **unknown: Never,
    ) -> None:
        """`start_wall_ms` is its initial time of day, in milliseconds since the epoch; the other options are those of
        FakeBroker. Monotonic time starts at 0.

        Raises SettingError, UnknownRelease, InvalidArgument as FakeBroker does.
        """
        if unknown:
            options = inspect.unwrap(VirtualBroker.__init__).__kwdefaults__ or ()
            check_options("a broker in virtual time", unknown, tuple(options))
        check_wall_ms("start_wall_ms", start_wall_ms, start_wall_ms)
        super().__init__(nodes, racks, config, seed, profile, as_release, users, acls, node_id)
        self._depth = 0  # of calls that are under way
        self._serve_by(self._make_network(data, start_wall_ms), Journal())
        if any(listener.has_tls for listener in self._listeners):
            raise SettingError("listeners: TLS is not available in virtual time, which has no network")
        self.driver = SimDriver(self._server)  # connects scripted clients, also those of others
        self.driver.after_delivery.append(self._advance_clients)
        self._server.serve()

    def _make_network(self, data: str | os.PathLike[str] | None, start_wall_ms: int) -> SimNetwork:
        listeners, start = listeners_of(self._node_ids), Instant(start_wall_ms, 0)
        if data is None:
            return SimNetwork(listeners, start)
        from fakebroker.serve.storage.broker_storage import BrokerStorage
        from fakebroker.serve.storage.storing_server import StoringNetwork

        self._storage = BrokerStorage(data, self._node_ids)
        return StoringNetwork(listeners, start, self._storage)

    def _fetch(self, url: str, then: "Callable[[Fetched], None]") -> None:
        """It takes no time here: nobody else could do anything meanwhile."""
        from fakebroker.serve.net.fetching import read

        then(read(url))

    @property
    def network(self) -> SimNetwork:
        """The network."""
        return self._server

    def start(self) -> Self:
        """Serve again after `stop`, with all data. Does nothing on a running broker."""
        if not self.is_running:
            self._resume_storage()
            self._restart_nodes()
            self._server.serve()
        return self

    def stop(self) -> None:
        """Close every connection; `start` continues. Stopping twice is allowed.

        Re-raises internal errors of the broker. Raises RuntimeError inside a function that the broker runs.
        """
        if self._is_inside:
            raise RuntimeError("stop() cannot be used inside a function that the broker runs: it would wait for itself")
        self._close_clients()
        self.driver.close_all()
        if self.is_running:
            self._server.stop()
        self._stop_storage()
        self._raise_errors()

    def _call(self, function: Callable[[], T]) -> T:
        """Run `function` now; the scripted clients have the answers that it leads to when this returns."""
        self._depth += 1
        try:
            return self._run(function)
        finally:
            self._depth -= 1
            if not self._is_inside:
                self.driver.deliver()

    def wait(self, probe: Callable[[], T | None], timeout_s: TimeoutS, failure: Callable[[], str]) -> T:
        """Let time pass, and scripted clients run, until `probe` returns a value.

        Raises WaitTimeout with the text of `failure`, any error of `probe`, BrokerStopped on a stopped broker if
        `probe` returns None, RuntimeError inside a function that the
        broker runs. An infinite wait ends after a year.
        """
        found: list[T] = []

        def is_found() -> bool:
            result = self._call(probe)
            if result is not None:
                found.append(result)
            return bool(found)

        if not is_found():
            if not self.is_running:
                raise BrokerStopped("the broker is not running, so the wait would never end")
            self._pass_ms(round(min(timeout_s * 1000, LONGEST_MS)), is_found)
        if not found:
            raise WaitTimeout(self._call(failure))
        return found[0]

    def pass_time(self, *, ms: Count | None = None, s: TimeoutS | None = None) -> None:
        """Let time pass for all clients: timers fire at their times, and clients see the effects.

        Raises InvalidArgument for an invalid or negative time or more than a year, RuntimeError inside a function
        that the broker runs.
        """
        if ms is None and s is None:
            raise InvalidArgument("s", None, "pass_time() needs a duration: s=5, or ms=")
        ms, s = ms or 0, s or 0
        if s * 1000 + ms > LONGEST_MS:
            raise InvalidArgument("s", s, f"s={s}, ms={ms} is more than a year; clock.advance can go further")
        self._pass_ms(ms + round(s * 1000), lambda: False)

    def _pass_ms(self, ms: int, is_reached: Callable[[], bool]) -> None:
        if self._depth:
            raise RuntimeError(
                "time cannot pass inside a function that the broker runs: nothing else happens before it returns"
            )
        self.driver.pass_time(ms, is_reached)

    @property
    def _is_inside(self) -> bool:
        """Whether the broker is doing something: it was called from inside of that."""
        return self._depth > 0 or self._server.is_busy

    def _advance_clients(self) -> None:
        if self._scripted_clients is not None:
            self._scripted_clients.advance()

    def _make_driver(self) -> SimDriver:
        return self.driver

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with noted_on(error):
            self.stop()

"""A broker's life under arbitrary tests: hypothesis makes up starts, stops, clients and moves of the clock.

After every step the loop has a timer that will end whatever is parked, and no request is overdue; a stop leaves no
connection, descriptor or wait. `make model` runs it for longer.
"""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from fakebroker.protocol.errors import BrokerStopped
from tests.model.life import AsyncBrokerDriver, BrokerDriver, Client, ThreadBrokerDriver, check_timer, descriptors
from tests.support.chance import MINUTES, model_settings, run_model
from tests.support.frames import JOIN, long_poll, request

REBALANCE_MS = 1000
EARLY_MS = 2  # readings are rounded to milliseconds
LONGEST_WAIT_MS = 60_000


class LifeMachine(RuleBasedStateMachine):
    """One broker, clients that are parked, and whoever starts, stops and moves its clock."""

    driver_type: type[BrokerDriver]

    @initialize()
    def make(self) -> None:
        self.driver = self.driver_type()
        self.broker = self.driver.broker
        self.clients: list[Client] = []
        self.waits: list[Callable[[], BaseException | None]] = []
        self.fetching: list[Client] = []
        self.groups = 0
        self._create_topic()
        self._start()

    def is_running(self) -> bool:
        return self.broker.is_running

    def is_stopped(self) -> bool:
        return not self.broker.is_running

    # -- life ----------------------------------------------------------------------------------------------------------

    def _create_topic(self) -> None:
        self.broker.create_topic("t")
        self.records = 0

    def _start(self) -> None:
        self.descriptors = descriptors()
        self.driver.start()

    @precondition(is_stopped)
    @rule()
    def start(self) -> None:
        self._start()

    @precondition(is_stopped)
    @rule()
    def start_in_another_loop(self) -> None:
        self.driver.change_loop()
        self._start()

    @precondition(is_running)
    @rule()
    def stop(self) -> None:
        self._stop()

    @precondition(is_running)
    @rule(in_another_loop=st.booleans())
    def restart(self, in_another_loop: bool) -> None:
        self._stop()
        if in_another_loop:
            self.driver.change_loop()
        self._start()

    @precondition(is_running)
    @rule()
    def restart_after_the_loop_was_lost(self) -> None:
        self.driver.lose_loop()
        assert not self.broker.is_running
        self.driver.start()
        self._everybody_is_gone(BrokerStopped, asyncio.CancelledError)

    @rule()
    def start_or_stop_again(self) -> None:
        if self.broker.is_running:
            self.driver.start()
        else:
            self.driver.stop()

    @rule()
    def reset(self) -> None:
        self.broker.reset()
        self._create_topic()
        self.driver.run_for(0)
        assert all(not client.read() for client in self.clients)
        self._close_clients()

    # -- clients -------------------------------------------------------------------------------------------------------

    @precondition(is_running)
    @rule(max_wait_ms=st.integers(1, 5000))
    def park_a_fetch(self, max_wait_ms: int) -> None:
        self.fetching.append(self._send(long_poll(max_wait_ms, self.records), max_wait_ms))

    @precondition(is_running)
    @rule()
    def park_a_join(self) -> None:
        """A second member waits for the first, which does not come back."""
        self.groups += 1
        fields: dict[str, Any] = {**JOIN, "group_id": f"g{self.groups}", "rebalance_timeout_ms": REBALANCE_MS}
        first = self._send(request("JoinGroup", 3, **fields), REBALANCE_MS)
        first.read()
        assert first.due_ms is None
        self._send(request("JoinGroup", 3, **fields), REBALANCE_MS)

    @rule()
    def produce(self) -> None:
        """A record is what the fetches wait for."""
        self.broker.topic("t").produce("v")
        self.records += 1
        self.driver.run_for(0)
        for client in self.fetching:
            assert client not in self.clients or client.read()
            assert client not in self.clients or client.due_ms is None
        self.fetching.clear()

    @precondition(is_running)
    @rule(max_wait_ms=st.integers(1, 5000))
    def come_at_the_last_moment(self, max_wait_ms: int) -> None:
        """The broker has not looked at the client when it is stopped."""
        client = Client(self.broker)
        client.send(long_poll(max_wait_ms, self.records), 0)
        self.clients.append(client)
        self._stop()

    @precondition(lambda self: self.clients)
    @rule(with_reset=st.booleans(), data=st.data())
    def vanish(self, with_reset: bool, data: st.DataObject) -> None:
        client = self.clients.pop(data.draw(st.integers(0, len(self.clients) - 1)))
        client.vanish(with_reset)
        self.driver.run_for(0)

    @precondition(is_running)
    @rule()
    def wait_in_vain(self) -> None:
        self.waits.append(self.driver.wait(lambda: None))

    # -- time ----------------------------------------------------------------------------------------------------------

    @rule(ms=st.integers(0, 7000))
    def time_passes(self, ms: int) -> None:
        self.driver.run_for(ms)

    @rule(ms=st.integers(0, 10 * 86_400_000), timers=st.booleans())
    def advance(self, ms: int, timers: bool) -> None:
        self.broker.clock.advance(ms=ms, timers=timers)

    @rule(ms=st.integers(0, 10 * 86_400_000))
    def step_back(self, ms: int) -> None:
        self.broker.clock.step_back(ms=ms)

    @rule()
    def freeze(self) -> None:
        self.broker.clock.freeze()

    @rule()
    def resume(self) -> None:
        self.broker.clock.resume()

    @rule(rate=st.sampled_from([1, 0.001, 60]))
    def change_rate(self, rate: float) -> None:
        self.broker.clock.rate = rate

    # -- invariants ----------------------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_parked_for_ever(self) -> None:
        assert self.broker.errors == []
        if self.broker.is_running:
            self.broker._call(lambda: check_timer(self.broker._server))

    @invariant()
    def nothing_is_overdue(self) -> None:
        if not self.broker.is_running:
            return
        self.driver.run_for(0)
        now_ms = self._now_ms()
        for client in self.clients:
            assert client.read(), "the broker closed a connection"
            assert client.due_ms is None or now_ms < client.due_ms + EARLY_MS, "a request is overdue"

    def teardown(self) -> None:
        if not hasattr(self, "driver"):
            return
        try:
            if not self.broker.is_running:
                self._start()
            self.driver.run_for(LONGEST_WAIT_MS)
            self.nothing_is_overdue()
            self._stop()
        finally:
            self._close_clients()
            self.driver.close()

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return self.broker._call(lambda: self.broker._broker_clock.now().mono_ms)

    def _send(self, frame: bytes, within_ms: int) -> Client:
        """A new client sends a request and is parked."""
        client = Client(self.broker)
        client.send(frame, self._now_ms() + within_ms)
        self.clients.append(client)
        self.driver.run_for(0)
        return client

    def _stop(self) -> None:
        self.driver.stop()
        assert self.broker._engine.connections == {}
        self._everybody_is_gone(BrokerStopped)
        assert descriptors() <= self.descriptors  # fewer: the collector came by loops that were lost before

    def _everybody_is_gone(self, *expected: type[BaseException]) -> None:
        """Clients read the end of the stream, after the answers that were made; waits end, and say why."""
        for client in self.clients:
            assert not (client.read() and client.read())
        self._close_clients()
        for outcome in self.waits:
            assert isinstance(outcome(), expected), "a wait goes on"
        self.waits.clear()

    def _close_clients(self) -> None:
        for client in self.clients:
            client.socket.close()
        self.clients.clear()


class AsyncLifeMachine(LifeMachine):
    """AsyncFakeBroker, in one loop or in several."""

    driver_type = AsyncBrokerDriver


class ThreadLifeMachine(LifeMachine):
    """FakeBroker: each start has a thread and a loop of its own."""

    driver_type = ThreadBrokerDriver


SHORT = model_settings(max_examples=60, steps=25)


@pytest.mark.random
@pytest.mark.timeout(0 if MINUTES else 600)  # a failure takes its time to shrink
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of loops that were closed without a stop
@pytest.mark.parametrize("machine", [AsyncLifeMachine, ThreadLifeMachine])
def test_no_request_is_parked_for_ever_whatever_happens_to_the_broker(machine: type[LifeMachine]) -> None:
    """Over starts, stops, loops and clocks; with FAKEBROKER_MODEL_MINUTES for that long."""
    run_model(machine, SHORT, settings(SHORT, max_examples=20, stateful_step_count=60))
    gc.collect()  # what lost loops left is warned of here, not in another test

"""A scenario that is played in a thread of its own while a user's client is connected: as its environment."""

import asyncio
import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.arguments.checks import check
from fakebroker.protocol.arguments.types import TIMEOUT
from fakebroker.protocol.errors import BrokerStopped, WaitTimeout
from fakebroker.scenarios.happenings import Failed, Happening, StepBegan
from fakebroker.scenarios.playing.player import Player
from fakebroker.scenarios.running.transcript import scenario_failed, tail_of, transcript_of
from fakebroker.scenarios.script import Answered, Expect, Pass, Silent

if TYPE_CHECKING:
    from fakebroker.client.scripted.driver import Driver
    from fakebroker.scenarios.playing.worlds import World
    from fakebroker.scenarios.running.from_thread import FromThread
    from fakebroker.scenarios.script import Scenario, Step

PREPARE_S = 5.0
LOOK_EVERY_MS = 50  # how soon a cancelled play ends


class Cancelled(BaseException):
    """The play is to end where it is. No Exception, so that no step takes it for one of its own."""


class BackgroundPlay:
    """A play under way, or what came of it. Its methods may be called from any thread.

    `on_happening` and `on_over` are called in the thread that plays.
    """

    def __init__(
        self,
        scenario: "Scenario",
        world: "World",
        seed: int | None = None,
        on_happening: Callable[[Happening], None] | None = None,
        on_over: Callable[[], None] | None = None,
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self._world: Any = world if world.poll_ms is None else _Cancellable(world, self._check_alive)
        self._start_wall_ms = world.driver.wall_ms  # until the thread can ask the broker
        self._tell = on_happening
        self._when_over = [] if on_over is None else [on_over]
        self._gate = threading.Lock()
        self._happenings: list[Happening] = []
        self._problems: list[str] = []
        self._error: BaseException | None = None
        self._is_cancelled = False
        self._over = threading.Event()
        self._has_prepared = threading.Event()
        self._thread = threading.Thread(target=self._play, name=f"fakebroker scenario {scenario.name}", daemon=True)

    def start(self) -> "BackgroundPlay":
        """Begin to play."""
        self._thread.start()
        return self

    def prepare(self, timeout_s: float = PREPARE_S) -> "BackgroundPlay":
        """Wait until the timeline first lets time pass or waits for something: what comes before prepares the broker.

        Returns after `timeout_s` also if it is not that far.
        """
        self._has_prepared.wait(timeout_s)
        return self

    def join(self) -> None:
        """Wait until the thread that plays has ended. It refers to its world until then, a moment after it is over."""
        self._thread.join()

    @property
    def is_done(self) -> bool:
        """Whether the timeline is over: played to its end, ended by a failure, or cancelled."""
        return self._over.is_set()

    @property
    def error(self) -> BaseException | None:
        """The error of the player itself, a bug, if it had one."""
        return self._error

    @property
    def is_cancelled(self) -> bool:
        """Whether it was ended before its end."""
        return self._is_cancelled

    @property
    def problems(self) -> list[str]:
        """What did not come out as the scenario says, so far: a sentence each, with its place in the file."""
        return [*self._problems]

    @property
    def happenings(self) -> list[Happening]:
        """What has happened so far."""
        return [*self._happenings]

    @property
    def step(self) -> "Step | None":
        """The step that was taken last."""
        return next((each.step for each in reversed(self.happenings) if isinstance(each, StepBegan)), None)

    @property
    def transcript(self) -> str:
        """What has happened so far as text."""
        return transcript_of(self.scenario, self.happenings, self._start_wall_ms, self.is_done)

    @property
    def tail(self) -> str:
        """The last part of what has happened."""
        return tail_of(self.scenario, self.happenings, self._start_wall_ms)

    def wait(self, timeout_s: float = 30.0) -> None:
        """Wait until the timeline is over.

        Raises WaitTimeout that names the step which it is at, and ScenarioFailed if an expectation did not hold.
        """
        __tracebackhide__ = True  # of pytest: the error says what failed
        check("timeout_s", timeout_s, TIMEOUT)
        if not self._over.wait(min(timeout_s, threading.TIMEOUT_MAX)):
            raise self.not_over(self.scenario.name, timeout_s)
        self.raise_problems()

    def not_over(self, name: str, timeout_s: float) -> WaitTimeout:
        """The error of a wait that was not long enough: it names the step that the timeline is at."""
        at = f"it is at {self.step}" if self.step else "it has not started"
        return WaitTimeout(f"scenario {name} has not ended after {timeout_s:g} s; {at}")

    def raise_problems(self) -> None:
        """Raise ScenarioFailed if something did not come out as the scenario says; an error of the player as it is."""
        __tracebackhide__ = True
        if self._error is not None:
            raise self._error
        if self._problems:
            raise scenario_failed(self.scenario, self._problems, self.happenings, self._start_wall_ms)

    def cancel(self, timeout_s: float = 5.0) -> bool:
        """End the play where it is, and wait for that. Whether it has ended within `timeout_s`."""
        if not self.is_done:
            self._is_cancelled = True
        if threading.current_thread() is not self._thread:
            self._over.wait(timeout_s)
        return self.is_done

    def when_over(self, call: Callable[[], None]) -> None:
        """Call `call` when the timeline is over, in the thread that plays; at once if it is over."""
        with self._gate:
            if not self._over.is_set():
                self._when_over.append(call)
                return
        call()

    async def cancel_on(self, broker: "FromThread | None") -> None:
        """End the play where it is, from the loop of the broker that it is played on; None is one of its own."""
        if not self.is_done:
            self._is_cancelled = True  # before its calls end, so that their end is no problem of the scenario
        if broker is not None:
            broker.close()
        await asyncio.to_thread(self.cancel)

    def _play(self) -> None:
        try:
            self._check()
            self._start_wall_ms = self._world.wall_ms  # the broker's, which tests move
            player = Player(self._world, self.scenario, seed=self.seed, on_happening=self._on_happening)
            self._problems = list(player.play().problems)
        except Cancelled:
            pass
        except BrokerStopped as error:
            if not self._is_cancelled:
                self._problems.append(f"{self.scenario.path}: {error}")
        except BaseException as error:
            self._error = error
        finally:
            self._close()
            self._has_prepared.set()
            with self._gate:
                self._over.set()
            for call in self._when_over:
                call()

    def _on_happening(self, happening: Happening) -> None:
        self._check()
        self._happenings.append(happening)
        if isinstance(happening, StepBegan) and _waits(happening.step):
            self._has_prepared.set()
        if isinstance(happening, Failed):
            self._problems += happening.sentences
        if self._tell is not None:
            self._tell(happening)

    def _close(self) -> None:
        """Close the connections of a play that did not come to its end."""
        try:
            self._world.close()
        except Exception as error:
            self._error = self._error or error

    def _check_alive(self) -> None:
        """Raises Cancelled, and BrokerStopped when nothing can happen any more that the timeline waits for."""
        self._check()
        if not self._world.broker.is_running:
            raise BrokerStopped("the broker was stopped")

    def _check(self) -> None:
        if self._is_cancelled:
            raise Cancelled


def _waits(step: "Step") -> bool:
    """Whether a step lets time pass, or waits for what others do."""
    return isinstance(step, Pass | Silent | Answered) or (isinstance(step, Expect) and step.within_ms is not None)


class _Cancellable:
    """A world whose time passes in short pieces, between which a cancelled play is noticed."""

    def __init__(self, world: "World", check: Callable[[], None]) -> None:
        self._inner = world
        self.driver = _CancellableDriver(world.driver, check)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _CancellableDriver:
    def __init__(self, driver: "Driver", check: Callable[[], None]) -> None:
        self._inner = driver
        self._check = check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let up to `ms` pass. Raises Cancelled."""
        end_s = monotonic() + ms / 1000
        while True:
            self._check()
            left_ms = round((end_s - monotonic()) * 1000)
            if self._inner.pass_time(max(0, min(left_ms, LOOK_EVERY_MS)), until):
                return True
            if left_ms <= LOOK_EVERY_MS:
                return False

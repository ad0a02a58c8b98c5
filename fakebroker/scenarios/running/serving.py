"""`fakebroker serve --scenario FILE`: the broker that a scenario describes, and its timeline in real time."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.scenarios.happenings import Failed, Happening, Skipped, StepBegan
from fakebroker.scenarios.language.reading import read_scenario
from fakebroker.scenarios.playing.worlds import BrokerWorld
from fakebroker.scenarios.running.background import BackgroundPlay
from fakebroker.scenarios.running.from_thread import FromThread
from fakebroker.scenarios.running.options import broker_options, create_topics
from fakebroker.scenarios.running.transcript import time_text

if TYPE_CHECKING:
    from fakebroker.scenarios.script import Step
    from fakebroker.testing.broker import AsyncFakeBroker

log = logging.getLogger("fakebroker")

# How `fakebroker serve` calls the options of a broker.
_NAMES = {
    "nodes": "--nodes",
    "racks": "--rack",
    "config": "--config",
    "seed": "--seed",
    "profile": "--profile",
    "as_release": "--as",
}


class ServedScenario:
    """The scenario of a served broker."""

    def __init__(self, path: str, parameters: Mapping[str, str], exits_when_done: bool) -> None:
        """Read the file. Raises ScenarioError, and OSError for one that cannot be read."""
        self.scenario = read_scenario(path, dict(parameters))
        self._exits_when_done = exits_when_done
        self._broker: FromThread
        self._play: BackgroundPlay | None = None
        self._is_logged = False
        self._says: Callable[[str], None]
        self._stop: Callable[[], None]

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the broker. Raises InvalidArgument for one of the command line that contradicts the file."""
        return broker_options(self.scenario, given, _NAMES)

    def create_topics(self, broker: "AsyncFakeBroker") -> None:
        """Create the scenario's topics, so that the first client finds them."""
        create_topics(self.scenario, broker)

    async def begin(self, broker: "AsyncFakeBroker", says: Callable[[str], None], stop: Callable[[], None]) -> None:
        """Begin to play on a running broker, until the timeline first waits for something.

        `says` is given a line for people, `stop` ends the broker.
        """
        loop = asyncio.get_running_loop()
        self._broker = FromThread(broker, loop)
        self._says, self._stop = says, stop

        def on_over() -> None:
            for handler in logging.getLogger().handlers:
                handler.flush()  # the last steps stand before the verdict
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._over)

        world = BrokerWorld(self._broker)
        self._play = BackgroundPlay(self.scenario, world, on_happening=self._tell, on_over=on_over)
        self._play.start()
        await asyncio.to_thread(self._play.prepare)

    @property
    def play(self) -> tuple[BackgroundPlay, FromThread]:
        """The play that was begun, and the broker as it reaches it."""
        assert self._play is not None
        return self._play, self._broker

    async def end(self) -> None:
        """End the play where it is, and say where, if it is not over."""
        if self._play is not None:
            await self._play.cancel_on(self._broker)
            self._say_what_came()

    @property
    def status(self) -> int:
        """The exit status: 0 for a scenario that came out as it says, or was not to end the broker; else 1."""
        play = self._play
        if play is None or not self._exits_when_done:
            return 0
        return 1 if play.problems or play.error is not None or play.is_cancelled else 0

    def _tell(self, happening: Happening) -> None:
        """A line in the log for each step, and for each problem; in the thread that plays."""
        match happening:
            case StepBegan():
                log.info("scenario %s %s", self._where(happening), happening.step.text)
            case Skipped():
                log.warning("scenario %s is skipped: %s", self._where(happening), happening.why)
            case Failed():
                for problem in happening.problems:
                    log.error("scenario %s FAILED: %s", self._where(happening), problem)

    def _where(self, happening: Any) -> str:
        step: Step = happening.step
        return f"{time_text(happening.at_ms)} {step.place}"

    def _over(self) -> None:
        self._say_what_came()
        if self._exits_when_done:
            self._stop()

    def _say_what_came(self) -> None:
        """One line for people, once."""
        play, name = self._play, self.scenario.name
        if play is None or self._is_logged:
            return
        self._is_logged = True
        if play.error is not None:
            log.error("scenario %s: internal error of the player", name, exc_info=play.error)
        if play.is_cancelled:
            came = f"stopped early, at {play.step or 'its beginning'}"
        elif play.problems or play.error is not None:
            count = len(play.problems)
            came = f"FAILED, {count} problem{'' if count == 1 else 's'}"
        else:
            came = "ok"
        self._says(f"fakebroker scenario {name}: {came}")

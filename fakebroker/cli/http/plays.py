"""The scenarios that are played through the HTTP API: on a broker of their own in virtual time, or on a served one."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.protocol.errors import UnknownThing, nearest

if TYPE_CHECKING:
    from fakebroker.scenarios.running.background import BackgroundPlay
    from fakebroker.scenarios.running.from_thread import FromThread
    from fakebroker.scenarios.script import Scenario
    from fakebroker.testing.broker import AsyncFakeBroker

MAX_PLAYS = 64  # that are over and can still be asked for
MAX_AT_ONCE = 16

Json = Any


class Play:
    """One scenario that was sent, or that is played on the served broker from its beginning."""

    def __init__(
        self, scenario_id: str, play: "BackgroundPlay", broker: "FromThread | None", broker_id: str | None = None
    ) -> None:
        """`broker` is what it is played on, None for one of its own; `broker_id` the isolated broker of its path."""
        self.scenario_id = scenario_id
        self.broker = broker
        self.broker_id = broker_id
        self._play = play
        self._over = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._over.set)

        play.when_over(tell)

    @property
    def path(self) -> str:
        """Where it is."""
        above = "" if self.broker_id is None else f"/brokers/{self.broker_id}"
        return f"{above}/scenarios/{self.scenario_id}"

    async def prepare(self) -> None:
        """Wait a moment until the timeline first waits for something."""
        await asyncio.to_thread(self._play.prepare)

    @property
    def is_done(self) -> bool:
        """Whether it is over."""
        return self._play.is_done

    async def wait(self, timeout_s: float) -> None:
        """Wait until it is over. Raises WaitTimeout that says where it is."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._over.wait()
        except TimeoutError:
            raise self._play.not_over(self.scenario_id, timeout_s) from None

    async def cancel(self) -> None:
        """End it where it is."""
        await self._play.cancel_on(self.broker)

    def shown(self, with_transcript: bool = True) -> dict[str, Json]:
        """Its state as the HTTP API reports it."""
        from fakebroker.scenarios.happenings import Skipped, StepBegan

        play = self._play
        happenings = play.happenings
        skipped = [each for each in happenings if isinstance(each, Skipped)]
        step = play.step
        state = {
            "scenario_id": self.scenario_id,
            "broker_id": self.broker_id,
            "name": play.scenario.name,
            "about": play.scenario.about,
            "state": self._state(),
            "steps": sum(isinstance(each, StepBegan) for each in happenings),
            "step": None if step is None else str(step),
            "problems": play.problems if play.error is None else [*play.problems, f"internal error: {play.error!r}"],
            "skipped": [str(each) for each in skipped],
        }
        return {**state, "transcript": play.transcript} if with_transcript else state

    @property
    def text(self) -> str:
        """The same for people: the transcript, then how it stands."""
        from fakebroker.scenarios.running.play_text import text_of

        return text_of(self.shown())

    def _state(self) -> str:
        play = self._play
        if not play.is_done:
            return "playing"
        if play.is_cancelled:
            return "cancelled"
        return "failed" if play.problems or play.error is not None else "passed"


class Plays:
    """Those that are under way, and the latest of those that are over, by id."""

    def __init__(self) -> None:
        self._plays: dict[str, Play] = {}
        self._count = 0

    def begin(
        self,
        text: str | bytes,
        name: str,
        seed: int | None,
        parameters: Mapping[str, Any],
        broker: "AsyncFakeBroker | None",
        broker_id: str | None,
        check_options: Callable[[Mapping[str, Any]], None],
    ) -> Play:
        """Read a scenario and begin to play it, on `broker` or, with None, in virtual time.

        `name` is what stands for its file, `broker_id` the isolated broker that it was sent to. `check_options` raises
        Problem for options of a broker that the caller may not give.

        Raises Problem for an unreadable scenario or when too many are under way, InvalidArgument for one that
        contradicts the broker.
        """
        from fakebroker.scenarios.errors import ScenarioError
        from fakebroker.scenarios.language.reading import read_scenario_text

        if sum(not each.is_done for each in self._plays.values()) >= MAX_AT_ONCE:
            raise Problem(409, "refused", f"{MAX_AT_ONCE} scenarios are already running; wait, or delete some")
        try:
            scenario = read_scenario_text(text, name=name, parameters=dict(parameters))
        except ScenarioError as error:
            problems = [str(each) for each in error.problems]
            raise Problem(422, "invalid-argument", str(error), field="scenario", problems=problems) from None
        check_options({"config": scenario.config})
        return self.add(*_begun(scenario, seed, broker), broker_id)

    def add(self, play: "BackgroundPlay", broker: "FromThread | None", broker_id: str | None = None) -> Play:
        """Know a play that has begun."""
        self._count += 1
        added = Play(f"p{self._count}", play, broker, broker_id)
        self._plays[added.scenario_id] = added
        self._forget_oldest()
        return added

    def of(self, broker_id: str | None) -> list[Play]:
        """Those that were sent to an isolated broker; with None all."""
        return [each for each in self._plays.values() if broker_id in (None, each.broker_id)]

    def find(self, scenario_id: str, broker_id: str | None = None) -> Play:
        """The play of that id, among those of an isolated broker if there is one. Raises UnknownThing."""
        plays = {each.scenario_id: each for each in self.of(broker_id)}
        if scenario_id not in plays:
            detail = f"there is no scenario {shown_value(scenario_id)!r}; {nearest(scenario_id, list(plays))}"
            raise UnknownThing("scenario_id", scenario_id, detail)
        return plays[scenario_id]

    async def remove(self, scenario_id: str, broker_id: str | None = None) -> None:
        """End it where it is, and forget it. Raises UnknownThing."""
        play = self.find(scenario_id, broker_id)
        del self._plays[scenario_id]
        await play.cancel()

    async def end_on(self, broker: "AsyncFakeBroker") -> None:
        """End those that are played on a broker, where they are."""
        for play in self.of(None):
            if play.broker is not None and play.broker.is_of(broker):
                await play.cancel()

    async def close(self) -> None:
        """End all of them."""
        for play in self.of(None):
            await play.cancel()
        self._plays.clear()

    def _forget_oldest(self) -> None:
        over = [each.scenario_id for each in self.of(None) if each.is_done]
        for scenario_id in over[: max(0, len(over) - MAX_PLAYS)]:
            del self._plays[scenario_id]


def _begun(
    scenario: "Scenario", seed: int | None, broker: "AsyncFakeBroker | None"
) -> "tuple[BackgroundPlay, FromThread | None]":
    """A play that has begun on a running broker, or with None in virtual time, and the broker as it reaches it."""
    from fakebroker.scenarios.playing.worlds import BrokerWorld, VirtualWorld
    from fakebroker.scenarios.running.background import BackgroundPlay
    from fakebroker.scenarios.running.from_thread import FromThread
    from fakebroker.scenarios.running.options import check_engine, create_topics

    if broker is None:
        return BackgroundPlay(scenario, VirtualWorld(scenario), seed).start(), None
    check_engine(scenario, broker._engine)
    create_topics(scenario, broker)
    reached = FromThread(broker, asyncio.get_running_loop())
    return BackgroundPlay(scenario, BrokerWorld(reached), seed).start(), reached

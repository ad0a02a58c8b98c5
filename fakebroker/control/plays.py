"""The scenarios that are played through the HTTP door: on a broker of their own in virtual time, or on a served one."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.control.problems import Problem, shown_value
from fakebroker.errors import UnknownThing, nearest

if TYPE_CHECKING:
    from fakebroker.broker import AsyncFakeBroker
    from fakebroker.scenario.running.background import BackgroundPlay
    from fakebroker.scenario.running.from_thread import FromThread
    from fakebroker.scenario.script import Scenario

MOST_PLAYS = 64  # that are over and can still be asked for
MOST_AT_ONCE = 16

Json = Any


class Play:
    """One scenario that was sent."""

    def __init__(self, scenario_id: str, scenario: "Scenario", seed: int | None) -> None:
        self.scenario_id = scenario_id
        self._over = asyncio.Event()
        self._scenario = scenario
        self._seed = seed
        self._broker: FromThread | None = None
        self._play: BackgroundPlay

    def begin(self, broker: "AsyncFakeBroker | None") -> None:
        """Begin on a running broker; with None on one of its own, in virtual time."""
        from fakebroker.scenario.playing.worlds import BrokerWorld, VirtualWorld
        from fakebroker.scenario.running.background import BackgroundPlay
        from fakebroker.scenario.running.from_thread import FromThread
        from fakebroker.scenario.running.options import check_engine, create_topics

        loop = asyncio.get_running_loop()

        def on_over() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._over.set)

        if broker is None:
            world: Any = VirtualWorld(self._scenario)
        else:
            check_engine(self._scenario, broker.engine)
            create_topics(self._scenario, broker)
            self._broker = FromThread(broker, loop)
            world = BrokerWorld(self._broker)
        self._play = BackgroundPlay(self._scenario, world, self._seed, on_over=on_over)
        self._play.start()

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
            await asyncio.wait_for(self._over.wait(), timeout_s)
        except TimeoutError:
            raise self._play.not_over(self.scenario_id, timeout_s) from None

    async def cancel(self) -> None:
        """End it where it is."""
        await self._play.cancel_on(self._broker)

    def shown(self, with_transcript: bool = True) -> dict[str, Json]:
        """What the door tells of it."""
        from fakebroker.scenario.happenings import Skipped, StepBegan

        play = self._play
        happenings = play.happenings
        skipped = [each for each in happenings if isinstance(each, Skipped)]
        step = play.step
        told = {
            "scenario_id": self.scenario_id,
            "name": play.scenario.name,
            "about": play.scenario.about,
            "state": self._state(),
            "steps": sum(isinstance(each, StepBegan) for each in happenings),
            "step": None if step is None else str(step),
            "problems": play.problems if play.error is None else [*play.problems, f"internal error: {play.error!r}"],
            "skipped": [str(each) for each in skipped],
        }
        return {**told, "transcript": play.transcript} if with_transcript else told

    @property
    def text(self) -> str:
        """The same for people: the transcript, then how it stands."""
        told = self.shown(with_transcript=False)
        more = [f"{self.scenario_id} {told['state']}", *told["problems"]]
        if told["state"] == "playing" and told["step"] is not None:
            more.append(f"it is at {told['step']}")
        return "\n".join([self._play.transcript, *more, ""])

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
        text: str,
        seed: int | None,
        parameters: Mapping[str, Any],
        broker: "AsyncFakeBroker | None",
    ) -> Play:
        """Read a scenario and begin to play it, on `broker` or, with None, in virtual time.

        Raises Problem for a scenario that cannot be read or when too many are under way, InvalidArgument for one that
        contradicts the broker.
        """
        from fakebroker.scenario.errors import ScenarioError
        from fakebroker.scenario.language.reading import read_scenario_text

        if sum(not each.is_done for each in self._plays.values()) >= MOST_AT_ONCE:
            raise Problem(409, "refused", f"{MOST_AT_ONCE} scenarios are being played already; wait, or delete some")
        try:
            scenario = read_scenario_text(text, name="scenario", parameters=dict(parameters))
        except ScenarioError as error:
            problems = [str(each) for each in error.problems]
            raise Problem(422, "invalid-argument", str(error), field="scenario", problems=problems) from None
        self._count += 1
        play = Play(f"p{self._count}", scenario, seed)
        play.begin(broker)
        self._plays[play.scenario_id] = play
        self._forget_oldest()
        return play

    def __iter__(self) -> Any:
        return iter(tuple(self._plays.values()))

    def find(self, scenario_id: str) -> Play:
        """The play of that id. Raises UnknownThing."""
        play = self._plays.get(scenario_id)
        if play is None:
            detail = f"there is no scenario {shown_value(scenario_id)!r}; {nearest(scenario_id, list(self._plays))}"
            raise UnknownThing("scenario_id", scenario_id, detail)
        return play

    async def remove(self, scenario_id: str) -> None:
        """End it where it is, and forget it. Raises UnknownThing."""
        play = self.find(scenario_id)
        del self._plays[scenario_id]
        await play.cancel()

    async def close(self) -> None:
        """End all of them."""
        for play in self:
            await play.cancel()
        self._plays.clear()

    def _forget_oldest(self) -> None:
        over = [each.scenario_id for each in self if each.is_done]
        for scenario_id in over[: max(0, len(over) - MOST_PLAYS)]:
            del self._plays[scenario_id]

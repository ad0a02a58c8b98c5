"""The scenarios that are played through the HTTP API: on a broker of their own in virtual time, or on a served one."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.cli.http.leftovers import Leftovers
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.protocol.errors import UnknownThing, nearest

if TYPE_CHECKING:
    from fakebroker.scenarios.running.background import BackgroundPlay
    from fakebroker.scenarios.running.from_thread import FromThread
    from fakebroker.scenarios.script import Scenario
    from fakebroker.testing.broker import AsyncFakeBroker

MAX_PLAYS = 64  # that are over and can still be asked for
MAX_AT_ONCE = 16
MAX_TRANSCRIPTS_CHARS = 1 << 26  # of those that are over, together

Json = Any


class Play:
    """One scenario that was sent, or that is played on the served broker from its beginning.

    When it is over, only what is shown of it is kept: the play itself holds the messages, and a broker of its own.
    """

    def __init__(
        self,
        scenario_id: str,
        play: "BackgroundPlay",
        broker: "FromThread | None",
        broker_id: str | None,
        when_settled: Callable[[], None],
        when_gone: Callable[[], None],
    ) -> None:
        """`broker` is what it is played on, None for one of its own; `broker_id` the isolated broker of its path.

        Both callbacks are called in the running loop: `when_settled` when it is over, and what is kept of it is here;
        `when_gone` when its thread has ended, too, so that neither refers to what it played on.
        """
        self.scenario_id = scenario_id
        self.broker = broker
        self.broker_id = broker_id
        self._play: BackgroundPlay | None = play
        self._settled: dict[str, Json] = {}
        self._when_settled, self._when_gone = when_settled, when_gone
        self._over = asyncio.Event()
        loop = asyncio.get_running_loop()

        def settle() -> None:
            """In the thread that plays: the transcript of a long play takes its time."""
            settled = _shown(self.scenario_id, self.broker_id, play)
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._settle, settled)

        play.when_over(settle)

    @property
    def path(self) -> str:
        """Where it is."""
        above = "" if self.broker_id is None else f"/brokers/{self.broker_id}"
        return f"{above}/scenarios/{self.scenario_id}"

    async def prepare(self) -> None:
        """Wait a moment until the timeline first waits for something."""
        if self._play is not None:
            await asyncio.to_thread(self._play.prepare)

    @property
    def is_done(self) -> bool:
        """Whether it is over."""
        return self._play is None or self._play.is_done

    @property
    def kept_chars(self) -> int:
        """The length of the transcript that is kept of one that is over."""
        return len(self._settled.get("transcript", ""))

    async def wait(self, timeout_s: float) -> None:
        """Wait until it is over. Raises WaitTimeout that says where it is."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._over.wait()
        except TimeoutError:
            if self._play is not None:
                raise self._play.not_over(self.scenario_id, timeout_s) from None

    async def cancel(self) -> None:
        """End it where it is."""
        if self._play is not None:
            await self._play.cancel_on(self.broker)

    async def shown(self) -> dict[str, Json]:
        """Its state as the HTTP API reports it."""
        play = self._play
        if play is None:
            return self._settled
        return await asyncio.to_thread(_shown, self.scenario_id, self.broker_id, play)

    def brief(self) -> dict[str, Json]:
        """The same without its transcript."""
        if self._play is not None:
            return _brief(self.scenario_id, self.broker_id, self._play)
        return {name: value for name, value in self._settled.items() if name != "transcript"}

    def _settle(self, settled: dict[str, Json]) -> None:
        play, self._play, self.broker, self._settled = self._play, None, None, settled
        self._over.set()
        self._when_settled()
        if play is not None:
            ended = asyncio.get_running_loop().run_in_executor(None, play.join)
            ended.add_done_callback(lambda _: self._when_gone())


def _shown(scenario_id: str, broker_id: str | None, play: "BackgroundPlay") -> dict[str, Json]:
    return {**_brief(scenario_id, broker_id, play), "transcript": play.transcript}


def _brief(scenario_id: str, broker_id: str | None, play: "BackgroundPlay") -> dict[str, Json]:
    from fakebroker.scenarios.happenings import Skipped, StepBegan

    happenings = play.happenings
    step = play.step
    return {
        "scenario_id": scenario_id,
        "broker_id": broker_id,
        "name": play.scenario.name,
        "about": play.scenario.about,
        "state": _state(play),
        "steps": sum(isinstance(each, StepBegan) for each in happenings),
        "step": None if step is None else str(step),
        "problems": play.problems if play.error is None else [*play.problems, f"internal error: {play.error!r}"],
        "skipped": [str(each) for each in happenings if isinstance(each, Skipped)],
    }


def _state(play: "BackgroundPlay") -> str:
    if not play.is_done:
        return "playing"
    if play.is_cancelled:
        return "cancelled"
    return "failed" if play.problems or play.error is not None else "passed"


class Plays:
    """Those that are under way, and the latest of those that are over, by id."""

    def __init__(self, leftovers: Leftovers) -> None:
        """`leftovers` hears of each that is over."""
        self._leftovers = leftovers
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
        added = Play(f"p{self._count}", play, broker, broker_id, self._settled, self._leftovers.add)
        self._plays[added.scenario_id] = added
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

    def _settled(self) -> None:
        """One is over: forget the oldest of those that are, if they are too many, or too long together."""
        over = [each for each in self.of(None) if each.is_done]
        chars = sum(each.kept_chars for each in over)
        while len(over) > MAX_PLAYS or (len(over) > 1 and chars > MAX_TRANSCRIPTS_CHARS):
            oldest = over.pop(0)
            chars -= oldest.kept_chars
            del self._plays[oldest.scenario_id]


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

"""`fakebroker.play`: a scenario file in Python, in virtual time or on a broker that runs."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.short_errors import short_errors
from fakebroker.scenarios.language.reading import read_scenario
from fakebroker.scenarios.playing.player import Played, Player
from fakebroker.scenarios.playing.worlds import BrokerWorld, VirtualWorld, World
from fakebroker.scenarios.running.options import check_engine
from fakebroker.scenarios.running.transcript import scenario_failed

if TYPE_CHECKING:
    from fakebroker.testing.broker import FakeBroker

Json = Any


@short_errors
def play(
    path: str | os.PathLike[str],
    broker: "FakeBroker | None" = None,
    seed: int | None = None,
    parameters: Mapping[str, Json] | None = None,
) -> Played:
    """Play a scenario file: in virtual time on a broker of its own, or in real time on `broker`, which runs.

    With `seed` orders and pauses that the scenario leaves open are drawn; `parameters` replace those of the file.
    Returns what happened. Raises ScenarioError for a file that is no scenario, ScenarioFailed when something did not
    come out as it says, InvalidArgument for a scenario that needs another broker, OSError for a file that cannot be
    read.
    """
    __tracebackhide__ = True  # of pytest: the error says what failed
    try:
        scenario = read_scenario(os.fspath(path), dict(parameters or {}))
    except OSError as error:
        raise error.with_traceback(None) from None
    world: World = VirtualWorld(scenario)
    if broker is not None:
        check_engine(scenario, broker._engine)
        world = BrokerWorld(broker)
    played = Player(world, scenario, seed).play()
    if not played.is_good:
        raise scenario_failed(scenario, played.problems, played.happenings, played.start_wall_ms)
    return played

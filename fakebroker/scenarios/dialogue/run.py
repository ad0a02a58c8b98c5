"""Plays a dialogue on a broker made for it: in the simulator, over TCP on a fresh one, or against one that runs."""

import time
import traceback
from dataclasses import dataclass, replace
from typing import Any

from fakebroker.client.cluster.links import addresses_of
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.dialogue.player import Player
from fakebroker.scenarios.dialogue.script import Dialogue
from fakebroker.testing.sim_driver import JITTER_MS, SimDriver

SIM_TAG = "-tag"


@dataclass(frozen=True)
class Outcome:
    """What came of playing a dialogue: nothing in `problems` means all was as in Kafka. `took_ms` is real time.

    `was_late`: see `Player`; without it, what differs in real time is a fault of the broker, not of a busy machine.
    """

    dialogue: Dialogue
    problems: list[str]
    took_ms: int
    was_late: bool = False

    @property
    def is_good(self) -> bool:
        """Whether everything was as recorded."""
        return not self.problems


def play_in_sim(dialogue: Dialogue, seed: int = 0, jitter_ms: int = JITTER_MS) -> Outcome:
    """Play in virtual time, in milliseconds. Waits may differ by the jitter of the broker that was recorded."""
    start_ns = time.monotonic_ns()
    try:
        problems = _play_in_sim(dialogue, seed, jitter_ms)
    except FakebrokerError as error:
        problems = [f"the broker did not start: {error}"]
    return Outcome(dialogue, problems, _ms_since(start_ns))


def play_against(dialogue: Dialogue, driver: TcpDriver) -> Outcome:
    """Play in real time against a broker that runs with the settings of the dialogue's head.

    The driver's `control` is needed by dialogues that stop, kill or freeze brokers. It is closed at the end.
    """
    start_ns = time.monotonic_ns()
    player = Player(driver, _fresh_tag())
    try:
        problems = player.play(dialogue)
    finally:
        driver.close_all()
    return Outcome(dialogue, problems, _ms_since(start_ns), player.was_late)


def play_on_fresh_broker(dialogue: Dialogue, slack: float = 1.0) -> Outcome:
    """Play in real time over TCP against a broker of its own, started and stopped here."""
    from fakebroker.testing.broker import FakeBroker

    try:
        broker = FakeBroker(**_options_of(dialogue))
    except FakebrokerError as error:
        return Outcome(dialogue, [f"the broker did not start: {error}"], 0)
    with broker:
        driver = TcpDriver(*addresses_of(broker.bootstrap)[0], slack, lambda op, node: getattr(broker.node(node), op)())
        outcome = play_against(dialogue, driver)
        bugs = [internal(error) for error in broker.errors]
        broker.errors.clear()
    return replace(outcome, problems=outcome.problems + bugs, was_late=outcome.was_late and not bugs)


def _play_in_sim(dialogue: Dialogue, seed: int, jitter_ms: int) -> list[str]:
    from fakebroker.testing.virtual_broker import VirtualBroker

    broker = VirtualBroker(**_options_of(dialogue), seed=seed)
    problems = Player(SimDriver(broker.network, jitter_ms), SIM_TAG).play(dialogue)
    return problems + [internal(error) for error in broker.errors]


def _options_of(dialogue: Dialogue) -> dict[str, Any]:
    """The options of a broker that is as the recorded one."""
    return {
        "nodes": dialogue.nodes,
        "racks": _racks_of(dialogue),
        "profile": "kafka",
        "config": _settings_of(dialogue),
        "as_release": dialogue.release,
    }


def _settings_of(dialogue: Dialogue) -> dict[str, str]:
    """The settings of the recorded broker; its own address was written HOST:PORT."""
    return {name: str(value).replace("HOST:PORT", "127.0.0.1:9092") for name, value in dialogue.config.items()}


def _racks_of(dialogue: Dialogue) -> list[str] | None:
    """Recorded brokers had racks if they were several."""
    return [f"r{node_id}" for node_id in range(1, dialogue.nodes + 1)] if dialogue.nodes > 1 else None


def internal(error: Exception) -> str:
    """A bug of ours: what was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"internal error: {error!r}{where}"


def _fresh_tag() -> str:
    """Six characters that no earlier run on the same broker used: the microseconds, of the last sixteen seconds."""
    return f"{time.time_ns() // 1000 % 0x1000000:06x}"


def _ms_since(start_ns: int) -> int:
    return (time.monotonic_ns() - start_ns) // 1_000_000

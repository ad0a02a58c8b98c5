"""Put random group runs to a real Kafka and compare: `python -m tools.ask_kafka HOST:PORT ...`.

    HOST:PORT [--as RELEASE] [--runs N] [--seed N] [--config name=value]...

Each run is made up on fakebroker in virtual time, then played against the broker in real time at the same pace, eight
side by side. The broker must have the settings of `random_groups.CONFIG` and those given here. Runs in which Kafka
itself is free to choose are left out. The dialogues of runs that differ stay in the system's temporary directory.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from uuid import uuid4

from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.schema.jsonable import to_json
from fakebroker.scenarios.comparison.names import value_at
from fakebroker.scenarios.dialogue.player import Player
from fakebroker.scenarios.dialogue.script import read_dialogue
from fakebroker.testing.exchanges.kinds import Receive, Send, Sleep, Step
from tools.random_groups import RandomRun, Undecided

SIDE_BY_SIDE = 8
LATE_MS = 150  # a run that falls behind that far says nothing: timers have overtaken it
ANSWER_WITHIN_MS = 4000


class TooSlow(Exception):
    """This machine cannot keep the pace."""


class PacedPlayer(Player):
    """Sends each request at its time, and learns the ids of all answers that come together before it compares them."""

    def play_paced(self, steps: Sequence[Step]) -> list[str]:
        """What differs."""
        problems: list[str] = []
        zero_ms: int | None = None
        for place, step in enumerate(steps):
            if isinstance(step, Sleep):
                continue
            if isinstance(step, Send) and step.at_ms is not None:
                at_ms = int(step.at_ms)
                zero_ms = self._driver.mono_ms - at_ms if zero_ms is None else zero_ms
                self._wait_until(zero_ms + at_ms)
            if isinstance(step, Receive) and not isinstance(steps[place - 1], Receive):
                self._learn_from(steps[place:])
            problems += [f"{self._title(step)}: {problem}" for problem in self._play_step(step)]
        return problems

    def _wait_until(self, due_ms: int) -> None:
        left_ms = due_ms - self._driver.mono_ms
        if left_ms < -LATE_MS:
            raise TooSlow
        self._driver.pass_time(max(0, left_ms))

    def _learn_from(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if not isinstance(step, Receive):
                return
            request = self._sent[step.id]
            self._await(request.pending, step.waited_ms + ANSWER_WITHIN_MS)
            answer = to_json(request.pending.result(), request.pending.version)
            for name, path in request.save.items():
                self._names.save(name, value_at(answer, path))


def compare(host: str, port: int, path: Path) -> list[str] | None:
    """Play one run against the broker: what differs, or None if the machine was too slow to tell."""
    driver = TcpDriver(host, port, 1.5)
    try:
        return PacedPlayer(driver, uuid4().hex[:6]).play_paced(read_dialogue(path).steps)
    except TooSlow:
        return None
    except FakebrokerError as error:
        return [str(error)]
    finally:
        driver.close_all()


def make_up(arguments: argparse.Namespace, folder: Path) -> list[Path]:
    """The runs in which nothing is left to Kafka's choice."""
    config = dict(each.split("=", 1) for each in arguments.config)
    paths = []
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        path = folder / f"{seed}.jsonl"
        try:
            path.write_text(RandomRun(seed, arguments.release, config).play())
        except Undecided:
            continue
        paths.append(path)
    return paths


def main() -> int:
    """Make up, play, compare, report; the status says whether anything differed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--as", dest="release", default="4.3")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--config", action="append", default=[])
    arguments = parser.parse_args()
    host, _, port = arguments.address.rpartition(":")
    paths = make_up(arguments, Path(tempfile.mkdtemp(prefix="ask-kafka-")))
    same = slow = 0
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for path, problems in zip(paths, pool.map(partial(compare, host, int(port)), paths), strict=True):
            same += problems == []
            slow += problems is None
            if problems:
                print(f"{path} differs:", *problems[:3], sep="\n    ", flush=True)
    print(
        f"{same} of {len(paths)} runs as Kafka, {slow} too slow to tell; {arguments.runs - len(paths)} left to chance"
    )
    return int(same + slow < len(paths))


if __name__ == "__main__":
    sys.exit(main())

"""A process that serves a data directory is killed under load, many times: nothing acknowledged is lost or doubled."""

from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

from tests.support.killed_server import KilledServer, Load, Stage


def play(folder: Path, kills: int, seed: int) -> None:
    """Kill the process so often, each time some rounds later, while something is under way."""
    random = Random(seed)
    server = KilledServer(folder / "data")
    server.start()
    load, rounds = Load(server), 0
    for _ in range(kills):
        ahead, stage, due = random.randint(1, 3), random.choice(list(Stage)), Event()
        target = rounds + ahead, stage

        def kill_and_start(due: Event = due) -> None:
            due.wait()
            server.kill()
            server.start()

        killer = Thread(target=kill_and_start)
        killer.start()

        def at(number: int, stage: Stage, target: tuple[int, Stage] = target, due: Event = due) -> None:
            if (number, stage) == target:
                due.set()

        load.run(ahead, at)
        rounds += ahead
        due.set()  # if an earlier stage has failed
        killer.join()
    load.run(2, lambda _number, _stage: None)
    load.check()
    load.close()
    assert server.end() == 0, server.log
    assert "Traceback" not in server.log


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_a_few_times(tmp_path: Path) -> None:
    """Every acknowledged record, offset, transaction and topic is there once after five kills."""
    play(tmp_path, 5, 1)


@pytest.mark.clients
@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10))
def test_killed_often(tmp_path: Path, seed: int) -> None:
    """The same after thirty kills, ten times: 300 kills."""
    play(tmp_path, 30, seed)

"""Many plays in several processes: the outcomes in order, and nothing left behind."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker.scenarios.running import side_by_side
from fakebroker.scenarios.running.side_by_side import outcomes


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def broken(number: int) -> int:
    if number == 7:
        raise RuntimeError("seven")
    return number


def test_short_work_is_done_here() -> None:
    """Other processes would cost more than they give."""
    assert list(outcomes(square, range(20), processes=2)) == [(n * n, os.getpid()) for n in range(20)]


def test_long_work_is_shared_and_keeps_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes come as the tasks were."""
    monkeypatch.setattr(side_by_side, "FORKED_S", -1.0)
    monkeypatch.setattr(side_by_side, "SPAWNED_S", -1.0)

    found = list(outcomes(square, range(50), processes=2))

    assert [value for value, _ in found] == [n * n for n in range(50)]
    assert {pid for _, pid in found[1:]} - {os.getpid()}
    assert multiprocessing.active_children() == []


def test_a_program_is_not_run_again_by_its_processes(tmp_path: Path) -> None:
    """A process with threads gets new ones, which do not import the program, whether or not it is made for that."""
    program = tmp_path / "program.py"
    program.write_text(
        "from operator import neg\n"
        "from fakebroker.scenarios.running import side_by_side\n"
        "side_by_side.SPAWNED_S = -1.0\n"
        "print(*side_by_side.outcomes(neg, range(20), processes=2, has_threads=True))\n"
    )
    found = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)

    assert (found.stdout.split(), found.stderr) == ([str(-n) for n in range(20)], "")


def test_one_processor_works_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is to do."""
    monkeypatch.setattr(side_by_side, "FORKED_S", -1.0)

    assert {pid for _, pid in outcomes(square, range(10), processes=1)} == {os.getpid()}


def test_who_ends_early_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is left when the iteration is closed."""
    monkeypatch.setattr(side_by_side, "FORKED_S", -1.0)
    monkeypatch.setattr(side_by_side, "SPAWNED_S", -1.0)
    found = outcomes(square, range(1000), processes=2)

    assert [next(found)[0] for _ in range(3)] == [0, 1, 4]
    found.close()  # type: ignore[attr-defined]

    assert multiprocessing.active_children() == []


def test_an_error_of_the_work_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a bug, whichever process had it."""
    monkeypatch.setattr(side_by_side, "FORKED_S", -1.0)
    monkeypatch.setattr(side_by_side, "SPAWNED_S", -1.0)

    with pytest.raises(RuntimeError, match="seven"):
        list(outcomes(broken, range(20), processes=2))

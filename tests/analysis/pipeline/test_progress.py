"""What is reported while long work goes on."""

import io
import threading

import pytest

from fakebroker.analysis.pipeline.progress import Progress, repeated


def test_something_is_looked_at_again_and_again_while_the_block_works() -> None:
    """It is called from another thread, which has ended after the block, also after an error in it."""
    seen_often = threading.Event()
    callers: set[threading.Thread] = set()
    looks: list[None] = []

    def look() -> None:
        callers.add(threading.current_thread())
        looks.append(None)
        if len(looks) == 3:
            seen_often.set()

    def fail_when_seen() -> None:
        with repeated(look, 0.001):
            assert seen_often.wait(30)
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        fail_when_seen()

    assert threading.current_thread() not in callers
    assert not any(each.is_alive() for each in callers)


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_stage_from_its_start() -> None:
    """Its name stands there while it works, and its line takes that place; elsewhere there is only the line."""
    for out, before in ((Terminal(), "\r\x1b[Kcommits"), (io.StringIO(), "")):
        with Progress(out).stage("commits") as stage:
            assert out.getvalue() == before
            stage.rows = 3
        assert out.getvalue().rpartition("\x1b[K")[2].startswith("commits ")

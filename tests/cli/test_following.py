"""Rounds until a signal."""

import signal
from collections.abc import Callable, Iterator

import pytest

from fakebroker.cli import following
from fakebroker.platform.signals import SIGNALS
from fakebroker.protocol.errors import FakebrokerError, Unavailable


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Those of the process come back after each test."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def rounds(*steps: Callable[[], None]) -> Callable[[], None]:
    """A round that does the first thing, then the second, and nothing at last."""
    coming = iter(steps)

    def take() -> None:
        for step in coming:
            step()
            return

    return take


def fail(error: Exception) -> Callable[[], None]:
    def step() -> None:
        raise error

    return step


@pytest.mark.parametrize("number", SIGNALS)
def test_a_round_comes_after_the_signal(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """What arrived while the round before ran is not left out; the signal ends nothing in the middle of a round."""
    taken: list[str] = []
    monkeypatch.setattr(following, "pause", lambda _: taken.append("pause"))
    following.follow(rounds(
        lambda: taken.append("first"),
        lambda: (taken.append("begun"), signal.raise_signal(number), taken.append("ended"))[0],
        lambda: taken.append("last"),
    ))  # fmt: skip
    assert taken == ["first", "begun", "ended", "pause", "last"]


def test_what_is_unavailable_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker that restarts, another command that writes: said once, until the reason changes."""
    monkeypatch.setattr(following, "pause", lambda _: None)
    gone, locked = fail(Unavailable("gone")), fail(Unavailable("locked"))
    following.follow(rounds(lambda: None, gone, gone, locked, lambda: signal.raise_signal(signal.SIGTERM)))

    assert capsys.readouterr().err.splitlines() == ["gone; trying again", "locked; trying again"]


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ((fail(Unavailable("no such host")),), Unavailable),
        ((lambda: None, fail(FakebrokerError("a check failed"))), FakebrokerError),
        ((lambda: signal.raise_signal(signal.SIGTERM), fail(Unavailable("gone"))), Unavailable),
    ],
    ids=["in the first round", "of another kind", "in the last round"],
)
def test_errors_that_end_it(steps: tuple[Callable[[], None], ...], error: type[Exception]) -> None:
    """A wrong address, and what trying again does not mend."""
    with pytest.raises(error):
        following.follow(rounds(*steps))


def test_a_round_is_followed_by_a_pause_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a second at least."""
    pauses: list[float] = []
    clock = iter([0.0, 0.2, 10.0, 14.0, 20.0])
    monkeypatch.setattr(following, "monotonic", lambda: next(clock))
    monkeypatch.setattr(following, "pause", pauses.append)
    following.follow(rounds(*(lambda: None,) * 2, lambda: signal.raise_signal(signal.SIGTERM)))
    assert pauses == [1.0, 4.0]

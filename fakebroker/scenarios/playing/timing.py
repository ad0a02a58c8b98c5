"""Time that passes in a play: for the broker, for outstanding steps, and for members that act by themselves."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fakebroker.scenarios.playing.shuffle import Shuffle
from fakebroker.testing.sim_driver import SimDriver

if TYPE_CHECKING:
    from fakebroker.scenarios.playing.worlds import World


class Active(Protocol):
    """Something that goes on while time passes."""

    @property
    def due_ms(self) -> int | None:
        """When it does something next by itself, on the monotonic clock; None if it waits for an answer."""

    def advance(self) -> None:
        """Do what is due, and go on with the answers that have come."""


class Timing:
    """Lets time pass; what is `active` goes on meanwhile, in an order of the seed's.

    `check` is called again and again while it does, and raises what ends the play.
    """

    def __init__(self, world: "World", shuffle: Shuffle, check: Callable[[], None] = lambda: None) -> None:
        self.active: list[Active] = []
        self._driver = world.driver
        self._poll_ms = world.poll_ms
        self._shuffle = shuffle
        self._check = check
        self._is_advancing = False
        if isinstance(world.driver, SimDriver):  # waits of the broker's own let time pass without asking here
            world.driver.after_delivery.append(self._advance)
            world.driver.alarms.append(self._next_due_ms)

    @property
    def mono_ms(self) -> int:
        """The time that waits and timers are measured with."""
        return self._driver.mono_ms

    def settle(self) -> None:
        """Let everything happen that is due now."""
        self.pass_time(0)

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let up to `ms` pass; stop as soon as `until` is true, and say whether it is."""
        end_ms = self.mono_ms + ms

        def is_reached() -> bool:
            self._advance()
            return until is not None and until()

        while not is_reached():
            self._check()
            left_ms = end_ms - self.mono_ms
            if left_ms <= 0:
                self._driver.pass_time(0, is_reached)
                return is_reached()
            due_ms = self._next_due_ms()
            waits = [left_ms] if due_ms is None else [left_ms, max(1, due_ms - self.mono_ms)]
            if self._poll_ms is not None and until is not None:
                waits.append(self._poll_ms)
            self._driver.pass_time(min(waits), is_reached)
        return True

    def _advance(self) -> None:
        """What an answer leads to may bring the next: then it is not begun again, but goes on after that."""
        if self._is_advancing:
            return
        self._is_advancing = True
        try:
            for each in self._shuffle.order(self.active):
                each.advance()
        finally:
            self._is_advancing = False

    def _next_due_ms(self) -> int | None:
        return min((each.due_ms for each in self.active if each.due_ms is not None), default=None)

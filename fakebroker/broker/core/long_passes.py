"""Long passes: periodic work over much that is stored, of which one turn does a part, so that clients are served.

A pass asks `is_turn_over` before each of its steps, says what the step costs, and puts off what is left when the turn
is over. The engine limits turns while it serves clients. When a test moves the clock there is no limit: all that is due
is done at its own moment. What a request or an event begins outside of a turn (`begin`) takes one step at once.
"""

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Final, TypeVar

from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace, StepTime, finished

T = TypeVar("T")

TURN_COST: Final = 2_000
"""What a turn may cost: an expired offset is 1, which takes 3 to 10 us. The last step of a turn may go beyond it."""

STEP_COST: Final = 1_000
"""What a step of a pass should cost at most."""

ACTIONS_COST: Final = 5_000
"""What may be done at one moment of what many wait for; the rest of it has turns of its own."""

AT_ONCE: Final = 5_000
"""How many records coordinators load at one moment without turns; that takes up to 0.1 s."""


class _RoomOfMoment:
    """What may be done at one moment: as long as it stays the same, `left` is what is left of it."""

    def __init__(self, most: int) -> None:
        self.left = most
        self._most = most
        self._moment = Instant(0, 0)

    def at(self, now: Instant) -> None:
        """It is `now`: at another moment there is room for all again."""
        if now != self._moment:
            self._moment, self.left = now, self._most


def _raise(error: Exception) -> None:
    raise error


class LongPasses:
    """What the present turn may still cost, and the passes that go on in the next one.

    `now` is the time of the step that runs, of those that `take_steps` takes.
    """

    def __init__(self) -> None:
        self.now = Instant(0, 0)
        self.is_unlimited = False  # while a test moves the clock
        self.on_put_off: Callable[[], None] = lambda: None  # the engine's: there is something for the next turns
        self.on_error: Callable[[Exception], None] = _raise  # the engine's: some work has failed, and others go on
        self.step_time = StepTime()  # of the steps that are taken now
        self._left: int | None = None
        self._waiting: deque[Callable[[Instant], None]] = deque()
        self._actions: deque[Callable[[Instant], None]] = deque()
        self._is_acting = False
        self._room_of_loads = _RoomOfMoment(AT_ONCE)
        self._room_of_actions = _RoomOfMoment(ACTIONS_COST)

    def __bool__(self) -> bool:
        """Whether a pass waits for the next turn."""
        return bool(self._waiting)

    @property
    def stopwatch(self) -> Callable[[], float]:
        """The driver's, in seconds; one in virtual time has none that goes on."""
        return self.step_time.stopwatch

    @stopwatch.setter
    def stopwatch(self, stopwatch: Callable[[], float]) -> None:
        self.step_time.stopwatch = stopwatch

    def limit(self) -> None:
        """A turn begins that may cost TURN_COST."""
        self._left = TURN_COST

    def lift_limit(self) -> None:
        """What is done now is done at once, whatever it costs."""
        self._left = None

    @property
    def is_turn_over(self) -> bool:
        """Whether a pass has to put off its next step."""
        return self._left is not None and self._left <= 0

    @property
    def _is_in_turn(self) -> bool:
        """Whether what is done now counts for a turn already, or for none since a test moves the clock."""
        return self.is_unlimited or self._left is not None

    def spend(self, cost: int) -> None:
        """A step costs so much."""
        if self._left is not None:
            self._left -= cost

    def pace(self, units_per_step: int) -> Pace:
        """When the steps of some work are over: after so many units, or earlier if they take long by the stopwatch."""
        return Pace(units_per_step, self.step_time)

    def begin(self, steps: Generator[None, None, T], done: Callable[[T, Instant], None], now: Instant) -> None:
        """Take the first step of long work, which a request or an event caused, and the others in later turns.

        In a turn, and when a test moves the clock, as `take_steps`. What the first step raises is the caller's.
        """
        if self._is_in_turn:
            self.take_steps(steps, done, now)
            return
        self._left = STEP_COST
        try:
            self.take_steps(steps, done, now)
        finally:
            self._left = None

    def take_steps(self, steps: Generator[None, None, T], done: Callable[[T, Instant], None], now: Instant) -> None:
        """Take steps that cost about STEP_COST each, as many as the turn may; the rest is put off.

        `done` gets what they return, and the time; of steps that were closed meanwhile, None.
        """
        while not self.is_turn_over:
            self.now = now
            try:
                next(steps)
            except StopIteration as end:
                done(end.value, now)
                return
            self.spend(STEP_COST)
        self.put_off(partial(self.take_steps, steps, done))

    def finish(self, steps: Generator[None, None, T], now: Instant) -> T:
        """Take all steps at once, however long that takes; returns what they do."""
        self.now = now
        return finished(steps)

    def may_be_done_at_once(self, records: int, now: Instant) -> bool:
        """Whether so many records may be loaded without turns, beside those that were at this moment; notes it then."""
        room = self._room_of_loads
        room.at(now)
        if records > room.left:
            return False
        room.left -= records
        return True

    def now_or_later(self, action: Callable[[Instant], None], now: Instant) -> None:
        """Do something that many wait for at the same moment, and that says by `spend` what it costs.

        Beyond ACTIONS_COST, or when the turn is over, it is put off. When a test moves the clock it is done at once.
        """
        room = self._room_of_actions
        room.at(now)
        if self.is_turn_over or (room.left <= 0 and not self._is_in_turn):
            self.put_off(action)
        elif self._is_in_turn:
            action(now)
        else:
            self._left = room.left
            try:
                action(now)
            finally:
                room.left, self._left = self._left, None

    def one_by_one(self, action: Callable[[Instant], None], now: Instant) -> None:
        """Do something, and after it what it brings about by this method; nested, that could be any depth."""
        self._actions.append(action)
        if self._is_acting:
            return
        self._is_acting = True
        try:
            while self._actions:
                self._actions.popleft()(now)
        finally:
            self._is_acting = False

    def put_off(self, rest: Callable[[Instant], None]) -> None:
        """Do the rest of a pass in one of the next turns, after those that wait already."""
        self._waiting.append(rest)
        self.on_put_off()

    def take(self) -> Callable[[Instant], None] | None:
        """The rest of the pass that has waited longest, which waits no more; None if none waits."""
        return self._waiting.popleft() if self._waiting else None

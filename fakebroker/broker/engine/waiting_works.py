"""Long requests that wait until others are through: each that is under way holds what its answer is made of.

They wait in the order of arrival. But most are over soon, and a Produce should not wait for the Metadata of all topics.
So each has a short turn when its time comes, and those that have more to do wait on for their place.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from fakebroker.broker.engine.work import Work
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import STEP_S

SHORT_TURN_S: Final = 0.002
STEPS_OF_SHORT_TURN: Final = 10  # at most
TURNS_AT_ONCE: Final = 100
MOST_HELD: Final = 500  # that have had their short turn: what they have made of their answers is kept
MOST_HELD_S: Final = 0.5  # the same, by the time that it took to make


class WaitingWorks:
    """Those that have taken their first step at most, and those that have had their short turn."""

    def __init__(self) -> None:
        self._new = deque[Work]()
        self._held = deque[tuple[Work, float]]()
        self._held_s = 0.0

    def __bool__(self) -> bool:
        return bool(self._new or self._held)

    def add(self, work: Work) -> None:
        """One more waits; one that goes on with its request, as checks of rights do in each step, goes on at once."""
        steps_taken = work.progress.steps_taken
        if not steps_taken:
            self._new.append(work)
        elif steps_taken < STEPS_OF_SHORT_TURN:
            self._new.appendleft(work)
        else:
            self._held.append((work, 0.0))

    def take(self) -> Work | None:
        """There is a place: who gets it, if anybody waits."""
        if self._held:
            work, took_s = self._held.popleft()
            self._held_s -= took_s
            return work
        return self._new.popleft() if self._new else None

    def take_all(self) -> list[Work]:
        """Nobody waits any more."""
        works = list[Work]()
        while (work := self.take()) is not None:
            works.append(work)
        return works

    def have_turns(self, now: Instant, stopwatch: Callable[[], float], leave: Callable[[Work], None]) -> None:
        """Let those that have waited longest have their short turns, for a step all together.

        `leave` gets a work that goes on in a line.
        """
        ends_s = (at_s := stopwatch()) + STEP_S
        for _ in range(min(len(self._new), TURNS_AT_ONCE, MOST_HELD - len(self._held))):
            if at_s > ends_s or self._held_s > MOST_HELD_S:
                break
            work, began_s = self._new.popleft(), at_s
            has_more = _short_turn(work, now, stopwatch)
            at_s = stopwatch()
            if has_more and work.line is None:
                self._held.append((work, at_s - began_s))
                self._held_s += at_s - began_s
            elif has_more:
                leave(work)


def _short_turn(work: Work, now: Instant, stopwatch: Callable[[], float]) -> bool:
    """Take some steps. False when the last one was among them."""
    ends_s = stopwatch() + SHORT_TURN_S
    for _ in range(STEPS_OF_SHORT_TURN):
        if not work.step(now):
            return False
        if work.line is not None or stopwatch() > ends_s:
            break
    return True

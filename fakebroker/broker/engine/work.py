"""Long work: requests that are answered in steps, so that one client cannot hold up the others (Call.work).

Kafka has several threads for requests and others are served beside a long one. Here a step of each long request is
taken in turn, and between two steps whoever has something to say is served.

Some of that work holds much memory while it lasts, such as an unpacked batch (`Call.in_line`). However many connections
ask for it, one after the other does it: they stand in a line, and each line as a whole takes its turn among the rest.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.engine.connection_state import ENDED, GONE, PARKED
from fakebroker.broker.engine.failed_request import answer_failure_in_steps
from fakebroker.broker.engine.long_answers import written_in_steps
from fakebroker.protocol.errors import CloseConnection, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Line

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call, Steps
    from fakebroker.broker.core.deadlines import Timers
    from fakebroker.broker.core.long_passes import LongPasses
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.protocol.schema import Message


STEPS_OF_VERY_LONG = 100  # some seconds: such a request does not keep others waiting, unless there are many
BYTES_OF_PLACE = 128 << 10  # of a request
STEPS_SOON_OVER = 10  # half a second: so long a client that sends no more is waited for


class Progress:
    """Whether a request is under way, or has to wait until others are through, and how many steps it has taken.

    `steps_taken` are those of all its works, beside the first one; `works` is how many of these are not over.
    `was_cut_short`: its first step was, as others waited or the machine was busy. `places` are those that it takes of
    `MOST_UNDER_WAY`: what a request becomes may have a hundred times its bytes.
    """

    __slots__ = ("is_under_way", "places", "steps_taken", "was_cut_short", "works")

    def __init__(self) -> None:
        self.places = 1
        self.is_under_way = self.was_cut_short = False
        self.steps_taken = 0
        self.works = 0

    @property
    def is_soon_over(self) -> bool:
        """Whether the request is at work only for want of time: a client that sends no more is answered still."""
        return self.was_cut_short and self.works > 0 and self.steps_taken < STEPS_SOON_OVER


class Client(Protocol):
    """Who waits for the work to be done."""

    @property
    def progress(self) -> Progress:
        """That of the request in work."""

    @property
    def is_gone(self) -> bool:
        """Whether nobody does any more."""

    def no_more_soon(self) -> None:
        """The request is no longer `Progress.is_soon_over`."""


class Runner(Protocol):
    """What runs an action that is not part of a request. `Engine` implements it."""

    def run(self, action: Callable[[Instant], None], now: Instant) -> None:
        """Run it; what it raises is kept for the test."""


class Work:
    """What is left to do of one request. `steps` answers it at its end, and raises nothing."""

    __slots__ = ("_call", "_client", "_must_finish", "_steps", "progress")

    def __init__(self, client: Client, call: "Call", steps: "Generator[None, None, None]", must_finish: bool) -> None:
        self._client = client
        self._call = call
        self._steps = steps
        self._must_finish = must_finish
        self.progress = client.progress  # of its request
        self.progress.works += 1

    @property
    def line(self) -> Line | None:
        """The line in which its next step has to wait, if any."""
        return self._call.line

    def end(self) -> None:
        """Take no step any more, whatever is left."""
        self._steps.close()
        self._is_over()

    def step(self, now: Instant) -> bool:
        """Take one step. False when it was the last, or nobody waits for the answer any more."""
        if self._client.is_gone and not self._must_finish:
            self.end()
            return False
        self._call.now = now
        self.progress.steps_taken += 1
        if self.progress.steps_taken == STEPS_SOON_OVER:
            self._client.no_more_soon()
        try:
            next(self._steps)
        except StopIteration:
            self._is_over()
            return False
        return True

    def _is_over(self) -> None:
        self.progress.works -= 1
        if not self.progress.works:
            self._client.no_more_soon()


class WorksInLine:
    """The works of which only the first takes steps, until it is through with what it does in the line."""

    __slots__ = ("_line", "_on_leave", "_works")

    def __init__(self, line: Line, on_leave: Callable[[Work], None]) -> None:
        """`on_leave` gets a work that goes on elsewhere."""
        self._line = line
        self._works = deque[Work]()
        self._on_leave = on_leave

    def __len__(self) -> int:
        return len(self._works)

    def join(self, work: Work) -> bool:
        """A work is the last in the line. Whether it is the only one."""
        self._works.append(work)
        return len(self._works) == 1

    def step(self, now: Instant) -> bool:
        """Take one step of the first. False when there is none left."""
        first = self._works[0]
        has_more = first.step(now)
        if not has_more or first.line is not self._line:
            self._works.popleft()
            if has_more:
                self._on_leave(first)
        return bool(self._works)

    def end(self) -> None:
        """Take no step of any of them any more."""
        while self._works:
            self._works.popleft().end()


class Task:
    """Something that is to be done as soon as what is under way is answered, in one step."""

    __slots__ = ("_action", "_runner")

    def __init__(self, runner: "Runner", action: Callable[[Instant], None]) -> None:
        self._runner = runner
        self._action = action

    def step(self, now: Instant) -> bool:
        """Do it. Returns False: nothing is left."""
        self._runner.run(self._action, now)
        return False


class PassesWork:
    """The passes that could not be finished in the turn that began them."""

    __slots__ = ("_passes", "_runner", "is_at_work")

    def __init__(self, runner: "Runner", passes: "LongPasses") -> None:
        self._runner = runner
        self._passes = passes
        self.is_at_work = False  # what is put off then is among what is left

    def step(self, now: Instant) -> bool:
        """Go on with one of them for a turn. False when none is left."""
        self.is_at_work = True
        self._passes.limit()
        self.go_on(now)
        self._passes.lift_limit()
        self.is_at_work = False
        return bool(self._passes)

    def finish(self, now: Instant) -> None:
        """Do all of what is left, however long it takes."""
        while self._passes:
            self.go_on(now)

    def go_on(self, now: Instant) -> None:
        """Go on with the pass that has waited longest, if there is one."""
        rest = self._passes.take()
        if rest is not None:
            self._runner.run(rest, now)


class DueWork:
    """The deadlines that were too many for one turn. Each `Engine.step` runs a part of them before its work."""

    __slots__ = ("_timers",)

    def __init__(self, timers: "Timers") -> None:
        self._timers = timers

    def step(self, now: Instant) -> bool:
        """Whether something is due still."""
        return self.is_left(now)

    def is_left(self, now: Instant) -> bool:
        """Whether something is due at `now` or before."""
        wall_ms, mono_ms = self._timers.wall.next_due_ms(), self._timers.mono.next_due_ms()
        return (mono_ms is not None and mono_ms <= now.mono_ms) or (wall_ms is not None and wall_ms <= now.wall_ms)


def answer_in_steps(connection: "Connection", call: "Call", steps: "Steps[Message]") -> Generator[None, None, None]:
    """All of the request in work from its second step on: the handler's steps, then those of writing the answer."""
    route, response = connection.route, None
    assert route is not None
    try:
        response = yield from steps
        if response is None or call.is_answered or connection.state in ENDED:  # answered, or parked, or for nobody
            return
        body = yield from written_in_steps(call, route, response)
        if call.is_answered or connection.state in ENDED:  # it went away during these steps
            return
        connection.send(route, body)
        connection.mark_answered(call)
    except Exception as error:
        if connection.state is PARKED and call is connection.call:
            assert connection.request is not None
            yield from answer_failure_in_steps(
                connection,
                route,
                connection.request,
                error if response is None else (yield from route.fault_in_steps(response, error)),
            )  # without a name for the cause: its traceback has this frame, and that would be a cycle
        elif not isinstance(error, CloseConnection | KafkaError):
            connection.engine.failed(error)
    if connection.state is not GONE:
        connection.unpark(call)

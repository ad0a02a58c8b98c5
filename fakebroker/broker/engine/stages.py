"""Stages: what may stand between a request and its handler, on the routes that a stage concerns.

A stage serves each request with a generator of its own, a `Passage`. What it yields says how the request goes on; it is
resumed with the answer, on the answer's way out. So a stage reads from top to bottom, however long the request is
parked further in:

    def serve(self, exchange, request):
        check(request)                          the way in
        response = yield Handle(request)        the next stage has it, at last the handler
        return changed(response)                the way out

`Exchange` runs the passages. A request whose route has no stage has no `Exchange` either.
"""

from collections.abc import Callable, Generator
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema import Message

if TYPE_CHECKING:
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.exchange import Exchange

Handler = Callable[[Call, Message], Message | None]
"""Answers a request, or returns None and replies by its call (broker/apis/call.py)."""


class StageKind(IntEnum):
    """The stages that there are, from the one nearest to the client to the one nearest to the handler."""

    FAULTS = 1
    LOGIN = 2  # of one connection; the others are of all
    QUOTAS = 3
    AUTHORIZATION = 4
    DISKS = 5


class Handle(NamedTuple):
    """Let the next stage have `request`; it is the answer to that which the passage is resumed with.

    The passage is resumed with the exception instead, a KafkaError or CloseConnection, if one comes up further in.
    A `handler` has the request in place of all that would come next.
    """

    request: Message
    handler: Handler | None = None


class Pause(NamedTuple):
    """Go on after a time, in milliseconds of the monotonic reading; on a node that is frozen, when it is thawed."""

    delay_ms: int


class NextTurn(NamedTuple):
    """Go on when nothing else of the engine is running, so that functions of the test may do anything to the broker."""


class Refuse(NamedTuple):
    """Make the answer in which everything that was asked for failed; the passage is resumed with it.

    It may have an entry for each of millions in the request: of a long one it is made in steps, and the passage is not
    resumed if the client leaves during these.
    """

    code: ErrorCode


Command = Handle | Pause | NextTurn | Refuse
Passage = Generator[Command, Message | None, Message | None]


class Stage(Protocol):
    """One of `StageKind`."""

    @property
    def kind(self) -> StageKind:
        """Its place among the others."""

    def concerns(self, route: "Route") -> bool:
        """Whether requests of that route go through it."""

    def serve(self, exchange: "Exchange", request: Message) -> Passage:
        """The way of one request through the stage. Returns its answer; None: it gets none, or it is settled."""

"""What a call of a closed connection still has: every question to it is answered, nothing has an effect."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.apis.call import Call, Steps
    from fakebroker.schema import Message


class ClosedConnection:
    """In the place of the `Connection` in `Call.connection` (apis/call.py), so that a parked call that outlives its
    client does not keep the connection, the driver and their buffers in memory.
    """

    def answer(self, call: "Call", _response: "Message | None") -> None:
        """Nobody is there to read it."""
        call.is_answered = True

    def watch(self, _call: "Call", _callback: Callable[[Instant], None]) -> None:
        """The client has gone already; callbacks that were there before have run."""

    def work(self, _call: "Call", steps: "Steps[Any]", _must_finish: bool) -> None:
        """Nobody waits for what the steps would give."""
        steps.close()

    def fail(self, _reason: str) -> None:
        """It is closed."""

    def not_served(self, _call: "Call", _what: str) -> None:
        """It waits for nothing any more."""

    def looked_up(self, _call: "Call", _group_id: str) -> None:
        """It will not ask that coordinator."""

    def address_of(self, _node_id: int) -> None:
        """A client that has gone reaches nothing."""


CLOSED_CONNECTION = ClosedConnection()

"""Long work: requests that are answered in steps, so that one client cannot hold up the others (Call.work).

Kafka has several threads for requests and others are served beside a long one. Here a step of each long request is
taken in turn, and between two steps whoever has something to say is served.
"""

from typing import TYPE_CHECKING

from fakebroker.instant import Instant

if TYPE_CHECKING:
    from collections.abc import Generator

    from fakebroker.apis.call import Call
    from fakebroker.engine.closed_connection import ClosedConnection
    from fakebroker.engine.connection import Connection


class Work:
    """What is left to do of one request. `steps` answers it at its end, and raises nothing."""

    __slots__ = ("_call", "_connection", "_must_finish", "_steps")

    def __init__(
        self,
        connection: "Connection | ClosedConnection",
        call: "Call",
        steps: "Generator[None, None, None]",
        must_finish: bool,
    ) -> None:
        self._connection = connection
        self._call = call
        self._steps = steps
        self._must_finish = must_finish

    def step(self, now: Instant) -> bool:
        """Take one step. False when it was the last, or nobody waits for the answer any more."""
        if self._connection.is_gone and not self._must_finish:
            self._steps.close()
            return False
        self._call.now = now
        try:
            next(self._steps)
        except StopIteration:
            return False
        return True

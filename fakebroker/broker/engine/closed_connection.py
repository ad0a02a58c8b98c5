"""What a call of a closed connection still has: every question to it is answered, next to nothing has an effect."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from fakebroker.broker.engine.connection_state import GONE
from fakebroker.broker.engine.work import Progress, Work
from fakebroker.protocol.errors import CloseConnection, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call, Steps
    from fakebroker.broker.core.security.principals import Principal
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.protocol.schema import Message


class ClosedConnection:
    """In the place of the `Connection` in `Call.connection` (broker/apis/call.py), so that a parked call that outlives
    its client does not keep the connection, the driver and their buffers in memory.

    Only work that must be finished goes on: a request that was taken up as a whole is done, as in Kafka.
    """

    __slots__ = ("client_port", "connection_id", "engine", "principal", "progress", "software")
    connection_id: int
    principal: "Principal"
    client_port: int
    software: tuple[str, str]
    progress: Progress
    is_gone = True
    state = GONE
    frame = head = b""  # of no request

    def __init__(self, engine: "Engine", closed: "Connection | ClosedConnection") -> None:
        self.engine = engine
        self.connection_id = closed.connection_id
        self.principal = closed.principal
        self.client_port, self.software = closed.client_port, closed.software
        self.progress = closed.progress

    def answer(self, call: "Call", _response: "Message | None") -> None:
        """Nobody is there to read it."""
        call.is_answered = True

    def watch(self, _call: "Call", callback: Callable[[Instant], None]) -> None:
        """The client has gone already, while its request was read: what was to be done then is done now."""
        self.engine.run(callback, self.engine.now)

    def at_end(self, _key: object, callback: Callable[[Instant], None]) -> None:
        """The end was before: what is to be done then is done now."""
        self.engine.run(callback, self.engine.now)

    def if_unsent(self, callback: Callable[[Instant], None]) -> None:
        """No answer is sent: what was done for it is undone now."""
        self.engine.run(callback, self.engine.now)

    def work(self, call: "Call", steps: "Steps[Any]", must_finish: bool) -> None:
        """Do what must be finished, although nobody waits for what the steps would give."""
        if must_finish:
            self.engine.begin(Work(self, call, self._to_the_end(steps), must_finish))
        else:
            steps.close()

    def no_more_soon(self) -> None:
        """Nobody has waited for that."""

    def fail(self, _reason: str) -> None:
        """It is closed."""

    def end(self, _reason: str, *, is_to_reset: bool = False) -> None:
        """It is closed."""

    def put(self, _data: bytes) -> None:
        """Nobody is there to read it."""

    def note(self, _response: bytes | None) -> None:
        """The journal has that the client left."""

    def finish(self, call: "Call") -> None:
        """Nobody is there to read the answer."""
        call.is_answered = True

    def stall(self, _is_stalled: bool) -> None:
        """Nothing is read any more."""

    def looked_up(self, _call: "Call", _group_id: str) -> None:
        """It will not ask that coordinator."""

    def address_of(self, _node_id: int) -> None:
        """A client that has gone reaches nothing."""

    def _to_the_end(self, steps: "Steps[Any]") -> Generator[None, None, None]:
        try:
            yield from steps
        except (CloseConnection, KafkaError):
            return
        except Exception as error:
            self.engine.failed(error)

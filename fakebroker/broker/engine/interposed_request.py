"""A request between its connection and its handler: whoever stands there has the answer first.

The handler gets a call of its own (`InterposedRequest.call`), whose connection is the `InterposedRequest`: what it
answers, now or later, comes to `answer`. For the connection the request is in work, and parked if it takes longer.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.engine.closed_connection import ClosedConnection
from fakebroker.broker.engine.connection_stand_in import ConnectionStandIn
from fakebroker.broker.engine.connection_state import CLOSING, ConnectionState
from fakebroker.broker.engine.work import Work
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.engine import Engine


class InterposedRequest(ConnectionStandIn):
    """One request. To its handler it is the connection (`apis/call.py`). Subclasses say what becomes of the answer."""

    def __init__(self, engine: "Engine", route: "Route", outer: Call, call: Call) -> None:
        """`route` has the handler; `outer` is what the connection gave, `call` what the handler gets."""
        self._engine = engine
        self._route = route
        self._outer = outer
        super().__init__(outer.connection)
        self._call = call
        call.connection = self
        call.is_answered = False
        self._watchers: list[Callable[[Instant], None]] = []

    # What the handler's call asks of its connection

    @property
    def is_gone(self) -> bool:
        """Whether the client has gone."""
        return bool(self._connection.is_gone)

    @property
    def state(self) -> ConnectionState:
        """Where the connection is on its way."""
        state: ConnectionState = self._connection.state
        return state

    @property
    def frame(self) -> bytes:
        """The request as it came."""
        frame: bytes = self._connection.frame
        return frame

    @property
    def head(self) -> bytes:
        """With what the answer begins."""
        head: bytes = self._connection.head
        return head

    def answer(self, call: Call, response: Any) -> None:
        """The handler's answer; None: there is none."""
        raise NotImplementedError

    def answer_and_mute(self, call: Call, response: Any, mute_ms: int) -> None:
        """The answer of somebody interposed further in, whose client is throttled."""
        raise NotImplementedError

    def watch(self, call: Call, callback: Callable[[Instant], None]) -> None:
        """Run `callback` if the client goes away before the handler answers; at once if it has."""
        if self.is_gone:
            self._engine.run(callback, self._engine.now)
        elif not call.is_answered:
            self._watchers.append(callback)

    def work(self, call: Call, steps: Steps[Any], must_finish: bool) -> None:
        """The handler goes on in steps."""
        self._engine.begin(Work(self, call, self._in_steps(call, steps), must_finish))

    # What subclasses are told

    def _applied(self, response: Any) -> None:
        """The handler has answered by its steps, or was answered for; None: there is no answer."""
        raise NotImplementedError

    def _done(self) -> None:
        """The handler is not asked any more."""
        self._call.is_answered = True
        self._watchers.clear()

    def _in_steps(self, call: Call, steps: Steps[Any]) -> Generator[None, None, None]:
        try:
            response = yield from steps
        except Exception as error:
            self._raised(error)
        else:
            if response is not None and not call.is_answered:
                self._guarded(lambda: self._applied(response))

    def _raised(self, error: Exception) -> None:
        """The handler raised: as `Connection` does it, but what the client gets for it comes here first."""
        if not isinstance(error, CloseConnection | KafkaError):
            self._engine.failed(error)
        if self._call.is_answered:
            return
        if isinstance(error, CloseConnection):
            self._done()
            self._connection.fail(f"{self._route}: {error}")
        else:
            code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
            self._guarded(lambda: self._applied(self._error(code)))

    def _error(self, code: ErrorCode) -> Any:
        """The answer to a handler that failed."""
        raise NotImplementedError

    def _guarded(self, then: Callable[[], None]) -> None:
        """Go on, unless the connection is closing; a bug of ours ends it."""
        if self.state is CLOSING:
            self._done()
            return
        try:
            then()
        except Exception as error:
            self._engine.failed(error)
            self._connection.fail(f"internal error: {error!r}")

    def _gone(self, _now: Instant) -> None:
        """The client went away."""
        self._connection = ClosedConnection(self._engine, self._connection)
        watchers, self._watchers = self._watchers, []
        for callback in watchers:
            self._engine.run(callback, self._engine.now)

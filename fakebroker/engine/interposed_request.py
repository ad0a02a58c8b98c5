"""A request between its connection and its handler: whoever stands there has the answer first.

The handler gets a call of its own (`InterposedRequest.call`), whose connection is the `InterposedRequest`: what it
answers, now or later, comes to `answer`. For the connection the request is in work, and parked if it takes longer.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from fakebroker.apis.call import Call, Steps
from fakebroker.core.security.principals import Principal
from fakebroker.engine.closed_connection import ClosedConnection
from fakebroker.engine.connection_state import CLOSING, ConnectionState
from fakebroker.engine.work import Work
from fakebroker.errors import CloseConnection, ErrorCode, KafkaError
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.engine.dispatch import Route
    from fakebroker.engine.engine import Engine
    from fakebroker.listeners import Address


class InterposedRequest:
    """One request. To its handler it is the connection (`apis/call.py`). Subclasses say what becomes of the answer."""

    def __init__(self, engine: "Engine", route: "Route", outer: Call, call: Call) -> None:
        """`route` has the handler; `outer` is what the connection gave, `call` what the handler gets."""
        self._engine = engine
        self._route = route
        self._outer = outer
        self._connection: Any = outer.connection  # a Connection, another that is interposed, or what is left of it
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

    @property
    def connection_id(self) -> int:
        """Which connection of the engine it came on."""
        connection_id: int = self._connection.connection_id
        return connection_id

    @property
    def principal(self) -> Principal:
        """See apis/call.py."""
        principal: Principal = self._connection.principal
        return principal

    @property
    def client_port(self) -> int:
        """See apis/call.py."""
        client_port: int = self._connection.client_port
        return client_port

    @property
    def software(self) -> tuple[str, str]:
        """See apis/call.py."""
        software: tuple[str, str] = self._connection.software
        return software

    @software.setter
    def software(self, software: tuple[str, str]) -> None:
        self._connection.software = software

    def at_end(self, key: object, callback: Callable[[Instant], None]) -> None:
        """Run `callback` when the connection is closed."""
        self._connection.at_end(key, callback)

    def work(self, call: Call, steps: Steps[Any], must_finish: bool) -> None:
        """The handler goes on in steps."""
        self._engine.begin(Work(self, call, self._in_steps(call, steps), must_finish))

    def fail(self, reason: str) -> None:
        """The handler closes the connection."""
        self._connection.fail(reason)

    def looked_up(self, call: Call, group_id: str) -> None:
        """The client is told who coordinates a group."""
        self._connection.looked_up(call, group_id)

    def address_of(self, node_id: int) -> "Address | None":
        """Where the client reaches a node."""
        address: Address | None = self._connection.address_of(node_id)
        return address

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

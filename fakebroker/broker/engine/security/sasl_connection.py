"""A connection on a listener with SASL: until it has logged in, its frames are taken up one by one."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.engine.connection import REQUESTS_PER_TURN, Connection
from fakebroker.broker.engine.connection_state import BUFFERED, CLIENT_LEFT, ENDED, PARKED, READING, SERVING
from fakebroker.broker.engine.dispatch import REQUEST_LIMIT, Dispatcher, Route
from fakebroker.broker.engine.journal import Peer
from fakebroker.broker.engine.security.authentication import DONE, LOGGING_IN, LOGIN_FIRST, RAW, REFUSED, Authentication
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.protocol.wire.frame import SMALLEST_FRAME_BYTES
from fakebroker.protocol.wire.framing import PREFIX_BYTES, with_length

if TYPE_CHECKING:
    from fakebroker.broker.engine.engine import Engine

LARGEST_REFUSED_BYTES = 8 << 10  # of a request that is answered though it may not come before the login
RECEIVE_LIMIT = "sasl.server.max.receive.size"


class LoginDispatcher(Dispatcher):
    """In the place of the listener's dispatcher while a connection logs in: its requests are few, so it keeps none."""

    def __init__(self, dispatcher: Dispatcher, authentication: Authentication) -> None:
        self.routes = {}
        self._dispatcher = dispatcher
        self._authentication = authentication

    def find(self, code: int) -> Route:
        """The route for a code behind the login, too; faults judge it first. Raises CloseConnection."""
        return self._dispatcher.find_for(code, self._authentication)


class SaslConnection(Connection):
    """A connection that has to log in. Once it has, it is as any other."""

    def __init__(
        self, engine: "Engine", listener: Listener, peer: Peer, local_address: Address, dispatcher: Dispatcher
    ) -> None:
        super().__init__(engine, listener, peer, local_address, dispatcher)
        self._authentication = Authentication(self)
        self._dispatcher_after = dispatcher
        self._dispatcher = LoginDispatcher(dispatcher, self._authentication)
        self.expect_login()

    def expect_login(self) -> None:
        """The next frames are messages of a login, or of one that renews a session: a longer one closes (SA-13)."""
        limit_bytes = self.engine.cluster.nodes[self.listener.node_id].settings.get_int(RECEIVE_LIMIT)
        self._input.bound(limit_bytes, SMALLEST_FRAME_BYTES, RECEIVE_LIMIT)
        self._turn = self._login_turn  # type: ignore[method-assign]  # until it has logged in

    def logged_in(self, principal: Principal, has_session: bool) -> None:
        """A login has succeeded: `principal` is the client, and its next requests go the ordinary way.

        If it `has_session`, which ends, each of them is looked at first.
        """
        self._input.bound(self.engine.largest_frame_bytes, SMALLEST_FRAME_BYTES, REQUEST_LIMIT)
        self.__dict__.pop("_turn", None)
        self.principal = principal
        if not has_session:
            self._dispatcher = self._dispatcher_after

    def closed(self, now: Instant, reason: str = CLIENT_LEFT) -> None:
        """As Connection, which is in no cycle afterwards: strangers who come and go would fill the memory."""
        super().closed(now, reason)
        self.__dict__.pop("_turn", None)

    def expect_bare_messages(self) -> None:
        """The next messages have no header, and may be empty: then the mechanism refuses them."""
        self._input.smallest_bytes = 0

    def _serve(self, route: Route, frame: bytes, offset: int, now: Instant) -> None:
        """As Connection. A handshake that is answered ends the turn, which knows other bounds than a login's.

        A large request that may not come before the login is not read: it would take fifty times its bytes, for as long
        as its answer is delayed. MOCK: the connection closes; Kafka answers one that comes after the handshake.
        """
        if len(frame) > LARGEST_REFUSED_BYTES and not self._authentication.may_come(route.api_key):
            self.fail(f"{route}: {LOGIN_FIRST}")
            return
        super()._serve(route, frame, offset, now)
        login = self._authentication.state
        if login is not DONE and login in (LOGGING_IN, RAW) and self.state is SERVING:
            self._move(BUFFERED)

    def _login_turn(self, buffer: bytes, position: int, now: Instant) -> None:
        """As `_turn`, while the connection logs in: each frame may change how the next is read."""
        authentication, stopwatch = self._authentication, self.engine.cluster.timers.passes.stopwatch
        ends_s = stopwatch() + self.engine.turn_s
        for _ in range(REQUESTS_PER_TURN):
            if authentication.state is DONE or self.state in ENDED:
                break
            self.state = SERVING
            try:
                stop = position + self._input.whole_bytes(buffer, position)
            except WireError as error:
                self.fail(str(error))
                return
            if len(buffer) - position < PREFIX_BYTES or stop > len(buffer):
                break
            if authentication.state is RAW:
                self._take_raw(buffer[position + PREFIX_BYTES : stop], now)
            elif authentication.state is REFUSED:
                pass  # nobody reads what comes behind a login that failed
            else:
                super()._turn(buffer[position:stop], 0, now)
            position = stop
            if self.state is PARKED or stopwatch() > ends_s:
                break
        if authentication.state is DONE and self.state not in (*ENDED, PARKED):
            super()._turn(buffer, position, now)
        else:
            if self.state is READING:
                self.state = SERVING  # the turn of the last frame saw no other behind it
            self._buffer_rest(buffer, position)
        self.engine.to_flush[self] = None

    def _long_frame(self, frame: bytes, now: Instant) -> None:
        """As Connection, and as `_login_turn` where frames are no requests: bare messages, and what nobody reads."""
        if self._authentication.state not in (RAW, REFUSED):
            super()._long_frame(frame, now)
            return
        self.state = SERVING
        if self._authentication.state is RAW:
            self._take_raw(frame, now)
        if self.state not in ENDED:
            self._measure_rest()
        self.engine.to_flush[self] = None

    def _take_raw(self, message: bytes, now: Instant) -> None:
        answer = self._authentication.answer_to_raw(message, now)
        if answer is not None:
            self.put(with_length(answer))

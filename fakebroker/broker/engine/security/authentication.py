"""A connection logs in: which requests may come when, and what each is answered (SA-1..SA-9, KIP-152, KIP-368).

BEFORE     ApiVersions -> ASKED, SaslHandshake -> LOGGING_IN or RAW; anything else closes
ASKED      SaslHandshake; anything else closes
LOGGING_IN SaslAuthenticate (v1 handshake) until the mechanism is content -> DONE; anything else: 34, closed; a large
           request is closed at once (`sasl_connection.LARGEST_REFUSED_BYTES`)
RAW        bare messages with a length (v0 handshake) -> DONE
DONE       requests as on any connection; if sessions end, SaslHandshake -> LOGGING_IN or RAW; after the end it closes
REFUSED    nothing is read any more; the answer is sent after `connection.failed.authentication.delay.ms`
"""

from collections.abc import Callable, Generator
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.events import ClientLogin
from fakebroker.broker.core.security.mechanisms import AuthenticationFailed, Login, Mechanism
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.engine.security.logins import Logins, enabled_mechanisms
from fakebroker.broker.engine.stages import Handle, Handler, Passage, StageKind
from fakebroker.broker.engine.work import Work
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from fakebroker.protocol.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.broker.engine.security.sasl_connection import SaslConnection
    from fakebroker.protocol.schema import Message

DELAY = "connection.failed.authentication.delay.ms"
SESSION = "connections.max.reauth.ms"
MAX_CHARACTERS = 200  # of what a client says, in the journal
LOGIN_FIRST = "the client must log in first, with SaslHandshake"
_LOGGING_IN = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
SHORTEST_RENEWAL_MS = 1000  # from one handshake that renews a session to the next: one within it is refused


class LoginState(Enum):
    """How far a connection has logged in."""

    BEFORE = "no request has arrived"
    ASKED = "the client asked for ApiVersions"
    LOGGING_IN = "a mechanism was chosen; its messages come as SaslAuthenticate"
    RAW = "a mechanism was chosen by SaslHandshake v0; its messages come bare"
    DONE = "the client has logged in"
    REFUSED = "the login failed; the connection closes"


BEFORE, ASKED, LOGGING_IN, RAW, DONE, REFUSED = LoginState


class OtherMechanism:
    """In the place of a mechanism when a client wants to log in again by another than before.

    Whatever comes next closes the connection without an answer.
    """

    login: Login | None = None
    claimed = refusal = ""

    def answer_to(self, _message: bytes) -> bytes:
        """Raises AuthenticationFailed, whatever comes."""
        raise AuthenticationFailed("the mechanism must not change during re-authentication")


class Authentication:
    """The login of one connection, and the stage that its requests go through until then.

    `logged_in` of the connection is called when it has succeeded.
    """

    kind = StageKind.LOGIN

    def __init__(self, connection: "SaslConnection") -> None:
        self.state = BEFORE
        self._connection_of = ref(connection)  # which holds this: a cycle would keep both until the collector comes by
        self._logins = Logins(connection.engine, connection.listener)
        self._mechanism: Mechanism | None = None
        self._mechanism_name = ""
        self._principal: Principal | None = None  # once it has logged in
        self._client_id: str | None = None  # of the handshake, for the journal: bare messages have none
        self._renewal_ms: int | None = None  # when the last one began, by the monotonic reading; None: there was none
        self._session_ends_ms: int | None = None  # by it, too; None: never

    @property
    def _connection(self) -> "SaslConnection":
        connection = self._connection_of()
        assert connection is not None  # every request comes through it
        return connection

    def concerns(self, _route: "Route") -> bool:
        """Every request of the connection goes through the login."""
        return True

    def may_come(self, api_key: int) -> bool:
        """Whether a large request of that API is looked at now."""
        if self.state in (BEFORE, ASKED):
            return api_key in (ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS)
        return self.state is not LOGGING_IN or api_key == ApiKey.SASL_AUTHENTICATE

    def serve(self, exchange: "Exchange", request: "Message") -> Passage:
        """What may come when, and what answers it; once the client has logged in, all goes on to its handler."""
        if exchange.is_gone:
            return (yield from self._without_client(exchange, request))
        handler = self._handler(exchange)
        if handler is not None:
            return (yield Handle(request, handler))
        if self.state is DONE:
            return (yield Handle(request))
        response = yield Handle(request, exchange.route.handle)  # an ApiVersions: no quota is asked (QU-10)
        if not getattr(response, "error_code", ErrorCode.NONE):
            self.state = ASKED  # an ApiVersions that is refused does not count (SA-6)
        return response

    def _without_client(self, exchange: "Exchange", request: "Message") -> Passage:
        """The client left before its request came here, which a fault delayed.

        What a client sent that had logged in is handled all the same. Raises CloseConnection for all else.
        """
        has_ended = self._session_ends_ms is not None and exchange.call.now.mono_ms >= self._session_ends_ms
        if self.state is not DONE or has_ended or exchange.route.api_key in _LOGGING_IN:
            raise CloseConnection("the client left")
        return (yield Handle(request))

    def _handler(self, exchange: "Exchange") -> Handler | None:
        """What has a request in place of the handler of its API; None: that has it. Raises CloseConnection."""
        api_key = exchange.route.api_key
        if self.state is DONE:
            return self._handler_in_session(api_key, exchange.call)
        if self.state in (BEFORE, ASKED):
            if api_key == ApiKey.SASL_HANDSHAKE:
                return self._shake_hands
            if api_key != ApiKey.API_VERSIONS or self.state is ASKED:
                raise CloseConnection(LOGIN_FIRST)
            return None
        if self.state is REFUSED:
            raise CloseConnection("the login failed")
        if api_key == ApiKey.SASL_AUTHENTICATE and self.state is LOGGING_IN:
            return self._authenticate
        return partial(self._refuse_other, exchange)

    def _handler_in_session(self, api_key: int, call: Call) -> Handler | None:
        """The client has logged in. It may do so again if sessions end, and has to before its session does (SA-9)."""
        ends_ms, now_ms = self._session_ends_ms, call.now.mono_ms
        if ends_ms is None:
            return None
        may_renew = self._renewal_ms is None or now_ms - self._renewal_ms >= SHORTEST_RENEWAL_MS
        if api_key == ApiKey.SASL_HANDSHAKE and may_renew:
            self._renewal_ms = now_ms
            return self._shake_hands
        if now_ms >= ends_ms:
            self._note("session expired", "the client has not logged in again")
            raise CloseConnection("the session expired, and the client has not re-authenticated")
        return None

    def _refuse_other(self, exchange: "Exchange", call: Call, _request: "Message") -> None:
        answer = exchange.error(ErrorCode.ILLEGAL_SASL_STATE)
        self._refuse(call, f"{exchange.route} while the client logs in", answer)

    def _shake_hands(self, call: Call, request: "Message") -> SaslHandshakeResponse | None:
        """Choose a mechanism (SA-2, SA-7)."""
        assert isinstance(request, SaslHandshakeRequest)
        self._client_id = call.client_id
        enabled = enabled_mechanisms(self._logins.settings, call.listener)
        name = request.mechanism
        if name not in enabled:
            why = f"the mechanism {name[:MAX_CHARACTERS]!r} is not enabled; enabled are {', '.join(enabled)}"
            if self._principal is not None:
                deadline = self._close_later(why, self._connection.fail, call.now)
                call.on_close(lambda _now: deadline.end())
                return None
            refusal = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
            self.state = REFUSED
            self._note("refused", why)
            _answer_and_close(self._connection, call, refusal, why)
            return None
        url = self._logins.jwks_url(name)
        if not url:
            self._begin(call, name)
            return SaslHandshakeResponse(mechanisms=enabled)

        def begin(_now: Instant) -> None:
            self._begin(call, name)
            call.reply(SaslHandshakeResponse(mechanisms=enabled))

        forget = self._connection.engine.key_sets.when_fetched(url, self._logins.refresh_ms(), begin)
        call.on_close(lambda _now: forget())
        return None

    def _begin(self, call: Call, mechanism: str) -> None:
        """The messages of a mechanism that is enabled come now."""
        self.state = LOGGING_IN if call.version else RAW
        if self._principal is not None and mechanism != self._mechanism_name:
            self._mechanism, self.state = OtherMechanism(), RAW  # where anything may come, and is not answered
        else:
            self._mechanism_name, self._mechanism = mechanism, self._logins.begin(mechanism)
        self._connection.expect_login()
        if self.state is RAW:
            self._connection.expect_bare_messages()

    def _authenticate(self, call: Call, request: "Message") -> SaslAuthenticateResponse | None:
        assert isinstance(request, SaslAuthenticateRequest)
        assert self._mechanism is not None
        try:
            answer = self._answer(self._mechanism, bytes(request.auth_bytes))
        except AuthenticationFailed as failure:
            refusal = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(failure)
            )
            self._refuse(call, failure.why, refusal)
            return None
        login = self._mechanism.login
        lifetime_ms = 0 if login is None else self._finish(login, call.now)
        return SaslAuthenticateResponse(error_message="", auth_bytes=answer, session_lifetime_ms=lifetime_ms)

    def _answer(self, mechanism: Mechanism, message: bytes) -> bytes:
        """The mechanism's answer. A refusal is noted as soon as it is known: some clients hear it and hang up.

        Raises AuthenticationFailed, also for a login as another than before.
        """
        answer = mechanism.answer_to(message)
        login, before = mechanism.login, self._principal
        if login is not None and before is not None and not login.principal.is_client_of(before):
            raise AuthenticationFailed("Cannot change principals during re-authentication")
        if mechanism.refusal:
            self._note("refused", mechanism.refusal)
        return answer

    def answer_to_raw(self, message: bytes, now: Instant) -> bytes | None:
        """What a bare message is answered (RAW); None: nothing, and the connection closes after the delay."""
        assert self._mechanism is not None
        try:
            answer = self._answer(self._mechanism, message)
        except AuthenticationFailed as failure:
            deadline = self._close_later(failure.why, self._connection.fail, now)
            self._connection.at_end(deadline, lambda _now: deadline.end())
            return None
        if self._mechanism.login is not None:
            self._finish(self._mechanism.login, now)
        return answer

    def _finish(self, login: Login, now: Instant) -> int:
        """The client has logged in. Returns how long that is valid, in milliseconds; 0: for ever.

        A session ends with the token that the client logged in with, and after `connections.max.reauth.ms`.
        """
        lifetimes = [] if login.ends_ms is None else [max(0, login.ends_ms - now.wall_ms)]
        longest = self._logins.setting(SESSION, self._mechanism_name)
        if isinstance(longest, int) and longest > 0:
            lifetimes.append(longest)
        self._session_ends_ms = now.mono_ms + min(lifetimes) if lifetimes else None
        self.state, self._mechanism = DONE, None
        what = "logged in" if self._principal is None else "logged in again"
        self._principal = login.principal
        self._note(what)
        self._connection.logged_in(login.principal, has_session=self._session_ends_ms is not None)
        return min(lifetimes, default=0)

    def _refuse(self, call: Call, reason: str, answer: "Message") -> None:
        """Answer later, and then close: whoever tries passwords has to wait (SA-4)."""
        deadline = self._close_later(reason, partial(_answer_and_close, self._connection, call, answer), call.now)
        call.on_close(lambda _now: deadline.end())

    def _close_later(self, reason: str, close: Callable[[str], None], now: Instant) -> Deadline:
        reason = reason[: 2 * MAX_CHARACTERS]
        if self._mechanism is None or not self._mechanism.refusal:
            self._note("refused", reason)
        self.state, self._mechanism = REFUSED, None
        connection = self._connection
        deadline = Deadline(lambda _now: close(f"authentication failed: {reason}"), connection)
        connection.engine.cluster.timers.mono.arm(deadline, now.mono_ms + self._logins.settings.get_int(DELAY))
        return deadline

    def _note(self, what: str, reason: str = "") -> None:
        """Tell the journal; of what the client says no more than its beginning."""
        peer, claimed = self._connection.peer, "" if self._mechanism is None else self._mechanism.claimed
        who = str(self._principal or (Principal(claimed) if claimed else ""))
        event = ClientLogin(
            peer.node_id,
            peer.connection_id,
            self._client_id,
            self._mechanism_name,
            who[:MAX_CHARACTERS],
            what,
            reason[: 2 * MAX_CHARACTERS],
        )
        engine = self._connection.engine
        engine.journal.event(event, engine.now)


def _answer_and_close(connection: "SaslConnection", call: Call, response: "Message", reason: str) -> None:
    """Answer the request in work, `call`, and close: an answer that is written in steps is waited for."""
    outer = connection.call
    call.reply(response)

    def close() -> Generator[None, None, None]:
        while not outer.is_answered:
            yield
        connection.fail(reason)

    if outer.is_answered:
        connection.fail(reason)
    else:
        connection.engine.begin(Work(connection, outer, close(), must_finish=False))

"""Connections that log in as nobody should: half messages, huge lengths, requests in between, logins within logins.

Whatever comes, in whatever order and pieces: the broker has no internal error, nobody is served before a login that
was right, nobody becomes somebody else, and the next honest client gets in.
"""

from struct import pack
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.broker.engine.connection_state import ENDED
from fakebroker.client.login import MECHANISMS
from fakebroker.client.scram import HASHES, ScramClient
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_response
from tests.support.bearer import unsecured
from tests.support.engine import Client
from tests.support.frames import correlation_ids, framed, frames, request
from tests.support.logins import RIGHT, WRONG, lab_with_sasl, logged_in
from tests.support.time import START

SERVED_ID = 7_000_000  # the correlation id of requests that only a client with a login may have answered
SESSION_MS = 30_000
LIMIT_BYTES = 1 << 18

NOW_S = START.wall_ms // 1000
GOOD_TOKEN = f"n,,\x01auth=Bearer {unsecured('alice', NOW_S + 999_999)}\x01\x01".encode()
LONG_TOKEN = f"n,,\x01auth=Bearer {unsecured('alice' * 20_000, NOW_S + 999_999)}\x01\x01".encode()
RIGHT_MESSAGES = [(RIGHT, "alice", "PLAIN"), (b"\0bob\0pb", "bob", "PLAIN"), (GOOD_TOKEN, "alice", "OAUTHBEARER")]
MESSAGES = st.one_of(
    st.sampled_from(
        [
            WRONG,
            b"",
            b"\0",
            b"\0alice\0",
            b"alice\0\0pa",
            b"\0alice\0pa\0",
            b"\0ALICE\0pa",
            "\0alice\0p\u00e4".encode("latin-1"),
            b"n,,n=alice,r=x",
            b"n,,n=nobody,r=x",
            b"n,a=bob,n=alice,r=x",
            b"n,,n=alice,r=x,tokenauth=true",
            b"y,,n=alice,r=",
            b"c=biws,r=x,p=AAAA",
            b"\x01",
            b"n,,\x01auth=Bearer a.b.c\x01\x01",
            f"n,,\x01auth=Bearer {unsecured('alice', NOW_S - 1)}\x01\x01".encode(),
            f"n,a=bob,\x01auth=Bearer {unsecured('alice', NOW_S + 999_999)}\x01\x01".encode(),
        ]
    ),
    st.sampled_from([LONG_TOKEN, *(part * 150_000 for part in (b"\0", b"x", b"n,,n=alice,r=", b"\xff"))]).map(
        lambda data: data[:200_000]
    ),
    st.sampled_from([b"n,,n=alice,r=", b"n,,n=nobody,r=", b"n,,n=", b"\0alice\0", b"n,,\x01auth=Bearer "]).map(
        lambda begin: begin.ljust(150_000, b"x")
    ),
    st.binary(max_size=40),
    st.binary(min_size=1, max_size=12).map(lambda data: data * 200),
)
NAMES = st.sampled_from([*MECHANISMS, "GSSAPI", "plain", "", "\x00", "x" * 300])


class HostileLogins(RuleBasedStateMachine):
    """Clients that do what they like.

    `may_be` says whom a connection may have become by what it sent last; `chosen` is the mechanism of its last
    handshake, and the version of that, as long as a right message may log it in.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lab = lab_with_sasl(
            **{"connections.max.reauth.ms": SESSION_MS, "sasl.server.max.receive.size": LIMIT_BYTES}
        )
        self.lab.cluster.credentials.add_user("bob", "pb", 0)
        self.client: Client = self.lab.client()
        self.may_be = set[str]()
        self.was = str(ANONYMOUS)
        self.chosen: tuple[str, int] | None = None

    def _send(self, data: bytes) -> None:
        if not self.client.socket.is_closed:
            self.client.socket.send(data)

    def _send_wrong(self, data: bytes) -> None:
        """After which PLAIN is over: only with a token may a client try again."""
        self._send(data)
        if self.chosen and self.chosen[0] != "OAUTHBEARER":
            self.chosen = None

    @property
    def _connection(self) -> Any:
        return self.client.socket.connection

    @rule()
    def connect_anew(self) -> None:
        """The client before it hangs up where it is."""
        self.client.socket.close()
        self.client, self.was, self.chosen = self.lab.client(), str(ANONYMOUS), None

    @rule(mechanism=NAMES, version=st.integers(0, 1))
    def shake_hands(self, mechanism: str, version: int) -> None:
        """Of any mechanism, at any time."""
        self._send(request("SaslHandshake", version, mechanism=mechanism))
        self.chosen = mechanism, version

    @rule(message=MESSAGES, version=st.integers(0, 2))
    def send_message(self, message: bytes, version: int) -> None:
        """A message that is right for nobody."""
        self._send_wrong(request("SaslAuthenticate", version, auth_bytes=message))

    @rule(message=MESSAGES)
    def send_bare_message(self, message: bytes) -> None:
        """The same without a header."""
        self._send_wrong(framed(message))

    @rule(message=st.sampled_from(RIGHT_MESSAGES), version=st.integers(0, 2), is_bare=st.booleans())
    def send_right_message(self, message: tuple[bytes, str, str], version: int, is_bare: bool) -> None:
        """It counts where it belongs: after a handshake of its mechanism, in the form of that, with nothing between."""
        data, name, mechanism = message
        if self.chosen == (mechanism, 0 if is_bare else 1):
            self.may_be.add(f"User:{name}")
        self._send(framed(data) if is_bare else request("SaslAuthenticate", version, auth_bytes=data))

    @rule(version=st.integers(0, 1))
    def send_right_password_behind_a_wrong_one(self, version: int) -> None:
        """In one write: the first one ends the login."""
        self.chosen = None
        messages = [
            request("SaslAuthenticate", 2, auth_bytes=data) if version else framed(data) for data in (WRONG, RIGHT)
        ]
        self._send(request("SaslHandshake", version, mechanism="PLAIN") + b"".join(messages))

    @rule(name=st.sampled_from(["alice", "bob"]), waited_ms=st.sampled_from([0, 1000]))
    def log_in_as(self, name: str, waited_ms: int) -> None:
        """A whole login, perhaps as another than before, when one may log in again."""
        self.lab.network.advance(waited_ms)
        self.may_be.add(f"User:{name}")
        self.chosen = None
        self._send(request("SaslHandshake", 1, mechanism="PLAIN"))
        self._send(request("SaslAuthenticate", 2, auth_bytes=f"\0{name}\0p{name[0]}".encode()))

    @rule(mechanism=st.sampled_from(sorted(HASHES)), password=st.sampled_from(["pa", "px"]), is_proper=st.booleans())
    def log_in_by_scram(self, mechanism: str, password: str, is_proper: bool) -> None:
        """From where the connection is, perhaps in the middle of another login; perhaps it stops half way."""
        scram, self.chosen = ScramClient(mechanism, "alice", password), None
        self._send(request("SaslHandshake", 1, mechanism=mechanism))
        self.client.socket.take()
        self._send(request("SaslAuthenticate", 2, auth_bytes=scram.first))
        for frame in frames(self.client.socket.take()):
            answer: Any = decode_response(ApiKey.SASL_AUTHENTICATE, 2, frame)[1]
            if is_proper and answer.error_code == 0 and b"s=" in answer.auth_bytes:
                if password == "pa":
                    self.may_be.add("User:alice")
                self._send(request("SaslAuthenticate", 2, auth_bytes=scram.final(answer.auth_bytes)))

    @rule(name=st.sampled_from(["Metadata", "ApiVersions", "FindCoordinator"]))
    def ask(self, name: str) -> None:
        """Something that needs a login, or belongs before one."""
        fields: dict[str, dict[str, Any]] = {"Metadata": {"topics": []}, "FindCoordinator": {"key": "g", "key_type": 0}}
        self._send(request(name, 1, correlation_id=1, **fields.get(name, {})))

    @rule()
    def ask_what_needs_a_login(self) -> None:
        """Only who has become somebody gets an answer; as others it is cut off, or refused."""
        self.client.socket.take()
        self._send(request("Metadata", 8, correlation_id=SERVED_ID, topics=[]))
        answered = [frame for frame in frames(self.client.socket.take()) if int.from_bytes(frame[:4]) == SERVED_ID]
        if self._connection.principal == ANONYMOUS:
            assert all(not decode_response(ApiKey.METADATA, 8, frame)[1].brokers for frame in answered)

    @rule(count=st.integers(2, 20), mechanism=NAMES)
    def send_all_at_once(self, count: int, mechanism: str) -> None:
        """A login with many requests behind it, in one write."""
        login = request("SaslHandshake", 1, mechanism=mechanism) + request("SaslAuthenticate", 2, auth_bytes=WRONG)
        behind = [request("Metadata", 8, correlation_id=SERVED_ID, topics=[]) for _ in range(count)]
        was, self.chosen = self._connection.principal, None
        self.client.socket.take()
        self._send(login + b"".join(behind))
        answers = correlation_ids(self.client.socket.take())
        assert was != ANONYMOUS or SERVED_ID not in answers or self._connection.principal != ANONYMOUS

    @rule(size=st.sampled_from([-1, -(2**31), 0, 1, 7, LIMIT_BYTES + 1, 2**31 - 1]), rest=st.binary(max_size=20))
    def send_odd_length(self, size: int, rest: bytes) -> None:
        """A length that cannot be, or that is never reached."""
        self._send(pack(">i", size) + rest)

    @rule(data=st.binary(min_size=1, max_size=60))
    def send_noise(self, data: bytes) -> None:
        """Bytes."""
        self._send(data)

    @rule(mechanism=st.sampled_from(MECHANISMS), cut=st.integers(1, 60))
    def send_half(self, mechanism: str, cut: int) -> None:
        """A handshake and a message that ends somewhere."""
        data = request("SaslHandshake", 1, mechanism=mechanism) + request("SaslAuthenticate", 2, auth_bytes=WRONG)
        self._send(data[:-cut])
        self.chosen = None

    @rule(ms=st.sampled_from([1, 99, 100, 1000, SESSION_MS]))
    def let_time_pass(self, ms: int) -> None:
        """Refusals are answered, sessions end."""
        self.lab.network.advance(ms)

    @invariant()
    def nobody_is_somebody_else(self) -> None:
        """Who a connection has become follows from what it has just shown."""
        connection = self._connection
        assert self.lab.engine.errors == []
        now = str(connection.principal)
        assert now == self.was or (self.was == str(ANONYMOUS) and now in self.may_be)
        self.was, self.may_be = now, set()
        assert connection.state not in ENDED or connection.close_reason

    def teardown(self) -> None:
        """An honest client gets in, and nothing is left of the others."""
        assert logged_in(self.lab).ask("Metadata", 8, topics=[]).brokers
        self.client.socket.close()
        self.lab.network.advance(1000)
        assert self.lab.engine.errors == []
        assert len(self.lab.engine.connections) == 1


TestHostileLogins = HostileLogins.TestCase
TestHostileLogins.settings = settings(stateful_step_count=25)

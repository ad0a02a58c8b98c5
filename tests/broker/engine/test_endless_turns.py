"""A turn takes something, or no other follows: whatever comes in, in whatever state a connection is, turns end."""

import struct
from collections.abc import Callable

import pytest

from fakebroker.broker.engine.connection import Connection
from fakebroker.broker.engine.connection_state import BUFFERED, CLOSING, GONE, PARKED, READING
from fakebroker.broker.engine.quotas.refused_connection import RefusedConnection
from fakebroker.protocol.listeners import PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL, Address, Listener
from fakebroker.protocol.wire.framing import FrameReader
from tests.support.engine import SimEngine
from tests.support.frames import framed, long_poll, request
from tests.support.logins import RIGHT, WRONG
from tests.support.throttled import InVirtualTime, set_quotas

VERSIONS = request("ApiVersions", 0)
EMPTY, ONE_BYTE = framed(b""), framed(b"x")
# What may come in, piece by piece.
INPUTS: dict[str, list[bytes]] = {
    "nothing": [b""],
    "an empty frame": [EMPTY],
    "empty frames": [EMPTY * 1000],
    "an empty frame byte by byte": [b"\0"] * 4,
    "a byte": [b"\0"],
    "half a length, then the rest": [b"\0\0", b"\0\0"],
    "a length alone": [struct.pack(">i", 20)],
    "a length and a part": [struct.pack(">i", 20) + b"abc"],
    "a frame of a byte": [ONE_BYTE],
    "a negative length": [struct.pack(">i", -1)],
    "the least length": [struct.pack(">i", -(2**31))],
    "a negative length after a request": [VERSIONS + struct.pack(">i", -1)],
    "the largest length": [struct.pack(">i", 2**31 - 1)],
    "a request cut after each byte": [VERSIONS[:end][-1:] for end in range(1, len(VERSIONS) + 1)],
    "an empty frame after a request": [VERSIONS + EMPTY],
    "a request after an empty frame": [EMPTY + VERSIONS],
    "more than a turn": [VERSIONS * 200],
    "more than a turn and a part": [VERSIONS * 200 + b"\0\0\0"],
    "a password": [framed(RIGHT)],
    "a password and an empty frame": [framed(RIGHT) + EMPTY],
    "a wrong password, then empty frames": [framed(WRONG), EMPTY * 3],
    "bytes that are no frame": [b"GET / HTTP/1.1\r\n\r\n"],
}


class Watchdog:
    """A driver that counts turns, and fails the test when there are more than what came in can be worth."""

    def __init__(self, lab: SimEngine, connection: Connection) -> None:
        self.lab = lab
        self.connection = connection
        self.received_bytes = self.turns = 0
        connection.driver = self

    def receive(self, data: bytes) -> None:
        """Bytes come in; turns are given as long as they are wanted."""
        self.received_bytes += len(data)
        if self.connection.state is not GONE:
            self.connection.receive(data, self.lab.network.now)
            self.lab.engine.flush()
        self.go_on()

    def flush(self) -> None:
        """See ConnectionDriver."""
        self.connection.data_to_send()

    def go_on(self) -> None:
        """All turns that are wanted: each takes four bytes at least, so there are no more than that."""
        while self.connection.wants_turn or self.lab.engine.works:
            self.turns += 1
            assert self.turns <= 1 + self.received_bytes / 4, f"turns without end, {self.connection.state.name}"
            self.connection.resume(self.lab.network.now)
            if self.lab.engine.works:
                self.lab.engine.step(self.lab.network.now)
            self.lab.engine.flush()


Prepare = Callable[[Watchdog], None]


def shaken(version: int, mechanism: str) -> Prepare:
    """The client has chosen its mechanism."""
    return lambda dog: dog.receive(request("SaslHandshake", version, mechanism=mechanism))


def refused(version: int) -> Prepare:
    """Its password was wrong, and the answer is held back."""

    def prepare(dog: Watchdog) -> None:
        shaken(version, "PLAIN")(dog)
        dog.receive(request("SaslAuthenticate", 2, auth_bytes=WRONG) if version else framed(WRONG))

    return prepare


def logged_in(version: int) -> Prepare:
    """It has logged in."""

    def prepare(dog: Watchdog) -> None:
        shaken(version, "PLAIN")(dog)
        dog.receive(request("SaslAuthenticate", 2, auth_bytes=RIGHT) if version else framed(RIGHT))

    return prepare


def parked(dog: Watchdog) -> None:
    """A request waits for records."""
    dog.receive(long_poll(1000))
    assert dog.connection.state is PARKED


def muted(dog: Watchdog) -> None:
    """Its client is beyond a quota: it was answered, and nothing is read for a time."""
    set_quotas(InVirtualTime(dog.lab), [("client-id", None)], request_percentage=0.001)
    for _ in range(2):
        dog.receive(VERSIONS)
    assert dog.connection.is_muted


def logged_in_and_parked(dog: Watchdog) -> None:
    """It has logged in, and a request waits for records."""
    logged_in(0)(dog)
    parked(dog)


def closing(dog: Watchdog) -> None:
    """A frame that cannot be; the connection is about to close."""
    dog.receive(framed(b"xx"))
    assert dog.connection.state is CLOSING


def closed(dog: Watchdog) -> None:
    """It is closed."""
    dog.connection.closed(dog.lab.network.now)


def half(dog: Watchdog) -> None:
    """A part of a request is here."""
    dog.receive(VERSIONS[:9])
    assert dog.connection.state is BUFFERED


def fresh(dog: Watchdog) -> None:
    """Nothing has come."""
    assert dog.connection.state is READING


STATES: dict[str, tuple[str, Prepare]] = {
    "plain": (PLAINTEXT, fresh),
    "TLS": (SSL, fresh),
    "plain, half a request": (PLAINTEXT, half),
    "plain, parked": (PLAINTEXT, parked),
    "plain, muted": (PLAINTEXT, muted),
    "plain, closing": (PLAINTEXT, closing),
    "plain, closed": (PLAINTEXT, closed),
    "before login": (SASL_PLAINTEXT, fresh),
    "before login, TLS": (SASL_SSL, fresh),
    "before login, asked": (SASL_PLAINTEXT, lambda dog: dog.receive(VERSIONS)),
    "before login, half a request": (SASL_PLAINTEXT, half),
    **{
        f"{mechanism} v{version}": (SASL_PLAINTEXT, shaken(version, mechanism))
        for version in (0, 1)
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
    },
    **{f"refused v{version}": (SASL_PLAINTEXT, refused(version)) for version in (0, 1)},
    **{f"logged in v{version}": (SASL_PLAINTEXT, logged_in(version)) for version in (0, 1)},
    "logged in, parked": (SASL_PLAINTEXT, logged_in_and_parked),
}


def lab_of(protocol: str) -> SimEngine:
    """A broker with such a listener, on which alice may log in."""
    lab = SimEngine(
        {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"},
        listeners=[Listener(1, "127.0.0.1", 9092, protocol=protocol)],
    )
    lab.cluster.credentials.add_user("alice", "pa", 0)
    lab.cluster.topics.create("t", 1, 1)
    return lab


def watched(lab: SimEngine) -> Watchdog:
    """A connection under watch."""
    engine = lab.engine
    connection = engine.connect(engine.listeners[0], "/127.0.0.1", Address("127.0.0.1", 9092), lab.network.now)
    return Watchdog(lab, connection)


def let_time_pass(dog: Watchdog) -> None:
    """Long enough for what was held back."""
    for _ in range(3):
        dog.lab.network.advance(1000)
        dog.go_on()


@pytest.mark.parametrize("state", STATES)
def test_turns_end_in_every_state(state: str) -> None:
    """What comes in is taken, kept or refused after at most a turn for each four bytes, now and when time passes."""
    protocol, prepare = STATES[state]
    lab = lab_of(protocol)
    for pieces in INPUTS.values():
        dog = watched(lab)
        prepare(dog)
        for piece in pieces:
            dog.receive(piece)
        let_time_pass(dog)
        dog.connection.closed(lab.network.now)
    assert not lab.engine.errors


def test_turns_end_for_a_client_that_connects_too_often() -> None:
    """The same of a connection that is refused for its address."""
    lab = lab_of(PLAINTEXT)
    set_quotas(InVirtualTime(lab), [("ip", "127.0.0.1")], connection_creation_rate=1)
    for pieces in INPUTS.values():
        dog = watched(lab)
        for piece in pieces:
            dog.receive(piece)
    assert isinstance(dog.connection, RefusedConnection)
    let_time_pass(dog)
    assert not lab.engine.errors


@pytest.mark.rules("SA-4")
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
def test_an_empty_bare_message_is_refused(mechanism: str) -> None:
    """It is a message like any other: no mechanism begins with it, and the connection closes."""
    dog = watched(lab_of(SASL_PLAINTEXT))
    shaken(0, mechanism)(dog)
    dog.receive(EMPTY)
    dog.lab.network.advance(1000)
    assert (dog.connection.close_reason or "").startswith("authentication failed")


def test_a_turn_that_takes_nothing_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a bug of ours leaves what is kept as it is and wants another turn, the client is dropped, not the broker."""
    dog = watched(lab_of(PLAINTEXT))
    monkeypatch.setattr(FrameReader, "whole_bytes", lambda _self, _buffer, _position: 4)
    dog.receive(VERSIONS[:6])
    assert "took nothing" in (dog.connection.close_reason or "")
    assert len(dog.lab.engine.errors) == 1
    assert dog.turns == 1

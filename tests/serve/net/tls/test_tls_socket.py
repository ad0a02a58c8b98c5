"""TLS between a socket and who uses it, with OpenSSL's own client at the other end, all in memory."""

import contextlib
import ssl
from collections.abc import Callable, Sequence
from functools import cache
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.serve.net.tls.tls_socket import ENCRYPTED_BYTES, INTERNAL_ERROR_ALERT, RECORD_BYTES, GoOn, TlsSocket
from fakebroker.testing.certificates import Certificate, CertificateAuthority
from tests.support.chance import examples

EVERYTHING = 1 << 40
T = TypeVar("T")


class Wire:
    """In the place of a socket: what the client sent, and how much may be sent to it."""

    def __init__(self) -> None:
        self.arrived = bytearray()
        self.sent = bytearray()
        self.room = EVERYTHING
        self.is_at_end = self.is_closed = self.is_lost = False
        self.options: list[Any] = []

    def recv(self, size: int) -> bytes:
        if not self.arrived and not self.is_at_end:
            raise BlockingIOError
        data = bytes(self.arrived[:size])
        del self.arrived[:size]
        return data

    def send(self, data: bytes | memoryview) -> int:
        if self.is_lost:
            raise ConnectionResetError
        if not self.room:
            raise BlockingIOError
        taken = bytes(data[: self.room])
        self.room -= len(taken)
        self.sent += taken
        return len(taken)

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 9092

    def fileno(self) -> int:
        return 3

    def close(self) -> None:
        self.is_closed = True


@cache
def authority() -> CertificateAuthority:
    """One for all tests: keys cost time."""
    return CertificateAuthority()


@cache
def good() -> Certificate:
    return authority().issue()


def server_context(**options: Any) -> ssl.SSLContext:
    """A broker's, with a good certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(good().keystore_file)
    context.num_tickets = 0
    for name, value in options.items():
        setattr(context, name, value)
    return context


class Pair:
    """A client and the broker's side. `pump` lets both talk until neither has more to say."""

    def __init__(self, context: ssl.SSLContext | None = None, ca: str | None = None, go_on: GoOn | None = None) -> None:
        self.wire = Wire()
        self.secured = 0
        self.broker = TlsSocket(self.wire, context or server_context(), go_on)  # type: ignore[arg-type]
        self.broker.on_secured = self._count
        self.to_client, self.from_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        trusting = ssl.create_default_context(cafile=ca or str(authority().ca_file))
        self.client = trusting.wrap_bio(self.to_client, self.from_client, server_hostname="localhost")
        self.received = b""

    def _count(self) -> None:
        self.secured += 1

    def pump(self) -> "Pair":
        """Bytes go both ways, what the broker decrypts is kept, until nothing moves. Raises what the client raises."""
        while True:
            moved = self._client_turn()
            if not moved and not self.wire.arrived:
                return self
            with contextlib.suppress(BlockingIOError):
                self.received += self.broker.recv(EVERYTHING)

    def _client_turn(self) -> bool:
        self.to_client.write(bytes(self.wire.sent))
        self.wire.sent.clear()
        try:
            self.client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        finally:
            said = self.from_client.read()
            self.wire.arrived += said
        return bool(said)

    def say(self, data: bytes) -> None:
        """The client sends data."""
        self.client.write(data)
        self.wire.arrived += self.from_client.read()

    def heard(self) -> bytes:
        """What the client can decrypt of what was sent to it."""
        self.to_client.write(bytes(self.wire.sent))
        self.wire.sent.clear()
        return everything(lambda: self.client.read(1 << 20))


def everything(read: Callable[[], bytes]) -> bytes:
    """Read until there is no more."""
    data = b""
    try:
        while piece := read():
            data += piece
    except ssl.SSLWantReadError:
        pass
    return data


def test_data_pass_after_a_handshake() -> None:
    """In both directions; the wait for the end of the handshake ends once."""
    pair = Pair().pump()
    assert (pair.secured, pair.broker.is_secured, pair.broker.failure) == (1, True, "")
    pair.say(b"request")
    assert pair.broker.recv(EVERYTHING) == b"request"
    assert pair.broker.send(b"answer") == 6
    assert pair.heard() == b"answer"


def test_data_that_come_with_the_end_of_the_handshake_are_not_lost() -> None:
    """A client of TLS 1.3 may send its first request with its last word of the handshake."""
    pair = Pair()
    pair._client_turn()
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    pair._client_turn()
    pair.say(b"first")
    assert pair.broker.recv(EVERYTHING) == b"first"
    assert pair.secured == 1


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_one_byte_at_a_time(version: ssl.TLSVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handshake and a request may come in any pieces."""
    pair = Pair(server_context(maximum_version=version))
    sizes = [1]
    recv = pair.broker.recv
    monkeypatch.setattr(pair.broker, "recv", lambda _size: recv(sizes[0]))
    pair.pump()
    pair.say(b"request")
    pair.pump()
    assert (pair.broker.tls.version(), pair.received) == (version.name.replace("_", "."), b"request")


@examples(30)
@given(
    st.lists(st.binary(max_size=300) | st.integers(1, 3 * ENCRYPTED_BYTES).map(bytes), max_size=8),
    st.lists(st.integers(0, 200_000), max_size=30),
)
def test_a_slow_reader_gets_all_of_it_in_order(pieces: list[bytes], rooms: list[int]) -> None:
    """Whatever the socket takes at a time; who sends repeats what was not taken, as `ClientConnection` does."""
    pair = Pair().pump()
    unsent: Sequence[bytes | memoryview] = list(pieces)
    heard = b""
    for room in [*rooms, *[EVERYTHING] * 100]:
        pair.wire.room = room
        try:
            while unsent:
                taken = pair.broker.sendmsg(unsent)
                unsent = [rest for rest in _without(unsent, taken) if len(rest)]
        except BlockingIOError:
            pass
        heard += pair.heard()
    assert not unsent
    assert heard == b"".join(pieces)


def _without(pieces: Sequence[bytes | memoryview], count: int) -> list[memoryview]:
    """The pieces without their first bytes."""
    rest = []
    for piece in pieces:
        rest.append(memoryview(piece)[count:])
        count = max(0, count - len(piece))
    return rest


def test_nothing_counts_as_sent_before_the_socket_has_taken_its_ciphertext() -> None:
    """Else a connection would be closed with an answer still in it."""
    pair = Pair().pump()
    pair.wire.room = 10
    with pytest.raises(BlockingIOError):
        pair.broker.send(b"answer")
    assert pair.broker.has_unsent
    pair.wire.room = EVERYTHING
    assert pair.broker.send(b"answer") == 6
    assert pair.heard() == b"answer"


def test_an_orderly_end_is_said_and_heard() -> None:
    """TLS has a word of its own for it; data before it count."""
    pair = Pair().pump()
    pair.client.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.unwrap()
    pair.wire.arrived += pair.from_client.read()
    assert pair.broker.recv(EVERYTHING) == b"last"
    assert pair.broker.has_ended
    pair.broker.close()
    with pytest.raises(ssl.SSLZeroReturnError):
        pair.heard()
    assert pair.wire.is_closed


def test_an_end_without_a_word_is_an_end() -> None:
    """As of a client that was killed."""
    pair = Pair().pump()
    pair.wire.is_at_end = True
    assert pair.broker.recv(EVERYTHING) == b""


def test_a_reset_says_nothing() -> None:
    """It is to look like a crash."""
    pair = Pair().pump()
    pair.broker.setsockopt(SOL_SOCKET, SO_LINGER, b"")
    pair.broker.close()
    assert not pair.wire.sent
    assert pair.wire.is_closed


def test_damaged_bytes_are_an_error() -> None:
    """Nothing of them is taken for data."""
    pair = Pair().pump()
    pair.client.write(b"request")
    damaged = bytearray(pair.from_client.read())
    damaged[-1] ^= 1
    pair.wire.arrived += damaged
    with pytest.raises(ssl.SSLError):
        pair.broker.recv(EVERYTHING)


def test_a_client_that_refuses_tells_why() -> None:
    """Its alert becomes words; nothing is raised, and what it still sends is not looked at."""
    pair = Pair(ca=str(CertificateAuthority().ca_file))
    with pytest.raises(ssl.SSLCertVerificationError):
        pair.pump()
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    assert "its issuer is not in the client's truststore" in pair.broker.failure
    pair.wire.arrived += b"more"
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    assert not pair.wire.arrived


def test_a_client_that_failed_and_leaves_has_ended() -> None:
    """Else its connection would stay where the failure reached nobody."""
    pair = Pair().pump()
    pair.broker.failure = "an error of the broker"
    pair.wire.is_at_end = True
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    assert pair.broker.has_ended


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"\x00\x00\x00\x0b\x00\x12\x00\x00\x00\x00\x00\x07\x00\x01c", "the client does not use TLS"),
        (b"GET / HTTP/1.1\r\n\r\n", "the client speaks HTTP"),
        (b"\xff" * 30, "the client does not use TLS"),
    ],
)
def test_who_speaks_no_tls_learns_it_by_an_alert(start: bytes, words: str) -> None:
    """Like Kafka, whose alert plaintext clients take for the length of a frame."""
    pair = Pair()
    pair.wire.arrived += start
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    assert words in pair.broker.failure
    assert pair.wire.sent.endswith(INTERNAL_ERROR_ALERT)


def test_a_client_that_leaves_in_the_handshake() -> None:
    """As one may that does not like the certificate."""
    pair = Pair()
    pair._client_turn()
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    pair.wire.is_at_end = True
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    assert "closed the connection in the middle of the handshake" in pair.broker.failure


class Elsewhere:
    """Where steps of a handshake wait for the test to take them. It is the only one that waits, as its own `Step`."""

    def __init__(self) -> None:
        self.steps = list[tuple[Callable[[], None], Callable[[Exception | None], None]]]()

    def go_on(self, handshake: Callable[[], None], then: Callable[[Exception | None], None]) -> "Elsewhere":
        self.steps.append((handshake, then))
        return self

    def forget(self) -> None:
        self.steps.clear()

    def take(self) -> None:
        (handshake, then) = self.steps.pop()
        try:
            handshake()
        except ssl.SSLError as error:
            then(error)
        else:
            then(None)


class PairElsewhere(Pair):
    """A pair of which the broker's steps are taken elsewhere, each as soon as there is one unless `waits`."""

    def __init__(self, **options: Any) -> None:
        self.elsewhere = Elsewhere()
        self.waits = False
        super().__init__(go_on=self.elsewhere.go_on, **options)

    def hear(self) -> None:
        """The broker reads what has arrived."""
        with contextlib.suppress(BlockingIOError):
            self.received += self.broker.recv(EVERYTHING)
        while self.elsewhere.steps and not self.waits:
            self.elsewhere.take()
            with contextlib.suppress(BlockingIOError):
                self.received += self.broker.recv(EVERYTHING)


VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


@VERSIONS
def test_steps_may_be_taken_elsewhere(version: ssl.TLSVersion) -> None:
    """Meanwhile nothing is read, and nobody touches OpenSSL."""
    pair, returns = PairElsewhere(context=server_context(maximum_version=version)), list[bool]()
    pair.broker.on_return = lambda: returns.append(pair.broker.is_away)
    pair._client_turn()
    pair.hear()
    pair.waits = True
    pair._client_turn()
    pair.hear()
    pair.wire.arrived += b"\x17"
    pair.hear()
    assert pair.wire.arrived.pop() == 0x17
    pair.broker._outgoing.write(b"amid")
    pair.broker.flush()
    assert (pair.broker._outgoing.read(), pair.broker.may_have_more, returns) == (b"amid", False, [False])
    pair.waits = False
    pair.hear()
    assert (returns, pair.secured) == ([False, False], 1)
    pair._client_turn()
    pair.say(b"request")
    pair.hear()
    assert pair.received == b"request"


@VERSIONS
def test_openssl_gets_nothing_in_this_thread(version: ssl.TLSVersion) -> None:
    """Not even a client's first word: in TLS 1.2 its certificates may come in the same piece."""
    pair = PairElsewhere(context=server_context(maximum_version=version))
    pair.waits = True
    pair._client_turn()
    pair.hear()
    assert (len(pair.elsewhere.steps), bytes(pair.wire.sent)) == (1, b"")


def test_a_step_elsewhere_may_fail() -> None:
    """Then the failure has its words."""
    pair = PairElsewhere(ca=str(CertificateAuthority().ca_file))
    pair._client_turn()
    pair.hear()
    with pytest.raises(ssl.SSLCertVerificationError):
        pair._client_turn()
    pair.hear()
    assert "its issuer is not in the client's truststore" in pair.broker.failure


def test_what_no_handshake_should_raise_is_raised() -> None:
    """By whoever reads next; nobody would hear of it elsewhere."""
    pair = PairElsewhere()
    pair.waits = True
    pair._client_turn()
    pair.hear()
    (_, then) = pair.elsewhere.steps.pop()
    then(ValueError("a defect"))
    with pytest.raises(ValueError, match="a defect"):
        pair.broker.recv(EVERYTHING)


def test_a_socket_may_be_lost_while_a_step_is_taken_elsewhere() -> None:
    """Who reads next hears of it."""
    pair = PairElsewhere(context=server_context(maximum_version=ssl.TLSVersion.TLSv1_2))
    pair._client_turn()
    pair.hear()
    pair.waits = True
    pair._client_turn()
    pair.hear()
    pair.wire.is_lost = True
    pair.elsewhere.take()
    with pytest.raises(ConnectionResetError):
        pair.broker.recv(EVERYTHING)


def test_a_socket_may_be_closed_while_a_step_is_taken_elsewhere() -> None:
    """Nobody takes it any more."""
    pair = PairElsewhere()
    pair.waits = True
    pair._client_turn()
    pair.hear()
    assert pair.elsewhere.steps
    pair.broker.close()
    assert not pair.elsewhere.steps
    assert pair.wire.is_closed


@examples(200)
@given(st.data())
def test_noise_raises_nothing_but_errors_of_connections(data: st.DataObject) -> None:
    """At any point of the handshake and after it: no exception but OSError, which ends the connection."""
    pair = Pair()
    for _ in range(data.draw(st.integers(0, 2))):
        pair._client_turn()
        with contextlib.suppress(BlockingIOError):
            pair.broker.recv(EVERYTHING)
    start = data.draw(st.sampled_from([b"", b"\x16\x03\x01", b"\x16\x03\x03\x00\x20", b"\x17\x03\x03\x00\x10"]))
    pair.wire.arrived += start + data.draw(st.binary(max_size=100))
    pair.wire.is_at_end = data.draw(st.booleans())
    for _ in range(3):
        with contextlib.suppress(OSError):
            assert isinstance(pair.broker.recv(EVERYTHING), bytes)
    pair.broker.close()
    assert pair.wire.is_closed


class NotedTls:
    """In the place of OpenSSL's object: it notes the most that a buffer ever holds, before and after each call."""

    def __init__(self, side: TlsSocket) -> None:
        self._tls, self._buffers = side.tls, (side._incoming, side._outgoing)
        self.most = 0

    def read(self, size: int) -> bytes:
        return self._noted(lambda: self._tls.read(size))

    def write(self, data: bytes) -> int:
        return self._noted(lambda: self._tls.write(data))

    def _noted(self, call: Callable[[], T]) -> T:
        self._note()
        try:
            return call()
        finally:
            self._note()

    def _note(self) -> None:
        self.most = max(self.most, *(buffer.pending for buffer in self._buffers))


def test_buffers_hold_no_more_than_a_record_or_two() -> None:
    """They never give back what they have grown to: who once sent and read much would cost more from then on."""
    pair = Pair().pump()
    noted = pair.broker.tls = NotedTls(pair.broker)  # type: ignore[assignment]
    pair.say(b"x" * (1 << 20))
    pair.pump()
    assert len(pair.received) == 1 << 20
    answer = b"y" * (1 << 20)
    while answer:
        answer = answer[pair.broker.send(answer) :]
    assert len(pair.heard()) == 1 << 20
    assert RECORD_BYTES <= noted.most <= 2 * RECORD_BYTES + 100  # a part of a record, and the next


@pytest.mark.parametrize("size", [10, RECORD_BYTES, 40_000, 1 << 20])
def test_a_refused_client_is_not_heard(size: int) -> None:
    """However much it sends with the end of its handshake, in which the broker finds that it does not like it."""
    pair = Pair()
    broker = pair.broker
    broker.on_secured = lambda: setattr(broker, "failure", "not you")
    while not broker.is_secured:
        pair._client_turn()
        if pair.client.version() and not pair.to_client.pending:
            with contextlib.suppress(ssl.SSLWantReadError):
                pair.say(b"x" * size)
        with contextlib.suppress(BlockingIOError):
            assert broker.recv(EVERYTHING) == b""
    while pair.wire.arrived:
        with pytest.raises(BlockingIOError):
            broker.recv(EVERYTHING)

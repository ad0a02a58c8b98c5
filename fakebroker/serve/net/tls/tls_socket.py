"""TLS between a client's socket and who reads and writes it, in memory: OpenSSL never touches the socket itself.

So one kind of waiting is left, that of the socket, and edge-triggered epoll (loop.py) serves both kinds of clients.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import SO_LINGER, socket
from ssl import MemoryBIO, SSLContext, SSLEOFError, SSLError, SSLWantReadError, SSLZeroReturnError

from fakebroker.serve.net.tls.words import speaks_tls, words_of_failure

RECORD_BYTES = 16 * 1024  # the most that one record of TLS carries
ENCRYPTED_BYTES = 64 * 1024  # at once; a slow reader costs no more
DECRYPTED_BYTES = 64 * 1024  # at once: thousands of small records, each of which costs as much as a large one
MAX_UNSENT_BYTES = 64 * 1024  # of ciphertext, before nothing more is read

_KEEPS_SESSIONS = ("TLSv1.2",)
INTERNAL_ERROR_ALERT = b"\x15\x03\x03\x00\x02\x02\x50"


class TlsSocket:
    """A socket that does not block, with the broker's side of TLS; read and written as the socket itself would be.

    `recv` does the handshake first: until that is done it has nothing to give. `send` and `sendmsg` encrypt data and
    tell that they were taken only when the socket has taken all of the ciphertext. Until then they raise
    BlockingIOError, and the next call must be for the same data, as `ClientConnection` does it.
    """

    def __init__(self, raw: socket, context: SSLContext) -> None:
        """`on_secured` is to be set before the first `recv`; it is called when the handshake is done, once, and may set
        `failure` if it does not like the outcome. It is forgotten then, or at the end.
        """
        self.raw = raw
        self.on_secured: Callable[[], None] = _nothing
        self.failure = ""  # why the handshake failed, in words
        self.is_secured = False  # the handshake is done
        self.has_ended = False  # the client has said that it sends no more
        self.may_have_more = False  # the socket may have bytes that were not read yet
        self._incoming, self._outgoing = MemoryBIO(), MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._ciphertext = memoryview(b"")  # what the socket has not taken
        self._encrypted_bytes = 0  # of plaintext in it, or sent, and not reported yet
        self._is_reset = False  # the end is to be no orderly one
        self._started = b""  # the first bytes of the client, for words about a failure
        self.fileno = raw.fileno
        self.getsockname = raw.getsockname

    @property
    def has_unsent(self) -> bool:
        """Whether the socket has not taken everything."""
        return bool(self._ciphertext)

    @property
    def is_full(self) -> bool:
        """Whether nothing is to be read before the client reads: TLS itself answers, too, to each KeyUpdate."""
        return len(self._ciphertext) > MAX_UNSENT_BYTES

    def recv(self, size: int) -> bytes:
        """What the client sent, of at most `size` bytes that are read from the socket; empty at the end.

        Raises BlockingIOError if that is nothing yet, also when the handshake has failed (`failure`), and OSError
        for a connection that is lost or damaged.
        """
        if self.failure:
            self.raw.recv(size)  # nobody is interested
            raise BlockingIOError
        size = min(size, DECRYPTED_BYTES)
        data = self.raw.recv(size)
        self.may_have_more = len(data) == size
        if not self.is_secured:
            self._started = self._started or data[:16]
        decrypted = list[bytes]()
        for record in _in_records(data):
            if record:
                self._incoming.write(record)
            else:
                self._incoming.write_eof()
            if not self.is_secured:
                self._shake_hands()
            if self.is_secured and not self.failure:  # that may come of the outcome, too
                self._decrypt(decrypted)
        self.flush()  # TLS may have something to say of its own
        if not decrypted and not self.has_ended:
            raise BlockingIOError
        return decrypted[0] if len(decrypted) == 1 else b"".join(decrypted)

    def send(self, data: bytes | memoryview) -> int:
        """Encrypt and send; how many bytes of `data` were sent. Raises BlockingIOError, OSError."""
        return self.sendmsg([data])

    def sendmsg(self, pieces: Sequence[bytes | memoryview]) -> int:
        """Encrypt and send the beginning of several pieces; how many bytes of them were sent.

        Raises BlockingIOError while the socket has not taken it, OSError for a lost connection.
        """
        if not self.flush():
            raise BlockingIOError
        if not self._encrypted_bytes:
            self._encrypt(_beginning(pieces))
            if not self.flush():
                raise BlockingIOError
        sent_bytes, self._encrypted_bytes = self._encrypted_bytes, 0
        return sent_bytes

    def _encrypt(self, data: bytes | memoryview) -> None:
        """A record at a time: OpenSSL's buffers never give back what they have grown to."""
        records = _in_records(data) if data else ()
        if len(records) == 1:  # as most answers are: `flush` takes it
            self._encrypted_bytes = self.tls.write(records[0])
            return
        encrypted = list[bytes]()
        for record in records:
            self._encrypted_bytes += self.tls.write(record)
            encrypted.append(self._outgoing.read())
        self._ciphertext = memoryview(b"".join(encrypted))

    def flush(self) -> bool:
        """Send ciphertext that is made; whether the socket has taken all of it. Raises OSError."""
        if self._outgoing.pending:
            self._ciphertext = memoryview(bytes(self._ciphertext) + self._outgoing.read())
        try:
            while self._ciphertext:
                self._ciphertext = self._ciphertext[self.raw.send(self._ciphertext) :]
        except (BlockingIOError, InterruptedError):
            return False
        return True

    def setsockopt(self, level: int, option: int, value: int | bytes) -> None:
        """See socket. What is to be reset at its end does not say good-bye."""
        self.raw.setsockopt(level, option, value)
        self._is_reset = self._is_reset or option == SO_LINGER

    def close(self) -> None:
        """Close the socket; the client hears that nothing more comes, if that can be sent at once."""
        self.on_secured = _nothing  # most likely of an object that holds this one: a cycle would keep all of OpenSSL's
        with suppress(OSError):  # it may be lost
            if self.is_secured and not self._ciphertext and not self._is_reset:
                self._say_good_bye()
        self.raw.close()

    def _say_good_bye(self) -> None:
        """Not in TLS 1.2: OpenSSL would keep a session that ended well, with all certificates of the client, for the
        client to go on with. Python cannot tell it not to. OpenSSL drops a session that just ends.
        """
        if self.tls.version() in _KEEPS_SESSIONS:
            return
        with suppress(SSLError):  # it would wait for the client's
            self.tls.unwrap()
        self.flush()

    def _shake_hands(self) -> None:
        """Go on with the handshake."""
        if self.failure:
            return
        try:
            self.tls.do_handshake()
        except SSLWantReadError:
            return
        except SSLError as error:
            self.failure = words_of_failure(error, self._started)
            with suppress(OSError):
                self._alert()
            return
        self.flush()
        self.is_secured, self._started = True, b""
        on_secured, self.on_secured = self.on_secured, _nothing
        on_secured()

    def _alert(self) -> None:
        """Tell the client that the handshake failed. OpenSSL tells nothing to a client that does not speak TLS; Java,
        and so Kafka, tells that, too.
        """
        if not self._outgoing.pending and not speaks_tls(self._started):
            self._outgoing.write(INTERNAL_ERROR_ALERT)
        self.flush()

    def _decrypt(self, decrypted: list[bytes]) -> None:
        """Add all data that came whole. Raises SSLError."""
        try:
            while piece := self.tls.read(RECORD_BYTES):
                decrypted.append(piece)
            self.has_ended = True
        except SSLWantReadError:
            pass
        except SSLError as error:
            if not isinstance(error, SSLZeroReturnError | SSLEOFError):
                raise
            self.has_ended = True


def _nothing() -> None:
    """What is called when nobody wants to know that a handshake is done."""


def _beginning(pieces: Sequence[bytes | memoryview]) -> bytes | memoryview:
    """The first pieces joined, or a part of the first one."""
    if len(pieces) == 1 or len(pieces[0]) >= ENCRYPTED_BYTES:
        return memoryview(pieces[0])[:ENCRYPTED_BYTES]
    size, count = 0, 0
    for piece in pieces:
        size += len(piece)
        if size > ENCRYPTED_BYTES:
            break
        count += 1
    return b"".join(pieces[:count])


def _in_records(data: bytes | memoryview) -> Sequence[bytes | memoryview]:
    """The data in pieces of a record."""
    if len(data) <= RECORD_BYTES:
        return (data,)
    view = memoryview(data)
    return [view[at : at + RECORD_BYTES] for at in range(0, len(view), RECORD_BYTES)]

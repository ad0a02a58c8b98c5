"""TLS between a client's socket and who reads and writes it, in memory: OpenSSL never touches the socket itself.

So one kind of waiting is left, that of the socket, and edge-triggered epoll (loop.py) serves both kinds of clients.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import SO_LINGER, socket
from ssl import MemoryBIO, SSLContext, SSLEOFError, SSLError, SSLWantReadError, SSLZeroReturnError
from typing import NamedTuple, Protocol

from fakebroker.serve.net.tls.records import ArrivedRecords
from fakebroker.serve.net.tls.words import EMPTY_RECORDS, LONG_HANDSHAKE, speaks_tls, words_of_failure

RECORD_BYTES = 16 * 1024  # the most that one record of TLS carries
ENCRYPTED_BYTES = 64 * 1024  # at once; a slow reader costs no more
DECRYPTED_BYTES = 64 * 1024  # read at once, after the handshake
RECORDS_AT_ONCE = 64  # decrypted; a small one costs as much as a large one
EMPTY_AT_ONCE = 8  # of them without data: such a one may cost ten times as much
MAX_EMPTY_RECORDS = 32  # in a row, as in BoringSSL; OpenSSL has this limit, but not for KeyUpdates
HELLO_BYTES = 16 * 1024  # read at once in the handshake, and its most before the broker answers; 0.5 KB are usual
HANDSHAKE_BYTES = 32 * 1024  # of the client, with its certificates; Kafka's Java takes messages of that size
MAX_UNSENT_BYTES = 64 * 1024  # of ciphertext, before nothing more is read


class Step(Protocol):
    """A step of a handshake that is taken elsewhere."""

    def forget(self) -> None:
        """Nobody waits for it any more."""


GoOn = Callable[[Callable[[], None], Callable[[Exception | None], None]], Step]
"""Takes a step of a handshake somewhere, and then calls what comes second with the error, or None."""


class _Taken(NamedTuple):
    """A step of the handshake that was taken."""

    error: Exception | None


_KEEPS_SESSIONS = ("TLSv1.2",)
INTERNAL_ERROR_ALERT = b"\x15\x03\x03\x00\x02\x02\x50"


class TlsSocket:
    """A socket that does not block, with the broker's side of TLS; read and written as the socket itself would be.

    `recv` does the handshake first: until that is done it has nothing to give. `send` and `sendmsg` encrypt data and
    tell that they were taken only when the socket has taken all of the ciphertext. Until then they raise
    BlockingIOError, and the next call must be for the same data, as `ClientConnection` does it.
    """

    def __init__(self, raw: socket, context: SSLContext, go_on: GoOn | None = None) -> None:
        """`on_secured` is to be set before the first `recv`; it is called when the handshake is done, once, and may set
        `failure` if it does not like the outcome. It is forgotten then, or at the end.

        `go_on` takes the steps of the handshake (handshakes.py); None: they are taken at once. While it does, `is_away`
        is true and nothing is read. `on_return` is called afterwards, and the next `recv` sees what has come of it.
        """
        self.raw = raw
        self.on_return: Callable[[], None] = _nothing
        self.is_away = False  # OpenSSL is at work in another thread: nobody may touch it
        self.on_secured: Callable[[], None] = _nothing
        self.failure = ""  # why the client is not heard any more, in words
        self.is_secured = False  # the handshake is done
        self.has_ended = False  # the client has said that it sends no more
        self.may_have_more = False  # there may be bytes that were not read or decrypted yet
        self._incoming, self._outgoing = MemoryBIO(), MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._ciphertext = memoryview(b"")  # what the socket has not taken
        self._encrypted_bytes = 0  # of plaintext in it, or sent, and not reported yet
        self._is_reset = False  # the end is to be no orderly one
        self._started = b""  # the first bytes of the client, for words about a failure
        self._handshake_bytes = 0  # of the client
        self._is_answered = False  # the broker has said something in the handshake
        self._go_on = go_on
        self._step: Step | None = None  # the one that is taken elsewhere
        self._taken: _Taken | None = None  # one that was taken elsewhere, and not seen to yet
        self._records = ArrivedRecords()
        self._empty_records = 0  # in a row
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

    @property
    def is_behind(self) -> bool:
        """Whether records have arrived that the next `recv` decrypts, whatever the socket has then."""
        return self._records.has_next and not self.failure

    def recv(self, size: int) -> bytes:
        """What the client sent, of at most `size` bytes that are read from the socket; empty at the end.

        Raises BlockingIOError if that is nothing yet, also when the handshake has failed (`failure`), and OSError
        for a connection that is lost or damaged.
        """
        if self.is_away:
            self.may_have_more = False
            raise BlockingIOError
        if self._taken is not None:
            self._see_to_taken()
        if self.failure:
            self.may_have_more = False
            self.has_ended = not self.raw.recv(size)  # nobody is interested in what comes
            raise BlockingIOError
        was_behind = self._records.has_next
        if not was_behind:
            self._take_in(size)
        decrypted = self._decrypt() if self.is_secured and not self.failure else []
        if was_behind or self.is_behind:
            self.may_have_more = True  # the socket, too: nobody was there for what has come meanwhile
        self.flush()  # TLS may have something to say of its own
        if not decrypted and not self.has_ended:
            raise BlockingIOError
        return decrypted[0] if len(decrypted) == 1 else b"".join(decrypted)

    def _take_in(self, size: int) -> None:
        """Read from the socket, and go on with the handshake. Raises BlockingIOError, OSError."""
        size = min(size, DECRYPTED_BYTES if self.is_secured else HELLO_BYTES)
        self.may_have_more = False
        data = self.raw.recv(size)
        self.may_have_more = len(data) == size
        if self.is_secured:
            self._records.add(data)
            self.has_ended = self.has_ended or not data
            return
        self._started = self._started or data[:16]
        self._handshake_bytes += len(data)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
        self._shake_hands()

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
        if not self.is_away and self._outgoing.pending:
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
        if self._step is not None:
            self._step.forget()
        self.on_secured = self.on_return = _nothing  # most likely of an object that holds this one: a cycle would keep
        # all of OpenSSL's
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
        """Go on with the handshake, here or elsewhere.

        Elsewhere from the first step on: behind a client's first word OpenSSL may find the next ones.
        """
        if self._go_on is not None:
            self.is_away = True
            self._step = self._go_on(self.tls.do_handshake, self._return)
            return
        try:
            self.tls.do_handshake()
        except SSLError as error:
            self._went_on(error)
        else:
            self._went_on(None)

    def _return(self, error: Exception | None) -> None:
        """A step of the handshake was taken elsewhere. `recv` sees to it: whoever calls that hears what it raises."""
        self.is_away, self._step, self._taken = False, None, _Taken(error)
        self.on_return()

    def _see_to_taken(self) -> None:
        """Raises OSError, BlockingIOError if the handshake has failed, and what no handshake should raise."""
        assert self._taken is not None
        error, self._taken = self._taken.error, None
        if error is not None and not isinstance(error, SSLError):
            raise error
        self._went_on(error)
        if self.failure:
            self.may_have_more = False
            raise BlockingIOError
        self.flush()

    def _went_on(self, error: SSLError | None) -> None:
        """A step of the handshake has ended with an error, or it is done."""
        if isinstance(error, SSLWantReadError):
            self._is_answered = self._is_answered or bool(self._outgoing.pending)
            if self._handshake_bytes >= (HANDSHAKE_BYTES if self._is_answered else HELLO_BYTES):
                self.failure = LONG_HANDSHAKE
        elif error is not None:
            self.failure = words_of_failure(error, self._started)
            with suppress(OSError):
                self._alert()
        else:
            self.flush()
            self.is_secured, self._started = True, b""
            self._records.add(self._incoming.read())  # OpenSSL takes a record at a time: what is left begins with one
            on_secured, self.on_secured = self.on_secured, _nothing
            on_secured()

    def _alert(self) -> None:
        """Tell the client that the handshake failed. OpenSSL tells nothing to a client that does not speak TLS; Java,
        and so Kafka, tells that, too.
        """
        if not self._outgoing.pending and not speaks_tls(self._started):
            self._outgoing.write(INTERNAL_ERROR_ALERT)
        self.flush()

    def _decrypt(self) -> list[bytes]:
        """The data of the next records. Raises SSLError."""
        decrypted, empty = list[bytes](), 0
        for _ in range(RECORDS_AT_ONCE):
            record = self._records.take()
            if not record:
                break
            self._incoming.write(record)
            if data := self._read_record():
                decrypted.append(data)
                self._empty_records = 0
                continue
            empty += 1
            if empty == EMPTY_AT_ONCE or self.has_ended or self.failure:
                break
        return decrypted

    def _read_record(self) -> bytes:
        """The data of a record, none if there is a part of it only, or if it has none. Raises SSLError."""
        try:
            data = self.tls.read(RECORD_BYTES)
            self.has_ended = not data
            return data
        except SSLWantReadError:
            self._empty_records += self._records.is_whole
            if self._empty_records > MAX_EMPTY_RECORDS:
                self.failure = EMPTY_RECORDS
        except SSLError as error:
            if not isinstance(error, SSLZeroReturnError | SSLEOFError):
                raise
            self.has_ended = True
        return b""


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

"""The journal: everything that happened, in one bounded ring, decoded only when somebody asks.

The engine appends one tuple of references per answered request (a tenth of a microsecond) and one per event; the
oldest go, up to some hundred at a time, when the ring is over its bound in entries or in bytes. Sequence numbers never
repeat and are never reused, so a gap at the front says how much was forgotten. Bodies larger than `BIG_BYTES` are kept
as their first bytes and their length: the headers, and of record batches the first header with its CRC, survive.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from struct import Struct as Layout
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, overload

from fakebroker.broker.core.events import STORED, CoreEvent
from fakebroker.broker.engine.event_bytes import event_bytes
from fakebroker.broker.engine.kept_frames import BIG_BYTES, KEPT_OF_BIG_BYTES, Frame, FrameBytes, cut, kept_of
from fakebroker.broker.engine.printable import printable
from fakebroker.broker.engine.subjects import FoundError, TopicName, errors_of, groups_of, no_name, topics_of
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wildcards import is_like
from fakebroker.protocol.wire.dialects import Overlay
from fakebroker.protocol.wire.frame import RequestHeader, decode_request_header, decode_response
from fakebroker.protocol.wire.registry import APIS
from fakebroker.protocol.wire.registry import api as find_api

MAX_IN_CHUNK = 256
_NUMBERS = Layout(">hhi")
_NAME_LENGTH = Layout(">h")
_request, _response = itemgetter(1), itemgetter(2)


class Peer(NamedTuple):
    """Who is at the other end of a connection. One object per connection, shared by all its entries."""

    connection_id: int
    client_host: str
    node_id: int
    overlays: Mapping[tuple[int, int], Overlay] = MappingProxyType({})  # of the listener's dialects
    client_port: int = 0  # 0: nobody knows it

    @property
    def address(self) -> str:
        """HOST:PORT of the client, for people."""
        host = self.client_host.removeprefix("/")
        if not self.client_port:
            return host
        return f"[{host}]:{self.client_port}" if ":" in host else f"{host}:{self.client_port}"


class Connected(NamedTuple):
    """A client connected."""

    peer: Peer


class Disconnected(NamedTuple):
    """A connection is gone; `reason` says who ended it and why."""

    peer: Peer
    reason: str


class TlsEstablished(NamedTuple):
    """A client's TLS handshake was done. `subject` is the name in the client's certificate, "" if it has shown none."""

    peer: Peer
    tls_version: str
    cipher: str
    subject: str
    principal: str


class TlsFailed(NamedTuple):
    """A client's TLS handshake failed, and its connection closes; `reason` says why."""

    peer: Peer
    reason: str


class BrokerStarted(NamedTuple):
    """A broker began, also after `reset` and `restore`: the first line of its history.

    `settings` are those it was given, by its maker or its profile; secrets are left out.
    """

    release: str
    settings: dict[str, str]


class InternalError(NamedTuple):
    """The broker's own code raised an exception: a bug of the broker."""

    error: str
    message: str


# Everything that the journal has beside requests. Each is a NamedTuple whose fields are its columns in files
# (docs/reference/journal-schema.md); the docstring says what it means there.
Event = CoreEvent | BrokerStarted | Connected | Disconnected | InternalError | TlsEstablished | TlsFailed

# What stories and transcripts leave out: the lines around it say the same.
NOT_IN_STORY = (BrokerStarted, Connected, Disconnected, TlsEstablished, *STORED)


Event_co = TypeVar("Event_co", bound=Event, covariant=True)


class Recorded(NamedTuple, Generic[Event_co]):
    """One event of the core or of a connection, with its place in history."""

    seq: int
    at: Instant
    event: Event_co


class Exchange:
    """One request and what became of it. Bodies are decoded when looked at.

    `seq` is its place in history, `header` the request header, `peer` the connection. `request_frame` and
    `response_frame` are the bytes, or a `Frame` with their beginning. `received` and `answered` are moments on both
    clocks (`.wall_ms`, `.mono_ms`); a request without an answer has the moment of its end in `answered`.
    """

    __slots__ = ("_head", "_topic_name", "answered", "peer", "received", "request_frame", "response_frame", "seq")

    def __init__(self, seq: int, entry: "ExchangeEntry", topic_name: TopicName = no_name) -> None:
        self.seq = seq
        self._topic_name = topic_name
        self.peer, self.request_frame, self.response_frame, self.received, self.answered = entry
        self._head: tuple[RequestHeader, int] | None = None

    @property
    def header(self) -> RequestHeader:
        """The request header."""
        return self._header_and_end()[0]

    def _header_and_end(self) -> tuple[RequestHeader, int]:
        """The request header, and where the body begins."""
        if self._head is None:
            self._head = _header_of(kept_of(self.request_frame))
        return self._head

    @property
    def api(self) -> str:
        """The API's name, or "Api 99" when there is none of that number."""
        api = APIS.get(self.header.api_key)
        return api.name if api else f"Api {self.header.api_key}"

    @property
    def version(self) -> int:
        """The version of the request."""
        return self.header.api_version

    @property
    def client_id(self) -> str | None:
        """What the client calls itself."""
        return self.header.client_id

    @property
    def request(self) -> Any:
        """The decoded request, with the fields of its API; None when it was cut for its size, or is malformed."""
        if isinstance(self.request_frame, Frame):
            return None
        try:
            spoken = self._overlay or find_api(self.header.api_key)
            message, _ = spoken.request.decode(self.request_frame, self.version, self._header_and_end()[1])
        except (WireError, KeyError):
            return None
        return message

    @property
    def response(self) -> Any:
        """The decoded answer, with the fields of its API; None when there was none or it is too large to be kept."""
        if self.response_frame is None or isinstance(self.response_frame, Frame):
            return None
        try:
            draft = self._overlay.response if self._overlay else None
            _, message = decode_response(self.header.api_key, self.version, self.response_frame, draft)
        except WireError:
            return None
        return message

    @property
    def group_ids(self) -> tuple[str, ...]:
        """The groups that the request names."""
        request = self.request
        return () if request is None else groups_of(request)

    @property
    def topics(self) -> dict[str, list[int]]:
        """The topics that the request names, each with the partitions that it names of it."""
        request = self.request
        return {} if request is None else topics_of(request, self._topic_name)

    @property
    def found_errors(self) -> tuple[FoundError, ...]:
        """Every error in the answer with the topic and partition it stands at, in the order of its fields."""
        response = self.response
        return () if response is None else tuple(errors_of(response, self._topic_name))

    @property
    def error_names(self) -> tuple[str, ...]:
        """The names of the errors in the answer, each once."""
        return tuple(dict.fromkeys(error.name for error in self.found_errors))

    def name_of_topic(self, topic_id: bytes) -> str:
        """The name of the topic with an id; the id, as Kafka prints it, if the topic no longer exists."""
        return self._topic_name(topic_id) or uuid_to_text(topic_id)

    @property
    def is_answered(self) -> bool:
        """Whether there was an answer."""
        return self.response_frame is not None

    @property
    def node_id(self) -> int:
        """The node that received the request."""
        return self.peer.node_id

    @property
    def connection_id(self) -> int:
        """The connection, counted from the broker's start."""
        return self.peer.connection_id

    @property
    def _overlay(self) -> Overlay | None:
        """What the dialect of the listener makes of this version."""
        return self.peer.overlays.get((self.header.api_key, self.version))

    @property
    def waited_ms(self) -> int:
        """The monotonic time until the answer, in ms."""
        return self.answered.mono_ms - self.received.mono_ms

    @property
    def errors(self) -> tuple[int, ...]:
        """Every error code other than 0 in the answer, in the order of its fields."""
        return tuple(error.code for error in self.found_errors)

    def __repr__(self) -> str:
        answer = "no answer" if self.response_frame is None else f"errors {list(self.errors)}" if self.errors else "ok"
        client = self.client_id if self.client_id is None else printable(self.client_id)
        return f"#{self.seq} {client}: {self.api} v{self.version} -> {answer} after {self.waited_ms} ms"


class EventEntry(NamedTuple):
    """What the ring has of an event."""

    event: Event
    at: Instant
    size_bytes: int = 0


# What the ring has of an exchange: peer, request, response, when it was received, when answered. It is made for every
# request, and a plain tuple is made several times as fast as one that has names. So it is unpacked, never indexed.
ExchangeEntry = tuple[Peer, FrameBytes, FrameBytes | None, Instant, Instant]


class Journal:
    """A bounded ring of exchanges and events, oldest first."""

    has_observers = False

    append: Callable[["ExchangeEntry | EventEntry"], None]  # of an exchange of at most BIG_BYTES; settle later

    def __init__(self, max_entries: int = 20_000, max_bytes: int = 4 * 1024 * 1024) -> None:
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        self.topic_name: TopicName = no_name  # of the topics that exist, by id; the engine's
        # Entries are added to `_fresh`. A list of `_chunk_entries` is measured as a whole and later dropped as a whole:
        # what is done for each request is one append.
        self._chunk_entries = max(1, min(MAX_IN_CHUNK, max_entries // 16, max_bytes // 16_384))
        self._chunks: deque[_Chunk] = deque()
        self._fresh: list[ExchangeEntry | EventEntry] = []
        self._dropped = 0  # entries, ever
        self._settled = 0  # entries in `_chunks`
        self._bytes = 0  # kept in `_chunks`
        self._use_fresh()

    def exchange(
        self, peer: Peer, request: bytes, response: FrameBytes | None, received: Instant, answered: Instant
    ) -> None:
        """A request was answered, or ended without an answer (`response` None). Frames come without length prefix."""
        self._fresh.append((peer, cut(request), None if response is None else cut(response), received, answered))
        self.settle()

    def event(self, event: Event, now: Instant) -> None:
        """Something happened that is not a request."""
        size_bytes = event_bytes(event)
        self._fresh.append(EventEntry(event, now, size_bytes))
        if size_bytes > BIG_BYTES:  # a full list of these would be much more than there may be
            self._settle_fresh()
        else:
            self.settle()

    def settle(self) -> None:
        """See whether there is too much now; at the latest at the end of each turn."""
        if len(self._fresh) >= self._chunk_entries:
            self._settle_fresh()

    def tell(self) -> bool:
        """The turn is over; for journals that somebody observes (testing/journal/observed.py). True: there is more."""
        return False

    def begin(self, started: BrokerStarted) -> None:
        """The broker serves clients."""

    def end(self) -> None:
        """The broker was stopped."""

    def forget_observers(self) -> None:
        """This is a forked child."""

    def clear(self) -> None:
        """Forget everything; sequence numbers go on."""
        while self._chunks:
            self._drop(self._chunks.popleft())
        self._dropped += len(self._fresh)
        self._fresh = []
        self._use_fresh()

    def __len__(self) -> int:
        return self._settled + len(self._fresh)

    @property
    def forgotten(self) -> int:
        """How many entries were dropped."""
        return self._dropped

    @property
    def next_seq(self) -> int:
        """The sequence number of the next entry."""
        return self._dropped + len(self)

    def kept(self, since: int = 0) -> "KeptEntries":
        """What is known from sequence number `since` on, as it is now; costs as much as that is long."""
        first = max(since, self.forgotten)
        wanted = max(0, self.next_seq - first)
        parts = [self._fresh[:]]
        for chunk in reversed(self._chunks):
            if sum(map(len, parts)) >= wanted:
                break
            parts.append(chunk.entries)
        entries = [entry for part in reversed(parts) for entry in part]
        return KeptEntries(first, entries[len(entries) - wanted :], self.topic_name)

    def entries(self, since: int = 0) -> Iterator[Exchange | Recorded[Event]]:
        """Everything that is still known from sequence number `since` on, oldest first."""
        return iter(self.kept(since))

    def requests(self, api: str | None = None, client_id: str | None = None, since: int = 0) -> list[Exchange]:
        """The exchanges, oldest first; of one API by name, of one client (`client_id` may have wildcards).

        Raises KeyError for an API that does not exist.
        """
        key = None if api is None else find_api(api).key
        found = (e for e in self.entries(since) if isinstance(e, Exchange))
        return [e for e in found if (key is None or e.header.api_key == key) and _named(e.client_id, client_id)]

    @overload
    def events(self, kind: None = None, since: int = 0) -> list[Recorded[Event]]: ...

    @overload
    def events(self, kind: type[Event_co], since: int = 0) -> list[Recorded[Event_co]]: ...

    def events(self, kind: type[Any] | None = None, since: int = 0) -> list[Recorded[Any]]:
        """The events, oldest first; of one class, e.g. `Transition`."""
        found = (e for e in self.entries(since) if isinstance(e, Recorded))
        return [e for e in found if kind is None or isinstance(e.event, kind)]

    def asked_by(self, client_id: str | None) -> Iterator[tuple[int, int]]:
        """Connection id and API key of the requests of one client that are still known, oldest first; none is decoded.

        A client id that is not UTF-8, or too long to be kept whole, is not found.
        """
        name = b"" if client_id is None else client_id.encode("utf-8", "replace")
        if len(name) > KEPT_OF_BIG_BYTES:
            return
        name = _NAME_LENGTH.pack(-1 if client_id is None else len(name)) + name
        for entry in chain(*(chunk.entries for chunk in self._chunks), self._fresh):
            if isinstance(entry, EventEntry):
                continue
            peer, request, _, _, _ = entry
            frame = kept_of(request)
            if frame.startswith(name, _NUMBERS.size):
                api_key, _, _ = _NUMBERS.unpack_from(frame)
                yield peer.connection_id, api_key

    def _settle_fresh(self) -> None:
        chunk = _Chunk(self._fresh, bytes_of(self._fresh))
        self._chunks.append(chunk)
        self._settled += len(chunk.entries)
        self._bytes += chunk.size_bytes
        self._fresh = []
        self._use_fresh()
        while len(self._chunks) > 1 and (self._bytes > self.max_bytes or self._settled > self.max_entries):
            self._drop(self._chunks.popleft())

    def _use_fresh(self) -> None:
        """There is a new list for what comes."""
        self.append = self._fresh.append

    def _drop(self, chunk: "_Chunk") -> None:
        self._dropped += len(chunk.entries)
        self._settled -= len(chunk.entries)
        self._bytes -= chunk.size_bytes


class _Chunk(NamedTuple):
    """Entries that are kept and dropped together, and the bytes that they keep."""

    entries: list[ExchangeEntry | EventEntry]
    size_bytes: int


class KeptEntries:
    """A stretch of the journal that does not change any more. It may be read in any thread."""

    def __init__(self, first_seq: int, entries: "list[ExchangeEntry | EventEntry]", topic_name: TopicName) -> None:
        self.first_seq = first_seq
        self._entries = entries
        self._topic_name = topic_name

    def __iter__(self) -> Iterator[Exchange | Recorded[Event]]:
        return self.of(range(self.first_seq, self.end_seq))

    @property
    def end_seq(self) -> int:
        """The sequence number after the last one."""
        return self.first_seq + len(self._entries)

    def of(self, seqs: Iterable[int], *, only_events: bool = False) -> Iterator[Exchange | Recorded[Event]]:
        """The entries with these sequence numbers, which must be here; requests are passed over if `only_events`."""
        for seq in seqs:
            entry = self._entries[seq - self.first_seq]
            if isinstance(entry, EventEntry):
                yield Recorded(seq, entry.at, entry.event)
            elif not only_events:
                yield Exchange(seq, entry, self._topic_name)


def bytes_of(entries: list[ExchangeEntry | EventEntry]) -> int:
    """The bytes that entries keep; the way without a step of Python each is for small exchanges only."""
    frames: Any = entries
    try:
        return sum(map(len, map(_request, frames))) + sum(map(len, map(_response, frames)))
    except (IndexError, TypeError):  # there are events, large frames, or no answers
        pass
    size_bytes = 0
    for entry in entries:
        if isinstance(entry, EventEntry):
            size_bytes += entry.size_bytes
        else:
            _, request, response, _, _ = entry
            size_bytes += len(kept_of(request)) + (0 if response is None else len(kept_of(response)))
    return size_bytes


def _named(client_id: str | None, pattern: str | None) -> bool:
    return pattern is None or is_like(client_id or "", pattern)


def _header_of(frame: bytes) -> tuple[RequestHeader, int]:
    """The header of a request; of one that was cut within its client id only the numbers."""
    try:
        return decode_request_header(frame)
    except WireError:
        api_key, version, correlation_id = _NUMBERS.unpack_from(frame)
        return RequestHeader(api_key, version, correlation_id, None, None), len(frame)

"""The journal: everything that happened, in one bounded ring, decoded only when somebody asks.

The engine appends one tuple of references per answered request (a fraction of a microsecond) and one per event; the
oldest go when the ring is over its bound in entries or in bytes. Sequence numbers never repeat and are never reused,
so a gap at the front says how much was forgotten. Bodies larger than `BIG_BYTES` are kept as their first bytes and
their length: the headers, and of record batches the first header with its CRC, survive.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from struct import Struct as Layout
from types import MappingProxyType
from typing import Any, NamedTuple

from fakebroker.core.events import CoreEvent
from fakebroker.engine.printable import printable
from fakebroker.engine.subjects import FoundError, TopicName, errors_of, groups_of, no_name, topics_of
from fakebroker.errors import WireError
from fakebroker.instant import Instant
from fakebroker.schema import Message
from fakebroker.schema.jsonable import uuid_to_text
from fakebroker.wire.dialects import Overlay
from fakebroker.wire.frame import RequestHeader, decode_request_header, decode_response
from fakebroker.wire.registry import APIS
from fakebroker.wire.registry import api as find_api

BIG_BYTES = 8 * 1024
KEPT_OF_BIG_BYTES = 512
_NUMBERS = Layout(">hhi")
_NAME_LENGTH = Layout(">h")


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


class InternalError(NamedTuple):
    """The broker's own code raised an exception: a bug of the broker."""

    error: str
    message: str


# Everything that the journal may be told beside requests. Each is a NamedTuple whose fields are its columns in files
# (docs/journal-schema.md); the docstring says what it means there.
Event = CoreEvent | Connected | Disconnected | InternalError


class Frame:
    """The kept part of a frame (without length prefix) that was too large to keep whole.

    `size_bytes` is the size of the whole frame. There is no `len`: nobody can take it for that of the kept part.
    """

    __slots__ = ("kept", "size_bytes")

    def __init__(self, kept: bytes, size_bytes: int) -> None:
        self.kept = kept
        self.size_bytes = size_bytes

    @classmethod
    def of(cls, pieces: list[bytes], size_bytes: int) -> "Frame":
        """The frame that these pieces make."""
        kept, room = [], KEPT_OF_BIG_BYTES
        for piece in pieces:
            kept.append(piece[:room])
            room -= len(kept[-1])
            if not room:
                break
        return cls(b"".join(kept), size_bytes)


class Recorded(NamedTuple):
    """One event of the core or of a connection, with its place in history."""

    seq: int
    at: Instant
    event: Event


class Exchange:
    """One request and what became of it. Header and bodies are decoded when looked at.

    `received` and `answered` are moments on both clocks (`.wall_ms`, `.mono_ms`); one without an answer has the moment
    of its end in `answered`.
    """

    __slots__ = (
        "_topic_name",
        "answered",
        "body_offset",
        "header",
        "peer",
        "received",
        "request_frame",
        "response_frame",
        "seq",
    )

    def __init__(self, seq: int, entry: "ExchangeEntry", topic_name: TopicName = no_name) -> None:
        self.seq = seq
        self._topic_name = topic_name
        self.peer, self.request_frame, self.response_frame, self.received, self.answered = entry
        self.header, self.body_offset = _header_of(_kept(self.request_frame))

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
    def request(self) -> Message | None:
        """The decoded request, or None when it cannot be decoded (cut because of its size, or malformed)."""
        if isinstance(self.request_frame, Frame):
            return None
        try:
            spoken = self._overlay or find_api(self.header.api_key)
            message, _ = spoken.request.decode(self.request_frame, self.version, self.body_offset)
        except (WireError, KeyError):
            return None
        return message

    @property
    def response(self) -> Message | None:
        """The decoded answer, or None when there was none or it is too large to be kept."""
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
        """The name of the topic with an id; the id, as Kafka prints it, if there is none now."""
        return self._topic_name(topic_id) or uuid_to_text(topic_id)

    @property
    def is_answered(self) -> bool:
        """Whether there was an answer."""
        return self.response_frame is not None

    @property
    def node_id(self) -> int:
        """The node that was asked."""
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
        """How long the answer took on the monotonic reading."""
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


_Bytes = bytes | Frame
# What the ring has of an exchange: peer, request, response, when it was received, when answered. It is made for every
# request, and a plain tuple is made several times as fast as one that has names. So it is unpacked, never indexed.
ExchangeEntry = tuple[Peer, _Bytes, _Bytes | None, Instant, Instant]


class Journal:
    """A bounded ring of exchanges and events, oldest first."""

    has_observers = False

    def __init__(self, max_entries: int = 20_000, max_bytes: int = 4 * 1024 * 1024) -> None:
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        self._ring: deque[ExchangeEntry | EventEntry] = deque()
        self._count = 0  # of all entries ever
        self.topic_name: TopicName = no_name  # of the topics that exist, by id; the engine's
        self._bytes = 0  # kept now

    def exchange(
        self, peer: Peer, request: bytes, response: bytes | Frame | None, received: Instant, answered: Instant
    ) -> None:
        """A request was answered, or ended without an answer (`response` None). Frames come without length prefix."""
        if isinstance(response, Frame) or (
            (size := len(request) + len(response) if response else len(request)) > BIG_BYTES
        ):
            self._append_big(peer, request, response, received, answered)
        else:
            self._ring.append((peer, request, response, received, answered))
            self._bytes += size
        self._count += 1
        if self._bytes > self.max_bytes or len(self._ring) > self.max_entries:
            self._forget()

    def event(self, event: Event, now: Instant) -> None:
        """Something happened that is not a request."""
        self._ring.append(EventEntry(event, now))
        self._count += 1
        if len(self._ring) > self.max_entries:
            self._forget()

    def tell(self) -> None:
        """The turn is over; for journals that somebody observes (journal/observed.py)."""

    def end(self) -> None:
        """The broker was stopped."""

    def forget_observers(self) -> None:
        """This is a forked child."""

    def clear(self) -> None:
        """Forget everything; sequence numbers go on."""
        self._ring.clear()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._ring)

    @property
    def next_seq(self) -> int:
        """The sequence number that the next entry gets."""
        return self._count

    @property
    def forgotten(self) -> int:
        """How many entries were dropped."""
        return self._count - len(self._ring)

    def kept(self, since: int = 0) -> "KeptEntries":
        """What is known from sequence number `since` on, as it is now; costs as much as that is long."""
        first = max(since, self.forgotten)
        entries = list(islice(reversed(self._ring), max(0, self._count - first)))
        entries.reverse()
        return KeptEntries(first, entries, self.topic_name)

    def entries(self, since: int = 0) -> Iterator[Exchange | Recorded]:
        """Everything that is still known from sequence number `since` on, oldest first."""
        return iter(self.kept(since))

    def requests(self, api: str | None = None, client_id: str | None = None, since: int = 0) -> list[Exchange]:
        """The exchanges, oldest first; of one API by name, of one client (`client_id` may have wildcards).

        Raises KeyError for an API that does not exist.
        """
        key = None if api is None else find_api(api).key
        found = (e for e in self.entries(since) if isinstance(e, Exchange))
        return [e for e in found if (key is None or e.header.api_key == key) and _named(e.client_id, client_id)]

    def events(self, kind: type[Any] | None = None, since: int = 0) -> list[Recorded]:
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
        for entry in self._ring:
            if isinstance(entry, EventEntry):
                continue
            peer, request, _, _, _ = entry
            frame = _kept(request)
            if frame.startswith(name, _NUMBERS.size):
                api_key, _, _ = _NUMBERS.unpack_from(frame)
                yield peer.connection_id, api_key

    def _append_big(
        self, peer: Peer, request: bytes, response: "_Bytes | None", received: Instant, answered: Instant
    ) -> None:
        kept_request, size = _cut(request)
        self._bytes += size
        kept_response = None
        if response is not None:
            kept_response, size = _cut(response)
            self._bytes += size
        self._ring.append((peer, kept_request, kept_response, received, answered))

    def _forget(self) -> None:
        """Drop the oldest entries: a sixteenth more than must be, so that this is not done every time."""
        ring = self._ring
        most_bytes, most_entries = self.max_bytes * 15 // 16, self.max_entries - self.max_entries // 16
        while ring and (self._bytes > most_bytes or len(ring) > most_entries):
            entry = ring.popleft()
            if not isinstance(entry, EventEntry):
                self._bytes -= _kept_bytes(entry)


class KeptEntries:
    """A stretch of the journal that does not change any more. It may be read in any thread."""

    def __init__(self, first_seq: int, entries: "list[ExchangeEntry | EventEntry]", topic_name: TopicName) -> None:
        self.first_seq = first_seq
        self._entries = entries
        self._topic_name = topic_name

    def __iter__(self) -> Iterator[Exchange | Recorded]:
        for seq, entry in enumerate(self._entries, self.first_seq):
            if isinstance(entry, EventEntry):
                yield Recorded(seq, entry.at, entry.event)
            else:
                yield Exchange(seq, entry, self._topic_name)


def _cut(frame: _Bytes) -> tuple[_Bytes, int]:
    """What is kept of a frame, and how many bytes that is."""
    if isinstance(frame, Frame):
        return frame, len(frame.kept)
    size = len(frame)
    return (frame, size) if size <= BIG_BYTES else (Frame(frame[:KEPT_OF_BIG_BYTES], size), KEPT_OF_BIG_BYTES)


def _kept_bytes(entry: ExchangeEntry) -> int:
    _, request, response, _, _ = entry
    return len(_kept(request)) + (0 if response is None else len(_kept(response)))


def _kept(frame: _Bytes) -> bytes:
    return frame.kept if isinstance(frame, Frame) else frame


def _named(client_id: str | None, pattern: str | None) -> bool:
    return pattern is None or fnmatchcase(client_id or "", pattern)


def _header_of(frame: bytes) -> tuple[RequestHeader, int]:
    """The header of a request; of one that was cut within its client id only the numbers."""
    try:
        return decode_request_header(frame)
    except WireError:
        api_key, version, correlation_id = _NUMBERS.unpack_from(frame)
        return RequestHeader(api_key, version, correlation_id, None, None), len(frame)

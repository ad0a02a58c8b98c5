"""What happens in a broker, as one stream of server-sent events for those who look at all of it: the page.

The stream keeps nothing for a reader but its place: a journal number, a version of the groups, and what it said last.
A reader that is slow gets fewer and longer messages; entries that the journal forgot before it got them are sent as a
`gap`. A reader that comes back sends the id of its last message (`Last-Event-ID`) and goes on from there.

Looking costs time on the loop that serves the clients of the broker. So each round is followed by a pause in which at
least `PAUSE_SHARE` times as much time passes as it took.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Hashable, Iterator
from time import monotonic
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fakebroker.cli.http.event_stream import EventStream
from fakebroker.cli.http.extra import Served
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.handles.group_rows import changes_of
from fakebroker.testing.handles.waiting import correlation_id_of, waiting_connections, waiting_request
from fakebroker.testing.journal.brief import BriefFilter, BriefLines, stretch

ROUND_S: Final = 0.2
PAUSE_SHARE: Final = 9
SILENCE_S: Final = 10.0  # after so long a comment is sent, so that both sides notice a dead connection
CLOCK_EVERY_S: Final = 5.0
LARGEST_JUMP_MS: Final = 100  # by which the time of day may be another than expected before that is sent
MAX_LINES: Final = 500
MAX_WAITING: Final = 200
PARTS: Final = ("lines", "groups", "clock", "state", "waiting")

Message = tuple[str, Any]  # the event's name and its data


class StreamPosition(NamedTuple):
    """Where a reader is: the next entry of the journal, and the version of the groups that it knows."""

    seq: int
    version: int


class Clock(NamedTuple):
    """What the reader knows of the clock, and when (in seconds of the machine's) it was sent."""

    now_ms: int
    rate: float
    is_frozen: bool
    next_due_ms: int | None
    sent_s: float

    def expected_ms(self, at_s: float) -> float:
        """The time of day that the reader counts to."""
        return self.now_ms + (0 if self.is_frozen else (at_s - self.sent_s) * 1000 * self.rate)


class LiveReader:
    """What one reader gets, round by round. `parts` are the kinds of messages that it wants."""

    def __init__(self, broker: AsyncFakeBroker, place: StreamPosition, parts: frozenset[str]) -> None:
        self.place = place
        self._broker = broker
        self._parts = parts
        self._brief = BriefLines()
        self._clock: Clock | None = None
        self._sent: dict[str, Hashable] = {}  # what was said last, by subject
        self._next_look_s = 0.0  # at the groups

    def round(self) -> Iterator[Message]:
        """What there is to tell now."""
        if "lines" in self._parts:
            yield from self._lines()
        if "groups" in self._parts:
            yield from self._groups()
        if "clock" in self._parts:
            yield from self._clock_message()
        if "state" in self._parts:
            yield from self._state()
        if "waiting" in self._parts:
            yield from self._waiting()

    def _lines(self) -> Iterator[Message]:
        journal = self._broker._engine.journal
        found = stretch(journal, self._brief, self.place.seq, None, MAX_LINES, BriefFilter())
        if found.first_seq > self.place.seq:
            yield "gap", {"from_seq": self.place.seq, "to_seq": found.first_seq}
        following = found.next_seq if found.next is None else found.next
        if following != self.place.seq:
            self.place = self.place._replace(seq=following)
        if found.lines:
            yield "lines", {"lines": found.lines, "next_seq": following}

    def _groups(self) -> Iterator[Message]:
        engine, at_s = self._broker._engine, monotonic()
        if at_s < self._next_look_s:
            return
        changes = changes_of(self._broker)
        version = changes.look_at(engine, again=False)
        self._next_look_s = at_s + (monotonic() - at_s) * (1 + PAUSE_SHARE)
        if version != self.place.version:
            is_complete, rows, gone = changes.since(self.place.version)
            self.place = self.place._replace(version=version)
            yield (
                "groups",
                {
                    "version": version,
                    "is_complete": is_complete,
                    "rows": [row._asdict() for row in rows],
                    "gone": gone,
                    "counts": changes.counts(),
                },
            )

    def _clock_message(self) -> Iterator[Message]:
        clock, engine, at_s = self._broker._broker_clock, self._broker._engine, monotonic()
        now_ms, due_ms, known = clock.now().wall_ms, engine.next_deadline()[0], self._clock
        if (
            known is None
            or at_s - known.sent_s > CLOCK_EVERY_S
            or (known.rate, known.is_frozen, known.next_due_ms) != (clock.rate, clock.is_frozen, due_ms)
            or abs(known.expected_ms(at_s) - now_ms) > LARGEST_JUMP_MS * max(1.0, clock.rate)
        ):
            self._clock = Clock(now_ms, clock.rate, clock.is_frozen, due_ms, at_s)
            due = self._broker.clock.due()
            yield "clock", {**due._asdict(), "due": [each._asdict() for each in due.due]}

    def _state(self) -> Iterator[Message]:
        now = self._states()
        changed = [name for name, state in now.items() if self._sent.get(name, state) != state]
        self._sent.update(now)
        if changed:
            yield "state", {"changed": changed}

    def _states(self) -> dict[str, Hashable]:
        """What changes when something is to be asked again: cheap to make, and never shown."""
        engine = self._broker._engine
        cluster, links = engine.cluster, self._broker._server.links
        partitions = [partition for topic in cluster.topics if not topic.is_internal for partition in topic.partitions]
        return {
            "topics": (
                len(cluster.topics),
                cluster.topics.changes,
                sum(p.changes + p.leader_epoch + len(p.isr) + p.log.log_end_offset for p in partitions if p.has_log),
            ),
            "faults": tuple((fault.fault_id, fault.hits, fault.matched) for fault in engine.faults),
            "nodes": tuple(
                (node.id, node.state, node.is_fenced, node.rack, tuple(links.faults_of(node.id)))
                for node in cluster.nodes.values()
            ),
            "holds": str(cluster.holds),
        }

    def _waiting(self) -> Iterator[Message]:
        engine = self._broker._engine
        waiting = waiting_connections(engine)
        who = tuple((each.connection_id, correlation_id_of(each)) for each in waiting)
        if self._sent.get("waiting", ()) != who:
            self._sent["waiting"] = who
            shown = [waiting_request(engine, each)._asdict() for each in waiting[:MAX_WAITING]]
            yield "waiting", {"waiting": shown, "total": len(waiting)}


async def live(served: Served, request: Request) -> Response:
    """What happens, as server-sent events for a page: journal lines, groups, the clock, requests that wait.

    `what` are the parts that are wanted: lines, groups, clock, state, waiting, separated by commas; all without it.
    `since` is the first journal entry, `groups_since` a version that `/group_rows` gave; without them the stream begins
    now. Last-Event-ID goes on after that message.
    """
    broker = served.broker_of(request)
    parts = _parts(request.query_params.get("what"))
    now = StreamPosition(broker.journal.next_seq, broker.group_rows(limit=1).version)
    known = _known_place(request, served.run)
    asked = StreamPosition(_number(request, "since", now.seq), _number(request, "groups_since", now.version))
    place = known or asked
    if place.seq > now.seq:  # a number of another broker's
        place = place._replace(seq=now.seq)
    came_back = "last-event-id" in request.headers
    reader = LiveReader(broker, place, parts)
    return EventStream(
        _events(served, reader, broker, hello(served, broker, place, known is not None or not came_back))
    )


def hello(served: Served, broker: AsyncFakeBroker, place: StreamPosition, is_resumed: bool) -> dict[str, Any]:
    """The first message: where the stream goes on. Unless it `is_resumed`, what the reader knows is of another run."""
    now = broker._broker_clock.now()
    return {
        "run": served.run,
        "is_resumed": is_resumed,
        "first_seq": broker.journal.forgotten,
        "next_seq": place.seq,
        "group_version": place.version,
        "now_ms": now.wall_ms,
        "mono_ms": now.mono_ms,
    }


async def _events(
    served: Served, reader: LiveReader, broker: AsyncFakeBroker, first: dict[str, Any]
) -> AsyncIterator[bytes]:
    yield _message(served.run, reader.place, ("hello", first))
    spoke_s = monotonic()
    while not served.is_closing:
        began_s = monotonic()
        for message in reader.round() if broker.is_running else ():
            yield _message(served.run, reader.place, message)
            spoke_s = monotonic()
        if not broker.is_running:
            yield _message(served.run, reader.place, ("end", {"detail": "the broker was stopped"}))
            return
        if monotonic() - spoke_s > SILENCE_S:
            yield b": nothing new\n\n"
            spoke_s = monotonic()
        await asyncio.sleep(max(ROUND_S, PAUSE_SHARE * (monotonic() - began_s)))


def _message(run: str, place: StreamPosition, message: Message) -> bytes:
    name, data = message
    return f"id: {run}.{place.seq}.{place.version}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _known_place(request: Request, run: str) -> StreamPosition | None:
    """The place in Last-Event-ID, None without one, and for one of another run."""
    known, _, numbers = request.headers.get("last-event-id", "").partition(".")
    seq, _, version = numbers.partition(".")
    return StreamPosition(int(seq), int(version)) if known == run and _is_number(seq) and _is_number(version) else None


def _parts(text: str | None) -> frozenset[str]:
    parts = PARTS if text is None else tuple(text.split(","))
    for part in parts:
        if part not in PARTS:
            detail = f"what must be of {', '.join(PARTS)}, not {shown_value(part)!r}"
            raise Problem(422, "invalid-argument", detail, field="what", value=shown_value(part))
    return frozenset(parts)


def _number(request: Request, name: str, otherwise: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    if not _is_number(text):
        detail = f"{name} must be a number, not {shown_value(text)!r}"
        raise Problem(422, "invalid-argument", detail, field=name, value=shown_value(text))
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19

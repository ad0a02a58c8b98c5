"""What happens in a broker, as one stream of server-sent events for those who look at all of it: the page.

The stream keeps nothing for a reader but its place: a journal number, a version of the groups, and what it said last.
A reader that is slow gets fewer and longer messages; entries that the journal forgot before it got them are sent as a
`gap`. A reader that comes back sends the id of its last message (`Last-Event-ID`) and goes on from there.

Looking costs time on the loop that serves the clients of the broker. So it is done in steps, and each round is followed
by a pause in which at least `PAUSE_SHARE` times as much time passes as it took, and as much for each other reader.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Generator, Hashable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fakebroker.cli.http.event_stream import EventStream
from fakebroker.cli.http.extra import Served
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.cli.http.turns import each_in_turn, in_turns, pace_of
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.handles.group_rows import GROUPS_PER_STEP, changes_of
from fakebroker.testing.handles.waiting import (
    WAITING_PER_STEP,
    correlation_id_of,
    waiting_connections,
    waiting_in_steps,
)
from fakebroker.testing.journal.brief import BYTES_PER_STEP, BriefLines, step_of_stretch

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Topic

ROUND_S: Final = 0.2
PAUSE_SHARE: Final = 9
SILENCE_S: Final = 10.0  # after so long a comment is sent, so that both sides notice a dead connection
CLOCK_EVERY_S: Final = 5.0
LARGEST_JUMP_MS: Final = 100  # by which the time of day may be another than expected before that is sent
MAX_LINES: Final = 500
MAX_WAITING: Final = 200
ROWS_IN_MESSAGE: Final = 2000  # of groups
PARTITIONS_PER_STEP: Final = 20_000
PARTS: Final = ("lines", "groups", "clock", "state", "waiting")

Message = tuple[str, Any]  # the event's name and its data
ROUND_END: Final = ()


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
        self.took_s = 0.0  # the steps of this round

    def round(self) -> Iterator[Message | None]:
        """What there is to tell now. None, and each message, is the end of a step."""
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
        journal, pace = self._broker._engine.journal, pace_of(BYTES_PER_STEP)
        found = step_of_stretch(journal, self._brief, self.place.seq, MAX_LINES, pace)
        if found.first_seq > self.place.seq:
            yield "gap", {"from_seq": self.place.seq, "to_seq": found.first_seq}
        following = found.next_seq if found.next is None else found.next
        if following != self.place.seq:
            self.place = self.place._replace(seq=following)
        if found.lines:
            yield "lines", {"lines": found.lines, "next_seq": following}

    def _groups(self) -> Generator[Message | None, None, None]:
        changes = changes_of(self._broker)
        version = yield from changes.look_at_in_steps(self._broker._engine, pace_of(GROUPS_PER_STEP), again=False)
        if version == self.place.version:
            return
        is_complete, rows, gone = changes.since(self.place.version)
        message = {"version": version, "is_complete": is_complete, "gone": gone, "counts": changes.counts()}
        yield None
        for begin in range(0, len(rows) or 1, ROWS_IN_MESSAGE):
            end = begin + ROWS_IN_MESSAGE
            if end >= len(rows):  # a reader that comes back before that gets all of them again
                self.place = self.place._replace(version=version)
            yield "groups", {**message, "rows": [row._asdict() for row in rows[begin:end]]}
            message |= {"is_complete": False, "gone": []}

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

    def _state(self) -> Generator[Message | None, None, None]:
        now = yield from self._states()
        changed = [name for name, state in now.items() if self._sent.get(name, state) != state]
        self._sent.update(now)
        if changed:
            yield "state", {"changed": changed}

    def _states(self) -> Generator[None, None, dict[str, Hashable]]:
        """What changes when something is to be asked again: cheap to make, and never shown."""
        engine = self._broker._engine
        cluster, links = engine.cluster, self._broker._server.links
        stored = yield from _stored([topic for topic in cluster.topics if not topic.is_internal])
        return {
            "topics": (len(cluster.topics), cluster.topics.changes, stored),
            "faults": tuple((fault.fault_id, fault.hits, fault.matched) for fault in engine.faults),
            "nodes": tuple(
                (node.id, node.state, node.is_fenced, node.rack, tuple(links.faults_of(node.id)))
                for node in cluster.nodes.values()
            ),
            "holds": str(cluster.holds),
        }

    def _waiting(self) -> Generator[Message | None, None, None]:
        engine = self._broker._engine
        waiting = waiting_connections(engine)
        who = tuple((each.connection_id, correlation_id_of(each)) for each in waiting)
        if self._sent.get("waiting", ()) != who:
            self._sent["waiting"] = who
            shown = yield from waiting_in_steps(engine, waiting[:MAX_WAITING], pace_of(WAITING_PER_STEP))
            yield "waiting", {"waiting": [each._asdict() for each in shown], "total": len(waiting)}


def _stored(topics: "list[Topic]") -> Generator[None, None, int]:
    """A number that changes when partitions do."""
    pace, total = pace_of(PARTITIONS_PER_STEP), 0
    for topic in topics:
        total += sum(
            p.changes + p.leader_epoch + len(p.isr) + p.log.log_end_offset for p in topic.partitions if p.has_log
        )
        if pace.is_over(len(topic.partitions)):
            yield
    return total


async def live(served: Served, request: Request) -> Response:
    """What happens, as server-sent events for a page: journal lines, groups, the clock, requests that wait.

    `what` are the parts that are wanted: lines, groups, clock, state, waiting, separated by commas; all without it.
    `since` is the first journal entry, `groups_since` a version that `/group_rows` gave; without them the stream begins
    now. Last-Event-ID goes on after that message.
    """
    broker = served.broker_of(request)
    parts = _parts(request.query_params.get("what"))
    groups = changes_of(broker).look_at_in_steps(broker._engine, pace_of(GROUPS_PER_STEP))
    now = StreamPosition(broker.journal.next_seq, await in_turns(groups))
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
    served.readers += 1
    try:
        yield _message(served.run, reader.place, ("hello", first))
        spoke_s = monotonic()
        while not served.is_closing:
            reader.took_s = 0.0
            async for text in each_in_turn(_texts(served.run, reader, broker)):
                yield text
                spoke_s = monotonic()
            if not broker.is_running:
                yield _message(served.run, reader.place, ("end", {"detail": "the broker was stopped"}))
                return
            if monotonic() - spoke_s > SILENCE_S:
                yield b": nothing new\n\n"
                spoke_s = monotonic()
            await asyncio.sleep(max(ROUND_S, PAUSE_SHARE * reader.took_s * served.readers))
    finally:
        served.readers -= 1


def _texts(run: str, reader: LiveReader, broker: AsyncFakeBroker) -> Iterator[bytes | None]:
    """The messages of a round as they are sent, unless the broker is stopped meanwhile."""
    steps = reader.round()
    while broker.is_running:
        began_s = monotonic()
        message = next(steps, ROUND_END)
        text = _message(run, reader.place, message) if message else None
        reader.took_s += monotonic() - began_s
        if message is ROUND_END:
            return
        yield text


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

"""Requests that are like the one before them, answered without being decoded.

A connection has a lane for each route whose API has `repeat`. A lane makes a layout (protocol/wire/layout.py) of a
request that was answered at once; a later request that equals it but for its varying fields is then answered by what
`repeat` of the API made of request and response (`apis.call.Repeat`). Whatever is not alike goes the general way,
`Connection._serve`.

Making a layout costs about as much as decoding the request twice, and a request that turns out not to be alike pays for
the comparison. So a layout that is missed goes, and each one that did not pay makes the next wait longer.
"""

from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.broker.engine.dispatch import Route
from fakebroker.broker.engine.failed_request import answer_failure
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.frame import decode_request_header
from fakebroker.protocol.wire.layout import Layout, layout_of

if TYPE_CHECKING:
    from fakebroker.broker.engine.connection import Connection

MAX_MISSES = 4  # in a row; a layout stays while some other request comes between those that it is for
FIRST_PAUSE = 8  # requests, doubled after each layout that served fewer than these
LONGEST_PAUSE = 128
MAX_LANES = 16  # of a connection
MAX_LAYOUT_BYTES = 1024 * 1024  # of all layouts of a connection; commits of 1,000 partitions take some 300 KiB


class Lane:
    """One connection's requests for one route: the layout that they have, and what they have been like."""

    __slots__ = ("_hits", "_misses", "_next_pause", "_pause", "_size_bytes", "layout", "repeat")

    def __init__(self) -> None:
        self.layout: Layout | None = None
        self.repeat: Repeat | None = None  # set with `layout`
        self._hits = 0  # of the layout
        self._misses = 0  # of the layout, since its last hit
        self._pause = 1  # how many more requests must be alike in size before a layout is made
        self._next_pause = FIRST_PAUSE
        self._size_bytes = -1  # of the last request that went the general way

    def serve(self, connection: "Connection", route: Route, frame: bytes, now: Instant) -> bool:
        """Answer a request if it is like the one that the layout is of. False: nothing has changed, and it is not.

        There must be a layout. What is written to the connection is what `Connection._serve` would have written.
        """
        layout, repeat = self.layout, self.repeat
        assert layout is not None
        assert repeat is not None
        values = layout.values(frame)
        if values is None:
            self._missed()
            return False
        call = connection.call
        if route is not connection.route:
            connection.route, call.api_key, call.version = route, route.api_key, route.version
        call.now = connection.received = now
        connection.frame = frame
        try:
            body = repeat(call, values)
            if body is None:
                self._missed()
                return False
            connection.send(route, body)
        except Exception as error:
            self._drop()
            request = route.request.decode(frame, route.version, decode_request_header(frame)[1])[0]
            answer_failure(connection, route, request, error)
            return True
        self._hits += 1
        self._misses = 0
        return True

    def is_time(self, frame_bytes: int, *, of_any_size: bool) -> bool:
        """Whether a layout is to be made of a request that went the general way and is `frame_bytes` long.

        Requests count that are as long as the one before, or all if they are alike in any size.
        """
        before, self._size_bytes = self._size_bytes, frame_bytes
        if self.layout is not None or (before != frame_bytes and not of_any_size and before >= 0):
            return False
        self._pause -= 1
        return self._pause < 0

    def begin(self, layout: Layout, repeat: Repeat) -> None:
        """From now on serve what is like this."""
        self.layout, self.repeat = layout, repeat
        self._hits = self._misses = 0

    def wait(self) -> None:
        """There is no layout: let more requests pass before the next is made, twice as many each time."""
        self._pause = self._next_pause
        self._next_pause = min(2 * self._next_pause, LONGEST_PAUSE)

    def _missed(self) -> None:
        self._misses += 1
        if self._misses >= MAX_MISSES:
            self._drop()

    def _drop(self) -> None:
        self.layout = self.repeat = None
        if self._hits < FIRST_PAUSE:
            self.wait()
        else:  # it was worth it: only a number that stays for long has changed, such as the generation
            self._pause, self._next_pause = 1, FIRST_PAUSE


class Lanes(dict[Route, Lane]):
    """The lanes of a connection, by route. A route altered by a fault is another route and has none."""

    __slots__ = ()

    def learn(
        self, connection: "Connection", route: Route, frame: bytes, offset: int, request: Any, response: Any
    ) -> None:
        """A request whose body begins at `offset` of `frame` went the general way and got `response` at once."""
        lane = self.get(route)
        if lane is None:
            if len(self) >= MAX_LANES:
                del self[next(iter(self))]
            lane = self[route] = Lane()
        if not lane.is_time(len(frame), of_any_size=route.has_varying_bytes):
            return
        try:
            layout, repeat = _made(route, connection.call, frame, offset, request, response)
        except Exception as error:  # the request is answered: nothing more may come of it
            connection.engine.failed(error)
            layout = repeat = None
        if layout is None or repeat is None:
            lane.wait()
            return
        lane.begin(layout, repeat)
        self._bound()

    def _bound(self) -> None:
        """Let the lanes go that were made first, as long as all layouts together take too much memory.

        What their functions keep to answer with is not counted, since it is in proportion. For each partition of the
        request a layout takes 0.2 KB, a commit keeps 0.1 KB; a Produce has only one. A Fetch keeps a template of 0.8 KB
        for each partition that is listed in the answer, but none of more than 250 partitions: so 0.2 MB without a
        session, and at most 4 such templates with one, whose requests may name few partitions and list all.
        """
        while sum([lane.layout.memory_bytes for lane in self.values() if lane.layout is not None]) > MAX_LAYOUT_BYTES:
            del self[next(iter(self))]


def _made(
    route: Route, call: Call, frame: bytes, offset: int, request: Any, response: Any
) -> tuple[Layout | None, Repeat | None]:
    """Both parts of what a lane serves with. None: the request can have no layout, or its API wants none of it."""
    assert route.repeat is not None
    repeat = route.repeat(call, request, response)
    if repeat is None:
        return None, None
    try:
        layout = layout_of(frame, route.locate(frame, offset))
    except WireError:
        return None, None
    return layout if layout.memory_bytes <= MAX_LAYOUT_BYTES else None, repeat

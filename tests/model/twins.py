"""Two brokers that get the same and must do the same: one answers by layouts where it can, the other never."""

from collections.abc import Callable, Iterable
from typing import Any

from fakebroker.broker.core.topics import Topic
from fakebroker.broker.engine.journal import Event, Exchange, Recorded
from fakebroker.broker.engine.kept_frames import Frame
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.registry import api
from tests.support.engine import Client, SimEngine
from tests.support.frames import frames, request


class Twins:
    """What is sent to one is sent to the other; after each step everything that can be seen of them is compared."""

    def __init__(self, connections: int, settings: dict[str, object], as_release: str, node_ids: tuple[int, ...]):
        self.brokers = [SimEngine(settings, as_release=as_release, node_ids=node_ids) for _ in range(2)]
        self.brokers[1].engine.uses_layouts = False
        self.clients = [self._connected() for _ in range(connections)]
        self.answers: dict[int, Any] = {}  # those taken in the last step, by correlation id
        self._asked: dict[int, tuple[str, int]] = {}  # API and version by correlation id
        self._correlation_id = 0
        self._journal_seq = 0

    def _connected(self) -> tuple[Client, ...]:
        return tuple(broker.client() for broker in self.brokers)

    def served(self, name: str, version: int) -> int:
        """This version of an API, or the newest below it that the release serves."""
        versions = self.brokers[0].engine.listeners[0].versions
        return min(version, versions.get(api(name).key, (0, version))[1])

    # What both get

    def send(
        self,
        connection: int,
        name: str,
        version: int,
        each: Iterable[dict[str, Any]],
        cut: int = 0,
        client_id: Any = "c",
    ) -> None:
        """Send requests of one kind on a connection: each by itself, or with `cut` all together, in two pieces."""
        data = []
        for fields in each:
            self._correlation_id += 1
            self._asked[self._correlation_id] = name, version
            data.append(request(name, version, self._correlation_id, client_id, **fields))
        joined = b"".join(data)
        at = cut % len(joined) if joined else 0
        pieces = [joined[:at], joined[at:]] if at else data
        for number, piece in enumerate(pieces):
            if self.clients[connection][0].socket.is_closed:
                if at and number:
                    break  # the broker closed it: nobody sends the rest of a frame on another connection
                self.clients[connection] = self._connected()
            for client in self.clients[connection]:
                client.socket.send(piece)
            self._compare()

    def do(self, action: Callable[[SimEngine, Instant], None]) -> None:
        """Let something happen inside of both."""
        for broker in self.brokers:
            broker.engine.run(lambda now, broker=broker: action(broker, now), broker.engine.now)  # type: ignore[misc]
            broker.network.flush()
        self._compare()

    def sleep(self, ms: int) -> None:
        """Let time pass."""
        for broker in self.brokers:
            broker.network.advance(ms)
        self._compare()

    def move_wall(self, ms: int) -> None:
        """Let the time of day jump; timers of live clients go on as they were."""
        for broker in self.brokers:
            broker.network.move_wall(ms)
        self._compare()

    # What is compared

    def topic(self, name: str) -> Topic | None:
        """A topic of the first one, to read from."""
        return self.brokers[0].cluster.topics.get(name)

    def _compare(self) -> None:
        self.answers = {}
        for pair in self.clients:
            taken = [client.socket.take() for client in pair]
            assert taken[0] == taken[1], [frames(each) for each in taken]
            states = [(client.socket.close_reason, client.socket.connection.state) for client in pair]
            assert states[0] == states[1]
            if states[0][0] is None:
                self._learn(taken[0])
        deadlines = [broker.engine.next_deadline() for broker in self.brokers]
        assert deadlines[0] == deadlines[1]
        errors = [[repr(error) for error in broker.engine.errors] for broker in self.brokers]
        assert errors == [[], []]

    def _learn(self, data: bytes) -> None:
        for frame in frames(data):
            correlation_id = int.from_bytes(frame[:4], "big")
            name, version = self._asked[correlation_id]
            self.answers[correlation_id] = name, decode_response(api(name).key, version, frame)[1]

    def compare_journals(self) -> None:
        """What was written since the last time, byte by byte and to the millisecond."""
        since = self._journal_seq
        histories = [list(map(_comparable, broker.journal.entries(since))) for broker in self.brokers]
        assert histories[0] == histories[1]
        self._journal_seq = self.brokers[0].journal.next_seq

    def compare_logs(self) -> None:
        """Every batch of every partition, of internal topics as well. Looking makes pending batches into bytes."""
        logs = [list(map(_logs, broker.cluster.topics)) for broker in self.brokers]
        assert logs[0] == logs[1]


def _logs(topic: Topic) -> Any:
    return topic.name, [
        (
            (log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset),
            list(log.aborted.entries),
            list(log.batches()),
        )
        for log in [partition.log for partition in topic.partitions if partition.has_log]
    ]


def _comparable(entry: Exchange | Recorded[Event]) -> Any:
    if isinstance(entry, Recorded):
        return entry
    sides = [(x.kept, x.size_bytes) if isinstance(x, Frame) else x for x in (entry.request_frame, entry.response_frame)]
    return entry.seq, entry.peer, sides, entry.received, entry.answered

"""What every client library must do: the records, a group member in a thread, what a library must offer."""

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import pytest

from tests.clients.brokers import Group

WALL_START_MS = 1_700_000_000_000
QUICK = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 200}

# Records of WALL_START_MS are older than a week: the first log cleanup, 30 s after the start, takes them otherwise.
KEEPS_OLD_RECORDS = pytest.mark.fakebroker(config={"log.retention.ms": -1})


class Sent(NamedTuple):
    """A record as the test sent it, and as a consumer must find it."""

    partition: int
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]
    timestamp_ms: int


def make_records(count: int, partitions: int, first: int = 0) -> list[Sent]:
    """`count` distinct records over all partitions, one millisecond apart."""
    return [
        Sent(
            n % partitions,
            b"key-%d" % n,
            b"value-%d " % n * 3,
            (("n", b"%d" % n), ("even", b"\x01" if n % 2 else b"")),
            WALL_START_MS + n,
        )
        for n in range(first, first + count)
    ]


class Polled(Protocol):
    """One consumer of the library, used by one thread."""

    def poll(self) -> Iterable[Sent]: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class Adapter(Protocol):
    """What the story needs of a client library.

    The options of a consumer are settings of the Java client with underscores; `partition_assignment_strategy` is one
    of `strategies`.
    """

    @property
    def name(self) -> str:
        """As the table of clients calls it."""
        ...

    @property
    def codecs(self) -> tuple[str, ...]: ...

    @property
    def strategies(self) -> Mapping[str, str]:
        """Its assignors, by their names in Kafka, and the protocol that a member offers with each."""
        ...

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None: ...
    def consumer(self, bootstrap: str, topic: str, group: str, **options: Any) -> Polled: ...
    def offsets_for_time(
        self, bootstrap: str, topic: str, partitions: int, timestamp_ms: int
    ) -> dict[int, int | None]: ...
    def transaction(
        self, bootstrap: str, topic: str, transactional_id: str, records: list[Sent], *, commit: bool
    ) -> None:
        """Send records in a transaction by a producer of its own, and end it."""
        ...


class Member:
    """A group member in a thread of its own that polls, keeps what it read, and commits after each poll.

    With `limit` it stops by itself, committed, at the first poll that brings it there.
    """

    def __init__(self, make: Callable[[], Polled], limit: int | None = None) -> None:
        self.received: list[Sent] = []
        self.failure: str | None = None
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._limit = limit
        self._thread = threading.Thread(target=self._run, args=(make,), daemon=True)
        self._thread.start()

    def _run(self, make: Callable[[], Polled]) -> None:
        try:
            consumer = make()
            try:
                while not self._stop.is_set():
                    self._take(list(consumer.poll()), consumer)
            finally:
                consumer.close()
        except Exception:
            self.failure = traceback.format_exc()
        with self._changed:
            self._changed.notify_all()

    def _take(self, records: list[Sent], consumer: Polled) -> None:
        if records:
            consumer.commit()
            with self._changed:
                self.received.extend(records)
                self._changed.notify_all()
        if self._limit is not None and len(self.received) >= self._limit:
            self._stop.set()

    def sees(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Whether the condition comes to hold with a record that this member reads within this time."""
        with self._changed:
            found = self._changed.wait_for(lambda: condition() or self.failure is not None, timeout_s)
        assert self.failure is None, self.failure
        return found

    def wait(self, count: int, timeout_s: float = 60) -> None:
        """Until this member has read `count` records."""
        self.sees(lambda: len(self.received) >= count, timeout_s)
        assert len(self.received) >= count, f"read {len(self.received)} of {count} records in {timeout_s} s"

    def stop(self, timeout_s: float = 30) -> None:
        """Leave the group in an orderly way."""
        self._stop.set()
        self.join(timeout_s)

    def join(self, timeout_s: float = 60) -> None:
        """Until the member has left by itself or by stop()."""
        self._thread.join(timeout_s)
        assert self.failure is None, self.failure
        assert not self._thread.is_alive(), "the member's thread did not end"


def formed(group: Group, members: list[Member], timeout_s: float = 60) -> None:
    """Until the group is Stable with just these members; a member's own failure is the better story."""
    end_s = time.monotonic() + timeout_s
    while True:
        found = group.described()
        if found.state == "Stable" and len(found.member_ids) == len(members):
            return
        for member in members:
            assert member.failure is None, member.failure
        assert time.monotonic() < end_s, f"{len(members)} members are not Stable within {timeout_s} s: {found}"
        time.sleep(0.02)


def joined(group: Group, members: int, timeout_s: float = 60) -> None:
    """Until the group has so many members, whatever its state."""
    end_s = time.monotonic() + timeout_s
    while len(group.described().member_ids) < members:
        assert time.monotonic() < end_s, f"not {members} members within {timeout_s} s: {group.described()}"
        time.sleep(0.02)


def wait_all(members: list[Member], wanted: set[bytes], timeout_s: float = 60) -> None:
    """Until the members together have read every wanted value."""
    deadline = threading.Event()
    timer = threading.Timer(timeout_s, deadline.set)
    timer.start()
    try:
        while missing := wanted - {r.value for m in members for r in list(m.received)}:
            assert not deadline.is_set(), (
                f"{len(missing)} of {len(wanted)} records not delivered, e.g. {sorted(missing)[:3]}"
            )
            for member in members:
                assert member.failure is None, member.failure
            deadline.wait(0.02)
    finally:
        timer.cancel()

"""What every client library must do: the records, a group member in a thread, what a library must offer."""

import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import pytest

from fakebroker.protocol.errors import WaitTimeout
from fakebroker.testing.handles.group import GroupHandle

WALL_START_MS = 1_700_000_000_000

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
    """What the story needs of a client library."""

    @property
    def codecs(self) -> tuple[str, ...]: ...

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None: ...
    def consumer(self, bootstrap: str, topic: str, group: str, **options: Any) -> Polled: ...
    def offsets_for_time(
        self, bootstrap: str, topic: str, partitions: int, timestamp_ms: int
    ) -> dict[int, int | None]: ...


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

    def wait(self, count: int, timeout_s: float = 60) -> None:
        """Until this member has read `count` records."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.received) >= count or self.failure is not None, timeout_s)
        assert self.failure is None, self.failure
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


def formed(group: GroupHandle, members: list[Member]) -> None:
    """Until the group is Stable with just these members; a member's own failure is the better story."""
    try:
        group.wait(state="Stable", members=len(members), timeout_s=30)
    except WaitTimeout:
        for member in members:
            assert member.failure is None, member.failure
        raise


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

"""Calls fsync for closed segments in a thread, since it may take long. Kafka: the scheduler's `flush-log`."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.serve.storage.disk import Disk

if TYPE_CHECKING:
    from fakebroker.serve.storage.stored_log import StoredLog


class FlushJob(NamedTuple):
    """The files of a log, by the brokers in whose directories they are. They have everything before `offset`."""

    stored: "StoredLog"
    offset: int
    paths: Mapping[int, Sequence[Path]]


class Flushed(NamedTuple):
    """A job that is done; `errors` has the errors of the brokers whose disks failed, by node id."""

    job: FlushJob
    errors: Mapping[int, OSError]


class Flusher:
    """Does one job after the other in a thread of its own, which the first job starts and `end` ends.

    All methods belong to the engine's thread.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[FlushJob | None] = SimpleQueue()
        self._done: deque[Flushed] = deque()
        self._thread: Thread | None = None
        self._unfinished = 0

    def add(self, job: FlushJob) -> None:
        """Do a job later."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="fakebroker-flusher", daemon=True)
            self._thread.start()
        self._unfinished += 1
        self._jobs.put(job)

    @property
    def has_done(self) -> bool:
        """Whether `take_done` has something to give."""
        return bool(self._done)

    @property
    def is_busy(self) -> bool:
        """Whether there are jobs that `take_done` has not given yet."""
        return self._unfinished > 0

    def take_done(self) -> Iterator[Flushed]:
        """The jobs that are done, each once."""
        while self._done:
            self._unfinished -= 1
            yield self._done.popleft()

    def end(self) -> None:
        """Wait for all jobs. Another job starts the thread again."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            errors = {}
            for node_id, paths in job.paths.items():
                try:
                    for path in paths:
                        Disk.flush_closed(path)
                except OSError as error:
                    errors[node_id] = error
            self._done.append(Flushed(job, errors))

"""The periodic jobs on logs: retention, compaction, expiry of idempotent producers (RT, CO, ID-11).

Each job has its own interval, counted from the broker's start. A job that can have nothing to do sleeps past its ticks,
so a jump of the clock over a week does not run thousands of them; writing to a log, or altering a setting, wakes it.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.logs.unloaded_segments import BATCHES_PER_STEP, before_cleaning
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace

if TYPE_CHECKING:
    from fakebroker.broker.core.logs.log import PartitionLog
    from fakebroker.broker.core.topics import Topic
    from fakebroker.broker.core.topics_host import TopicsHost

LOGS_PER_STEP = 100


class Job:
    """Something done at fixed intervals, but only when there can be something to do.

    `work(now)` does it and returns the earliest wall time (ms) at which there can be more to do, or None: then it is
    not called before `wake`.
    """

    def __init__(
        self, cluster: "TopicsHost", work: Callable[[Instant], int | None], first_after_ms: int, interval_ms: int
    ) -> None:
        self._cluster = cluster
        self._work = work
        self._first_after_ms = first_after_ms
        self._interval_ms = max(interval_ms, 1)
        self.start_ms: int | None = None  # intervals count from here (wall time)
        self._deadline = Deadline(self._run, self)

    def start(self, wall_ms: int) -> None:
        """Count intervals from here; only the first call has an effect."""
        if self.start_ms is None:
            self.start_ms = wall_ms

    def wake(self, earliest_ms: int, wall_ms: int) -> None:
        """Schedule the job for the first tick at or after `earliest_ms`; `wall_ms` is now (both wall time)."""
        self.start(wall_ms)
        tick_ms = self._tick_from(max(earliest_ms, wall_ms))
        due_ms = self._deadline.due_ms
        if due_ms is None or tick_ms < due_ms:
            self._cluster.timers.wall.arm(self._deadline, tick_ms)

    def wall_time_went_back(self, by_ms: int, wall_ms: int) -> None:
        """The time of day was set back by `by_ms` to `wall_ms`: the next tick comes as soon as it would have come.

        Only a job that waits for something looks then: to another it makes no difference.
        """
        if self.start_ms is not None:
            self.start_ms -= by_ms
        if self._deadline.due_ms is not None:
            self._deadline.disarm()
            self.wake(wall_ms, wall_ms)

    def _run(self, now: Instant) -> None:
        self._wake_after(self._work(now), now)

    def _wake_after(self, next_ms: int | None, now: Instant) -> None:
        if next_ms is not None:
            self.wake(max(next_ms, now.wall_ms + 1), now.wall_ms)

    def _tick_from(self, wall_ms: int) -> int:
        """The first tick at or after `wall_ms`."""
        first_ms = (self.start_ms or 0) + self._first_after_ms
        passed = -(-(wall_ms - first_ms) // self._interval_ms)  # rounded up
        return first_ms + max(passed, 0) * self._interval_ms


class LongJob(Job):
    """A job whose work may take long: turns that serve clients do a part of it (`LongPasses`).

    What falls due while the job is at work is looked for when it has ended.
    """

    def __init__(
        self,
        cluster: "TopicsHost",
        work: Callable[[Instant], Generator[None, None, int | None]],
        first_after_ms: int,
        interval_ms: int,
    ) -> None:
        """Each step of `work(now)` costs about `STEP_COST`; it ends with what a job's work returns."""
        super().__init__(cluster, self._begin, first_after_ms, interval_ms)
        self._in_steps = work
        self._is_at_work = self._is_due_again = False

    def _begin(self, now: Instant) -> int | None:
        if self._is_at_work:
            self._is_due_again = True
        else:
            self._is_at_work = True
            self._cluster.timers.passes.take_steps(self._to_the_end(now), self._ended, now)
        return None

    def _to_the_end(self, now: Instant) -> Generator[None, None, int | None]:
        """The work; if it fails, the job tries again at its next tick."""
        try:
            return (yield from self._in_steps(now))
        except Exception as error:
            self._cluster.timers.passes.on_error(error)
            return now.wall_ms

    def _ended(self, next_ms: int | None, now: Instant) -> None:
        is_due_again, self._is_at_work, self._is_due_again = self._is_due_again, False, False
        self._wake_after(now.wall_ms if is_due_again else next_ms, now)


class LogJobs:
    """The jobs of one cluster, and the logs that have ever been written to."""

    def __init__(self, cluster: "TopicsHost") -> None:
        self._cluster = cluster
        self._logs: dict[PartitionLog, None] = {}
        self._unwritten: dict[PartitionLog, None] = {}  # a verification began there (TX-6), nothing was written yet
        settings = cluster.settings
        self.retention = LongJob(
            cluster,
            self._retain,
            settings.get_int("log.initial.task.delay.ms"),
            settings.get_int("log.retention.check.interval.ms"),
        )
        self.cleaner = LongJob(cluster, self._clean, 0, settings.get_int("log.cleaner.backoff.ms"))
        check_interval_ms = settings.get_int("producer.id.expiration.check.interval.ms")
        self.expiry = LongJob(cluster, self._expire, check_interval_ms, check_interval_ms)
        cluster.topics.on_deleted.append(self._forget)

    def start(self, now: Instant) -> None:
        """The broker starts now: intervals count from here."""
        for job in self.all():
            job.start(now.wall_ms)

    def segment_began(self, log: "PartitionLog", wall_ms: int) -> None:
        """`log` writes into an empty segment: one more that can fall due, and those before it are closed."""
        self._logs[log] = None
        self._job_of(log).wake(wall_ms, wall_ms)

    def grew(self, log: "PartitionLog", wall_ms: int) -> None:
        """A log whose size matters (RT-3) was written to, or its start moved (RT-4)."""
        self._job_of(log).wake(wall_ms, wall_ms)

    def producer_wrote(self, timestamp_ms: int, wall_ms: int) -> None:
        """A producer's last batch has this timestamp now, which may be earlier than before (ID-11)."""
        expiration_ms = self._cluster.settings.get_int("producer.id.expiration.ms")
        self.expiry.wake(timestamp_ms + expiration_ms, wall_ms)

    def verification_began(self, log: "PartitionLog", wall_ms: int) -> None:
        """The transaction coordinator is asked about a producer; if nothing comes of it, it expires like a producer."""
        if log not in self._logs:
            self._unwritten[log] = None
        self.producer_wrote(wall_ms, wall_ms)

    def settings_changed(self, now: Instant) -> None:
        """Broker or topic settings were altered: look at everything at the next tick."""
        for job in self.all():
            job.wake(now.wall_ms, now.wall_ms)

    def all(self) -> tuple[Job, Job, Job]:
        """Retention, cleaning, expiry of producers."""
        return self.retention, self.cleaner, self.expiry

    def watch(self, log: "PartitionLog") -> None:
        """Look at a log that has batches already; `settings_changed` wakes the jobs."""
        self._logs[log] = None

    def wall_time_went_back(self, by_ms: int, now: Instant) -> None:
        """The time of day was set back by `by_ms` to `now`: every job goes on at its pace."""
        for job in self.all():
            job.wall_time_went_back(by_ms, now.wall_ms)

    def _job_of(self, log: "PartitionLog") -> Job:
        """Compacted logs are the cleaner's, also where they have a retention."""
        return self.cleaner if log.config.compact else self.retention

    def _retain(self, _now: Instant) -> Generator[None, None, int | None]:
        return self._retain_those(compact=False)

    def _retain_those(self, *, compact: bool) -> Generator[None, None, int | None]:
        due, passes = list[int](), self._cluster.timers.passes
        pace, loading = passes.pace(LOGS_PER_STEP), passes.pace(BATCHES_PER_STEP)
        for log in list(self._logs):
            if pace.is_over():
                yield
            if log in self._logs and log.config.compact == compact:
                due_ms = yield from self._on_its_own(log, self._retain_one(log, loading))
                if due_ms is not None:
                    due.append(due_ms)
        return min(due, default=None)

    def _retain_one(self, log: "PartitionLog", loading: Pace) -> Generator[None, None, int | None]:
        """Apply a log's retention. Returns when more of it will be due."""
        from fakebroker.broker.core.logs import retention

        passes = self._cluster.timers.passes
        yield from retention.before_retention(log, passes.now.wall_ms, loading)
        if log not in self._logs:  # deleted meanwhile
            return None
        retention.retain(log, passes.now)
        log.is_size_watched = True
        return retention.next_due_ms(log)

    def _on_its_own(
        self, log: "PartitionLog", steps: Generator[None, None, int | None]
    ) -> Generator[None, None, int | None]:
        """The steps of one log. If they fail, it is left alone until it has another segment, and the others go on.

        Kafka's cleaner marks such a partition as uncleanable.
        """
        try:
            return (yield from steps)
        except Exception as error:
            self._logs.pop(log, None)
            self._cluster.timers.passes.on_error(error)
            return None

    def _clean(self, now: Instant) -> Generator[None, None, int | None]:
        due, pace = list[int](), self._cluster.timers.passes.pace(LOGS_PER_STEP)
        if self._cluster.settings.get_bool("log.cleaner.enable"):
            for log in list(self._logs):
                if pace.is_over():
                    yield
                due_ms = yield from self._on_its_own(log, self._clean_one(log, now.wall_ms))
                if due_ms is not None:
                    due.append(due_ms)
        next_ms = yield from self._retain_those(compact=True)
        return min(due if next_ms is None else [*due, next_ms], default=None)

    def _clean_one(self, log: "PartitionLog", wall_ms: int) -> Generator[None, None, int | None]:
        """Clean a log if it is due. Returns when time alone will make more of it due."""
        from fakebroker.broker.core.logs import cleaner

        if not self._is_compacted(log):
            return None
        yield from before_cleaning(log, self._cluster.timers.passes.pace(BATCHES_PER_STEP))
        if not self._is_compacted(log):
            return None
        cleanable = cleaner.measure(log, wall_ms)
        if cleaner.is_due(log, cleanable):
            cleaned = yield from cleaner.clean(log, cleanable, wall_ms)
            if not self._is_compacted(log):
                return None
            now = self._cluster.timers.passes.now
            if not cleaned.put_into(log, now):
                return now.wall_ms
            cleanable = cleaner.measure(log, wall_ms)
        return cleanable.next_due_ms

    def _is_compacted(self, log: "PartitionLog") -> bool:
        """Whether the cleaner has to do with a log, which may have been deleted."""
        return log in self._logs and log.config.compact

    def _expire(self, now: Instant) -> Generator[None, None, int | None]:
        expiration_ms = self._cluster.settings.get_int("producer.id.expiration.ms")
        last, pace = list[int](), self._cluster.timers.passes.pace(LOGS_PER_STEP)
        for log in [*self._logs, *self._unwritten]:
            if pace.is_over():
                yield
            oldest_ms = log.producers.expire(now.wall_ms, expiration_ms)
            if oldest_ms is not None:
                last.append(oldest_ms)
            if oldest_ms is None or log in self._logs:
                self._unwritten.pop(log, None)
        return min(last) + expiration_ms if last else None

    def _forget(self, topic: "Topic", _now: Instant) -> None:
        for partition in topic.partitions:
            if partition.has_log:
                self._logs.pop(partition.log, None)
                self._unwritten.pop(partition.log, None)
                partition.log.discard_pending()

"""A Fetch on its way to its answer, at once or after the long poll: full requests, and those of sessions (FT, FS)."""

from collections.abc import Callable, Generator

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.fetch_answer import fetch_response, in_old_format
from fakebroker.broker.core.logs import fetching
from fakebroker.broker.core.logs.fetch_sessions import FULL_EPOCH, FetchSession, SessionPartition
from fakebroker.broker.core.logs.fetching import (
    DelayedFetch,
    FetchParams,
    FetchTarget,
    LogReadResult,
    PartitionFetch,
    ReadResult,
    is_any_unloaded,
    load_in_steps,
    read_all,
    read_in_steps,
)
from fakebroker.broker.core.logs.unloaded_segments import BATCHES_PER_STEP
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.fetch import FetchResponse

MayRead = Callable[[str | None], bool]
"""Whether the client may read a topic, by its name; None for the id of a topic that there is not."""

PARTITIONS_PER_STEP = 5_000  # that are looked up and answered
TARGETS_PER_STEP = 1_000  # that are read
UNUSED_PER_STEP = 20  # partitions that are used for the first time: a data directory makes their folders
BYTES_PER_COST = 10_000  # what is sent costs little: it is not copied


class _Fetch:
    """What both kinds have in common. `targets` is what to read, in the order of the answer."""

    def __init__(self, call: Call, params: FetchParams) -> None:
        self.call = call
        self.params = params
        self.targets: list[FetchTarget] = []
        self.now = call.now

    def answer_or_wait(self) -> FetchResponse | None:
        """The response if there is enough to read or nothing to wait for (FT-5), else None: sent after the wait."""
        return self._read_and(self._answer_or_wait)

    def _answer_or_wait(self, done: ReadResult) -> FetchResponse | None:
        params = self.params
        if params.max_wait_ms > 0 and not done.ends_wait and done.size_bytes < params.min_bytes:
            if self.has_news():
                self.look_again()
                return self._read_and(self._answer_or_wait)
            all_targets = [*self.targets, *self.caught_up()]
            waiting = DelayedFetch(self.call.cluster, all_targets, params, self._wait_is_over)
            if self.may_wait_for(all_targets) and waiting.begin(self.call.now, look_at=len(self.targets)):
                self.call.on_close(lambda _now: self._client_left(waiting))
                self.waits(waiting)
                return None
        return self._answer(done.reads)

    def _client_left(self, waiting: DelayedFetch) -> None:
        waiting.stop()
        self.waits(None)

    def has_news(self) -> bool:
        """Whether something that was passed over has changed while the others were read in steps."""
        return False

    def caught_up(self) -> list[FetchTarget]:
        """What is not among the targets, having nothing for the reader yet, but may end the wait."""
        return []

    def may_wait_for(self, targets: list[FetchTarget]) -> bool:
        """Whether there is anything to wait for."""
        return bool(targets)

    def waits(self, waiting: DelayedFetch | None) -> None:
        """The wait begins; None: it is over, as the client has gone."""

    def look_again(self) -> None:
        """The wait is over: make the targets anew."""

    def look_up_all(self, may_read: MayRead | None, pace: Pace) -> Generator[None, None, None]:
        """Find what to read, in steps; `may_read` says of each topic whether the client may, None that it may all."""
        raise NotImplementedError

    def response(self, reads: list[LogReadResult], pace: Pace) -> Generator[None, None, FetchResponse]:
        """The response to what the targets gave, in steps."""
        raise NotImplementedError

    def _wait_is_over(self, now: Instant) -> None:
        self.now = now
        self.look_again()
        self._spend(len(self.targets))
        response = self._read_and(self._answer_read)
        if response is not None:
            self.call.reply(response)

    def _answer_read(self, done: ReadResult) -> FetchResponse | None:
        self._spend(done.size_bytes // BYTES_PER_COST)
        return self._answer(done.reads)

    def _spend(self, cost: int) -> None:
        """Note what the end of a wait costs, so that one turn does not answer too many."""
        self.call.cluster.timers.passes.spend(cost)

    def _read_and(self, go_on: Callable[[ReadResult], FetchResponse | None]) -> FetchResponse | None:
        """What `go_on` answers to what the targets give; None: later. Segments may have to be loaded first."""
        if self.call.cluster.storage is not None and is_any_unloaded(self.targets):
            return self.call.work(self._load_and_read(go_on))
        return self._read_loaded_and(go_on)

    def _load_and_read(self, go_on: Callable[[ReadResult], FetchResponse | None]) -> Steps[FetchResponse]:
        yield from load_in_steps(self.call.cluster, self.targets, self.params, self.call.pace(BATCHES_PER_STEP))
        return self._read_loaded_and(go_on)

    def _read_loaded_and(self, go_on: Callable[[ReadResult], FetchResponse | None]) -> FetchResponse | None:
        """The same of what is in memory.

        Where logs keep old formats, one that gives anything may have converted it; many logs may have to be made.
        """
        if self.call.cluster.behaviours.keeps_message_formats:
            return self.call.work(self._read_in_steps(go_on, 1))
        if self.call.cluster.storage is not None and self._unused_targets() > UNUSED_PER_STEP:
            return self.call.work(self._read_in_steps(go_on, UNUSED_PER_STEP))
        if len(self.targets) > TARGETS_PER_STEP:
            return self.call.work(self._read_in_steps(go_on, TARGETS_PER_STEP))
        return go_on(read_all(self.call.cluster, self.targets, self.params))

    def _unused_targets(self) -> int:
        return sum(not partition.has_log for _, partition in self.targets)

    def _read_in_steps(
        self, go_on: Callable[[ReadResult], FetchResponse | None], targets_per_step: int
    ) -> Steps[FetchResponse]:
        cluster = self.call.cluster
        return go_on((yield from read_in_steps(cluster, self.targets, self.params, targets_per_step)))

    def _answer(self, reads: list[LogReadResult]) -> FetchResponse | None:
        """The response to what the targets gave; None: later, as it takes several steps."""
        return self.call.work(self._answer_in_steps(reads))

    def _answer_in_steps(self, reads: list[LogReadResult]) -> Steps[FetchResponse]:
        if self.call.version < 4:
            steps = in_old_format(self.call.version, [fetch for fetch, _ in self.targets], reads)
            reads = yield from self.call.in_line(steps)
        return (yield from self.response(reads, self.call.pace(PARTITIONS_PER_STEP)))

    def look_up(self, fetch: PartitionFetch, may_read: MayRead | None) -> tuple[Partition | None, ErrorCode]:
        """The partition to read; None, with the error, if it cannot be read at all (FT-8, FS-7, FT-17)."""
        is_unknown_id = self.call.version >= 13 and not fetch.topic
        if may_read is not None and not may_read(None if is_unknown_id else fetch.topic):
            return None, ErrorCode.TOPIC_AUTHORIZATION_FAILED
        partition = self.call.cluster.topics.partition(fetch.topic, fetch.partition)
        if partition is None:
            if not self.params.takes_zstd and self.call.cluster.behaviours.unknown_partitions_need_fetch_v10:
                return None, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
            return None, ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not self.params.takes_zstd and _needs_zstd(self.call, partition.topic):
            return None, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return partition, ErrorCode.NONE


class FullFetch(_Fetch):
    """A fetch of the partitions that the request lists; with session epoch 0 the answer begins a session."""

    def __init__(self, call: Call, params: FetchParams, fetches: list[PartitionFetch], session_epoch: int) -> None:
        super().__init__(call, params)
        self.begins_session = session_epoch == FULL_EPOCH and call.version >= 7
        self.errors: list[tuple[PartitionFetch, LogReadResult]] = []
        self._fetches = fetches

    def look_up_all(self, may_read: MayRead | None, pace: Pace) -> Generator[None, None, None]:
        for fetch in self._fetches:
            partition, code = self.look_up(fetch, may_read)
            if partition is None:
                self.errors.append((fetch, _refused(self.call, code)))
            else:
                self.targets.append((fetch, partition))
            if pace.is_over():
                yield

    def response(self, reads: list[LogReadResult], pace: Pace) -> Generator[None, None, FetchResponse]:
        answers = [(fetch, read) for (fetch, _), read in zip(self.targets, reads, strict=True)]
        answers += self.errors  # last, as in Kafka
        session_id = 0
        if self.begins_session:
            sessions = self.call.node.fetch_sessions
            session_id = sessions.create(
                answers, self.params, str(self.call.principal), self.call.version >= 13, self.now.mono_ms
            )
        return (yield from fetch_response(self.call, answers, pace, session_id))


class IncrementalFetch(_Fetch):
    """A fetch of all partitions of a session, of which only those are read that may have something (FS-4, FS-5).

    What cannot be read at all stays as it was found when the request came, until this is answered.
    """

    def __init__(self, call: Call, params: FetchParams, session: FetchSession, listed: list[PartitionFetch]) -> None:
        """`listed` are the partitions that the request itself names."""
        super().__init__(call, params)
        self.session = session
        self.listed = listed
        self.session_epoch = session.epoch
        self.unread: list[SessionPartition] = []
        self.errors: list[tuple[SessionPartition, LogReadResult]] = []
        session.read_with(params)

    def look_up_all(self, may_read: MayRead | None, pace: Pace) -> Generator[None, None, None]:
        # What has not changed since the client had all of it is passed over, unless it may not read that any more.
        looked_at = self.session.unread() if may_read is None else list(self.session.partitions.values())
        for known in looked_at:
            if may_read is not None and known.has_nothing_new and may_read(known.fetch.topic):
                if pace.is_over():
                    yield
                continue
            partition, code = self.look_up(known.fetch, may_read)
            known.found(partition)
            if partition is None:
                self.errors.append((known, _refused(self.call, code)))
            else:
                self.unread.append(known)
                self.targets.append((known.fetch, partition))
            if pace.is_over():
                yield

    @property
    def is_overtaken(self) -> bool:
        """Whether another connection has gone on with the session meanwhile (`FetchSessions.advance`)."""
        return self.session.epoch != self.session_epoch

    def caught_up(self) -> list[FetchTarget]:
        return self.session.caught_up()

    def may_wait_for(self, targets: list[FetchTarget]) -> bool:
        return bool(targets) and not (self.is_overtaken and len(targets) > fetching.MANY_TARGETS)

    def waits(self, waiting: DelayedFetch | None) -> None:
        if not self.is_overtaken:  # else a later request may wait
            self.session.waiting = waiting

    def has_news(self) -> bool:
        return not self.is_overtaken and len(self.session.unread()) > len(self.unread) + len(self.errors)

    def look_again(self) -> None:
        self.waits(None)
        if self.is_overtaken:  # which is all that will be answered
            self.unread, self.targets = [], []
            return
        found = [(known, known.partition) for known in self.session.unread() if known.partition is not None]
        self.unread = [known for known, _ in found]
        self.targets = [(known.fetch, partition) for known, partition in found]

    def response(self, reads: list[LogReadResult], pace: Pace) -> Generator[None, None, FetchResponse]:
        if self.is_overtaken:
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        answers = [*zip(self.unread, reads, strict=True), *self.errors]
        news: list[tuple[PartitionFetch, LogReadResult]] = []
        for each in self.session.news(answers, self.params):
            news.append(each)
            if pace.is_over():
                yield
        if self.call.version < 12 and any(read.diverging is not None for _, read in news):
            return (yield from self._unreported_divergence(pace))
        return (yield from fetch_response(self.call, news, pace, self.session.id))

    def _unreported_divergence(self, pace: Pace) -> Generator[None, None, FetchResponse]:
        """The answer in a version that has no field for a divergence, which a request of v12 asked for (FS-5, FT-13).

        The session goes on, as in Kafka.
        """
        error = LogReadResult(ErrorCode.UNSUPPORTED_VERSION, aborted=[])
        answers = [(fetch, error) for fetch in self.listed]
        response = yield from fetch_response(self.call, answers, pace, self.session.id)
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
        return response


def _refused(call: Call, code: ErrorCode) -> LogReadResult:
    """What a partition gives that is not read at all (FT-8)."""
    return LogReadResult(code, aborted=[] if call.cluster.behaviours.fetch_errors_list_aborted else None)


def _needs_zstd(call: Call, topic: Topic) -> bool:
    return call.cluster.behaviours.zstd_needs_fetch_v10 and topic.config.log.compression_type == "zstd"

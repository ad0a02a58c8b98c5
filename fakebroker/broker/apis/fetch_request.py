"""A Fetch on its way to its answer, at once or after the long poll: full requests, and those of sessions (FT, FS)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.fetch_answer import fetch_response
from fakebroker.broker.core.logs.fetch_sessions import FULL_EPOCH, FetchSession, SessionPartition, name_of
from fakebroker.broker.core.logs.fetching import (
    DelayedFetch,
    FetchParams,
    FetchTarget,
    LogReadResult,
    PartitionFetch,
    read_all,
)
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.fetch import FetchResponse


class _Fetch:
    """What both kinds have in common. `targets` is what to read, in the order of the answer."""

    def __init__(self, call: Call, params: FetchParams) -> None:
        self.call = call
        self.params = params
        self.targets: list[FetchTarget] = []
        self.now = call.now

    def answer_or_wait(self) -> FetchResponse | None:
        """The response if there is enough to read or nothing to wait for (FT-5), else None: sent after the wait."""
        params = self.params
        done = read_all(self.call.cluster, self.targets, params)
        if params.max_wait_ms > 0 and not done.ends_wait and done.size_bytes < params.min_bytes:
            all_targets = [*self.targets, *self.caught_up()]
            waiting = DelayedFetch(self.call.cluster, all_targets, params, self._wait_is_over)
            if all_targets and waiting.begin(self.now, look_at=len(self.targets)):
                self.call.on_close(lambda _now: waiting.stop())
                return None
        return self.response(done.reads)

    def caught_up(self) -> list[FetchTarget]:
        """What is not among the targets, having nothing for the reader yet, but may end the wait."""
        return []

    def look_again(self) -> None:
        """The wait is over: make the targets anew."""

    def response(self, reads: list[LogReadResult]) -> FetchResponse:
        """The response to what the targets gave."""
        raise NotImplementedError

    def _wait_is_over(self, now: Instant) -> None:
        self.now = now
        self.look_again()
        self.call.reply(self.response(read_all(self.call.cluster, self.targets, self.params).reads))

    def look_up(self, fetch: PartitionFetch) -> tuple[Partition | None, ErrorCode]:
        """The partition to read; None, with the error, if it cannot be read at all (FT-8, FS-7, FT-17)."""
        if self.params.denied and fetch.topic in self.params.denied:
            return None, ErrorCode.TOPIC_AUTHORIZATION_FAILED
        partition = self.call.cluster.topics.partition(fetch.topic, fetch.partition)
        if partition is None:
            if not self.params.takes_zstd and self.call.cluster.behaviours.unknown_partitions_need_fetch_v10:
                return None, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
            unknown_id = self.call.version >= 13 and not fetch.topic
            return None, ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not self.params.takes_zstd and _needs_zstd(self.call, partition.topic):
            return None, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return partition, ErrorCode.NONE


class FullFetch(_Fetch):
    """A fetch of the partitions that the request lists; with session epoch 0 the answer begins a session."""

    def __init__(self, call: Call, params: FetchParams, fetches: list[PartitionFetch], session_epoch: int) -> None:
        super().__init__(call, params)
        self.begins_session = session_epoch == FULL_EPOCH and call.version >= 7
        self.errors: list[tuple[PartitionFetch, LogReadResult]] = []
        for fetch in fetches:
            partition, code = self.look_up(fetch)
            if partition is None:
                self.errors.append((fetch, _refused(call, code)))
            else:
                self.targets.append((fetch, partition))

    def response(self, reads: list[LogReadResult]) -> FetchResponse:
        answers = [(fetch, read) for (fetch, _), read in zip(self.targets, reads, strict=True)]
        answers += self.errors  # last, as in Kafka
        session_id = 0
        if self.begins_session:
            sessions = self.call.node.fetch_sessions
            session_id = sessions.create(
                answers, self.params, str(self.call.principal), self.call.version >= 13, self.now.mono_ms
            )
        return fetch_response(self.call, answers, session_id)


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
        for known in session.unread():
            if not known.fetch.topic:  # a topic id that was unknown may be known by now (FS-7)
                known.fetch.topic = name_of(call.cluster.topics, known.fetch.topic_id)
            partition, code = self.look_up(known.fetch)
            known.found(partition)
            if partition is None:
                self.errors.append((known, _refused(call, code)))
            else:
                self.unread.append(known)
                self.targets.append((known.fetch, partition))

    def caught_up(self) -> list[FetchTarget]:
        return self.session.caught_up()

    def look_again(self) -> None:
        found = [(known, known.partition) for known in self.session.unread() if known.partition is not None]
        self.unread = [known for known, _ in found]
        self.targets = [(known.fetch, partition) for known, partition in found]

    def response(self, reads: list[LogReadResult]) -> FetchResponse:
        if self.session.epoch != self.session_epoch:  # another connection went on with it meanwhile
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        answers = [*zip(self.unread, reads, strict=True), *self.errors]
        news = list(self.session.news(answers, self.params))
        if self.call.version < 12 and any(read.diverging is not None for _, read in news):
            return self._unreported_divergence()
        return fetch_response(self.call, news, self.session.id)

    def _unreported_divergence(self) -> FetchResponse:
        """The answer in a version that has no field for a divergence, which a request of v12 asked for (FS-5, FT-13).

        The session goes on, as in Kafka.
        """
        error = LogReadResult(ErrorCode.UNSUPPORTED_VERSION, aborted=[])
        response = fetch_response(self.call, [(fetch, error) for fetch in self.listed], self.session.id)
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
        return response


def _refused(call: Call, code: ErrorCode) -> LogReadResult:
    """What a partition gives that is not read at all (FT-8)."""
    return LogReadResult(code, aborted=[] if call.cluster.behaviours.fetch_errors_list_aborted else None)


def _needs_zstd(call: Call, topic: Topic) -> bool:
    return call.cluster.behaviours.zstd_needs_fetch_v10 and topic.config.log.compression_type == "zstd"

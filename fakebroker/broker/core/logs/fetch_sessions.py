"""Fetch sessions (KIP-227, FS): a broker remembers what a client fetches, and answers only what is new.

Kafka: `FetchSession`, `FetchSessionCache`.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fakebroker.broker.core.logs.fetching import DelayedFetch, FetchParams, FetchTarget, LogReadResult, PartitionFetch
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition, Topics
    from fakebroker.broker.core.topics_host import TopicsHost

NO_SESSION = 0
FULL_EPOCH = 0  # makes a session
FINAL_EPOCH = -1  # needs none
_LAST_EPOCH = 2**31 - 1
_EVICTION_AGE_MS = 120_000

Key = tuple[str | bytes, int]
"""A partition in a session: topic name or id, as the session goes by (FS-9), and index."""


def key_of(fetch: PartitionFetch) -> Key:
    """The key of a partition in a session."""
    return (fetch.topic_id if any(fetch.topic_id) else fetch.topic, fetch.partition)


def name_of(topics: "Topics", topic_id: bytes) -> str:
    """The name of the topic of that id, "" if there is none."""
    topic = topics.by_id(topic_id)
    return "" if topic is None else topic.name


class SessionPartition:
    """One partition of a session: its last request, and of its last answer what decides whether to answer (FS-3).

    `partition` is what the last request found under the name and index, None if nothing that can be read.
    `caught_up_at` was `partition.changes` when it was last read, if the reader has everything up to its end; else -1.
    As long as both are the same, another reading would find nothing either.
    """

    __slots__ = ("caught_up_at", "fetch", "high_watermark", "log_start_offset", "partition")

    def __init__(self, fetch: PartitionFetch) -> None:
        self.fetch = fetch
        self.high_watermark = -1
        self.log_start_offset = -1
        self.partition: Partition | None = None
        self.caught_up_at = -1

    @property
    def has_nothing_new(self) -> bool:
        """Whether the partition has not changed since the reader had all of it."""
        return self.partition is not None and self.partition.changes == self.caught_up_at

    def found(self, partition: "Partition | None") -> None:
        """What a request finds; it has to be read."""
        self.partition = partition
        self.caught_up_at = -1

    def take(self, read: LogReadResult, params: FetchParams) -> bool:
        """Remember an answer. Returns whether it has to be sent (FS-5)."""
        stands = bool(read.batches or read.code or read.diverging)
        is_news = (
            stands
            or read.preferred_replica >= 0
            or read.high_watermark != self.high_watermark
            or read.log_start_offset != self.log_start_offset
        )
        self.high_watermark = -1 if read.code else read.high_watermark
        self.log_start_offset = read.log_start_offset
        # Without records before the high watermark it may only have been the limits that left no room for them.
        if self.partition is not None and not stands and self.fetch.offset >= read.high_watermark:
            self.caught_up_at = read.changes if params.only_changes_count else -1
        return is_news


Reported = dict[Key, tuple[SessionPartition, int, int, int]]


class FetchSession:
    """What one client fetches from one broker. `epoch` is the one its next request has to carry.

    `owner` is the principal that it belongs to, as text.
    """

    __slots__ = (
        "_names_known_at",
        "created_ms",
        "epoch",
        "id",
        "owner",
        "params",
        "partitions",
        "used_ms",
        "uses_ids",
        "waiting",
    )

    def __init__(self, session_id: int, owner: str, uses_ids: bool, now_ms: int) -> None:
        self.id = session_id
        self.owner = owner
        self.uses_ids = uses_ids
        self.epoch = 1
        self.partitions: dict[Key, SessionPartition] = {}  # in the order in which they are served (FS-6)
        self.params: FetchParams | None = None  # of the last request
        self.created_ms = self.used_ms = now_ms
        self.waiting: DelayedFetch | None = None  # the request that waited last
        self._names_known_at = -1  # `Topics.last_creation`

    def update(self, fetches: Iterable[PartitionFetch], forgotten: Iterable[Key]) -> None:
        """Add or change the partitions that a request lists, and drop those it forgets (FS-4)."""
        partitions = self.partitions
        for one in fetches:
            known = partitions.get(key_of(one))
            if known is None:
                partitions[key_of(one)] = SessionPartition(one)
            else:
                one.topic = one.topic or known.fetch.topic
                known.fetch = one
                known.caught_up_at = -1
        for key in forgotten:
            partitions.pop(key, None)

    def learn_names(self, topics: "Topics") -> None:
        """A topic id that was unknown may be known by now (FS-7)."""
        if self._names_known_at == topics.last_creation:
            return
        self._names_known_at = topics.last_creation
        for known in self.partitions.values():
            if not known.fetch.topic:
                known.fetch.topic = name_of(topics, known.fetch.topic_id)

    def read_with(self, params: FetchParams) -> None:
        """A request reads with `params`. If they are new, nothing is known of what it finds."""
        if params != self.params:
            self.params = params
            for known in self.partitions.values():
                known.caught_up_at = -1

    def unread(self) -> list[SessionPartition]:
        """The partitions that may have something for the reader, in order. The others have not changed since it had
        all of them.
        """
        # Every partition of every fetch passes here: few steps for one that has nothing.
        return [
            known
            for known in self.partitions.values()
            if (partition := known.partition) is None or partition.changes != known.caught_up_at
        ]

    def caught_up(self) -> list[FetchTarget]:
        """The partitions that `unread` leaves out."""
        return [
            (known.fetch, partition)
            for known in self.partitions.values()
            if (partition := known.partition) is not None and partition.changes == known.caught_up_at
        ]

    def news(
        self, answers: Iterable[tuple[SessionPartition, LogReadResult]], params: FetchParams
    ) -> Iterator[tuple[PartitionFetch, LogReadResult]]:
        """Those answers that have to be sent. Partitions with records move to the end (FS-5, FS-6).

        The caller may pause between two of them.
        """
        partitions = self.partitions
        for known, read in answers:
            if known.take(read, params):
                if read.batches:
                    key = key_of(known.fetch)
                    if partitions.get(key) is known:  # not forgotten meanwhile
                        partitions[key] = partitions.pop(key)
                yield known.fetch, read

    def reported(self) -> Reported:
        """What was reported to the client so far, to go back to."""
        return {
            key: (known, known.high_watermark, known.log_start_offset, known.caught_up_at)
            for key, known in self.partitions.items()
        }

    def take_back(self, before: Reported) -> None:
        """Undo what was recorded as reported since `reported` returned `before`."""
        self.partitions = {}
        for key, (known, high_watermark, log_start_offset, caught_up_at) in before.items():
            known.high_watermark, known.log_start_offset = high_watermark, log_start_offset
            known.caught_up_at = caught_up_at
            self.partitions[key] = known


class FetchSessions:
    """The sessions of one broker.

    With an authorizer a session is there for its owner alone: ids follow from the seed, so that others could guess them
    (FS-13).
    """

    def __init__(self, cluster: "TopicsHost", has_owners: bool) -> None:
        """`has_owners`: whether a principal may use its own sessions only."""
        self._has_owners = has_owners
        self._random = cluster.random
        self._settings = cluster.settings
        self._sessions: dict[int, FetchSession] = {}  # the one unused for longest first

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int, owner: str) -> FetchSession | None:
        """The session of that id; None if there is none, or if it belongs to another."""
        session = self._sessions.get(session_id)
        return None if session is None or (self._has_owners and session.owner != owner) else session

    def close(self, session_id: int, owner: str) -> None:
        """Forget a session; nothing happens if the owner has none of that id (FS-1)."""
        if self.get(session_id, owner) is not None:
            del self._sessions[session_id]

    def resume(self, session_id: int, owner: str, epoch: int, uses_ids: bool) -> FetchSession:
        """The session that an incremental request continues (FS-9).

        Raises KafkaError: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
        """
        session = self.get(session_id, owner)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"unknown fetch session {session_id}")
        if session.epoch != epoch:
            raise KafkaError(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
                f"fetch session {session_id} got epoch {epoch}, but expects {session.epoch}",
            )
        if session.uses_ids != uses_ids:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, f"fetch session {session_id} mixes topic names and ids"
            )
        return session

    def advance(self, session: FetchSession, now: Instant) -> None:
        """An incremental request was accepted: the next one carries the next epoch (FS-3, FS-10).

        One that waits still, on another connection, will be answered that its epoch is over. MOCK: if it waits for
        very many partitions, it ends at once; Kafka keeps all that it waits for until its time is up.
        """
        session.epoch = 1 if session.epoch == _LAST_EPOCH else session.epoch + 1
        session.used_ms = now.mono_ms
        if session.waiting is not None:
            waiting, session.waiting = session.waiting, None
            waiting.end_if_long(now)
        self._sessions[session.id] = self._sessions.pop(session.id)

    def create(
        self,
        answers: Iterable[tuple[PartitionFetch, LogReadResult]],
        params: FetchParams,
        owner: str,
        uses_ids: bool,
        now_ms: int,
    ) -> int:
        """Make a session of a full request's answers. Returns its id, NO_SESSION if the cache is full (FS-2, FS-12)."""
        session = FetchSession(self._new_id(), owner, uses_ids, now_ms)
        for fetch, read in answers:
            known = session.partitions[key_of(fetch)] = SessionPartition(fetch)
            known.take(read, params)
        if not self._make_room(len(session.partitions), now_ms):
            return NO_SESSION
        self._sessions[session.id] = session
        return session.id

    def _new_id(self) -> int:
        while True:
            session_id = self._random.randrange(1, 2**31)
            if session_id not in self._sessions:
                return session_id

    def _make_room(self, size: int, now_ms: int) -> bool:
        """Whether the cache can take a session of `size` partitions; may evict an idle or smaller one (FS-12)."""
        slots = self._settings.get_int("max.incremental.fetch.session.cache.slots")
        if len(self._sessions) < slots:
            return True
        idlest = next(iter(self._sessions.values()), None)
        if idlest is not None and now_ms - idlest.used_ms > _EVICTION_AGE_MS:
            del self._sessions[idlest.id]
            return True
        old = [each for each in self._sessions.values() if now_ms - each.created_ms > _EVICTION_AGE_MS]
        smallest = min(old, key=lambda each: len(each.partitions), default=None)
        if smallest is None or len(smallest.partitions) >= size:
            return False
        del self._sessions[smallest.id]
        return True

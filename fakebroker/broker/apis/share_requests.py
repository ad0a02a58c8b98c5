"""What ShareFetch and ShareAcknowledge have in common: checks of ids, acknowledgements of partitions (SGF-7, SGK)."""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Protocol

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.share_partitions.acknowledgement import AcknowledgedBatch, are_well_formed
from fakebroker.broker.core.share_partitions.sessions import ShareSession, TopicIdPartition
from fakebroker.broker.core.share_partitions.share_partition import Answer
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

MAX_MEMBER_ID_CHARACTERS = 36
PARTITIONS_PER_STEP = 500  # a request of 1 MB may acknowledge records of 38,000 partitions, or name 200,000


class _Batch(Protocol):
    """AcknowledgementBatch of either message."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


Acknowledged = tuple[TopicIdPartition, Sequence[AcknowledgedBatch]]
MayRead = Callable[[str], bool]  # whether the client may read a topic, by its name
AcknowledgeError = tuple[ErrorCode, str | None]


def are_valid_ids(group_id: str | None, member_id: str | None) -> bool:
    """Whether a request names a group and a member; else INVALID_REQUEST (SGF-7)."""
    return group_id is not None and bool(member_id) and len(member_id or "") <= MAX_MEMBER_ID_CHARACTERS


def acknowledged(batches: Sequence[_Batch]) -> list[AcknowledgedBatch]:
    """The acknowledgements of one partition of a request."""
    return [AcknowledgedBatch(each.first_offset, each.last_offset, each.acknowledge_types) for each in batches]


def everything(_topic: str) -> bool:
    """What a client may read where nobody asks for rights: every topic."""
    return True


def find_partition(
    call: Call, key: TopicIdPartition, may_read: MayRead = everything
) -> tuple[Partition | None, ErrorCode]:
    """A partition by topic id; None with UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION if there is none, or with
    TOPIC_AUTHORIZATION_FAILED if the client may not read it (AU-6).
    """
    topic_id, index = key
    topic = call.cluster.topics.by_id(topic_id)
    if topic is None:
        return None, ErrorCode.UNKNOWN_TOPIC_ID
    if not may_read(topic.name):
        return None, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    partition = topic.partition(index)
    return partition, ErrorCode.NONE if partition is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Acknowledgements:
    """The acknowledgements of one request: each partition for itself. `errors` has what became of them.

    They begin, and are stored later: a fetch in the same request looks for records in between (SGF-19).
    """

    def __init__(self, call: Call, session: ShareSession, *, may_renew: bool, may_read: MayRead = everything) -> None:
        self.errors: dict[TopicIdPartition, AcknowledgeError] = {}
        self._call = call
        self._session = session
        self._may_renew = may_renew
        self._may_read = may_read
        self._begun: dict[TopicIdPartition, Callable[[Answer, Instant], None]] = {}
        self._done: Callable[[Instant], None] | None = None
        self._waiting = 0

    def begin(self, wanted: Sequence[Acknowledged]) -> Generator[None, None, None]:
        """Check them in steps, and keep the records that they name from other members.

        Raises KafkaError UNKNOWN_SERVER_ERROR where Kafka fails the whole request; those that came before are stored.
        """
        pace = self._call.pace(PARTITIONS_PER_STEP)
        for key, batches in wanted:
            try:
                self._begin(key, batches)
            except KafkaError as error:
                if error.code == ErrorCode.UNKNOWN_SERVER_ERROR:
                    yield from self.store(None)
                    raise
                self.errors[key] = error.code, error.message
            if pace.is_over():
                yield

    def store(self, done: Callable[[Instant], None] | None) -> Generator[None, None, None]:
        """Store them in steps; `done` is called when all are answered, which may be in the last step (SGK-10)."""
        self._done = done
        self._waiting, pace = 1, self._call.pace(PARTITIONS_PER_STEP)
        for key, store in self._begun.items():
            self._waiting += 1
            store(partial(self._answered, key), self._call.now)
            if pace.is_over():
                yield
        self._one_done(self._call.now)

    def _begin(self, key: TopicIdPartition, batches: Sequence[AcknowledgedBatch]) -> None:
        """Begin those of one partition. Raises KafkaError as `SharePartitionManager.acknowledge` does."""
        code = ErrorCode.INVALID_REQUEST
        if are_well_formed(batches, may_renew=self._may_renew):
            _, code = find_partition(self._call, key, self._may_read)
        if code:
            self.errors[key] = code, None
            return
        manager = self._call.node.share_partitions
        self._begun[key] = manager.acknowledge(self._session, key, batches, self._call.now)

    def _answered(self, key: TopicIdPartition, code: ErrorCode, message: str | None, now: Instant) -> None:
        self.errors[key] = code, message
        self._one_done(now)

    def _one_done(self, now: Instant) -> None:
        self._waiting -= 1
        if self._waiting:
            return
        done, self._done = self._done, None  # whoever waits has these: garbage of large requests would lie long
        self._begun.clear()
        if done is not None:
            done(now)

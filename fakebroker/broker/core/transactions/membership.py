"""What the leader of a partition asks the transaction coordinator: is this partition in the producer's transaction?

Produce and TxnOffsetCommit ask before they append (TX-6, TX-11, TX-13). Kafka: `AddPartitionsToTxnManager`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fakebroker.broker.core.coordinator.runtime.host import CoordinatorHost, CoordinatorNode
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_topic import TopicPartition

if TYPE_CHECKING:
    from fakebroker.broker.core.transactions.coordinator import TransactionCoordinator

Codes = Mapping[TopicPartition, ErrorCode]


class MembershipNode(CoordinatorNode, Protocol):
    """A broker that leads partitions, or coordinates transactions, or both."""

    @property
    def cluster(self) -> "MembershipCluster": ...

    @property
    def transactions(self) -> "TransactionCoordinator": ...


class MembershipCluster(CoordinatorHost, Protocol):
    """The cluster of such brokers."""

    @property
    def nodes(self) -> Mapping[int, MembershipNode]: ...


class _Question(NamedTuple):
    """One question, which may have to be asked again."""

    node: "MembershipNode"
    incarnation: int
    transactional_id: str
    producer: Producer
    partitions: Sequence[TopicPartition]
    adds: bool
    until_ms: int | None  # monotonic time after which it is not asked again; None: it is asked once
    answer: Callable[[Codes], None]


def ask_coordinator(
    node: "MembershipNode",
    transactional_id: str,
    producer: Producer,
    partitions: Sequence[TopicPartition],
    *,
    adds: bool,
    retry_ms: int | None,
    answer: Callable[[Codes], None],
    now: Instant,
) -> None:
    """Ask on behalf of `node`, which leads the partitions, whether they are in the transaction.

    With `adds` they are added (transaction protocol 2, TX-11), else verified only. While the last transaction is
    completing, it is asked again every `add.partitions.to.txn.retry.backoff.ms` for `retry_ms`; None: never (TX-13).
    `answer` is called once, usually before this returns, with the coordinator's code of each partition: NONE,
    TRANSACTION_ABORTABLE (not in it), INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS; and for a
    coordinator that is not there COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, or
    NETWORK_EXCEPTION. It is not called if the node's process ends meanwhile.
    """
    until_ms = None if retry_ms is None else now.mono_ms + retry_ms
    _ask(
        _Question(node, node.incarnation, transactional_id, producer, partitions, adds, until_ms, answer),
        now,
    )


def _ask(question: _Question, now: Instant) -> None:
    try:
        shard = _coordinator(question.node, question.transactional_id).transactions.shard(
            question.transactional_id, now
        )
    except KafkaError as error:
        question.answer(dict.fromkeys(question.partitions, error.code))
        return
    if not question.adds:
        codes = shard.verify_partitions(question.transactional_id, question.producer, question.partitions)
        _answered(question, codes, now)
        return

    def added(code: ErrorCode) -> None:
        _answered(question, dict.fromkeys(question.partitions, code), now)

    shard.add_partitions(question.transactional_id, question.producer, question.partitions, added, now, is_tv2=True)


def _coordinator(node: "MembershipNode", transactional_id: str) -> "MembershipNode":
    """The node that coordinates the transactional id, as far as `node` knows and reaches it.

    Raises KafkaError: INVALID_REQUEST for an empty id, COORDINATOR_NOT_AVAILABLE if there is none, NETWORK_EXCEPTION if
    it is not reached.
    """
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    cluster = node.cluster
    if TRANSACTION_STATE not in cluster.topics:  # a question makes no internal topic
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no transactional ids are given")
    leader = cluster.coordinator_partition(TRANSACTION_STATE, transactional_id).seen_by(node.id).leader
    if leader not in cluster.nodes:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{transactional_id!r} has no coordinator")
    if not node.reaches(cluster.nodes[leader]):
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"node {leader} is not reachable")
    return cluster.nodes[leader]


def _answered(question: _Question, codes: Codes, now: Instant) -> None:
    """The coordinator has answered: ask again in a while, or pass it on.

    It may have waited for its replicas, and the broker that asked may be gone by now, or stand still.
    """
    node = question.node
    if node.incarnation != question.incarnation:
        return
    if not node.is_running:
        node.run_when_thawed(Deadline(lambda now: _answered(question, codes, now), owner=node), now)
        return
    if ErrorCode.CONCURRENT_TRANSACTIONS in codes.values() and question.until_ms is not None:
        backoff_ms = node.settings.get_int("add.partitions.to.txn.retry.backoff.ms")
        if now.mono_ms + backoff_ms <= question.until_ms:
            deadline = Deadline(partial(_ask_again, question), owner=node)
            node.cluster.timers.mono.arm(deadline, now.mono_ms + backoff_ms)
            return
    question.answer(codes)


def _ask_again(question: _Question, now: Instant) -> None:
    node = question.node
    if node.incarnation != question.incarnation:
        return
    if not node.is_running:
        node.run_when_thawed(Deadline(partial(_ask_again, question), owner=node), now)
        return
    _ask(question, now)

"""What brokers ask the share coordinator of a share partition, which may be another broker or themselves (KIP-932).

The group coordinator initializes, deletes and summarizes states; the leader of the topic's partition reads and writes
them. Every `answer` is called once: usually before the call returns, later if the coordinator waits for replicas or has
to be asked again; never if the asking node's process ends meanwhile. A coordinator that is not there is asked up to
five times, after 1, 2, 4 and 8 seconds. Kafka: `DefaultStatePersister`, `PersisterStateManager`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fakebroker.broker.core.coordinator.runtime.host import CoordinatorHost, CoordinatorNode
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.share_state.states import (
    NO_STATE,
    CodeAnswer,
    SharePartition,
    ShareState,
    StateAnswer,
    StateWrite,
)
from fakebroker.broker.core.topics import SHARE_GROUP_STATE
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.coordinator import ShareCoordinator
    from fakebroker.broker.core.share_state.shard import ShareStateShard

_MAX_ATTEMPTS: Final = 5
_FIRST_BACKOFF_MS: Final = 1000
_ASKED_AGAIN: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class ShareStateNode(CoordinatorNode, Protocol):
    """A broker that asks, or keeps states, or both."""

    @property
    def cluster(self) -> "ShareStateCluster": ...

    @property
    def share_coordinator(self) -> "ShareCoordinator": ...


class ShareStateCluster(CoordinatorHost, Protocol):
    """The cluster of such brokers."""

    @property
    def nodes(self) -> Mapping[int, ShareStateNode]: ...


def initialize(
    node: "ShareStateNode", key: SharePartition, state_epoch: int, start_offset: int, answer: CodeAnswer, now: Instant
) -> None:
    """Create the state of a share partition, or begin it anew, with a start offset or NO_OFFSET (SGH-10, SGO-4).

    `answer` gets NONE, FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, or why no coordinator answered:
    COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, NETWORK_EXCEPTION.
    """

    def ask(shard: "ShareStateShard", done: StateAnswer, now: Instant) -> None:
        shard.initialize(key, state_epoch, start_offset, _without_state(done), now)

    _begin(node, key, ask, _only_code(answer), now)


def read(node: "ShareStateNode", key: SharePartition, leader_epoch: int, answer: StateAnswer, now: Instant) -> None:
    """Read a state as the leader of the partition, in `leader_epoch`: writers of earlier epochs are fenced (SGP-1).

    `answer` gets NONE and the state; or NO_STATE with INVALID_REQUEST (not initialized), FENCED_LEADER_EPOCH, or why no
    coordinator answered (`initialize`).
    """

    def ask(shard: "ShareStateShard", done: StateAnswer, now: Instant) -> None:
        shard.read(key, leader_epoch, done, now)

    _begin(node, key, ask, answer, now)


def write(node: "ShareStateNode", key: SharePartition, change: StateWrite, answer: CodeAnswer, now: Instant) -> None:
    """Store what has changed (SGK-10).

    `answer` gets NONE; or FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH, INVALID_REQUEST (not initialized), or why no
    coordinator answered (`initialize`).
    """

    def ask(shard: "ShareStateShard", done: StateAnswer, now: Instant) -> None:
        shard.write(key, change, _without_state(done), now)

    _begin(node, key, ask, _only_code(answer), now)


def delete(node: "ShareStateNode", key: SharePartition, answer: CodeAnswer, now: Instant) -> None:
    """Forget a state, if there is one (SGB-4).

    `answer` gets NONE, UNKNOWN_TOPIC_OR_PARTITION, or why no coordinator answered (`initialize`).
    """

    def ask(shard: "ShareStateShard", done: StateAnswer, now: Instant) -> None:
        shard.delete(key, _without_state(done), now)

    _begin(node, key, ask, _only_code(answer), now)


def read_summary(node: "ShareStateNode", key: SharePartition, answer: StateAnswer, now: Instant) -> None:
    """Read a state without its batches (`batches` is empty) and without fencing anybody (SGO-1).

    `answer` gets NONE and the state, one with start offset NO_OFFSET if none is kept; or NO_STATE with
    UNKNOWN_TOPIC_OR_PARTITION, or why no coordinator answered (`initialize`).
    """

    def ask(shard: "ShareStateShard", done: StateAnswer, now: Instant) -> None:
        done(ErrorCode.NONE, shard.summary(key), now)

    _begin(node, key, ask, answer, now)


class _Question(NamedTuple):
    """One question, which may have to be asked again."""

    node: "ShareStateNode"
    incarnation: int
    key: SharePartition
    ask: Callable[["ShareStateShard", StateAnswer, Instant], None]
    answer: StateAnswer
    attempt: int


def _begin(
    node: "ShareStateNode",
    key: SharePartition,
    ask: Callable[["ShareStateShard", StateAnswer, Instant], None],
    answer: StateAnswer,
    now: Instant,
) -> None:
    _ask(_Question(node, node.incarnation, key, ask, answer, 1), now)


def _ask(question: _Question, now: Instant) -> None:
    done = partial(_answered, question)
    try:
        question.ask(_shard(question.node, question.key, now), done, now)
    except KafkaError as error:
        done(error.code, NO_STATE, now)


def _shard(node: "ShareStateNode", key: SharePartition, now: Instant) -> "ShareStateShard":
    """Where the state is kept, as far as `node` knows and reaches it. The topic is made if need be.

    Raises KafkaError: COORDINATOR_NOT_AVAILABLE if there is no coordinator, NETWORK_EXCEPTION if it is not reached, and
    as `PartitionCoordinator.shard` does.
    """
    cluster = node.cluster
    leader = cluster.coordinator_partition(SHARE_GROUP_STATE, str(key)).seen_by(node.id).leader
    if leader not in cluster.nodes:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{key} has no coordinator")
    if not node.reaches(cluster.nodes[leader]):
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"node {leader} is not reachable")
    return cluster.nodes[leader].share_coordinator.shard(str(key), now)


def _answered(question: _Question, code: ErrorCode, state: ShareState, now: Instant) -> None:
    """The coordinator has answered: ask again in a while, or pass it on.

    It may have waited for its replicas, and the broker that asked may be gone by now, or stand still.
    """
    node = question.node
    if node.incarnation != question.incarnation:
        return
    if not node.is_running:
        node.run_when_thawed(Deadline(lambda now: _answered(question, code, state, now), owner=node), now)
    elif code in _ASKED_AGAIN and question.attempt < _MAX_ATTEMPTS:
        backoff_ms = _FIRST_BACKOFF_MS << question.attempt - 1
        deadline = Deadline(partial(_ask_again, question._replace(attempt=question.attempt + 1)), owner=node)
        node.cluster.timers.mono.arm(deadline, now.mono_ms + backoff_ms)
    else:
        question.answer(code, state, now)


def _ask_again(question: _Question, now: Instant) -> None:
    node = question.node
    if node.incarnation != question.incarnation:
        return
    if node.is_running:
        _ask(question, now)
    else:
        node.run_when_thawed(Deadline(partial(_ask_again, question), owner=node), now)


def _only_code(answer: CodeAnswer) -> StateAnswer:
    return lambda code, _state, now: answer(code, now)


def _without_state(done: StateAnswer) -> CodeAnswer:
    return lambda code, now: done(code, NO_STATE, now)

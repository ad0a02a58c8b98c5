"""What brokers ask the share coordinator of a share partition, which may be another broker or themselves (KIP-932).

The group coordinator initializes, deletes and summarizes states; the leader of the topic's partition reads and writes
them. Every `answer` is called once: usually before the call returns, later if the coordinator waits for replicas or is
asked again; never if the asking node's process ends meanwhile. Kafka: `DefaultStatePersister`, `PersisterStateManager`.
"""

from typing import TYPE_CHECKING

from fakebroker.core.share_state.states import CodeAnswer, SharePartition, StateAnswer, StateWrite
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.node import Node


def initialize(
    node: "Node", key: SharePartition, state_epoch: int, start_offset: int, answer: CodeAnswer, now: Instant
) -> None:
    """Create the state of a share partition, or begin it anew, with a start offset or NO_OFFSET (SGH-10, SGO-4).

    `answer` gets NONE, FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, or why no coordinator answered:
    COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, NETWORK_EXCEPTION.
    """
    raise NotImplementedError


def read(node: "Node", key: SharePartition, leader_epoch: int, answer: StateAnswer, now: Instant) -> None:
    """Read a state as the leader of the partition, in `leader_epoch`: writers of earlier epochs are fenced (SGP-1).

    `answer` gets NONE and the state; or NO_STATE with INVALID_REQUEST (not initialized), FENCED_LEADER_EPOCH,
    UNKNOWN_TOPIC_OR_PARTITION, or why no coordinator answered (`initialize`).
    """
    raise NotImplementedError


def write(node: "Node", key: SharePartition, change: StateWrite, answer: CodeAnswer, now: Instant) -> None:
    """Store what has changed (SGK-10).

    `answer` gets NONE; or FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH, INVALID_REQUEST (not initialized),
    UNKNOWN_TOPIC_OR_PARTITION, or why no coordinator answered (`initialize`).
    """
    raise NotImplementedError


def delete(node: "Node", key: SharePartition, answer: CodeAnswer, now: Instant) -> None:
    """Forget a state; NONE also if there is none (SGB-4)."""
    raise NotImplementedError


def read_summary(node: "Node", key: SharePartition, leader_epoch: int, answer: StateAnswer, now: Instant) -> None:
    """Read a state without its batches (`batches` is empty) and without fencing anybody (SGO-1).

    `leader_epoch` is NO_EPOCH or what the asker knows. `answer` gets what `read` does.
    """
    raise NotImplementedError

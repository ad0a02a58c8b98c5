"""The states of a transactional id, the diagram of its transitions, and the names of its inputs.

Kafka: `TransactionState`. What the coordinator does with an input in a state is in `table.py`.
"""

from enum import Enum, IntEnum, auto


class TransactionState(IntEnum):
    """The state of a transactional id; the numbers are those of the records (TS-3)."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def kafka_name(self) -> str:
        """The name as DescribeTransactions and ListTransactions spell it (DX-1): "PrepareCommit"."""
        return _NAMES[self]

    @classmethod
    def of_name(cls, name: str) -> "TransactionState | None":
        """The state of that name, exactly as Kafka spells it, or None (DX-3)."""
        return _BY_NAME.get(name)


_NAMES = {state: state.name.title().replace("_", "") for state in TransactionState}
_BY_NAME = {name: state for state, name in _NAMES.items()}
STATES = tuple(sorted(TransactionState))
"""By their numbers."""

ENDED = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
"""The last transaction is over, with all its markers."""
ENDING = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
"""It is decided how the transaction ends, and markers are on their way."""


class Trigger(Enum):
    """What makes a transactional id change its state; the values are the texts of the diagram in docs."""

    INITIALIZED = "InitProducerId"
    PARTITIONS_ADDED = "partitions are added"
    COMMITTED = "EndTxn commit"
    ABORTED = "EndTxn abort, fenced or timed out"
    ABORTED_WITHOUT_PARTITIONS = "EndTxn v5 abort"
    COMPLETED = "all markers were written"
    REMOVED = "expired"


class TransactionInput(IntEnum):
    """What the coordinator reacts to: requests that passed the checks common to all states, markers and times.

    "Current" and "earlier" are of EndTxn v5: its producer has the stored epoch, or the one before (TX-21). While
    markers are on their way epochs are not looked at, and every one counts as current.
    """

    INIT_PRODUCER_ID = 0
    ADD_PARTITIONS = auto()  # some that are not in the transaction yet
    COMMIT = auto()  # EndTxn v0-v4 (TX-20)
    ABORT = auto()
    COMMIT_CURRENT = auto()  # EndTxn v5
    COMMIT_EARLIER = auto()
    ABORT_CURRENT = auto()
    ABORT_EARLIER = auto()
    OVERDUE = auto()  # open for longer than its timeout (TX-23), or a test aborts it
    MARKERS_WRITTEN = auto()


_S, _T = TransactionState, Trigger
TRANSITIONS: dict[tuple[TransactionState, Trigger], TransactionState] = {
    (_S.EMPTY, _T.INITIALIZED): _S.EMPTY,
    (_S.COMPLETE_COMMIT, _T.INITIALIZED): _S.EMPTY,
    (_S.COMPLETE_ABORT, _T.INITIALIZED): _S.EMPTY,
    (_S.EMPTY, _T.PARTITIONS_ADDED): _S.ONGOING,
    (_S.ONGOING, _T.PARTITIONS_ADDED): _S.ONGOING,
    (_S.COMPLETE_COMMIT, _T.PARTITIONS_ADDED): _S.ONGOING,
    (_S.COMPLETE_ABORT, _T.PARTITIONS_ADDED): _S.ONGOING,
    (_S.ONGOING, _T.COMMITTED): _S.PREPARE_COMMIT,
    (_S.ONGOING, _T.ABORTED): _S.PREPARE_ABORT,
    (_S.EMPTY, _T.ABORTED_WITHOUT_PARTITIONS): _S.PREPARE_ABORT,
    (_S.COMPLETE_COMMIT, _T.ABORTED_WITHOUT_PARTITIONS): _S.PREPARE_ABORT,
    (_S.COMPLETE_ABORT, _T.ABORTED_WITHOUT_PARTITIONS): _S.PREPARE_ABORT,
    (_S.PREPARE_COMMIT, _T.COMPLETED): _S.COMPLETE_COMMIT,
    (_S.PREPARE_ABORT, _T.COMPLETED): _S.COMPLETE_ABORT,
    (_S.EMPTY, _T.REMOVED): _S.DEAD,
    (_S.COMPLETE_COMMIT, _T.REMOVED): _S.DEAD,
    (_S.COMPLETE_ABORT, _T.REMOVED): _S.DEAD,
}

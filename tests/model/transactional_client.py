"""What an application does with transactions, and what it may conclude from the answers: the model's other half.

A transaction is COMMITTED when EndTxn said so, ABORTED when it can never be committed any more, UNKNOWN when an answer
to its commit was lost, and OPEN before that. Everything of a transaction shares its outcome: values and offsets.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.model.transactions_world import TOPIC, Partition, World

TIMEOUT_MS = 10_000
RETRY_MS = 120
TRIES = 6
NONE = 0
# Try again: the coordinator or leader loads, moves or is not there, replicas lag, the last transaction is completing.
RETRIABLE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
GROUPS, TRANSACTIONS = 0, 1  # of FindCoordinator


class Outcome(Enum):
    """What is known of how a transaction ended."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Transaction:
    """One transaction of an application."""

    def __init__(self) -> None:
        self.outcome = Outcome.OPEN
        self.values: list[bytes] = []  # that the broker acknowledged
        self.offset: int | None = None  # of the source, that it commits

    def __repr__(self) -> str:
        return f"<{self.outcome.value} transaction of {self.values}>"


class Ledger:
    """Every value that was ever sent, with its transaction; None for those of no transaction."""

    def __init__(self) -> None:
        self.of_value: dict[bytes, Transaction | None] = {}
        self.plain: set[bytes] = set()  # acknowledged, of no transaction
        self.offsets: dict[str, list[Transaction]] = {}  # by group, those that commit an offset, in their order

    def new_value(self, transaction: Transaction | None) -> bytes:
        value = b"v%d" % len(self.of_value)
        self.of_value[value] = transaction
        return value


class Application:
    """An instance of an application under a transactional id. It is replaced by another one, and is a zombie then."""

    def __init__(self, world: World, ledger: Ledger, transactional_id: str, number: int, *, is_tv2: bool) -> None:
        self.world, self.ledger, self.id, self.is_tv2 = world, ledger, transactional_id, is_tv2
        self.name = f"{transactional_id}#{number}"
        self.group_id = f"group-{transactional_id}"
        self.producer_id, self.epoch = -1, -1
        self.transaction: Transaction | None = None
        self.sequences: dict[Partition, int] = {}
        self.added: set[Partition | str] = set()
        self.must_abort = self.is_dead = self.is_zombie = False

    @property
    def is_ready(self) -> bool:
        """Whether it has a producer and was not informed that it is over."""
        return self.producer_id >= 0 and not self.is_dead

    def start(self) -> bool:
        """InitProducerId: from now on those before are fenced. Whether it succeeded."""
        answer = self._ask_coordinator(
            lambda node_id: self._ask(
                node_id, "InitProducerId", 5 if self.is_tv2 else 4, transactional_id=self.id,
                transaction_timeout_ms=TIMEOUT_MS, producer_id=self.producer_id, producer_epoch=self.epoch,
            ),
        )  # fmt: skip
        if answer is None or answer.error_code != NONE:
            return False
        self._become(answer.producer_id, answer.producer_epoch)
        return True

    def send(self, partition: int, count: int) -> None:
        """Send values in the transaction, which begins if there is none."""
        place = (TOPIC, partition)
        transaction = self._begun()
        if not self.is_tv2 and place not in self.added and not self._add(place):
            return
        values = [self.ledger.new_value(transaction) for _ in range(count)]
        code = self._produce(place, values)
        if code == NONE:
            transaction.values += values
            self.added.add(place)
            self.sequences[place] = self.sequences.get(place, 0) + count
        else:
            self._failed(code)

    def commit_offset(self, offset: int) -> None:
        """Commit the offset of the source with the transaction."""
        transaction = self._begun()
        if not self.is_tv2 and self.group_id not in self.added and not self._add_offsets():
            return
        answer = self._ask_group(
            lambda node_id: self._ask(
                node_id, "TxnOffsetCommit", 5 if self.is_tv2 else 3, transactional_id=self.id, group_id=self.group_id,
                producer_id=self.producer_id, producer_epoch=self.epoch, member_id="",
                topics=[{"name": TOPIC, "partitions": [
                    {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}]}],
            )
        )  # fmt: skip
        code = None if answer is None else answer.topics[0].partitions[0].error_code
        if code == NONE:
            transaction.offset = offset
            self.added.add(self.group_id)
        else:
            self._failed(code)

    def replaced(self) -> None:
        """Another instance has started: whatever this one had begun can never be committed."""
        self.is_zombie = True
        if self.transaction is not None and self.transaction.outcome is Outcome.OPEN:
            self.transaction.outcome = Outcome.ABORTED

    def end(self, *, commit: bool) -> None:
        """End the transaction if there is one: by an abort if something in it failed."""
        transaction = self.transaction
        if transaction is None:
            return
        commit = commit and not self.must_abort
        self.transaction, must_abort, self.must_abort = None, self.must_abort, False
        if not self.added and not must_abort:
            transaction.outcome = Outcome.ABORTED  # nothing of it ever got anywhere
            return
        answers: list[Any] = []
        version = 5 if self.is_tv2 else 3
        if commit and transaction.offset is not None:
            self.ledger.offsets.setdefault(self.group_id, []).append(transaction)
        if commit:
            transaction.outcome = Outcome.UNKNOWN

        def ask(node_id: int) -> Any:
            answers.append(
                self._ask(
                    node_id, "EndTxn", version, transactional_id=self.id, producer_id=self.producer_id,
                    producer_epoch=self.epoch, committed=commit,
                )
            )  # fmt: skip
            return answers[-1]

        answer = self._ask_coordinator(ask)
        self._conclude(transaction, commit, answers, answer)
        if not self.is_dead and (not self.is_tv2 and must_abort):
            self._restart()

    def _conclude(self, transaction: Transaction, commit: bool, answers: list[Any], answer: Any) -> None:
        """What the answers to EndTxn say of the transaction."""
        if answer is not None and answer.error_code == NONE:
            assert not (commit and self.is_zombie), f"{self.name} was replaced, and yet its commit is accepted"
            transaction.outcome = Outcome.COMMITTED if commit else Outcome.ABORTED
            if self.is_tv2:
                self._become(answer.producer_id, answer.producer_epoch)
        elif not commit:
            transaction.outcome = Outcome.ABORTED
            self.is_dead = True
        else:
            # Refused at the first try: it did not happen. After a lost answer, or one that says "in progress" or "the
            # write took too long", nobody knows.
            self.is_dead = True
            if len(answers) == 1 and answer is not None and answer.error_code not in RETRIABLE:
                transaction.outcome = Outcome.ABORTED
        self.added.clear()

    def _restart(self) -> None:
        """A client of the older protocol does not know which sequences arrived: it has its epoch raised (KIP-360)."""
        if not self.start():
            self.is_dead = True

    def _begun(self) -> Transaction:
        if self.transaction is None:
            self.transaction = Transaction()
            self.added.clear()
        return self.transaction

    def _add(self, place: Partition) -> bool:
        answer = self._ask_coordinator(
            lambda node_id: self._ask(
                node_id, "AddPartitionsToTxn", 3, v3_and_below_transactional_id=self.id,
                v3_and_below_producer_id=self.producer_id, v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[{"name": place[0], "partitions": [place[1]]}],
            ),
            lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
        )  # fmt: skip
        code = None
        if answer is not None:
            code = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        return self._was_added(place, code)

    def _add_offsets(self) -> bool:
        answer = self._ask_coordinator(
            lambda node_id: self._ask(
                node_id, "AddOffsetsToTxn", 3, transactional_id=self.id, producer_id=self.producer_id,
                producer_epoch=self.epoch, group_id=self.group_id,
            )
        )  # fmt: skip
        return self._was_added(self.group_id, None if answer is None else answer.error_code)

    def _was_added(self, what: Partition | str, code: int | None) -> bool:
        if code == NONE:
            self.added.add(what)
            return True
        self._failed(code)
        return False

    def _failed(self, code: int | None) -> None:
        """Something of the transaction did not work: it has to be aborted. Other errors say that it is over."""
        self.must_abort = True
        if code is not None and code not in RETRIABLE:
            self.is_dead = True
            if self.transaction is not None:
                self.transaction.outcome = Outcome.ABORTED

    def _produce(self, place: Partition, values: list[bytes]) -> int | None:
        """Send a batch until it is answered well or badly; None if it never was."""
        rows = [Record(index, self.world.broker.clock.now_ms, None, value) for index, value in enumerate(values)]
        data = build_batch(
            rows, leader_epoch=-1, transactional=True, producer_id=self.producer_id, producer_epoch=self.epoch,
            base_sequence=self.sequences.get(place, 0),
        )  # fmt: skip
        for _ in range(TRIES):
            leader = self.world.leader(place)
            answer = None
            if leader is not None:
                topics = [{"name": place[0], "partition_data": [{"index": place[1], "records": data}]}]
                answer = self._ask(
                    leader, "Produce", 12 if self.is_tv2 else 11, transactional_id=self.id, acks=-1, timeout_ms=1500,
                    topic_data=topics,
                )  # fmt: skip
            code = None if answer is None else int(answer.responses[0].partition_responses[0].error_code)
            if code is not None and code not in RETRIABLE:
                return code
            self.world.sleep(RETRY_MS)
        return None

    def _ask_group(self, ask: Callable[[int], Any]) -> Any:
        return self._ask_until_final(
            ask, GROUPS, self.group_id, lambda answer: answer.topics[0].partitions[0].error_code
        )

    def _ask_coordinator(
        self, ask: Callable[[int], Any], code_of: Callable[[Any], int] = lambda answer: answer.error_code
    ) -> Any:
        return self._ask_until_final(ask, TRANSACTIONS, self.id, code_of)

    def _ask_until_final(self, ask: Callable[[int], Any], kind: int, key: str, code_of: Callable[[Any], int]) -> Any:
        """The first answer that is no reason to try again, else the last answer, else None."""
        answer = None
        for _ in range(TRIES):
            node_id = self.world.coordinator(self.name, key, kind)
            if node_id is not None:
                answer = ask(node_id)
                if answer is not None and code_of(answer) not in RETRIABLE:
                    return answer
            self.world.sleep(RETRY_MS)
        return answer

    def _ask(self, node_id: int, api_name: str, version: int, **fields: Any) -> Any:
        return self.world.ask(self.name, node_id, api_name, version, **fields)

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            self.sequences.clear()

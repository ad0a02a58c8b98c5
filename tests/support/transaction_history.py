"""Random transactional histories, asked of any broker: what producers, groups and readers did, and what they got.

    answers = TransactionHistory(clients, seed=7, has_tv2=True, is_known=...).play()

The same seed takes the same steps on every broker as long as the answers mean the same, so two brokers are compared by
what they reported. Producer ids stand there by the order of their appearance, times of the broker as "now".
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch, parse_header, read_records, split_batches
from fakebroker.protocol.records.record_codec import Record
from tests.support.odd_transaction_requests import send_odd_request

FIRST_MS = 1_700_000_000_000  # times of records; whatever is later is the broker's own
LAST_MS = FIRST_MS + 1_000_000
TIMEOUT_MS = 60_000
SHORT_MS, CLEANUP_MS = 1_000, 200  # a timeout that the history waits for, and how often the broker looks
SETTINGS: Mapping[str, object] = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": CLEANUP_MS,
    "group.initial.rebalance.delay.ms": 0,
}
CONCURRENT_TRANSACTIONS = ErrorCode.CONCURRENT_TRANSACTIONS
NOT_YET = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    CONCURRENT_TRANSACTIONS,
}
PARTITIONS = 2

Partition = tuple[str, int]


class Answered(NamedTuple):
    """A step and what the broker answered to it."""

    asked: str
    answer: Any

    def __str__(self) -> str:
        return f"{self.asked}  ->  {self.answer}"


class Producer:
    """A transactional id of the history, and what its client believes."""

    def __init__(self, name: str, is_tv2: bool) -> None:
        self.name, self.is_tv2 = name, is_tv2
        self.producer_id, self.epoch = -1, -1
        self.before: tuple[int, int] = (-1, -1)
        self.sequences: dict[Partition, int] = {}

    def learn(self, producer_id: int, epoch: int) -> None:
        """Be the producer that an answer says."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.before = self.producer_id, self.epoch
            self.producer_id, self.epoch = producer_id, epoch
            self.sequences.clear()


class TransactionHistory:
    """One history.

    Args:
        clients: Connected to the broker that is asked.
        seed: What happens.
        has_tv2: Whether some producers speak the newer protocol of transactions (KIP-890).
        steps: How many things happen.
    """

    def __init__(self, clients: ScriptedClients, seed: int, *, has_tv2: bool, steps: int = 60) -> None:
        self.clients, self.client = clients, clients.client(f"history-{seed}")
        self.chance = Random(seed)
        self.steps, self.has_tv2 = steps, has_tv2
        self.topics = [f"h{seed}-a", f"h{seed}-b"]
        self.groups = [f"h{seed}-g", f"h{seed}-h"]
        self.partitions = [(topic, index) for topic in self.topics for index in range(PARTITIONS)]
        self.producers = [Producer(f"h{seed}-t{number}", has_tv2 and self.chance.random() < 0.6) for number in range(3)]
        self.answers: list[Answered] = []
        self._names: dict[int, str] = {}
        self._records = 0

    def play(self) -> list[Answered]:
        """Everything that was asked, with its answers."""
        for topic in self.topics:
            made = self.client.create_topic(topic, PARTITIONS, config={"retention.ms": -1})
            assert made.topics[0].error_code == 0, made
        self._await_producer_ids()
        for producer in self.producers:
            self._await_coordinator(producer)
        for group_id in self.groups:
            self._await_group(group_id)
        for producer in self.producers[1:]:
            self._ask_init(producer, (-1, -1), TIMEOUT_MS)
        actions = self._actions()
        for _ in range(self.steps):
            (action,) = self.chance.choices([each for each, _ in actions], [weight for _, weight in actions])
            action()
        self._look()
        return self.answers

    def _actions(self) -> list[tuple[Callable[[], None], float]]:
        return [
            (self._init, 4),
            (self._add, 6),
            (self._produce, 14),
            (self._add_offsets, 3),
            (self._commit_offsets, 6),
            (self._end, 10),
            (self._produce_plain, 2),
            (self._commit_plain, 2),
            (self._time_out, 0.5),
            (self._look, 2),
            (self._describe, 3),
            (lambda: send_odd_request(self), 6),
        ]

    # -- producers -----------------------------------------------------------------------------------------------------

    def _init(self) -> None:
        """InitProducerId: mostly a client that starts, or one that knows who it is (KIP-360)."""
        producer = self.some_producer()
        expected = (-1, -1)
        if self.chance.random() < 0.5:
            expected = self.claimed(producer)
        timeout_ms = self.chance.choices([TIMEOUT_MS, 0, 10**9], [20, 1, 1])[0]
        self._ask_init(producer, expected, timeout_ms)

    def _ask_init(self, producer: Producer, expected: tuple[int, int], timeout_ms: int) -> None:
        for _ in range(4):
            answer = self.client.request(
                "InitProducerId", 5 if producer.is_tv2 else 4, transactional_id=producer.name,
                transaction_timeout_ms=timeout_ms, producer_id=expected[0], producer_epoch=expected[1],
            )  # fmt: skip
            answers = (answer.error_code, self.name_of(answer.producer_id), answer.producer_epoch)
            self.tell(f"InitProducerId {producer.name} {self.named(expected)} {timeout_ms}", answers)
            self.settle()
            if answer.error_code != CONCURRENT_TRANSACTIONS:
                break
        if answer.error_code == 0:
            producer.learn(answer.producer_id, answer.producer_epoch)

    def _add(self) -> None:
        """AddPartitionsToTxn, as clients of the older protocol send it; the newer ones need none."""
        producer = self.some_producer()
        claimed = self.claimed(producer)
        partitions = self._some_partitions()
        if self.chance.random() < 0.05:
            partitions.append((f"{self.topics[0]}-missing", 0))
        answer = self.client.request(
            "AddPartitionsToTxn", self.chance.choice([3, 3, 1]), v3_and_below_transactional_id=producer.name,
            v3_and_below_producer_id=claimed[0], v3_and_below_producer_epoch=claimed[1],
            v3_and_below_topics=[
                {"name": topic, "partitions": [index for name, index in partitions if name == topic]}
                for topic in dict.fromkeys(name for name, _ in partitions)
            ],
        )  # fmt: skip
        answers = sorted(
            (topic.name, each.partition_index, each.partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        )
        self.tell(f"AddPartitionsToTxn {producer.name} {self.named(claimed)} {partitions}", answers)

    def _produce(self) -> None:
        """A transactional batch, mostly the one that is next; sometimes an old one, or one that is not its turn."""
        producer = self.some_producer()
        claimed = self.claimed(producer)
        place = self.chance.choice(self.partitions)
        count = self.chance.randint(1, 3)
        sequence = producer.sequences.get(place, 0)
        if self.chance.random() < 0.06:
            sequence = max(0, sequence + self.chance.choice([-1, 1, 5]))
        is_transactional = self.chance.random() < 0.96
        version = 12 if producer.is_tv2 else self.chance.choice([11, 11, 10])
        code = self._send(place, count, version, producer.name, claimed, sequence, is_transactional)
        if code == 0 and claimed == (producer.producer_id, producer.epoch):
            producer.sequences[place] = max(sequence + count, producer.sequences.get(place, 0))

    def _produce_plain(self) -> None:
        """Of nobody."""
        self._send(self.chance.choice(self.partitions), 1, 9, None, (-1, -1), -1, False)

    def _send(
        self, place: Partition, count: int, version: int, name: str | None, claimed: tuple[int, int], sequence: int,
        is_transactional: bool,
    ) -> int:  # fmt: skip
        topic, index = place
        first = self._records
        self._records += count
        rows = [Record(n, FIRST_MS + first + n, b"k", b"v%d" % (first + n)) for n in range(count)]
        data = build_batch(
            rows, leader_epoch=-1, producer_id=claimed[0], producer_epoch=claimed[1], base_sequence=sequence,
            transactional=is_transactional,
        )  # fmt: skip
        answer = self.client.request(
            "Produce", version, transactional_id=name if is_transactional else None, acks=-1, timeout_ms=5000,
            topic_data=[{"name": topic, "partition_data": [{"index": index, "records": data}]}],
        )  # fmt: skip
        (result,) = answer.responses[0].partition_responses
        what = f"{name} {self.named(claimed)} {topic}-{index} {count} from {sequence}"
        answers = (result.error_code, result.base_offset, result.log_start_offset, result.error_message)
        self.tell(f"Produce v{version}{' transactional' if is_transactional else ''} {what}", answers)
        return int(result.error_code)

    def _end(self) -> None:
        """EndTxn, after which the history goes on when the markers are written."""
        producer = self.some_producer()
        claimed = self.claimed(producer)
        is_commit = self.chance.random() < 0.6
        version = 5 if producer.is_tv2 else self.chance.choice([4, 3, 1])
        answer = self.client.request(
            "EndTxn", version, transactional_id=producer.name, producer_id=claimed[0], producer_epoch=claimed[1],
            committed=is_commit,
        )  # fmt: skip
        found = (answer.error_code, self.name_of(answer.producer_id), answer.producer_epoch)
        verb = "commit" if is_commit else "abort"
        self.tell(f"EndTxn v{version} {producer.name} {self.named(claimed)} {verb}", found)
        if version == 5 and answer.error_code == 0:
            producer.learn(answer.producer_id, answer.producer_epoch)
        self.settle()

    def _time_out(self) -> None:
        """A producer begins with a short timeout, and nobody ends its transaction."""
        producer = self.some_producer()
        self._ask_init(producer, (-1, -1), SHORT_MS)
        place = self.chance.choice(self.partitions)
        if not producer.is_tv2:
            self.client.request(
                "AddPartitionsToTxn", 3, v3_and_below_transactional_id=producer.name,
                v3_and_below_producer_id=producer.producer_id, v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=[{"name": place[0], "partitions": [place[1]]}],
            )  # fmt: skip
        claimed = producer.producer_id, producer.epoch
        self._send(place, 1, 12 if producer.is_tv2 else 11, producer.name, claimed, 0, True)
        self._pass(SHORT_MS + 4 * CLEANUP_MS + 500)
        self.settle()
        self._describe()
        self._ask_init(producer, (-1, -1), TIMEOUT_MS)

    # -- groups --------------------------------------------------------------------------------------------------------

    def _add_offsets(self) -> None:
        producer = self.some_producer()
        claimed = self.claimed(producer)
        group_id = self.chance.choice(self.groups)
        answer = self.client.request(
            "AddOffsetsToTxn", self.chance.choice([3, 1]), transactional_id=producer.name, producer_id=claimed[0],
            producer_epoch=claimed[1], group_id=group_id,
        )  # fmt: skip
        self.tell(f"AddOffsetsToTxn {producer.name} {self.named(claimed)} {group_id}", answer.error_code)

    def _commit_offsets(self) -> None:
        """TxnOffsetCommit of some partitions."""
        producer = self.some_producer()
        claimed = self.claimed(producer)
        group_id = self.chance.choice(self.groups)
        version = 5 if producer.is_tv2 else self.chance.choice([4, 3])
        answer = self.client.request(
            "TxnOffsetCommit", version, transactional_id=producer.name, group_id=group_id, producer_id=claimed[0],
            producer_epoch=claimed[1], member_id="", topics=self._some_offsets(),
        )  # fmt: skip
        answers = sorted(
            (topic.name, each.partition_index, each.error_code) for topic in answer.topics for each in topic.partitions
        )
        self.tell(f"TxnOffsetCommit v{version} {producer.name} {self.named(claimed)} {group_id}", answers)

    def _commit_plain(self) -> None:
        """OffsetCommit from outside of the group."""
        group_id = self.chance.choice(self.groups)
        answer = self.client.request(
            "OffsetCommit", 8, group_id=group_id, generation_id_or_member_epoch=-1, member_id="",
            topics=[
                {"name": topic["name"], "partitions": [(index, offset, -1, -1, "") for index, offset in rows(topic)]}
                for topic in self._some_offsets()
            ],
        )  # fmt: skip
        answers = sorted((topic.name, *each) for topic in answer.topics for each in topic.partitions)
        self.tell(f"OffsetCommit {group_id}", answers)

    def _some_offsets(self) -> list[dict[str, Any]]:
        place = self.chance.choice(self.partitions)
        offset = self.chance.randint(0, 1000)
        return [
            {
                "name": place[0],
                "partitions": [
                    {"partition_index": place[1], "committed_offset": offset, "committed_metadata": f"m{offset}"}
                ],
            }
        ]

    # -- what can be seen ----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Everything that readers and administrators see."""
        self._describe()
        for place in self.partitions:
            for isolation_level in (0, 1):
                self._fetch(place, isolation_level)
            self._describe_producers(place)
        for group_id in self.groups:
            for require_stable in (False, True):
                self._fetch_offsets(group_id, require_stable)

    def _describe(self) -> None:
        for each in self._described():
            topics: list[tuple[str, Any]] = sorted((topic.topic, sorted(topic.partitions)) for topic in each.topics)
            topics = [row for row in topics if row[0] != "__consumer_offsets"] + [
                (name, len(indexes)) for name, indexes in topics if name == "__consumer_offsets"
            ]
            start = "now" if each.transaction_start_time_ms > 0 else each.transaction_start_time_ms
            is_known = each.error_code == 0
            producer = (self.name_of(each.producer_id) if is_known else each.producer_id), each.producer_epoch
            answers = (each.error_code, each.transaction_state, each.transaction_timeout_ms, start, producer, topics)
            self.tell(f"DescribeTransactions {each.transactional_id}", answers)
        listed = self.client.request("ListTransactions", 0, state_filters=[], producer_id_filters=[])
        mine = {producer.name for producer in self.producers}
        answers_about = sorted(
            (each.transactional_id, self.name_of(each.producer_id), each.transaction_state)
            for each in listed.transaction_states
            if each.transactional_id in mine
        )
        self.tell("ListTransactions", (listed.error_code, answers_about))

    def _fetch(self, place: Partition, isolation_level: int) -> None:
        topic, index = place
        offset = self.chance.choice([0, 0, self.chance.randint(0, 20)])
        row = (index, -1, offset, -1, -1, 1 << 24, bytes(16), -1)
        answer = self.client.request(
            "Fetch", 11, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 24, isolation_level=isolation_level,
            session_epoch=-1, topics=[{"topic": topic, "partitions": [row]}],
        )  # fmt: skip
        found = answer.responses[0].partitions[0]
        batches = [self._batch(each) for each in split_batches(found.records or b"")]
        aborted = found.aborted_transactions
        if aborted is not None:
            aborted = sorted((self.name_of(each.producer_id), each.first_offset) for each in aborted)
        answers = (found.error_code, found.high_watermark, found.last_stable_offset, aborted, batches)
        self.tell(f"Fetch {topic}-{index} from {offset}, isolation level {isolation_level}", answers)

    def _batch(self, data: bytes) -> tuple[Any, ...]:
        header = parse_header(data)
        rows = [(each.offset, each.key, each.value) for each in read_records(data)]
        producer = (self.name_of(header.producer_id), header.producer_epoch, header.base_sequence)
        return (header.base_offset, header.attributes, producer, rows)

    def _describe_producers(self, place: Partition) -> None:
        topic, index = place
        answer = self.client.request("DescribeProducers", 0, topics=[{"name": topic, "partition_indexes": [index]}])
        (found,) = answer.topics[0].partitions
        answers = sorted(
            (
                self.name_of(each.producer_id),
                each.producer_epoch,
                each.last_sequence,
                self.time_of(each.last_timestamp),
                each.coordinator_epoch,
                each.current_txn_start_offset,
            )
            for each in found.active_producers
        )
        self.tell(f"DescribeProducers {topic}-{index}", (found.error_code, answers))

    def _fetch_offsets(self, group_id: str, require_stable: bool) -> None:
        answer = self.client.request(
            "OffsetFetch", 7, group_id=group_id, require_stable=require_stable,
            topics=[{"name": topic, "partition_indexes": list(range(PARTITIONS))} for topic in self.topics],
        )  # fmt: skip
        answers = sorted(
            (topic.name, *row[:2], *row[3:]) for topic in answer.topics for row in map(tuple, topic.partitions)
        )
        self.tell(f"OffsetFetch {group_id}{' stable' if require_stable else ''}", (answer.error_code, answers))

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def some_producer(self) -> Producer:
        return self.chance.choice(self.producers)

    def _some_partitions(self) -> list[Partition]:
        return sorted(self.chance.sample(self.partitions, self.chance.randint(1, 3)))

    def claimed(self, producer: Producer) -> tuple[int, int]:
        """Who the producer says that it is: mostly the truth, sometimes who it was before, or somebody else."""
        chance = self.chance.random()
        if chance < 0.88 or producer.producer_id < 0:
            return producer.producer_id, producer.epoch
        if chance < 0.93:
            return producer.before if producer.before[0] >= 0 else (producer.producer_id, producer.epoch + 1)
        if chance < 0.97:
            return producer.producer_id, max(0, producer.epoch + self.chance.choice([-1, 1]))
        other = self.some_producer()
        return other.producer_id, max(0, other.epoch)

    def settle(self) -> None:
        """Wait until no transaction is between its end and the last of its markers."""
        for _ in range(400):
            self._pass(20)
            if not any(each.transaction_state.startswith("Prepare") for each in self._described()):
                return
        raise AssertionError("a transaction does not end:\n" + "\n".join(map(str, self.answers[-30:])))

    def _described(self) -> list[Any]:
        names = [producer.name for producer in self.producers]
        answer = self.client.request("DescribeTransactions", 0, transactional_ids=names)
        return sorted(answer.transaction_states, key=lambda each: each.transactional_id)

    def _await_coordinator(self, producer: Producer) -> None:
        """Until its coordinator answers: the first who asks makes the internal topic."""
        for _ in range(400):
            found = self.client.find_coordinator(producer.name, key_type="transaction").coordinators[0]
            if found.error_code == 0 and self._described()[0].error_code not in NOT_YET:
                return
            self._pass(50)
        raise AssertionError("there is no coordinator of transactions")

    def _await_producer_ids(self) -> None:
        """Until the broker has some to give away (PI-2)."""
        for _ in range(400):
            if self.client.request("InitProducerId", 4, transactional_id=None).error_code == 0:
                return
            self._pass(50)
        raise AssertionError("there are no producer ids")

    def _await_group(self, group_id: str) -> None:
        for _ in range(400):
            if self.client.find_coordinator(group_id).coordinators[0].error_code == 0:
                answer = self.client.request("OffsetFetch", 7, group_id=group_id, topics=[], require_stable=False)
                if answer.error_code == 0:
                    return
            self._pass(50)
        raise AssertionError("there is no coordinator of groups")

    def _pass(self, ms: int) -> None:
        self.clients.driver.pass_time(ms, lambda: False)

    def tell(self, asked: str, answer: Any) -> None:
        self.answers.append(Answered(asked, answer))

    def a_time_ms(self) -> int:
        """A time of some record."""
        return FIRST_MS + self.chance.randint(0, max(1, self._records))

    def time_of(self, timestamp_ms: int) -> int | str:
        """A time of records as it is, one of the broker as "now"."""
        return "now" if timestamp_ms > LAST_MS else timestamp_ms

    def named(self, producer: tuple[int, int]) -> str:
        return f"{self.name_of(producer[0])}/{producer[1]}"

    def name_of(self, producer_id: int) -> str:
        """The id by the order of its appearance."""
        return "none" if producer_id < 0 else self._names.setdefault(producer_id, f"p{len(self._names)}")


def rows(topic: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The partitions and offsets of a topic in a request."""
    return [(each["partition_index"], each["committed_offset"]) for each in topic["partitions"]]


def first_difference(one: list[Answered], other: list[Answered]) -> str | None:
    """The first thing that two brokers answered differently, after what came before it; None if there is none."""
    for number, (mine, yours) in enumerate(zip(one, other, strict=False)):
        if mine != yours:
            before = "\n".join(str(each) for each in one[max(0, number - 40) : number])
            return f"{before}\none:   {mine}\nother: {yours}"
    return None if len(one) == len(other) else f"one answered {len(one)} times, the other {len(other)}"

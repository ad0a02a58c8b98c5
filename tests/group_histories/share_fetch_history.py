"""Random histories of one share partition: members that acquire, acknowledge, renew, close and break off.

answers = ShareFetchHistory(clients, seed=7, topic_ids=TopicIds()).play()

One session stays open, so that the share partition stays in the leader's memory.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.group_histories.history import Answered
from tests.group_histories.share_history import Member, ShareHistory

WAIT_MS = 40
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
EARLIER_MS = 1_700_000_000_000


class Consumer:
    """A member with a connection; `epoch` is what its next request carries, `held` what it was given."""

    def __init__(self, name: str, client: ScriptedClient) -> None:
        self.name, self.client = name, client
        self.epoch = 0
        self.held: set[int] = set()


class ShareFetchHistory(ShareHistory):
    """One history."""

    kind = "share-fetch"

    def play(self) -> list[Answered]:
        self.await_coordinator()
        topic = self.make_topic(1)
        (self.topic_id,) = [topic_id for topic_id, name in self.names.items() if name == topic]
        self.topic = topic
        self.set_group_config("share.auto.offset.reset", "earliest")
        self.set_group_config("share.delivery.count.limit", self.chance.choice([2, 3, 4, 5, 7, 10]))
        self.set_group_config("share.partition.max.record.locks", self.chance.choice([100, 100, 2000]))
        self.set_group_config("share.isolation.level", self.chance.choice(["read_committed", "read_uncommitted"]))
        self._await_partition()
        self.consumers = [Consumer(name, self.another_client()) for name in ("a", "b", "c")]
        self.produced = 0
        self._fetch(Consumer("witness", self.another_client()), max_records=0)
        self.answers.clear()
        actions = self.actions()
        for _ in range(self.steps):
            (action,) = self.chance.choices(list(actions), list(actions.values()))
            action()
        self.look()
        return self.answers

    def actions(self) -> Mapping[Callable[[], None], float]:
        return {
            self.produce: 15,
            self.fetch: 40,
            self.acknowledge: 30,
            self.claim: 5,
            self.close: 3,
            self.break_off: 3,
            self.delete_records: 1.5,
        }

    def look(self) -> None:
        """Where the share partition stands, as far as it is stored."""
        groups = [{"group_id": self.group_id, "topics": None}]
        (found,) = self.client.request("DescribeShareGroupOffsets", 1, groups=groups).groups
        rows = [(each.start_offset, each.lag) for topic in found.topics for each in topic.partitions]
        self.tell("DescribeShareGroupOffsets", rows)

    # -- what happens --------------------------------------------------------------------------------------------------

    def produce(self) -> None:
        """A batch of records."""
        size = self.chance.choice([1, 2, 3, 5, 8, 13, 40])
        batch = build_batch([Record(number, EARLIER_MS, None, b"x") for number in range(size)])
        rows = [{"index": 0, "records": batch}]
        answer = self.client.request(
            "Produce", 9, transactional_id=None, acks=-1, timeout_ms=5000,
            topic_data=[{"name": self.topic, "partition_data": rows}],
        )  # fmt: skip
        self.produced += size
        self.tell(f"Produce {size}", answer.responses[0].partition_responses[0].base_offset)

    def fetch(self) -> None:
        """Somebody wants records."""
        self._fetch(
            self.chance.choice(self.consumers),
            max_records=self.chance.choice([1, 2, 5, 10, 500, 500]),
            batch_size=self.chance.choice([1, 2, 5, 500]),
            share_acquire_mode=self.chance.choice([0, 0, 1]),
        )

    def acknowledge(self) -> None:
        """Somebody says something of what was acquired."""
        consumer = self.chance.choice(self.consumers)
        if consumer.held and consumer.epoch:
            self._acknowledge(consumer, sorted(consumer.held))

    def claim(self) -> None:
        """Somebody says something of any records."""
        consumer = self.chance.choice(self.consumers)
        if consumer.epoch:
            self._acknowledge(consumer, list(range(self.produced + 2)))

    def close(self) -> None:
        """Somebody closes a session."""
        consumer = self.chance.choice(self.consumers)
        answer = self._say(consumer, [], share_session_epoch=-1)
        self.tell(f"{consumer.name} closes", answer.error_code)
        consumer.epoch, consumer.held = 0, set()
        self.pass_time(100)

    def break_off(self) -> None:
        """A connection is lost."""
        consumer = self.chance.choice(self.consumers)
        consumer.client.close()
        consumer.client = self.another_client()
        consumer.epoch, consumer.held = 0, set()
        self.pass_time(300)
        self.tell(f"{consumer.name} is lost", None)

    def delete_records(self) -> None:
        """The log begins later."""
        offset = self.chance.randint(0, self.produced)
        rows = [{"partition_index": 0, "offset": offset}]
        topics = [{"name": self.topic, "partitions": rows}]
        answer = self.client.request("DeleteRecords", 2, topics=topics, timeout_ms=5000)
        self.tell(f"DeleteRecords {offset}", answer.topics[0].partitions[0].error_code)

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def _await_partition(self) -> None:
        """Until a member of the group is given the partition: then it has a state."""
        member = Member("first", [self.topic])
        for _ in range(400):
            answer = self._ask(member, 0, subscribed_topic_names=member.topics)
            if not answer.error_code and answer.assignment.topic_partitions:
                return
            self.pass_time(100)
        raise AssertionError(f"no partition becomes ready: {answer}")

    def _fetch(self, consumer: Consumer, **fields: Any) -> None:
        partitions = [{"partition_index": 0, "acknowledgement_batches": []}]
        answer = consumer.client.request(
            "ShareFetch", 2, group_id=self.group_id, member_id=consumer.name, share_session_epoch=consumer.epoch,
            max_wait_ms=WAIT_MS, min_bytes=1, max_bytes=1 << 20,
            topics=[{"topic_id": self.topic_id, "partitions": partitions}], **fields,
        )  # fmt: skip
        consumer.epoch = 0 if answer.error_code else consumer.epoch + 1
        answers = []
        for topic in answer.responses:
            for data in topic.partitions:
                ranges = [(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records]
                for first, last, _ in ranges:
                    consumer.held.update(range(first, last + 1))
                answers.append((data.error_code, len(data.records or b""), ranges))
        self.tell(f"{consumer.name} fetches {fields}", (answer.error_code, answers))

    def _acknowledge(self, consumer: Consumer, offsets: list[int]) -> None:
        """Ranges of some of the offsets, with types for all or for each."""
        batches: list[dict[str, Any]] = []
        above = -1
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            left = [offset for offset in offsets if offset > above]
            if not left:
                break
            first = last = self.chance.choice(left)
            while last + 1 in offsets and self.chance.random() < 0.8:
                last += 1
            size = last - first + 1 if self.chance.random() < 0.4 else 1
            kinds = [self.chance.choice([ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, GAP, RENEW]) for _ in range(size)]
            batches.append({"first_offset": first, "last_offset": last, "acknowledge_types": kinds})
            above = last
        answer = self._say(consumer, batches, is_renew_ack=True)
        codes = [each.error_code for topic in answer.responses for each in topic.partitions]
        consumer.epoch = consumer.epoch + 1 if answer.error_code in (0, ErrorCode.UNKNOWN_SERVER_ERROR) else 0
        said = [(each["first_offset"], each["last_offset"], *each["acknowledge_types"]) for each in batches]
        self.tell(f"{consumer.name} says {said}", (answer.error_code, codes))

    def _say(self, consumer: Consumer, batches: list[dict[str, Any]], **fields: Any) -> Any:
        partitions = [{"partition_index": 0, "acknowledgement_batches": batches}]
        request = {
            "group_id": self.group_id,
            "member_id": consumer.name,
            "share_session_epoch": consumer.epoch,
            "topics": [{"topic_id": self.topic_id, "partitions": partitions}] if batches else [],
        }
        return consumer.client.request("ShareAcknowledge", 2, **{**request, **fields})

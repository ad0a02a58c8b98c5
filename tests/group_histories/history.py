"""What random histories of groups have in common: how they ask, what they note, and how two brokers are compared.

The same seed takes the same steps on every broker as long as the answers mean the same. Targets depend on the order of
topic ids in hash tables, so the second broker is given the ids that the first one chose (`TopicIds`).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.java_hash import partition_of
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.protocol.records.batch import parse_header, read_records, split_batches
from fakebroker.protocol.records.group_records import GroupRecord, read_group_record

NOT_YET = {14, 15, 16}
SHORT_MS = 1_000  # a timeout that the history waits for
INTERVAL_MS = SHORT_MS // 2  # of heartbeats
LONG_MS = 100_000  # no timeout of that length ends while a history is played
TIMES = re.compile(r"\b(\w*timestamp|version)=\d+")  # of records: times of day, and versions of metadata


class Answered(NamedTuple):
    """A step and what the broker answered to it."""

    asked: str
    answer: Any

    def __str__(self) -> str:
        return f"{self.asked}  ->  {self.answer}"


class TopicIds:
    """The ids of a history's topics in the order in which they were made.

    Without `cluster` they are those that the broker chose; with it the cluster is made to choose the same.
    """

    def __init__(self, cluster: Cluster | None = None, ids: list[bytes] | None = None) -> None:
        self.ids = [] if ids is None else ids
        self._cluster = cluster
        self._made = 0

    def make(self, create: Callable[[], bytes]) -> bytes:
        """Make a topic with `create`, which returns its id."""
        if self._cluster is None:
            self.ids.append(create())
            return self.ids[-1]
        chosen, self._made = self.ids[self._made], self._made + 1
        own, self._cluster.new_uuid = self._cluster.new_uuid, lambda: chosen  # type: ignore[method-assign]
        try:
            create()
        finally:
            self._cluster.new_uuid = own  # type: ignore[method-assign]
        return chosen


class GroupHistory:
    """One history of one group; `actions` of a kind of group say what can happen.

    Args:
        clients: Connected to the broker that is asked.
        seed: What happens.
        topic_ids: Where ids of topics come from.
        steps: How many things happen.
    """

    kind = ""
    protocol = ""  # the first word of the group's settings

    def __init__(self, clients: ScriptedClients, seed: int, topic_ids: TopicIds, *, steps: int = 60) -> None:
        self.clients, self.client = clients, clients.client(f"{self.kind}-{seed}")
        self.chance = Random(seed)
        self.steps, self.topic_ids = steps, topic_ids
        self.name = f"{self.kind}-{seed}"
        self.group_id = f"{self.name}-group"
        self.topics: dict[str, int] = {}  # partitions of those that exist
        self.names: dict[bytes, str] = {}  # of all that ever existed
        self.answers: list[Answered] = []
        self._made = 0

    def actions(self) -> Mapping[Callable[[], None], float]:
        """What can happen, and how often it does."""
        raise NotImplementedError

    def look(self) -> None:
        """Tell what can be seen of the group."""
        raise NotImplementedError

    def play(self) -> list[Answered]:
        """Everything that was asked, with its answers."""
        self.await_coordinator()
        for _ in range(self.chance.choice([1, 2, 3])):
            self.make_topic(self.chance.choice([1, 3, 6, 17]))
        actions = self.actions()
        for _ in range(self.steps):
            (action,) = self.chance.choices(list(actions), list(actions.values()))
            action()
        self.look()
        self.tell_records()
        return self.answers

    # -- topics --------------------------------------------------------------------------------------------------------

    def make_topic(self, partitions: int) -> str:
        """Another topic; returns its name."""
        self._made += 1
        name = f"{self.name}-t{self._made}"
        topic_id = self.topic_ids.make(
            lambda: self.client.create_topic(name, partitions, config={"retention.ms": -1}).topics[0].topic_id
        )
        self.names[topic_id] = name
        self.topics[name] = partitions
        self.await_topics([name])
        return name

    def make_another_topic(self) -> None:
        """A topic that members may already have asked for by name."""
        self.tell("create topic", self.make_topic(self.chance.choice([1, 2, 5])))

    def add_partitions(self) -> None:
        """A topic grows."""
        name = self.chance.choice(list(self.topics))
        self.topics[name] += self.chance.choice([1, 3])
        answer = self.client.request(
            "CreatePartitions",
            3,
            topics=[{"name": name, "count": self.topics[name], "assignments": None}],
            timeout_ms=5000,
        )
        self.tell(f"CreatePartitions {name} {self.topics[name]}", answer.results[0].error_code)
        self.await_topics([name])

    def delete_topic(self) -> None:
        """A topic goes, unless it is the last."""
        if len(self.topics) > 1:
            name = self.chance.choice(list(self.topics))
            del self.topics[name]
            answer = self.client.request("DeleteTopics", 5, topic_names=[name], timeout_ms=5000)
            self.tell(f"DeleteTopics {name}", answer.responses[0].error_code)
            self.pass_time(500)

    def some_topics(self) -> list[str]:
        """Topics to subscribe to, in any order; one of them may not exist, or not yet."""
        names = [*self.topics, *([f"{self.name}-t{self._made + 1}"] if self.chance.random() < 0.1 else [])]
        return self.chance.sample(names, self.chance.randint(1, len(names)))

    def by_name(self, topics: Any) -> list[tuple[str, list[int]]]:
        """Topics with partitions of an answer, by name."""
        return sorted((self.names[each.topic_id], sorted(each.partitions)) for each in topics)

    def by_id(self, partitions: Mapping[str, list[int]]) -> list[dict[str, Any]]:
        """Topics with partitions for a request."""
        ids = {name: topic_id for topic_id, name in self.names.items()}
        return [{"topic_id": ids[name], "partitions": sorted(listed)} for name, listed in partitions.items() if listed]

    def await_topics(self, names: Sequence[str]) -> None:
        """Until the coordinator knows of topics and their partitions: Kafka tells it when their logs are there."""
        for _ in range(400):
            found = self.client.request("Metadata", 9, topics=[{"name": name} for name in names]).topics
            if not any(topic.error_code for topic in found) and all(map(self._has_logs, found)):
                self.pass_time(500)
                return
            self.pass_time(20)
        raise AssertionError(f"these topics are never there: {names}")

    def _has_logs(self, topic: Any) -> bool:
        if len(topic.partitions) < self.topics.get(topic.name, 0):
            return False
        rows = [(each.partition_index, -1, -1, 1) for each in topic.partitions]
        answer = self.client.request(
            "ListOffsets", 5, replica_id=-1, isolation_level=0, topics=[{"name": topic.name, "partitions": rows}]
        )
        return not any(error_code for _, error_code, *_ in answer.topics[0].partitions)

    # -- settings of the group -----------------------------------------------------------------------------------------

    def set_group_config(self, name: str, value: object) -> None:
        """Set a config of the group; it has come to the coordinator some time after the answer."""
        answer = self.client.request(
            "IncrementalAlterConfigs", 1, validate_only=False,
            resources=[{
                "resource_type": 32, "resource_name": self.group_id,
                "configs": [{"name": name, "config_operation": 0, "value": str(value)}],
            }],
        )  # fmt: skip
        assert answer.responses[0].error_code == 0, answer
        self.pass_time(300)

    def end_session(self, beat: Callable[[], Any]) -> None:
        """Let the session of one member end, and those of the others go on.

        `beat` sends a heartbeat of that member, which must not change anything any more, and returns the answer. The
        coordinator hears of settings some time after they are stored; the interval in the answer says when it has.
        """
        self.set_group_config(f"{self.protocol}.session.timeout.ms", SHORT_MS)
        self.set_group_config(f"{self.protocol}.heartbeat.interval.ms", INTERVAL_MS + 1)
        for _ in range(400):
            answer = beat()
            if answer.error_code or answer.heartbeat_interval_ms == INTERVAL_MS + 1:
                break
            self.pass_time(20)
        else:
            raise AssertionError(f"the settings never come to the coordinator: {answer}")
        self.set_group_config(f"{self.protocol}.session.timeout.ms", LONG_MS)
        self.set_group_config(f"{self.protocol}.heartbeat.interval.ms", INTERVAL_MS)
        self.pass_time(SHORT_MS + 1000)

    # -- what can be seen ----------------------------------------------------------------------------------------------

    def tell_records(self) -> None:
        """The records of the group in `__consumer_offsets`, batch by batch."""
        for batch in self.batches():
            lines = (
                f"{each.type} {_shown(each.key)} = {_shown(self.comparable(each.value))}"
                for each in removals_in_order(batch)
            )
            self.tell("records", "\n      ".join(["", *lines]))

    def batches(self) -> Iterator[list[GroupRecord]]:
        """The records of the group, batch by batch."""
        partition, offset = self._partition(), 0
        while True:
            row = (partition, -1, offset, -1, -1, 1 << 24, bytes(16), -1)
            answer = self.client.request(
                "Fetch", 11, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 24, isolation_level=0,
                session_epoch=-1, topics=[{"topic": "__consumer_offsets", "partitions": [row]}],
            )  # fmt: skip
            batches = list(split_batches(answer.responses[0].partitions[0].records or b""))
            if not batches:
                return
            offset = parse_header(batches[-1]).last_offset + 1
            for data in batches:
                read = (read_group_record(each.key or b"", each.value) for each in read_records(data))
                mine = [each for each in read if each is not None and each.group_id == self.group_id]
                if mine:
                    yield mine

    def comparable(self, value: Any) -> Any:
        """A record's value without what may differ, although it is stored."""
        return value

    def _partition(self) -> int:
        """The partition of `__consumer_offsets` that keeps the group."""
        metadata = self.client.request("Metadata", 9, topics=[{"name": "__consumer_offsets"}])
        return partition_of(self.group_id, len(metadata.topics[0].partitions))

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def tell(self, asked: str, answer: Any) -> None:
        """Note a step and its answer."""
        self.answers.append(Answered(asked, answer))

    def pass_time(self, ms: int) -> None:
        """Let time pass."""
        self.clients.driver.pass_time(ms, lambda: False)

    def some_name(self, kind: str) -> str:
        """A name that nobody had."""
        return f"{kind}-{self.chance.randrange(10**8):08}"

    def another_client(self) -> ScriptedClient:
        """A client with a connection of its own."""
        return self.clients.client(f"{self.name}-{self.chance.randrange(10**6)}")

    def await_coordinator(self) -> None:
        """Until the coordinator of the group answers."""
        for _ in range(400):
            if self.client.find_coordinator(self.group_id).coordinators[0].error_code == 0:
                answer = self.client.request("OffsetFetch", 7, group_id=self.group_id, topics=[], require_stable=False)
                if answer.error_code == 0:
                    return
            self.pass_time(50)
        raise AssertionError("there is no coordinator of groups")


def removals_in_order(batch: list[GroupRecord]) -> list[GroupRecord]:
    """A batch in which members that are removed together come by their ids: Kafka takes them in no order at all."""
    triples = [batch[at : at + 3] for at in range(0, len(batch), 3)]
    count = next((number for number, each in enumerate(triples) if not _is_removal(each)), len(triples))
    removed = sorted(triples[:count], key=lambda triple: triple[0].key.member_id)
    return [*(record for triple in removed for record in triple), *batch[3 * count :]]


def _is_removal(triple: list[GroupRecord]) -> bool:
    """Whether it is the three tombstones of one member."""
    members = {getattr(each.key, "member_id", None) for each in triple}
    types = len({each.type for each in triple})
    return types == 3 and len(members) == 1 and None not in members and all(each.value is None for each in triple)


def _shown(message: Any) -> str:
    """A key or a value as text, without what no two brokers have in common."""
    return TIMES.sub(r"\1=...", repr(message).partition("(")[2].removesuffix(")")) if message is not None else "null"


def first_difference(one: list[Answered], other: list[Answered]) -> str | None:
    """The first thing that two brokers answered differently, after what came before it; None if there is none."""
    for number, (mine, yours) in enumerate(zip(one, other, strict=False)):
        if mine != yours:
            before = "\n".join(str(each) for each in one[max(0, number - 30) : number])
            return f"{before}\none:   {mine}\nother: {yours}"
    return None if len(one) == len(other) else f"one answered {len(one)} times, the other {len(other)}"

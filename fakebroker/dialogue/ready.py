"""The step before the first: topics are made, and the broker is asked until everything needed serves.

The recordings were made after the same questions, so what the questions themselves set in motion (an internal topic,
a producer id handed out) is the same here.
"""

from collections.abc import Callable

from fakebroker.dialogue.names import Names
from fakebroker.dialogue.script import DialogueError, Json, Ready

TOPIC_EXISTS = 36
COORDINATOR_BUSY = (14, 15, 16)
_GROUP, _TRANSACTION = 0, 1


class Preparation:
    """Makes what a Ready step needs. `waiting_for` says what was not there when it was last asked."""

    def __init__(self, call: Callable[..., Json], names: Names, step: Ready, wall_ms: int) -> None:
        self._call = call
        self._names = names
        self._plain_topics = list(step.topics)
        self._topics: dict[str, dict[str, Json]] = names.fill(step.topics, wall_ms)
        self._group: str | None = names.fill(step.group, wall_ms)
        self._txn: str | None = names.fill(step.txn, wall_ms)
        self._ids = step.ids
        self.waiting_for = ""

    def create_topics(self) -> None:
        """Make the topics. Raises DialogueError when one is refused."""
        if not self._topics:
            return
        made = self._call(
            "CreateTopics", 2, timeoutMs=10_000, Topics=[_new_topic(*item) for item in self._topics.items()]
        )
        for topic in made["Topics"]:
            if topic["ErrorCode"] not in (0, TOPIC_EXISTS):
                message = topic.get("ErrorMessage")
                raise DialogueError(f"topic {topic['Name']} not made: {topic['ErrorCode']} {message}")

    def is_ready(self) -> bool:
        """Ask once whether everything serves; if so, save what the step wants saved."""
        for what, check in (
            ("the group's coordinator", self._group_serves),
            ("the topics' leaders", self._topics_serve),
            ("the transaction coordinator", self._transactions_serve),
        ):
            if not check():
                self.waiting_for = what
                return False
        if self._ids and self._topics:
            self._save_topic_ids()
        return True

    def _group_serves(self) -> bool:
        if self._group is None:
            return True
        found = self._call("FindCoordinator", 1, Key=self._group, KeyType=_GROUP)
        if found["ErrorCode"] != 0:
            return False
        fetched = self._call("OffsetFetch", 2, GroupId=self._group, Topics=None)
        return fetched["ErrorCode"] not in COORDINATOR_BUSY

    def _topics_serve(self) -> bool:
        if not self._topics:
            return True
        asked = [{"Name": name} for name in self._topics]
        described = self._call("Metadata", 5, Topics=asked, AllowAutoTopicCreation=False)
        if not all(_has_leaders(topic) for topic in described["Topics"]):
            return False
        latest = self._call("ListOffsets", 1, ReplicaId=-1, Topics=[_latest(*item) for item in self._topics.items()])
        return all(p.get("ErrorCode", 0) == 0 for topic in latest["Topics"] for p in topic["Partitions"])

    def _transactions_serve(self) -> bool:
        if self._txn is None:
            return True
        if self._call("InitProducerId", 0, TransactionalId=None, TransactionTimeoutMs=1000)["ErrorCode"] != 0:
            return False
        if not self._txn:
            return True
        if self._call("FindCoordinator", 1, Key=self._txn, KeyType=_TRANSACTION)["ErrorCode"] != 0:
            return False
        described = self._call("DescribeTransactions", 0, TransactionalIds=[self._txn])
        return described["TransactionStates"][0]["ErrorCode"] not in COORDINATOR_BUSY

    def _save_topic_ids(self) -> None:
        asked = [{"Name": name} for name in self._topics]
        described = self._call("Metadata", 12, Topics=asked, AllowAutoTopicCreation=False)
        ids = {topic["Name"]: topic["TopicId"] for topic in described["Topics"]}
        for plain, name in zip(self._plain_topics, self._topics, strict=True):
            self._names.save(f"id:{plain}", ids[name])


def _new_topic(name: str, wanted: dict[str, Json]) -> Json:
    configs = [{"Name": key, "Value": str(value)} for key, value in wanted.get("config", {}).items()]
    return {"Name": name, "NumPartitions": wanted.get("partitions", 1), "ReplicationFactor": 1, "Configs": configs}


def _latest(name: str, wanted: dict[str, Json]) -> Json:
    partitions = [{"PartitionIndex": index, "Timestamp": -1} for index in range(wanted.get("partitions", 1))]
    return {"Name": name, "Partitions": partitions}


def _has_leaders(topic: Json) -> bool:
    partitions = topic["Partitions"]
    return topic["ErrorCode"] == 0 and bool(partitions) and all(p["ErrorCode"] == 0 for p in partitions)

"""The `ready` step of a dialogue: creates topics, then asks the broker until all that the dialogue needs is available.

The recordings were made after the same requests, so their side effects (an internal topic that is created, a producer
id that is handed out) are the same here.
"""

from collections.abc import Callable

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.comparison.names import Names
from fakebroker.scenarios.dialogue.script import DialogueError
from fakebroker.testing.exchanges.kinds import Json, Ready

_NO_COORDINATOR_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_GROUP, _TRANSACTION = 0, 1  # key types of FindCoordinator


class BrokerSetup:
    """Sets a broker up for a dialogue. `waiting_for` is what was not available when `is_ready` last asked."""

    def __init__(
        self, call: Callable[..., Json], names: Names, step: Ready, wall_ms: int, ask: Callable[..., Json] | None = None
    ) -> None:
        """`ask` sends a request to the broker at an address, None for no answer; it is needed with several brokers."""
        self._call = call
        self._ask = ask
        self._names = names
        self._plain_topics = list(step.new_topics)
        self._topics: dict[str, dict[str, Json]] = names.fill(step.new_topics, wall_ms)
        self._group: str | None = names.fill(step.group, wall_ms)
        self._txn: str | None = names.fill(step.transactional_id, wall_ms)
        self._ids = step.names_topic_ids
        self.waiting_for = ""

    def create_topics(self) -> None:
        """Create the topics; one that exists already is used. Raises DialogueError when the broker rejects one."""
        if not self._topics:
            return
        created = self._call(
            "CreateTopics", 2, timeoutMs=10_000, Topics=[_new_topic(*item) for item in self._topics.items()]
        )
        for topic in created["Topics"]:
            if topic["ErrorCode"] not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                message = topic.get("ErrorMessage")
                raise DialogueError(f"topic {topic['Name']} not created: {topic['ErrorCode']} {message}")

    def is_ready(self) -> bool:
        """Ask once whether everything is available; if so, save the topic ids if the step wants them."""
        for what, check in (
            ("the group's coordinator", self._is_coordinator_available),
            ("the topics' leaders", self._have_topics_leaders),
            ("the transaction coordinator", self._are_transactions_available),
        ):
            if not check():
                self.waiting_for = what
                return False
        if self._ids and self._topics:
            self._save_topic_ids()
        return True

    def _is_coordinator_available(self) -> bool:
        if self._group is None:
            return True
        found = self._call("FindCoordinator", 1, Key=self._group, KeyType=_GROUP)
        if found["ErrorCode"] != ErrorCode.NONE:
            return False
        fetched = self._call_at(found, "OffsetFetch", 2, GroupId=self._group, Topics=None)
        return fetched is not None and fetched["ErrorCode"] not in _NO_COORDINATOR_YET

    def _call_at(self, found: Json, api: str, version: int, **request: Json) -> Json:
        """Ask the coordinator that was found, None if it does not answer."""
        if self._ask is None:
            return self._call(api, version, **request)
        return self._ask(Address(found["Host"], found["Port"]), api, version, **request)

    def _have_topics_leaders(self) -> bool:
        if not self._topics:
            return True
        topics = [{"Name": name} for name in self._topics]
        described = self._call("Metadata", 5, Topics=topics, AllowAutoTopicCreation=False)
        if not all(_has_leaders(topic) for topic in described["Topics"]):
            return False
        latest = self._call("ListOffsets", 1, ReplicaId=-1, Topics=[_latest(*item) for item in self._topics.items()])
        return all(p.get("ErrorCode", 0) == 0 for topic in latest["Topics"] for p in topic["Partitions"])

    def _are_transactions_available(self) -> bool:
        if self._txn is None:
            return True
        if (
            self._call("InitProducerId", 0, TransactionalId=None, TransactionTimeoutMs=1000)["ErrorCode"]
            != ErrorCode.NONE
        ):
            return False
        if not self._txn:
            return True
        found = self._call("FindCoordinator", 1, Key=self._txn, KeyType=_TRANSACTION)
        if found["ErrorCode"] != ErrorCode.NONE:
            return False
        described = self._call_at(found, "DescribeTransactions", 0, TransactionalIds=[self._txn])
        return described is not None and described["TransactionStates"][0]["ErrorCode"] not in _NO_COORDINATOR_YET

    def _save_topic_ids(self) -> None:
        topics = [{"Name": name} for name in self._topics]
        described = self._call("Metadata", 12, Topics=topics, AllowAutoTopicCreation=False)
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

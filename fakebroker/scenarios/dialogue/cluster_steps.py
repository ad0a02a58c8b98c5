"""The steps of a dialogue with several brokers: naming them, topics on them, stopping and moving, and waiting for it.

In requests "@a" is the id of broker a and "@a.rack" its rack; in answers the ids, ports and racks of brokers are
written so, too, and are compared exactly.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.core.java_hash import partition_of
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.comparison.names import Names
from fakebroker.scenarios.dialogue.script import DialogueError
from fakebroker.testing.exchanges.kinds import (
    ClusterStep,
    Json,
    MakeTopics,
    MoveLeader,
    NameNodes,
    NodeControl,
    Settled,
)

if TYPE_CHECKING:
    from fakebroker.client.scripted.driver import Driver

SETTLED_WITHIN_MS = 40_000
REPLICAS_FOLLOW_MS = 1_000  # of a new topic; until then Kafka's first write with acks -1 is slow
CONSUMER, ANY_REPLICA = -1, -2  # what ListOffsets is asked as: up to the high watermark, up to the log's end
_IDS = frozenset({"NodeId", "BrokerId", "LeaderId", "PreferredReadReplica"})
_ELECTED = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
_ORDERED = frozenset({"ReplicaNodes", "Replicas"})
_LISTS = _ORDERED | {
    "IsrNodes",
    "OfflineReplicas",
    "AddingReplicas",
    "RemovingReplicas",
    "EligibleLeaderReplicas",
    "LastKnownElr",
}
_NO_COORDINATOR = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Broker(NamedTuple):
    """One of the brokers, as Metadata names it."""

    node_id: int
    address: Address
    rack: str | None


class ClusterSteps:
    """The brokers of a dialogue by their names in it. `call` and `ask` send requests; see `Player`."""

    def __init__(self, call: Callable[..., Json], ask: Callable[..., Json], names: Names, driver: "Driver") -> None:
        self._call = call
        self._ask = ask
        self._names = names
        self._driver = driver
        self._brokers: dict[str, Broker] = {}
        self._alias: dict[str, str] = {}
        self._down: dict[str, str] = {}
        self.events = 0  # how often brokers or leaders were touched: answers outstanding meanwhile are not timed

    def play(self, step: ClusterStep) -> None:
        """Play one step. Raises DialogueError when what it waits for does not come."""
        if not isinstance(step, NameNodes | MakeTopics):
            self.events += 1
        match step:
            case NameNodes():
                self._name_nodes(step)
            case MakeTopics():
                self._make_topics(step)
            case NodeControl():
                self._control(step)
            case MoveLeader():
                self._move(step)
            case Settled():
                self._until(f"settled on {step.on}", lambda: self._is_settled(step))

    def address_of(self, connection: str) -> Address | None:
        """Where the connection "x@a" goes; without a broker's name to the first live one, None if none is known."""
        name = connection.rpartition("@")[2] if "@" in connection else ""
        broker = self._brokers.get(self._alias.get(name, name))
        if broker is None:
            broker = next(iter(self._live()), None)
        return broker.address if broker is not None else None

    def mend(self) -> None:
        """Bring back the brokers that were left down."""
        for name, action in list(self._down.items()):
            self._control(NodeControl("thaw" if action == "freeze" else "restart", name))

    # -- what names stand for ----------------------------------------------------------------------------------------

    def fill(self, value: Json) -> Json:
        """The request with ids and racks in the place of "@a" and "@a.rack"."""
        if isinstance(value, str) and value.startswith("@"):
            name, _, what = value[1:].partition(".")
            broker = self._brokers.get(name)
            return value if broker is None else broker.rack if what == "rack" else broker.node_id
        if isinstance(value, dict):
            return {key: self.fill(inner) for key, inner in value.items()}
        return [self.fill(inner) for inner in value] if isinstance(value, list) else value

    def blank(self, value: Json, key: str = "") -> Json:
        """The answer with names in the place of ids, ports and racks; lists of no fixed order are sorted."""
        if key in _IDS and type(value) is int:
            return self._name_of(value, lambda broker: broker.node_id)
        if key == "Port":
            return self._name_of(value, lambda broker: broker.address.port)
        if key == "Rack" and value is not None:
            return self._name_of(value, lambda broker: broker.rack)
        if key in _LISTS and isinstance(value, list):
            named = [self._name_of(each, lambda broker: broker.node_id) for each in value]
            return named if key in _ORDERED else sorted(named, key=str)
        if isinstance(value, dict):
            return {name: self.blank(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            entries = [self.blank(inner) for inner in value]
            return sorted(entries, key=_broker_of) if key in ("Brokers", "NodeEndpoints") else entries
        return value

    def _name_of(self, value: Json, field: Callable[[Broker], Any]) -> Json:
        return next(("@" + name for name, broker in self._brokers.items() if field(broker) == value), value)

    # -- the steps ---------------------------------------------------------------------------------------------------

    def _name_nodes(self, step: NameNodes) -> None:
        _, partition = self._partition(step.group, step.topic)
        listed = self._call("Metadata", 5, Topics=[], AllowAutoTopicCreation=False)["Brokers"]
        known = {
            each["NodeId"]: Broker(each["NodeId"], Address(each["Host"], each["Port"]), each["Rack"]) for each in listed
        }
        leader = partition["LeaderId"]
        ids = [leader, *(node_id for node_id in partition["ReplicaNodes"] if node_id != leader)]
        self._brokers = {name: known[node_id] for name, node_id in zip("abc", ids, strict=False)}
        if step.transactional_id is not None:
            found = self._call("FindCoordinator", 1, Key=self._fill(step.transactional_id), KeyType=1)["NodeId"]
            self._alias["t"] = next(name for name, broker in self._brokers.items() if broker.node_id == found)

    def _make_topics(self, step: MakeTopics) -> None:
        wanted = [self._new_topic(name, topic) for name, topic in step.new_topics.items()]
        made = self._call("CreateTopics", 2, timeoutMs=10_000, Topics=wanted)
        if any(topic["ErrorCode"] for topic in made["Topics"]):
            raise DialogueError(f"topics not created: {made}")
        leaders = [
            (self._fill(name), index, self._brokers[replicas[0]])
            for name, topic in step.new_topics.items()
            for index, replicas in enumerate(topic["assign"])
        ]
        self._until("the topics' leaders", lambda: all(self._leads(*each) for each in leaders))
        self._driver.pass_time(REPLICAS_FOLLOW_MS)
        asked = [{"Name": self._fill(name)} for name in step.new_topics]
        for topic in self._call("Metadata", 12, Topics=asked, AllowAutoTopicCreation=False)["Topics"]:
            self._names.save("id:" + topic["Name"].replace(self._names.tag, "~"), topic["TopicId"])

    def _new_topic(self, name: str, wanted: dict[str, Json]) -> Json:
        replicas = [[self._brokers[each].node_id for each in one] for one in wanted["assign"]]
        return {
            "Name": self._fill(name),
            "NumPartitions": -1,
            "ReplicationFactor": -1,
            "Assignments": [{"PartitionIndex": index, "BrokerIds": ids} for index, ids in enumerate(replicas)],
            "Configs": [{"Name": key, "Value": str(value)} for key, value in wanted.get("config", {}).items()],
        }

    def _control(self, step: NodeControl) -> None:
        if step.action in ("stop", "kill", "freeze"):
            self._down[step.on] = step.action
        self._driver.control(step.action, self._brokers[step.on].node_id)
        if step.action in ("restart", "thaw"):
            self._down.pop(step.on, None)

    def _move(self, step: MoveLeader) -> None:
        name, partition = self._partition(step.group, step.topic)
        index, first = partition["PartitionIndex"], self._brokers[step.to].node_id
        replicas = [first, *(each for each in partition["ReplicaNodes"] if each != first)]
        wanted = [{"Name": name, "Partitions": [{"PartitionIndex": index, "Replicas": replicas}]}]
        self._call("AlterPartitionReassignments", 0, TimeoutMs=10_000, Topics=wanted)

        def is_elected() -> bool:
            asked = [{"Topic": name, "Partitions": [index]}]
            answer = self._call("ElectLeaders", 1, ElectionType=0, TopicPartitions=asked, TimeoutMs=10_000)
            return answer["ReplicaElectionResults"][0]["PartitionResult"][0]["ErrorCode"] in _ELECTED

        self._until("move", is_elected)

    def _is_settled(self, step: Settled) -> bool:
        on = self._brokers[step.on]
        if step.topic is not None and not self._leads(self._fill(step.topic), 0, on):
            return False
        if step.group is None:
            return True
        group = self._fill(step.group)
        found = [self._ask(each.address, "FindCoordinator", 1, Key=group, KeyType=0) for each in self._live()]
        if not all(each is not None and each["NodeId"] == on.node_id for each in found):
            return False
        name, partition = self._partition(step.group, None)
        fetched = self._ask(on.address, "OffsetFetch", 2, GroupId=group, Topics=None)
        is_served = fetched is not None and fetched["ErrorCode"] not in _NO_COORDINATOR
        return is_served and self._is_replicated(name, partition["PartitionIndex"], on)

    def _leads(self, topic: str, index: int, on: Broker) -> bool:
        """Whether all live brokers name `on` as the leader, and its followers have what it has."""
        for broker in self._live():
            asked: Json = {"Topics": [{"Name": topic}], "AllowAutoTopicCreation": False}
            answer = self._ask(broker.address, "Metadata", 5, **asked)
            partitions = [each for one in answer["Topics"] for each in one["Partitions"]] if answer else []
            if not any(p["PartitionIndex"] == index and p["LeaderId"] == on.node_id for p in partitions):
                return False
        return self._is_replicated(topic, index, on)

    def _is_replicated(self, topic: str, index: int, on: Broker) -> bool:
        """Whether what consumers see as latest is the log's end."""
        ends = []
        for replica_id in (CONSUMER, ANY_REPLICA):
            asked = [{"Name": topic, "Partitions": [{"PartitionIndex": index, "Timestamp": -1}]}]
            answer = self._ask(on.address, "ListOffsets", 1, ReplicaId=replica_id, Topics=asked)
            if answer is None:
                return False
            ends.append(answer["Topics"][0]["Partitions"][0])
        return all(end["ErrorCode"] == 0 for end in ends) and ends[0]["Offset"] == ends[1]["Offset"]

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _live(self) -> list[Broker]:
        return [broker for name, broker in self._brokers.items() if name not in self._down]

    def _fill(self, text: str) -> str:
        filled: str = self._names.fill(text, 0)
        return filled

    def _partition(self, group: str | None, topic: str | None) -> tuple[str, Json]:
        """The partition that a step is about, with its topic: the group's, or the topic's first."""
        name = "__consumer_offsets" if topic is None else self._fill(topic)
        answer = self._call("Metadata", 5, Topics=[{"Name": name}], AllowAutoTopicCreation=False)
        partitions = answer["Topics"][0]["Partitions"]
        index = 0 if group is None else partition_of(self._fill(group), len(partitions))
        return name, next(each for each in partitions if each["PartitionIndex"] == index)

    def _until(self, what: str, is_so: Callable[[], bool]) -> None:
        end_ms = self._driver.mono_ms + SETTLED_WITHIN_MS
        while not is_so():
            if self._driver.mono_ms >= end_ms:
                raise DialogueError(f"{what}: not after {SETTLED_WITHIN_MS} ms")
            self._driver.pass_time(50)


def marks(value: Json, path: str = "") -> list[tuple[str, str]]:
    """Where brokers are named in an answer, without places in lists."""
    if isinstance(value, str):
        return [(path, value)] if value.startswith("@") else []
    if isinstance(value, dict):
        return [mark for key, inner in value.items() for mark in marks(inner, f"{path}.{key}")]
    return [mark for inner in value for mark in marks(inner, path)] if isinstance(value, list) else []


def _broker_of(entry: Json) -> str:
    return str(entry.get("NodeId", entry.get("BrokerId")))

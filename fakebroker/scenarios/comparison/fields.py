"""What the fields of messages mean in a comparison: ids that a broker makes up, epochs, times, addresses.

One place for everybody who compares two runs or shows one: transcripts, replayed sessions, recorded dialogues. What is
compared is JSON with Kafka's field names, so the meanings that the messages declare are looked up by name.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from fakebroker.protocol.schema.entities import inner_of
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import Entity, FieldSpec
from fakebroker.protocol.wire.registry import APIS

# Ids that a broker makes up, and what they name. Two runs give different ids to the same thing.
_IDS: Mapping[Entity | None, str] = {
    "memberId": "member",
    "topicId": "topic",
    "producerId": "producer",
    "clusterId": "cluster",
    "sessionId": "session",
}
_RECORD_TIME = "TimestampMs"  # of a record as data: no field of a message


def entity_of(name: str) -> Entity | None:
    """What fields of that name mean; where messages differ, what most of those mean that say it."""
    return "timestamp" if name == _RECORD_TIME else _entities().get(name)


def id_kind(name: str) -> str | None:
    """What is named by an id of that name that a broker makes up; None for all other fields."""
    return _IDS.get(entity_of(name))


def thing_kind(name: str) -> str | None:
    """The same, and "node" for the number of a broker, which a cluster may choose freely."""
    return "node" if entity_of(name) == "brokerId" else id_kind(name)


def names_of_fields(*entities: Entity) -> frozenset[str]:
    """The names, as Python and scenarios have them, of all fields that mean one of these."""
    return frozenset(spec.name for spec in _declared() if spec.entity in entities)


@cache
def _entities() -> Mapping[str, Entity]:
    said: dict[str, Counter[Entity]] = {}
    for spec in _declared():
        if spec.entity is not None:
            said.setdefault(spec.kafka_name, Counter())[spec.entity] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in said.items()}


def _declared() -> Iterator[FieldSpec]:
    for api in APIS.values():
        yield from _fields_in(api.request)
        yield from _fields_in(api.response)


def _fields_in(declaration: type[Declaration]) -> Iterator[FieldSpec]:
    for spec in declaration.fields:
        yield spec
        inner = inner_of(spec)
        if inner is not None:
            yield from _fields_in(inner)


# Member ids that scripted clients make for themselves are the same in every run, and say who it is.
SCRIPTED_MEMBER_ID = re.compile(r".+-member-[0-9]+")
# Values of ids that mean "none" or are the same everywhere; the second UUID is that of the metadata topic.
NO_ID = frozenset({"", -1, 0, "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"})
NO_PRODUCER = -1  # 0 is a producer id like any other

# Fields whose values differ between two runs of a real broker or between machines: addresses, ids handed out at random,
# times, sizes, texts for people. Compared by type, and by whether they are "none" (-1).
LOOSE = frozenset(
    {
        "StatusDetail",
        "Host",
        "Port",
        "NodeId",
        "ClusterId",
        "ErrorMessage",
        "ClientHost",
        "LogAppendTimeMs",
        "Brokers",
        "SessionId",
        "LeaderId",
        "ControllerId",
        "ThrottleTimeMs",
        "TopicId",
        "ProducerId",
        "ApiKeys",
        "TransactionStartTimeMs",
        "LastTimestamp",
        "LogDir",
        "TotalBytes",
        "UsableBytes",
        "ClientInstanceId",
        "SubscriptionId",
        "BatchIndexErrorMessage",
        "FinalizedFeaturesEpoch",
        "SupportedFeatures",
        "FinalizedFeatures",
        "TokenId",
        "Hmac",
        "IssueTimestampMs",
        "ExpiryTimestampMs",
        "MaxTimestampMs",
        "NextProducerId",
        "SessionLifetimeMs",
    }
)
# Of these, those where 0 means "none": both must be 0, or neither.
ZERO_IS_NONE = frozenset({"SessionId", "SessionLifetimeMs"})
# Of these, those that must be equal where the recording refers to a value saved earlier ("$pid"): the same producer id
# as before is a statement, any producer id is not.
EXACT_IF_SAVED = frozenset({"ProducerId", "TopicId"})
# Lists whose order Kafka does not define (it iterates over hash maps), with the fields that identify an entry. Both
# sides are sorted by them.
UNORDERED = {
    "Groups": ("GroupId",),
    "Members": ("MemberId",),
    "Topics": ("Name",),
    "Partitions": ("PartitionIndex",),
    "Protocols": ("Name",),
    "Configs": ("Name",),
    "Responses": ("Name",),
    "TransactionStates": ("TransactionalId",),
    "ActiveProducers": ("ProducerId",),
    "PartitionResponses": ("Index",),
    "ResultsByPartition": ("PartitionIndex",),
    "ResultsByTopicV3AndBelow": ("Name",),
    "TopicResults": ("Name",),
    "ResultsByTransaction": ("TransactionalId",),
    "CredentialInfos": ("Mechanism",),
    "Entity": ("EntityType",),
    "Values": ("Key",),
    "Results": ("User",),
    "Resources": ("ResourceType", "ResourceName", "PatternType"),
    "Acls": ("Host", "Operation"),
    "MatchingAcls": ("ResourceType", "ResourceName", "PatternType", "Host", "Operation"),
    "ActiveTasks": ("SubtopologyId",),
    "StandbyTasks": ("SubtopologyId",),
    "WarmupTasks": ("SubtopologyId",),
    "ActivePartitions": ("Topic",),
    "StandbyPartitions": ("Topic",),
    "StateChangelogTopics": ("Name",),
    "RepartitionSourceTopics": ("Name",),
    "TopicPartitions": ("TopicId",),
}
UNORDERED_TEXTS = frozenset({"Mechanisms", "RequestedMetrics", "SubscribedTopicNames"})


def order_of(key: str, entries: list[Any]) -> Callable[[Any], Any] | None:
    """The sort key for the list in field `key` if it comes in no particular order; None where the order counts.

    `entries` are those of all lists that are compared: one order for all, and only if all have the identifying fields.
    """
    if key in UNORDERED_TEXTS:
        return str
    if key == "Partitions" and all(type(entry) is int for entry in entries):
        return int
    fields = UNORDERED.get(key)
    if fields and all(isinstance(entry, dict) and all(name in entry for name in fields) for entry in entries):
        return lambda entry: str([entry[name] for name in fields])
    return None


def are_loosely_alike(key: str, want: Any, got: Any) -> bool:
    """Whether two values of a field in LOOSE are of one type, and both or neither "none"."""
    if type(want) is int and type(got) is int:
        return not ((want == -1) != (got == -1) or (key in ZERO_IS_NONE and (want == 0) != (got == 0)))
    return type(want) is type(got) or want is None or got is None

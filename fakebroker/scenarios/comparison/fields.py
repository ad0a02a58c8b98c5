"""What the fields of messages mean, by their declared names: ids that a broker makes up, epochs, times, addresses.

One table for everybody who compares two runs or shows one: transcripts, replayed sessions, recorded dialogues.
"""

import re
from collections.abc import Callable
from typing import Any

# Ids that a broker makes up: field -> what it names. Two runs give different ids to the same thing.
IDS = {
    "MemberId": "member",
    "Leader": "member",
    "TopicId": "topic",
    "ProducerId": "producer",
    "OngoingTxnProducerId": "producer",
    "ClusterId": "cluster",
    "SessionId": "session",
}
# Member ids that scripted clients make for themselves are the same in every run, and say who it is.
SCRIPTED_MEMBER_ID = re.compile(r".+-member-[0-9]+")
# Values of ids that mean "none" or are the same everywhere; the second UUID is that of the metadata topic.
NO_ID = frozenset({"", -1, 0, "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"})
NO_PRODUCER = -1  # 0 is a producer id like any other
# Brokers by their numbers, which a cluster may choose freely; -1 is none.
NODES = frozenset(
    {
        "NodeId",
        "BrokerId",
        "BrokerIds",
        "LeaderId",
        "ControllerId",
        "PreferredReadReplica",
        "ReplicaNodes",
        "IsrNodes",
        "OfflineReplicas",
        "EligibleLeaderReplicas",
        "LastKnownElr",
        "Replicas",
        "AddingReplicas",
        "RemovingReplicas",
    }
)
# Counters that only grow, of a partition, a group or a producer: what counts is by how much.
PARTITION_EPOCHS = frozenset({"LeaderEpoch", "CurrentLeaderEpoch", "CommittedLeaderEpoch", "LastFetchedEpoch", "Epoch"})
GENERATIONS = frozenset({"GenerationId", "GenerationIdOrMemberEpoch"})
PRODUCER_EPOCHS = frozenset({"ProducerEpoch", "OngoingTxnProducerEpoch"})
HOSTS = frozenset({"Host", "Port"})
# Times of day in ms since 1970; negative numbers have meanings of their own (-1 latest, -2 earliest).
TIMES = frozenset(
    {
        "Timestamp",
        "TimestampMs",
        "LogAppendTimeMs",
        "CommitTimestamp",
        "TransactionStartTimeMs",
        "LastTimestamp",
        "IssueTimestampMs",
        "ExpiryTimestampMs",
        "MaxTimestampMs",
    }
)

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
    "ActiveProducers": ("ProducerEpoch",),
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

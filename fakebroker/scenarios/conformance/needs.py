"""What a broker must have for a case: versions of APIs, settings, brokers, a login, nobody beside it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fakebroker.protocol.errors import ErrorCode
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.dialogue.setup_step import needs_configs
from fakebroker.testing.exchanges.kinds import (
    Closed,
    MakeTopics,
    MoveLeader,
    NodeControl,
    Ready,
    Receive,
    ScramLogin,
    Send,
)

TAG = "~"
OF_CLUSTER_SIZE = "offsets.topic.replication.factor"
# Settings that count only for these APIs; any other setting of a recording counts for the whole of it.
COUNTS_FOR: Mapping[str, frozenset[str]] = {
    "group.initial.rebalance.delay.ms": frozenset({"JoinGroup"}),
    "group.min.session.timeout.ms": frozenset({"JoinGroup"}),
    "group.max.session.timeout.ms": frozenset({"JoinGroup"}),
    "group.max.size": frozenset({"JoinGroup"}),
    "group.consumer.": frozenset({"ConsumerGroupHeartbeat"}),
    "group.share.": frozenset({"ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge"}),
    "group.streams.": frozenset({"StreamsGroupHeartbeat"}),
    "offset.metadata.max.bytes": frozenset({"OffsetCommit", "TxnOffsetCommit"}),
    OF_CLUSTER_SIZE: frozenset({"DescribeConfigs"}),  # else it is what the number of brokers allows
}
# What is about the whole broker: other clients would see it, or would be seen.
_CHANGES_ALL = {
    "CreateAcls": "changes ACLs",
    "DeleteAcls": "changes ACLs",
    "AlterClientQuotas": "changes quotas",
    "AlterUserScramCredentials": "changes users",
    "CreateDelegationToken": "makes delegation tokens",
    "UnregisterBroker": "unregisters a broker",
    "UpdateFeatures": "changes features",
    "WriteTxnMarkers": "writes markers as brokers do",
    "AlterReplicaLogDirs": "moves replicas",
}
_LISTS_ALL = {
    "ListGroups": "lists all groups",
    "DescribeAcls": "lists all ACLs",
    "DescribeClientQuotas": "lists all quotas",
    "DescribeUserScramCredentials": "lists all users",
    "DescribeDelegationToken": "lists all delegation tokens",
}
_TOPIC_RESOURCE, _GROUP_RESOURCE = 2, 32
_INTERNAL = "__"  # begins the names of topics that brokers keep for themselves
READING = frozenset(
    {
        "ApiVersions",
        "Metadata",
        "DescribeGroups",
        "ListGroups",
        "DescribeConfigs",
        "ListOffsets",
        "OffsetFetch",
        "DescribeCluster",
        "DescribeTopicPartitions",
        "DescribeAcls",
        "DescribeClientQuotas",
        "DescribeUserScramCredentials",
        "DescribeProducers",
        "DescribeTransactions",
        "ListTransactions",
        "ConsumerGroupDescribe",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
        "DescribeShareGroupOffsets",
        "OffsetForLeaderEpoch",
        "Fetch",
    }
)


@dataclass(frozen=True)
class Needs:
    """What a case needs.

    Attributes:
        versions: (API, version) pairs that a broker must serve.
        apis: Every API that it sends.
        settings: Of the recorded broker, those that count.
        nodes: How many brokers.
        control: Whether brokers are stopped and started.
        login: Whether the listener wants SASL, with users of the recording.
        broker_wide: Why nothing else may happen on the broker meanwhile; None if that does not matter.
        fixed_topics: Topics whose names are the same in every run.
        creates: Whether topics are created before it begins.
        topic_configs: Whether these topics have configs that matter.
        is_reading: Whether it changes nothing.
    """

    versions: frozenset[tuple[str, int]]
    apis: frozenset[str]
    settings: Mapping[str, str]
    nodes: int
    control: bool
    login: bool
    broker_wide: str | None
    fixed_topics: frozenset[str]
    creates: bool
    topic_configs: bool
    is_reading: bool


def needs_of(case: Case) -> Needs:
    """What a case needs, from its steps."""
    steps = case.dialogue.steps
    sends = [step for step in steps if isinstance(step, Send) and step.hex is None]
    apis = frozenset(step.api for step in sends)
    readies = [step for step in steps if isinstance(step, Ready)]
    topics = {
        name: topic for step in steps if isinstance(step, Ready | MakeTopics) for name, topic in step.new_topics.items()
    }
    config = {name: str(value) for name, value in case.dialogue.config.items()}
    setting_names = {name for name in config if counts(name, apis)}
    return Needs(
        versions=frozenset(_versions(case)),
        apis=apis,
        settings={name: config[name] for name in sorted(setting_names)},
        nodes=case.dialogue.nodes,
        control=any(isinstance(step, NodeControl) for step in steps),
        login="sasl.enabled.mechanisms" in config,
        broker_wide=next((why for step in sends if (why := broker_wide(step))), None),
        fixed_topics=frozenset(name for name in topics if TAG not in name),
        creates=bool(topics),
        topic_configs=any(map(needs_configs, topics.values())),
        is_reading=all(_is_reading(step) for step in sends)
        and not any(isinstance(step, ScramLogin) or (isinstance(step, Send) and step.hex) for step in steps)
        and not any(step.new_topics or step.group or step.transactional_id is not None for step in readies)
        and case.dialogue.nodes == 1,
    )


def counts(setting: str, apis: frozenset[str]) -> bool:
    """Whether a setting can matter to requests of these APIs."""
    for name, of_apis in COUNTS_FOR.items():
        if is_named_by(name, setting):
            return bool(of_apis & apis)
    return True


def is_named_by(name: str, setting: str) -> bool:
    """Whether a name of `COUNTS_FOR` is that of a setting, or the beginning of it with a dot at its end."""
    return setting.startswith(name) if name.endswith(".") else setting == name


def broker_wide(step: Send) -> str | None:
    """Why a request is about the whole broker, None if it is about what the case made."""
    request = step.message
    if why := _CHANGES_ALL.get(step.api) or _LISTS_ALL.get(step.api):
        return why
    if request.get("GroupId") and TAG not in request["GroupId"] and not request["GroupId"].isspace():
        return f"uses the group {request['GroupId']}, whose name is the same in every run"
    if step.api == "ListTransactions" and not request.get("ProducerIdFilters"):
        return "lists all transactions"
    if step.api == "Metadata" and (request.get("Topics") is None or (step.version == 0 and not request["Topics"])):
        return "lists all topics"
    if step.api in ("AlterConfigs", "IncrementalAlterConfigs"):
        of_broker = [
            each for each in request["Resources"] if each["ResourceType"] not in (_TOPIC_RESOURCE, _GROUP_RESOURCE)
        ]
        return "changes configs of brokers" if of_broker else None
    if step.api in ("Produce", "DeleteRecords", "DeleteTopics", "CreatePartitions"):
        return "writes to internal topics" if any(text.startswith(_INTERNAL) for text in _texts(request)) else None
    return None


def _is_reading(step: Send) -> bool:
    """Whether a request changes nothing; Metadata makes topics, before v4 without being told to."""
    if step.api == "Metadata" and step.message.get("Topics"):
        return step.version >= 4 and not step.message.get("AllowAutoTopicCreation", True)
    return step.api in READING


def _versions(case: Case) -> Iterator[tuple[str, int]]:
    """The versions whose answers are compared, or that have to be understood."""
    steps = case.dialogue.steps
    refused = {step.id for step in steps if isinstance(step, Closed)}
    refused |= {step.id for step in steps if isinstance(step, Receive) and _is_unsupported(step)}
    answered = {step.id for step in case.dialogue.steps if isinstance(step, Receive)}
    for step in steps:
        if isinstance(step, Send):
            if step.id not in refused and (step.hex is None or step.id in answered):
                yield step.api, step.version
        elif isinstance(step, ScramLogin):
            yield "SaslAuthenticate", 0
        elif isinstance(step, MoveLeader):
            yield "AlterPartitionReassignments", 0
            yield "ElectLeaders", 1


def _is_unsupported(step: Receive) -> bool:
    return bool(step.message.get("ErrorCode") == ErrorCode.UNSUPPORTED_VERSION)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)

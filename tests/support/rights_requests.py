"""Requests for random rights: one maker for each API and shape, with names that a history has."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record

NO_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # of no member and no topic, as text
Request = tuple[str, int, dict[str, Any]]
Maker = Callable[[Random, "Names"], Request]


class Names:
    """The names of a history: of each kind two that exist and one that does not."""

    def __init__(self, prefix: str) -> None:
        self.prefix = f"{prefix}-"
        self.topics = [f"{prefix}-ta", f"{prefix}-tb", f"{prefix}-tc"]
        self.groups = [f"{prefix}-ga", f"{prefix}-gb", f"{prefix}-gc"]
        self.transactional_ids = [f"{prefix}-xa", f"{prefix}-xb"]
        self.topic_ids: dict[str, bytes] = {}


def some(chance: Random, names: Sequence[Any]) -> list[Any]:
    """One to all of these, each once, in any order."""
    return chance.sample(list(names), chance.randint(1, len(names)))


def _topics(chance: Random, names: Names, **partition: Any) -> list[dict[str, Any]]:
    return [{"name": name, "partitions": [{"partition_index": 0, **partition}]} for name in some(chance, names.topics)]


def batch() -> bytes:
    """A batch of one record."""
    return build_batch([Record(0, 0, b"k", b"v")])


def produce(chance: Random, names: Names) -> Request:
    data = [{"name": name, "partition_data": [{"index": 0, "records": batch()}]} for name in some(chance, names.topics)]
    return "Produce", chance.choice([7, 9, 12]), {"acks": -1, "timeout_ms": 1000, "topic_data": data}


def produce_by_id(chance: Random, names: Names) -> Request:
    ids = [*names.topic_ids.values(), b"\x01" * 16]
    data = [{"topic_id": each, "partition_data": [{"index": 0, "records": batch()}]} for each in some(chance, ids)]
    return "Produce", 13, {"acks": -1, "timeout_ms": 1000, "topic_data": data}


def fetch(chance: Random, names: Names) -> Request:
    rows = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 10}]
    topics = [{"topic": name, "partitions": rows} for name in some(chance, names.topics)]
    return "Fetch", chance.choice([4, 12]), {"max_bytes": 10, "topics": topics}


def fetch_by_id(chance: Random, names: Names) -> Request:
    rows = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 10}]
    ids = [*names.topic_ids.values(), b"\x01" * 16]
    topics = [{"topic_id": each, "partitions": rows} for each in some(chance, ids)]
    return "Fetch", 15, {"max_bytes": 10, "topics": topics, "session_epoch": -1}


def list_offsets(chance: Random, names: Names) -> Request:
    return "ListOffsets", chance.choice([1, 7]), {"replica_id": -1, "topics": _topics(chance, names, timestamp=-2)}


def metadata(chance: Random, names: Names) -> Request:
    version = chance.choice([4, 8, 9])
    fields: dict[str, Any] = {"topics": [{"name": name} for name in some(chance, [*names.topics[:2], "none"])]}
    fields["allow_auto_topic_creation"] = False
    if version >= 8:
        fields |= {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    return "Metadata", version, fields


def metadata_by_id(chance: Random, names: Names) -> Request:
    ids = [*names.topic_ids.values(), b"\x01" * 16]
    topics = [{"name": None, "topic_id": each} for each in some(chance, ids)]
    return (
        "Metadata",
        12,
        {"topics": topics, "allow_auto_topic_creation": False, "include_topic_authorized_operations": True},
    )


def describe_topic_partitions(chance: Random, names: Names) -> Request:
    topics = [{"name": name} for name in some(chance, [*names.topics[:2], "none"])]
    return "DescribeTopicPartitions", 0, {"topics": topics, "response_partition_limit": 2000}


def offset_commit(chance: Random, names: Names) -> Request:
    topics = [
        {"name": name, "partitions": [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]}
        for name in some(chance, [*names.topics[:2], "none"])
    ]
    return "OffsetCommit", 8, {"group_id": chance.choice(names.groups[:2]), "topics": topics}


def offset_fetch(chance: Random, names: Names) -> Request:
    topics = [{"name": name, "partition_indexes": [0]} for name in some(chance, names.topics)]
    if chance.random() < 0.3:
        return "OffsetFetch", 7, {"group_id": chance.choice(names.groups), "topics": chance.choice([None, topics])}
    groups = [{"group_id": group, "topics": chance.choice([None, topics])} for group in some(chance, names.groups)]
    return "OffsetFetch", 8, {"groups": groups}


def find_coordinator(chance: Random, names: Names) -> Request:
    key_type = chance.choice([0, 1])
    keys = [names.groups[:2], names.transactional_ids][key_type]
    if chance.random() < 0.4:
        return "FindCoordinator", 3, {"key_type": key_type, "key": chance.choice(keys)}
    return "FindCoordinator", 4, {"key_type": key_type, "coordinator_keys": some(chance, keys)}


def find_share_coordinator(chance: Random, names: Names) -> Request:
    return "FindCoordinator", 6, {"key_type": 2, "coordinator_keys": [f"{names.groups[0]}:{NO_ID}:0"]}


def membership(chance: Random, names: Names) -> Request:
    api = chance.choice(["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"])
    fields: dict[str, Any] = {"group_id": chance.choice(names.groups)}
    if api == "LeaveGroup":
        return api, 3, fields | {"members": [{"member_id": "m"}]}
    fields["member_id"] = "m"
    if api == "JoinGroup":
        fields |= {"protocol_type": "consumer", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
        fields["protocols"] = [{"name": "range", "metadata": b""}]
    else:
        fields["generation_id"] = 3
    return api, 3, fields


def describe_groups(chance: Random, names: Names) -> Request:
    fields = {"groups": some(chance, names.groups), "include_authorized_operations": chance.random() < 0.7}
    return "DescribeGroups", 5, fields


def modern_describe(chance: Random, names: Names) -> Request:
    api = chance.choice(["ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"])
    fields = {"group_ids": some(chance, names.groups), "include_authorized_operations": True}
    return api, 0 if api == "StreamsGroupDescribe" else 1, fields


def modern_heartbeat(chance: Random, names: Names) -> Request:
    """Of members that there are not, so that nothing comes of it."""
    api = chance.choice(["ConsumerGroupHeartbeat", "ShareGroupHeartbeat"])
    fields = {"group_id": f"{names.groups[2]}-none", "member_id": NO_ID, "member_epoch": 5}
    fields["subscribed_topic_names"] = chance.choice([None, some(chance, names.topics)])
    return api, 1, fields


def streams_heartbeat(chance: Random, names: Names) -> Request:
    info = [{"name": name, "partitions": 1, "replication_factor": 1} for name in some(chance, names.topics)]
    topology = {
        "epoch": 1,
        "subtopologies": [
            {
                "subtopology_id": "0",
                "source_topics": some(chance, names.topics[:2]),
                "repartition_sink_topics": chance.choice([[], [names.topics[2]]]),
                "state_changelog_topics": chance.choice([[], info]),
                "repartition_source_topics": chance.choice([[], [], info]),
            }
        ],
    }
    fields = {
        "group_id": f"{names.groups[2]}-streams",
        "member_id": NO_ID,
        "member_epoch": 5,
        "topology": chance.choice([None, topology]),
    }
    return "StreamsGroupHeartbeat", 0, fields


def delete_groups(chance: Random, names: Names) -> Request:
    return "DeleteGroups", 2, {"groups_names": some(chance, [*names.groups[2:], "none"])}


def offset_delete(chance: Random, names: Names) -> Request:
    topics = [{"name": name, "partitions": [{"partition_index": 7}]} for name in some(chance, names.topics[:2])]
    return "OffsetDelete", 0, {"group_id": chance.choice(names.groups[:2]), "topics": topics}


def create_topics(chance: Random, names: Names) -> Request:
    named = some(chance, [names.topics[0], names.topics[2], "a/b"])
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in named]
    return "CreateTopics", chance.choice([4, 7]), {"topics": topics, "timeout_ms": 5000, "validate_only": True}


def delete_topics(chance: Random, names: Names) -> Request:
    """Of topics that there are not, or that come twice: nothing is deleted, unless a right is there that nobody has."""
    named = some(chance, [names.topics[2], "none"])
    if chance.random() < 0.5:
        return (
            "DeleteTopics",
            5,
            {"topic_names": [*named, *chance.choice([[], [names.topics[0]] * 2])], "timeout_ms": 5000},
        )
    topics = [{"name": name} for name in named]
    topics += [{"name": None, "topic_id": b"\x01" * 16}] if chance.random() < 0.5 else []
    return "DeleteTopics", 6, {"topics": topics, "timeout_ms": 5000}


def delete_records(chance: Random, names: Names) -> Request:
    topics = [
        {"name": name, "partitions": [{"partition_index": 0, "offset": 0}]} for name in some(chance, names.topics)
    ]
    return "DeleteRecords", 2, {"topics": topics, "timeout_ms": 1000}


def create_partitions(chance: Random, names: Names) -> Request:
    topics = [{"name": name, "count": 2, "assignments": None} for name in some(chance, [*names.topics[:2], "none"])]
    return "CreatePartitions", 2, {"topics": topics, "timeout_ms": 5000, "validate_only": True}


def configs(chance: Random, names: Names) -> Request:
    api = chance.choice(["DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs"])
    kinds = [(2, name) for name in [*names.topics[:2], "none"]] + [(32, names.groups[0]), (4, "1"), (16, "metrics")]
    resources: list[dict[str, Any]] = [
        {"resource_type": kind, "resource_name": name} for kind, name in some(chance, kinds)
    ]
    if api == "DescribeConfigs":
        resources = [each | {"configuration_keys": ["cleanup.policy"]} for each in resources]
        return api, 4, {"resources": resources}
    resources = [each | {"configs": []} for each in resources if each["resource_type"] in (2, 32)] or [
        {"resource_type": 2, "resource_name": names.topics[0], "configs": []}
    ]
    return api, 1, {"resources": resources, "validate_only": True}


def epochs(chance: Random, names: Names) -> Request:
    topics = [
        {"topic": name, "partitions": [{"partition": 0, "leader_epoch": 0}]} for name in some(chance, names.topics)
    ]
    return "OffsetForLeaderEpoch", 4, {"topics": topics}


def producer_id(chance: Random, names: Names) -> Request:
    name = chance.choice([None, None, names.transactional_ids[0]])
    return "InitProducerId", 4, {"transactional_id": name, "transaction_timeout_ms": 10_000}


def transactions(chance: Random, names: Names) -> Request:
    api = chance.choice(["AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "AddPartitionsToTxn"])
    producer = {"producer_id": 999_999, "producer_epoch": 0}
    name, group = names.transactional_ids[0], chance.choice(names.groups[:2])
    if api == "AddPartitionsToTxn":
        topics = [{"name": each, "partitions": [0]} for each in some(chance, [*names.topics[:2], "none"])]
        old = {f"v3_and_below_{field}": value for field, value in producer.items()}
        return api, 3, {"v3_and_below_transactional_id": name, "v3_and_below_topics": topics, **old}
    fields: dict[str, Any] = {"transactional_id": name, **producer}
    if api == "EndTxn":
        return api, 3, fields | {"committed": True}
    fields["group_id"] = group
    if api == "TxnOffsetCommit":
        topics = [
            {"name": each, "partitions": [{"partition_index": 0, "committed_offset": 1}]}
            for each in some(chance, [*names.topics[:2], "none"])
        ]
        fields |= {"topics": topics, "generation_id": -1, "member_id": ""}
    return api, 3, fields


def transactions_of_brokers(chance: Random, names: Names) -> Request:
    if chance.random() < 0.5:
        return "WriteTxnMarkers", 1, {"markers": []}
    topics = [{"name": names.topics[0], "partitions": [0]}]
    one = {
        "transactional_id": names.transactional_ids[0],
        "producer_id": 999_999,
        "producer_epoch": 0,
        "verify_only": True,
        "topics": topics,
    }
    return "AddPartitionsToTxn", 4, {"transactions": [one]}


def describe_transactions(chance: Random, names: Names) -> Request:
    return "DescribeTransactions", 0, {"transactional_ids": some(chance, names.transactional_ids)}


def describe_producers(chance: Random, names: Names) -> Request:
    topics = [{"name": name, "partition_indexes": [0]} for name in some(chance, names.topics)]
    return "DescribeProducers", 0, {"topics": topics}


def of_the_cluster(chance: Random, names: Names) -> Request:
    """Requests that are about the cluster as a whole, and change nothing."""
    entry = {
        "resource_type": 2,
        "resource_name": "",
        "resource_pattern_type": 3,
        "principal": "User:x",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    wanted = {
        "resource_type_filter": 2,
        "resource_name_filter": "nothing",
        "pattern_type_filter": 3,
        "principal_filter": None,
        "host_filter": None,
        "operation": 3,
        "permission_type": 3,
    }
    requests: list[Request] = [
        ("DescribeAcls", 3, wanted),
        ("CreateAcls", 3, {"creations": [entry]}),
        ("DeleteAcls", 3, {"filters": [wanted]}),
        ("DescribeLogDirs", 4, {"topics": []}),
        ("DescribeLogDirs", 2, {"topics": []}),
        (
            "AlterReplicaLogDirs",
            2,
            {"dirs": [{"path": "/none", "topics": [{"name": names.topics[0], "partitions": [0]}]}]},
        ),
        (
            "ElectLeaders",
            2,
            {"election_type": 0, "topic_partitions": [{"topic": "none", "partitions": [0]}], "timeout_ms": 1000},
        ),
        ("ListPartitionReassignments", 0, {"topics": None, "timeout_ms": 1000}),
        (
            "AlterPartitionReassignments",
            0,
            {
                "topics": [{"name": "none", "partitions": [{"partition_index": 0, "replicas": None}]}],
                "timeout_ms": 1000,
            },
        ),
        ("DescribeUserScramCredentials", 0, {"users": [{"name": "nobody"}]}),
        ("AlterUserScramCredentials", 0, {"deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": []}),
        (
            "DescribeQuorum",
            1,
            {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
        ),
        ("AddRaftVoter", 0, {"voter_id": 7, "timeout_ms": 1000, "listeners": []}),
        ("RemoveRaftVoter", 0, {"voter_id": 7}),
        ("UpdateFeatures", 1, {"feature_updates": [], "timeout_ms": 1000, "validate_only": True}),
        ("UnregisterBroker", 0, {"broker_id": 77}),
        ("DescribeCluster", 1, {"include_cluster_authorized_operations": True}),
        ("ListConfigResources", 1, {"resource_types": [16]}),
        ("ListConfigResources", 0, {}),
        ("ReadShareGroupState", 0, {"group_id": "none", "topics": []}),
        ("DescribeDelegationToken", 3, {"owners": None}),
    ]
    return chance.choice(requests)


def tokens(chance: Random, names: Names) -> Request:
    owner = chance.choice(["alice", "bob"])
    fields = {"owner_principal_type": "User", "owner_principal_name": owner, "renewers": [], "max_lifetime_ms": -1}
    return "CreateDelegationToken", 3, fields


def share_requests(chance: Random, names: Names) -> Request:
    """Of sessions that there are not."""
    api = chance.choice(["ShareFetch", "ShareAcknowledge"])
    topics = [
        {"topic_id": each, "partitions": [{"partition_index": 0}]}
        for each in some(chance, list(names.topic_ids.values()))
    ]
    fields = {"group_id": names.groups[0], "member_id": NO_ID, "share_session_epoch": 3, "topics": topics}
    return api, 1, fields


def share_offsets(chance: Random, names: Names) -> Request:
    api = chance.choice(["DescribeShareGroupOffsets", "AlterShareGroupOffsets", "DeleteShareGroupOffsets"])
    named = some(chance, names.topics)
    if api == "DescribeShareGroupOffsets":
        topics = chance.choice([None, [{"topic_name": name, "partitions": [0]} for name in named]])
        return api, 0, {"groups": [{"group_id": group, "topics": topics} for group in [f"{names.groups[2]}-none"]]}
    topics = [{"topic_name": name} for name in named]
    if api == "AlterShareGroupOffsets":
        topics = [each | {"partitions": [{"partition_index": 0, "start_offset": 0}]} for each in topics]
    return api, 0, {"group_id": f"{names.groups[2]}-none", "topics": topics}


REQUESTS: tuple[Maker, ...] = (
    produce,
    produce_by_id,
    fetch,
    fetch_by_id,
    list_offsets,
    metadata,
    metadata_by_id,
    describe_topic_partitions,
    offset_commit,
    offset_fetch,
    offset_fetch,
    find_coordinator,
    find_share_coordinator,
    membership,
    membership,
    describe_groups,
    modern_describe,
    modern_heartbeat,
    streams_heartbeat,
    delete_groups,
    offset_delete,
    create_topics,
    delete_topics,
    delete_records,
    create_partitions,
    configs,
    epochs,
    producer_id,
    transactions,
    transactions,
    transactions_of_brokers,
    describe_transactions,
    describe_producers,
    of_the_cluster,
    of_the_cluster,
    of_the_cluster,
    tokens,
    share_requests,
    share_offsets,
)

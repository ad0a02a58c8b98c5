"""The table of APIs: keys, names, versions, and the modules of their messages, which are imported when first used."""

from functools import cached_property
from importlib import import_module
from typing import cast

from fakebroker.protocol.schema import Message


class Api:
    """One API: its key and name, the versions we have messages for, and the first version with tagged fields."""

    def __init__(self, key: int, name: str, module: str, newest: int, flexible_from: int | None) -> None:
        self.key = key
        self.name = name
        self.module = f"fakebroker.protocol.wire.messages.{module}"
        self.min = 0
        self.max = newest
        self.flexible_from = flexible_from

    def __repr__(self) -> str:
        return f"<Api {self.name} ({self.key}), v{self.min} to v{self.max}>"

    def is_flexible(self, version: int) -> bool:
        """Whether that version has compact lengths, tagged fields and the headers that go with them."""
        return self.flexible_from is not None and version >= self.flexible_from

    @cached_property
    def request(self) -> type[Message]:
        """The request's class."""
        return self._message("Request")

    @cached_property
    def response(self) -> type[Message]:
        """The response's class."""
        return self._message("Response")

    def _message(self, kind: str) -> type[Message]:
        return cast(type[Message], getattr(import_module(self.module), self.name + kind))


_TABLE = (
    Api(0, "Produce", "produce", 13, 9),
    Api(1, "Fetch", "fetch", 18, 12),
    Api(2, "ListOffsets", "list_offsets", 11, 6),
    Api(3, "Metadata", "metadata", 13, 9),
    Api(8, "OffsetCommit", "offset_commit", 10, 8),
    Api(9, "OffsetFetch", "offset_fetch", 10, 6),
    Api(10, "FindCoordinator", "find_coordinator", 6, 3),
    Api(11, "JoinGroup", "join_group", 9, 6),
    Api(12, "Heartbeat", "heartbeat", 4, 4),
    Api(13, "LeaveGroup", "leave_group", 5, 4),
    Api(14, "SyncGroup", "sync_group", 5, 4),
    Api(15, "DescribeGroups", "describe_groups", 6, 5),
    Api(16, "ListGroups", "list_groups", 5, 3),
    Api(17, "SaslHandshake", "sasl_handshake", 1, None),
    Api(18, "ApiVersions", "api_versions", 4, 3),
    Api(19, "CreateTopics", "create_topics", 7, 5),
    Api(20, "DeleteTopics", "delete_topics", 6, 4),
    Api(21, "DeleteRecords", "delete_records", 2, 2),
    Api(22, "InitProducerId", "init_producer_id", 6, 2),
    Api(23, "OffsetForLeaderEpoch", "offset_for_leader_epoch", 4, 4),
    Api(24, "AddPartitionsToTxn", "add_partitions_to_txn", 5, 3),
    Api(25, "AddOffsetsToTxn", "add_offsets_to_txn", 4, 3),
    Api(26, "EndTxn", "end_txn", 5, 3),
    Api(27, "WriteTxnMarkers", "write_txn_markers", 2, 1),
    Api(28, "TxnOffsetCommit", "txn_offset_commit", 5, 3),
    Api(29, "DescribeAcls", "describe_acls", 3, 2),
    Api(30, "CreateAcls", "create_acls", 3, 2),
    Api(31, "DeleteAcls", "delete_acls", 3, 2),
    Api(32, "DescribeConfigs", "describe_configs", 4, 4),
    Api(33, "AlterConfigs", "alter_configs", 2, 2),
    Api(34, "AlterReplicaLogDirs", "alter_replica_log_dirs", 2, 2),
    Api(35, "DescribeLogDirs", "describe_log_dirs", 5, 2),
    Api(36, "SaslAuthenticate", "sasl_authenticate", 2, 2),
    Api(37, "CreatePartitions", "create_partitions", 3, 2),
    Api(38, "CreateDelegationToken", "create_delegation_token", 3, 2),
    Api(39, "RenewDelegationToken", "renew_delegation_token", 2, 2),
    Api(40, "ExpireDelegationToken", "expire_delegation_token", 2, 2),
    Api(41, "DescribeDelegationToken", "describe_delegation_token", 3, 2),
    Api(42, "DeleteGroups", "delete_groups", 2, 2),
    Api(43, "ElectLeaders", "elect_leaders", 2, 2),
    Api(44, "IncrementalAlterConfigs", "incremental_alter_configs", 1, 1),
    Api(45, "AlterPartitionReassignments", "alter_partition_reassignments", 1, 0),
    Api(46, "ListPartitionReassignments", "list_partition_reassignments", 0, 0),
    Api(47, "OffsetDelete", "offset_delete", 0, None),
    Api(48, "DescribeClientQuotas", "describe_client_quotas", 1, 1),
    Api(49, "AlterClientQuotas", "alter_client_quotas", 1, 1),
    Api(50, "DescribeUserScramCredentials", "describe_user_scram_credentials", 0, 0),
    Api(51, "AlterUserScramCredentials", "alter_user_scram_credentials", 0, 0),
    Api(55, "DescribeQuorum", "describe_quorum", 2, 0),
    Api(57, "UpdateFeatures", "update_features", 2, 0),
    Api(60, "DescribeCluster", "describe_cluster", 2, 0),
    Api(61, "DescribeProducers", "describe_producers", 0, 0),
    Api(64, "UnregisterBroker", "unregister_broker", 0, 0),
    Api(65, "DescribeTransactions", "describe_transactions", 0, 0),
    Api(66, "ListTransactions", "list_transactions", 2, 0),
    Api(68, "ConsumerGroupHeartbeat", "consumer_group_heartbeat", 1, 0),
    Api(69, "ConsumerGroupDescribe", "consumer_group_describe", 1, 0),
    Api(71, "GetTelemetrySubscriptions", "get_telemetry_subscriptions", 0, 0),
    Api(72, "PushTelemetry", "push_telemetry", 0, 0),
    Api(74, "ListConfigResources", "list_config_resources", 1, 0),
    Api(75, "DescribeTopicPartitions", "describe_topic_partitions", 0, 0),
    Api(76, "ShareGroupHeartbeat", "share_group_heartbeat", 1, 0),
    Api(77, "ShareGroupDescribe", "share_group_describe", 1, 0),
    Api(78, "ShareFetch", "share_fetch", 2, 0),
    Api(79, "ShareAcknowledge", "share_acknowledge", 2, 0),
    Api(80, "AddRaftVoter", "add_raft_voter", 1, 0),
    Api(81, "RemoveRaftVoter", "remove_raft_voter", 0, 0),
    Api(83, "InitializeShareGroupState", "initialize_share_group_state", 0, 0),
    Api(84, "ReadShareGroupState", "read_share_group_state", 0, 0),
    Api(85, "WriteShareGroupState", "write_share_group_state", 1, 0),
    Api(86, "DeleteShareGroupState", "delete_share_group_state", 0, 0),
    Api(87, "ReadShareGroupStateSummary", "read_share_group_state_summary", 1, 0),
    Api(88, "StreamsGroupHeartbeat", "streams_group_heartbeat", 0, 0),
    Api(89, "StreamsGroupDescribe", "streams_group_describe", 0, 0),
    Api(90, "DescribeShareGroupOffsets", "describe_share_group_offsets", 1, 0),
    Api(91, "AlterShareGroupOffsets", "alter_share_group_offsets", 0, 0),
    Api(92, "DeleteShareGroupOffsets", "delete_share_group_offsets", 0, 0),
)

APIS = {entry.key: entry for entry in _TABLE}
_BY_NAME = {entry.name: entry for entry in _TABLE}


def api(name_or_key: str | int) -> Api:
    """An API by its name or key. Raises KeyError for one we have no messages for."""
    found = APIS.get(name_or_key) if isinstance(name_or_key, int) else _BY_NAME.get(name_or_key)
    if found is None:
        raise KeyError(f"there are no messages for the API {name_or_key!r}, only for {', '.join(sorted(_BY_NAME))}")
    return found

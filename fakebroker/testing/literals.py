"""Texts that arguments of the Python API may have, for editors and type checkers.

When a program runs they are `str`: a wrong text is refused by the broker, which says what would be right.
"""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    ApiName = Literal[
        "AddOffsetsToTxn",
        "AddPartitionsToTxn",
        "AddRaftVoter",
        "AlterClientQuotas",
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterReplicaLogDirs",
        "AlterShareGroupOffsets",
        "AlterUserScramCredentials",
        "ApiVersions",
        "ConsumerGroupDescribe",
        "ConsumerGroupHeartbeat",
        "CreateAcls",
        "CreateDelegationToken",
        "CreatePartitions",
        "CreateTopics",
        "DeleteAcls",
        "DeleteGroups",
        "DeleteRecords",
        "DeleteShareGroupOffsets",
        "DeleteShareGroupState",
        "DeleteTopics",
        "DescribeAcls",
        "DescribeClientQuotas",
        "DescribeCluster",
        "DescribeConfigs",
        "DescribeDelegationToken",
        "DescribeGroups",
        "DescribeLogDirs",
        "DescribeProducers",
        "DescribeQuorum",
        "DescribeShareGroupOffsets",
        "DescribeTopicPartitions",
        "DescribeTransactions",
        "DescribeUserScramCredentials",
        "ElectLeaders",
        "EndTxn",
        "ExpireDelegationToken",
        "Fetch",
        "FindCoordinator",
        "GetTelemetrySubscriptions",
        "Heartbeat",
        "IncrementalAlterConfigs",
        "InitProducerId",
        "InitializeShareGroupState",
        "JoinGroup",
        "LeaveGroup",
        "ListConfigResources",
        "ListGroups",
        "ListOffsets",
        "ListPartitionReassignments",
        "ListTransactions",
        "Metadata",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "OffsetForLeaderEpoch",
        "Produce",
        "PushTelemetry",
        "ReadShareGroupState",
        "ReadShareGroupStateSummary",
        "RemoveRaftVoter",
        "RenewDelegationToken",
        "SaslAuthenticate",
        "SaslHandshake",
        "ShareAcknowledge",
        "ShareFetch",
        "ShareGroupDescribe",
        "ShareGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupHeartbeat",
        "SyncGroup",
        "TxnOffsetCommit",
        "UnregisterBroker",
        "UpdateFeatures",
        "WriteShareGroupState",
        "WriteTxnMarkers",
    ]
    """The name of an API that the broker has."""
    FaultAction = Literal["disconnect", "drop-answer", "answer-twice", "truncate", "corrupt", "slow", "stall-reading"]
    """What a fault does with a request."""
    FaultMoment = Literal["received", "applied"]
    """When a fault strikes: before the request is carried out, or after."""
    GroupKind = Literal["classic", "consumer", "share", "streams"]
    """The kind of a group."""
    GroupState = Literal[
        "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling", "NotReady"
    ]
    """The state of a group of any kind."""
    Profile = Literal["kafka", "test"]
    """A set of default settings."""
    ReleaseName = Literal[
        "4.3",
        "4.2",
        "4.1",
        "4.0",
        "3.9",
        "3.6",
        "3.3",
        "2.8",
        "2.4",
        "2.1",
        "2.0",
        "1.1",
        "1.0",
        "4.3.1",
        "4.2.0",
        "4.1.1",
        "4.0.0",
        "3.9.1",
        "3.6.2",
        "3.3.2",
        "2.8.2",
        "2.4.1",
        "2.1.1",
        "2.0.1",
        "1.1.1",
        "1.0.2",
    ]
    """A Kafka release that can be emulated; without its last number it is the newest of its line."""
    TransactionState = Literal[
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
    ]
    """The state of a transaction."""
else:
    ApiName = FaultAction = FaultMoment = GroupKind = GroupState = Profile = ReleaseName = TransactionState = str

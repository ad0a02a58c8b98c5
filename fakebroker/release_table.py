"""The API versions that running brokers of thirteen releases advertised, as data for `release`."""

# What running brokers of each release advertised: `key min-max`, read from the brokers in November 2026.
# A column is one release; "-" means that it did not have the API.
RELEASES = (
    "1.0.2",
    "1.1.1",
    "2.0.1",
    "2.1.1",
    "2.4.1",
    "2.8.2",
    "3.3.2",
    "3.6.2",
    "3.9.1",
    "4.0.0",
    "4.1.1",
    "4.2.0",
    "4.3.1",
)

TABLE: dict[int, str] = {
    0: "0-5 0-5 0-6 0-7 0-8 0-9 0-9 0-9 0-11 0-12 0-13 0-13 0-13",  # Produce
    1: "0-6 0-7 0-8 0-10 0-11 0-12 0-13 0-15 0-17 4-17 4-18 4-18 4-18",  # Fetch
    2: "0-2 0-2 0-3 0-4 0-5 0-6 0-7 0-8 0-9 1-10 1-10 1-11 1-11",  # ListOffsets
    3: "0-5 0-5 0-6 0-7 0-9 0-11 0-12 0-12 0-12 0-13 0-13 0-13 0-13",  # Metadata
    4: "0-1 0-1 0-1 0-1 0-4 0-5 - - - - - - -",  # LeaderAndIsr
    5: "0-0 0-0 0-0 0-0 0-2 0-3 - - - - - - -",  # StopReplica
    6: "0-4 0-4 0-4 0-4 0-6 0-7 - - - - - - -",  # UpdateMetadata
    7: "0-1 0-1 0-1 0-1 0-3 0-3 - - - - - - -",  # ControlledShutdown
    8: "0-3 0-3 0-4 0-6 0-8 0-8 0-8 0-8 0-9 2-9 2-9 2-10 2-10",  # OffsetCommit
    9: "0-3 0-3 0-4 0-5 0-6 0-7 0-8 0-8 0-9 1-9 1-9 1-10 1-10",  # OffsetFetch
    10: "0-1 0-1 0-2 0-2 0-3 0-3 0-4 0-4 0-6 0-6 0-6 0-6 0-6",  # FindCoordinator
    11: "0-2 0-2 0-3 0-3 0-6 0-7 0-9 0-9 0-9 2-9 0-9 0-9 0-9",  # JoinGroup
    12: "0-1 0-1 0-2 0-2 0-4 0-4 0-4 0-4 0-4 0-4 0-4 0-4 0-4",  # Heartbeat
    13: "0-1 0-1 0-2 0-2 0-4 0-4 0-5 0-5 0-5 0-5 0-5 0-5 0-5",  # LeaveGroup
    14: "0-1 0-1 0-2 0-2 0-4 0-5 0-5 0-5 0-5 0-5 0-5 0-5 0-5",  # SyncGroup
    15: "0-1 0-1 0-2 0-2 0-5 0-5 0-5 0-5 0-5 0-6 0-6 0-6 0-6",  # DescribeGroups
    16: "0-1 0-1 0-2 0-2 0-3 0-4 0-4 0-4 0-5 0-5 0-5 0-5 0-5",  # ListGroups
    17: "0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",  # SaslHandshake
    18: "0-1 0-1 0-2 0-2 0-3 0-3 0-3 0-3 0-4 0-4 0-4 0-4 0-4",  # ApiVersions
    19: "0-2 0-2 0-3 0-3 0-5 0-7 0-7 0-7 0-7 2-7 2-7 2-7 2-7",  # CreateTopics
    20: "0-1 0-1 0-2 0-3 0-4 0-6 0-6 0-6 0-6 1-6 1-6 1-6 1-6",  # DeleteTopics
    21: "0-0 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",  # DeleteRecords
    22: "0-0 0-0 0-1 0-1 0-2 0-4 0-4 0-4 0-5 0-5 0-5 0-5 0-5",  # InitProducerId
    23: "0-0 0-0 0-1 0-2 0-3 0-4 0-4 0-4 0-4 2-4 2-4 2-4 2-4",  # OffsetForLeaderEpoch
    24: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-4 0-5 0-5 0-5 0-5 0-5",  # AddPartitionsToTxn
    25: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-3 0-4 0-4 0-4 0-4 0-4",  # AddOffsetsToTxn
    26: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-3 0-4 0-5 0-5 0-5 0-5",  # EndTxn
    27: "0-0 0-0 0-0 0-0 0-0 0-1 0-1 0-1 0-1 1-1 1-1 1-2 1-2",  # WriteTxnMarkers
    28: "0-0 0-0 0-1 0-2 0-2 0-3 0-3 0-3 0-4 0-5 0-5 0-5 0-5",  # TxnOffsetCommit
    29: "0-0 0-0 0-1 0-1 0-1 0-2 0-3 0-3 0-3 1-3 1-3 1-3 1-3",  # DescribeAcls
    30: "0-0 0-0 0-1 0-1 0-1 0-2 0-3 0-3 0-3 1-3 1-3 1-3 1-3",  # CreateAcls
    31: "0-0 0-0 0-1 0-1 0-1 0-2 0-3 0-3 0-3 1-3 1-3 1-3 1-3",  # DeleteAcls
    32: "0-0 0-1 0-2 0-2 0-2 0-4 0-4 0-4 0-4 1-4 1-4 1-4 1-4",  # DescribeConfigs
    33: "0-0 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",  # AlterConfigs
    34: "0-0 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2 1-2 1-2 1-2 1-2",  # AlterReplicaLogDirs
    35: "0-0 0-0 0-1 0-1 0-1 0-2 0-4 0-4 0-4 1-4 1-4 1-4 1-5",  # DescribeLogDirs
    36: "0-0 0-0 0-0 0-0 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",  # SaslAuthenticate
    37: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-3 0-3 0-3 0-3 0-3 0-3",  # CreatePartitions
    38: "- 0-0 0-1 0-1 0-2 0-2 - 0-3 0-3 1-3 1-3 1-3 1-3",  # CreateDelegationToken
    39: "- 0-0 0-1 0-1 0-1 0-2 - 0-2 0-2 1-2 1-2 1-2 1-2",  # RenewDelegationToken
    40: "- 0-0 0-1 0-1 0-1 0-2 - 0-2 0-2 1-2 1-2 1-2 1-2",  # ExpireDelegationToken
    41: "- 0-0 0-1 0-1 0-1 0-2 - 0-3 0-3 1-3 1-3 1-3 1-3",  # DescribeDelegationToken
    42: "- 0-0 0-1 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",  # DeleteGroups
    43: "- - - - 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",  # ElectLeaders
    44: "- - - - 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",  # IncrementalAlterConfigs
    45: "- - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-1 0-1 0-1",  # AlterPartitionReassignments
    46: "- - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0",  # ListPartitionReassignments
    47: "- - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0",  # OffsetDelete
    48: "- - - - - 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",  # DescribeClientQuotas
    49: "- - - - - 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",  # AlterClientQuotas
    50: "- - - - - 0-0 - 0-0 0-0 0-0 0-0 0-0 0-0",  # DescribeUserScramCredentials
    51: "- - - - - 0-0 - 0-0 0-0 0-0 0-0 0-0 0-0",  # AlterUserScramCredentials
    55: "- - - - - - 0-1 0-1 0-2 0-2 0-2 0-2 0-2",  # DescribeQuorum
    56: "- - - - - 0-0 - - - - - - -",  # AlterPartition
    57: "- - - - - 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2",  # UpdateFeatures
    60: "- - - - - 0-0 0-0 0-0 0-1 0-2 0-2 0-2 0-2",  # DescribeCluster
    61: "- - - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0",  # DescribeProducers
    64: "- - - - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0",  # UnregisterBroker
    65: "- - - - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0",  # DescribeTransactions
    66: "- - - - - - 0-0 0-0 0-1 0-1 0-2 0-2 0-2",  # ListTransactions
    68: "- - - - - - - - 0-0 0-1 0-1 0-1 0-1",  # ConsumerGroupHeartbeat
    69: "- - - - - - - - 0-0 0-1 0-1 0-1 0-1",  # ConsumerGroupDescribe
    74: "- - - - - - - - 0-0 0-0 0-1 0-1 0-1",  # ListConfigResources
    75: "- - - - - - - - 0-0 0-0 0-0 0-0 0-0",  # DescribeTopicPartitions
    76: "- - - - - - - - - - 1-1 1-1 1-1",  # ShareGroupHeartbeat
    77: "- - - - - - - - - - 1-1 1-1 1-1",  # ShareGroupDescribe
    78: "- - - - - - - - - - 1-1 1-2 1-2",  # ShareFetch
    79: "- - - - - - - - - - 1-1 1-2 1-2",  # ShareAcknowledge
    80: "- - - - - - - - 0-0 0-0 0-0 0-1 0-1",  # AddRaftVoter
    81: "- - - - - - - - 0-0 0-0 0-0 0-0 0-0",  # RemoveRaftVoter
    83: "- - - - - - - - - - 0-0 0-0 0-0",  # InitializeShareGroupState
    84: "- - - - - - - - - - 0-0 0-0 0-0",  # ReadShareGroupState
    85: "- - - - - - - - - - 0-0 0-1 0-1",  # WriteShareGroupState
    86: "- - - - - - - - - - 0-0 0-0 0-0",  # DeleteShareGroupState
    87: "- - - - - - - - - - 0-0 0-1 0-1",  # ReadShareGroupStateSummary
    88: "- - - - - - - - - - - 0-0 0-0",  # StreamsGroupHeartbeat
    89: "- - - - - - - - - - - 0-0 0-0",  # StreamsGroupDescribe
    90: "- - - - - - - - - - 0-0 0-1 0-1",  # DescribeShareGroupOffsets
    91: "- - - - - - - - - - 0-0 0-0 0-0",  # AlterShareGroupOffsets
    92: "- - - - - - - - - - 0-0 0-0 0-0",  # DeleteShareGroupOffsets
}

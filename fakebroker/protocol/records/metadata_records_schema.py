"""Layouts of the records of `__cluster_metadata`, Kafka's cluster metadata in KRaft mode.

The API key of a message is the type of the record. Versions are those of Kafka 4.3, which writes each record in the
version that the cluster's `metadata.version` allows; earlier releases in KRaft mode wrote the same or lower ones.
A record that changes something carries only what changes, in tagged fields.
"""

from fakebroker.protocol.schema import (
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Str,
    Struct,
    Uuid,
    field,
)
from fakebroker.protocol.schema import UInt16 as Port

NO_LEADER_CHANGE = -2
"""`PartitionChangeRecord.leader`: the leader stays."""


class Endpoint(Struct):
    """A listener of a broker or a controller."""

    name: Str = field("0+", map_key=True)
    host: Str = field("0+", entity="host")
    port: Port = field("0+", entity="port")
    security_protocol: Int16 = field("0+")


class SupportedFeature(Struct):
    """The levels of a feature that a broker or a controller supports."""

    name: Str = field("0+", map_key=True)
    min_supported_version: Int16 = field("0+")
    max_supported_version: Int16 = field("0+")


class RegisterBrokerRecord(Message, api_key=0, versions="0-4", flexible="0+"):
    """A broker has started and registers; it is fenced until it has caught up."""

    broker_id: Int32 = field("0+", entity="brokerId")
    is_migrating_zk_broker: Bool = field("2+")
    incarnation_id: Uuid = field("0+")
    broker_epoch: Int64 = field("0+")
    end_points: list[Endpoint] = field("0+")
    features: list[SupportedFeature] = field("0+")
    rack: Str | None = field("0+", nullable="0+")
    fenced: Bool = field("0+", default=True)
    in_controlled_shutdown: Bool = field("1+")
    log_dirs: list[Uuid] = field("3+", tag=0)
    cordoned_log_dirs: list[Uuid] | None = field("4+", nullable="4+", default=None, tag=1)


class UnregisterBrokerRecord(Message, api_key=1, versions="0", flexible="0+"):
    """A broker is removed from the cluster."""

    broker_id: Int32 = field("0+", entity="brokerId")
    broker_epoch: Int64 = field("0+")


class TopicRecord(Message, api_key=2, versions="0", flexible="0+"):
    """A topic is created; its partitions follow in records of their own."""

    name: Str = field("0+", entity="topicName")
    topic_id: Uuid = field("0+", entity="topicId")


class PartitionRecord(Message, api_key=3, versions="0-2", flexible="0+"):
    """A partition is created, or its whole state in a snapshot."""

    partition_id: Int32 = field("0+", default=-1, entity="partitionIndex")
    topic_id: Uuid = field("0+", entity="topicId")
    replicas: list[Int32] = field("0+", entity="brokerId")
    isr: list[Int32] = field("0+", entity="brokerId")
    removing_replicas: list[Int32] = field("0+", entity="brokerId")
    adding_replicas: list[Int32] = field("0+", entity="brokerId")
    leader: Int32 = field("0+", default=-1, entity="brokerId")
    leader_recovery_state: Int8 = field("0+", tag=0)
    leader_epoch: Int32 = field("0+", default=-1, entity="leaderEpoch")
    partition_epoch: Int32 = field("0+", default=-1)
    directories: list[Uuid] = field("1+")
    eligible_leader_replicas: list[Int32] | None = field("2+", nullable="2+", default=None, tag=1, entity="brokerId")
    last_known_elr: list[Int32] | None = field("2+", nullable="2+", default=None, tag=2, entity="brokerId")


class ConfigRecord(Message, api_key=4, versions="0", flexible="0+"):
    """A setting of a topic, broker, group or client metrics subscription; null removes it."""

    resource_type: Int8 = field("0+", entity="configResourceType")
    resource_name: Str = field("0+", entity="configResource")
    name: Str = field("0+", entity="configName")
    value: Str | None = field("0+", nullable="0+", entity="configValue")


class PartitionChangeRecord(Message, api_key=5, versions="0-2", flexible="0+"):
    """What changes in a partition's state: null, -1 or `NO_LEADER_CHANGE` leaves a field as it is."""

    partition_id: Int32 = field("0+", default=-1, entity="partitionIndex")
    topic_id: Uuid = field("0+", entity="topicId")
    isr: list[Int32] | None = field("0+", nullable="0+", default=None, tag=0, entity="brokerId")
    leader: Int32 = field("0+", default=NO_LEADER_CHANGE, tag=1, entity="brokerId")
    replicas: list[Int32] | None = field("0+", nullable="0+", default=None, tag=2, entity="brokerId")
    removing_replicas: list[Int32] | None = field("0+", nullable="0+", default=None, tag=3, entity="brokerId")
    adding_replicas: list[Int32] | None = field("0+", nullable="0+", default=None, tag=4, entity="brokerId")
    leader_recovery_state: Int8 = field("0+", default=-1, tag=5)
    directories: list[Uuid] | None = field("1+", nullable="1+", default=None, tag=8)
    eligible_leader_replicas: list[Int32] | None = field("2+", nullable="2+", default=None, tag=6, entity="brokerId")
    last_known_elr: list[Int32] | None = field("2+", nullable="2+", default=None, tag=7, entity="brokerId")


class FenceBrokerRecord(Message, api_key=7, versions="0", flexible="0+"):
    """A broker is fenced (until `metadata.version` 3.3-IV2; later: `BrokerRegistrationChangeRecord`)."""

    id: Int32 = field("0+", entity="brokerId")
    epoch: Int64 = field("0+")


class UnfenceBrokerRecord(Message, api_key=8, versions="0", flexible="0+"):
    """A broker is no longer fenced (until `metadata.version` 3.3-IV2)."""

    id: Int32 = field("0+", entity="brokerId")
    epoch: Int64 = field("0+")


class RemoveTopicRecord(Message, api_key=9, versions="0", flexible="0+"):
    """A topic is deleted with its partitions and settings."""

    topic_id: Uuid = field("0+", entity="topicId")


class DelegationTokenRecord(Message, api_key=10, versions="0", flexible="0+"):
    """A delegation token is created, renewed or expired."""

    owner: Str = field("0+", entity="userName")
    requester: Str = field("0+", entity="userName")
    renewers: list[Str] = field("0+", entity="userName")
    issue_timestamp: Int64 = field("0+", entity="timestamp")
    max_timestamp: Int64 = field("0+", entity="timestamp")
    expiration_timestamp: Int64 = field("0+", entity="timestamp")
    token_id: Str = field("0+")


class UserScramCredentialRecord(Message, api_key=11, versions="0", flexible="0+"):
    """The credential of a user for a SCRAM mechanism: 1 is SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    name: Str = field("0+", entity="userName")
    mechanism: Int8 = field("0+")
    salt: Bytes = field("0+", entity="secret")
    stored_key: Bytes = field("0+", entity="secret")
    server_key: Bytes = field("0+", entity="secret")
    iterations: Int32 = field("0+")


class FeatureLevelRecord(Message, api_key=12, versions="0", flexible="0+"):
    """The finalized level of a feature; 0 removes it."""

    name: Str = field("0+")
    feature_level: Int16 = field("0+")


class QuotaEntity(Struct):
    """A part of the entity that a quota is for: a user, client id or IP; a null name is the default of that type."""

    entity_type: Str = field("0+")
    entity_name: Str | None = field("0+", nullable="0+")


class ClientQuotaRecord(Message, api_key=14, versions="0", flexible="0+"):
    """A quota is set or removed."""

    entity: list[QuotaEntity] = field("0+")
    key: Str = field("0+")
    value: Float64 = field("0+")
    remove: Bool = field("0+")


class ProducerIdsRecord(Message, api_key=15, versions="0", flexible="0+"):
    """A broker takes a block of producer ids; `next_producer_id` is the first that no broker has."""

    broker_id: Int32 = field("0+", entity="brokerId")
    broker_epoch: Int64 = field("0+", default=-1)
    next_producer_id: Int64 = field("0+", entity="producerId")


class BrokerRegistrationChangeRecord(Message, api_key=17, versions="0-3", flexible="0+"):
    """What changes in a broker's registration: -1 in `fenced` is unfenced, 1 is fenced, 0 leaves it as it is."""

    broker_id: Int32 = field("0+", entity="brokerId")
    broker_epoch: Int64 = field("0+")
    fenced: Int8 = field("0+", tag=0)
    in_controlled_shutdown: Int8 = field("1+", tag=1)
    log_dirs: list[Uuid] = field("2+", tag=2)
    cordoned_log_dirs: list[Uuid] | None = field("3+", nullable="3+", default=None, tag=3)


class AccessControlEntryRecord(Message, api_key=18, versions="0", flexible="0+"):
    """An ACL is added. The numbers are those of CreateAcls."""

    id: Uuid = field("0+")
    resource_type: Int8 = field("0+")
    resource_name: Str = field("0+")
    pattern_type: Int8 = field("0+")
    principal: Str = field("0+")
    host: Str = field("0+", entity="host")
    operation: Int8 = field("0+")
    permission_type: Int8 = field("0+")


class RemoveAccessControlEntryRecord(Message, api_key=19, versions="0", flexible="0+"):
    """An ACL is removed."""

    id: Uuid = field("0+")


class NoOpRecord(Message, api_key=20, versions="0", flexible="0+"):
    """Nothing: the leader writes one now and then so that the high watermark advances."""


class ZkMigrationStateRecord(Message, api_key=21, versions="0", flexible="0+"):
    """The state of a migration from ZooKeeper; 0 is none."""

    zk_migration_state: Int8 = field("0+")


class RemoveUserScramCredentialRecord(Message, api_key=22, versions="0", flexible="0+"):
    """A credential of a user is removed."""

    name: Str = field("0+", entity="userName")
    mechanism: Int8 = field("0+")


class BeginTransactionRecord(Message, api_key=23, versions="0", flexible="0+"):
    """The records up to the next EndTransactionRecord apply together, those before an AbortTransactionRecord never."""

    name: Str | None = field("0+", nullable="0+", default=None, tag=0)


class EndTransactionRecord(Message, api_key=24, versions="0", flexible="0+"):
    """The records since the BeginTransactionRecord apply."""


class AbortTransactionRecord(Message, api_key=25, versions="0", flexible="0+"):
    """The records since the BeginTransactionRecord do not apply."""

    reason: Str | None = field("0+", nullable="0+", default=None, tag=0)


class RemoveDelegationTokenRecord(Message, api_key=26, versions="0", flexible="0+"):
    """A delegation token is removed."""

    token_id: Str = field("0+")


class RegisterControllerRecord(Message, api_key=27, versions="0", flexible="0+"):
    """A controller has started and registers."""

    controller_id: Int32 = field("0+", entity="brokerId")
    incarnation_id: Uuid = field("0+")
    zk_migration_ready: Bool = field("0+")
    end_points: list[Endpoint] = field("0+")
    features: list[SupportedFeature] = field("0+")


class ClearElrRecord(Message, api_key=28, versions="0", flexible="0+"):
    """The eligible leader replicas of a topic are cleared; of all topics if the name is empty."""

    topic_name: Str = field("0+", entity="topicName")

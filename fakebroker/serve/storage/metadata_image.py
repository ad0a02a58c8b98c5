"""The metadata of a cluster as the records of `__cluster_metadata` say it. Kafka: `MetadataImage`, `MetadataDelta`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.config_resources import TOPIC_RESOURCE
from fakebroker.broker.core.security.acl_state import AclState
from fakebroker.protocol.records import metadata_records_schema as records
from fakebroker.protocol.schema import Message

if TYPE_CHECKING:
    from fakebroker.broker.core.quotas.client_quotas import Entity


class PartitionValues(NamedTuple):
    """Replicas and leader of a partition."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    leader: int
    leader_epoch: int


@dataclass
class TopicImage:
    """A topic; its partitions by index."""

    name: str
    partitions: dict[int, PartitionValues] = field(default_factory=dict)


class ScramValues(NamedTuple):
    """A credential of SCRAM."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class TokenValues(NamedTuple):
    """A delegation token without its HMAC, which follows from its id and a setting. Principals are "User:alice"."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int
    expires_ms: int


@dataclass
class MetadataImage:
    """What the records so far say."""

    topics: dict[bytes, TopicImage] = field(default_factory=dict)  # by id, in the order of their creation
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    acls: dict[bytes, AclState] = field(default_factory=dict)  # by the ids of their records
    acl_ids: dict[AclState, bytes] = field(default_factory=dict)  # the same
    scram: dict[tuple[str, int], ScramValues] = field(default_factory=dict)  # by user and mechanism
    tokens: dict[str, TokenValues] = field(default_factory=dict)
    quotas: "dict[Entity, dict[str, float]]" = field(default_factory=dict)  # by their keys
    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, str | None] = field(default_factory=dict)  # racks by node id
    next_producer_id: int = 0

    def apply(self, message: Message) -> None:
        """Take in what a record says. Records about what is not kept here change nothing."""
        match message:
            case records.TopicRecord():
                self.topics[message.topic_id] = TopicImage(message.name)
            case records.RemoveTopicRecord():
                topic = self.topics.pop(message.topic_id, None)
                if topic is not None:
                    self.configs.pop((TOPIC_RESOURCE, topic.name), None)
            case records.PartitionRecord():
                self._put_partition(message)
            case records.PartitionChangeRecord():
                self._change_partition(message)
            case records.ConfigRecord():
                self._put_config(message)
            case records.FeatureLevelRecord():
                self.features[message.name] = message.feature_level
            case records.RegisterBrokerRecord():
                self.brokers[message.broker_id] = message.rack
            case records.UnregisterBrokerRecord():
                self.brokers.pop(message.broker_id, None)
            case records.ProducerIdsRecord():
                self.next_producer_id = message.next_producer_id
            case _:
                self._apply_security(message)

    def _apply_security(self, message: Message) -> None:
        match message:
            case records.AccessControlEntryRecord():
                acl = AclState(
                    message.resource_type,
                    message.resource_name,
                    message.pattern_type,
                    message.principal,
                    message.host,
                    message.operation,
                    message.permission_type,
                )
                self.acls[message.id], self.acl_ids[acl] = acl, message.id
            case records.RemoveAccessControlEntryRecord():
                gone = self.acls.pop(message.id, None)
                if gone is not None and self.acl_ids.get(gone) == message.id:
                    del self.acl_ids[gone]
            case records.UserScramCredentialRecord():
                self.scram[message.name, message.mechanism] = ScramValues(
                    message.salt, message.stored_key, message.server_key, message.iterations
                )
            case records.RemoveUserScramCredentialRecord():
                self.scram.pop((message.name, message.mechanism), None)
            case records.DelegationTokenRecord():
                self.tokens[message.token_id] = TokenValues(
                    message.owner,
                    message.requester,
                    tuple(message.renewers),
                    message.issue_timestamp,
                    message.max_timestamp,
                    message.expiration_timestamp,
                )
            case records.RemoveDelegationTokenRecord():
                self.tokens.pop(message.token_id, None)
            case records.ClientQuotaRecord():
                self._put_quota(message)

    def _put_partition(self, message: records.PartitionRecord) -> None:
        topic = self.topics.get(message.topic_id)
        if topic is not None:
            topic.partitions[message.partition_id] = PartitionValues(
                tuple(message.replicas),
                tuple(message.isr),
                tuple(message.eligible_leader_replicas or ()),
                tuple(message.last_known_elr or ()),
                message.leader,
                message.leader_epoch,
            )

    def _change_partition(self, message: records.PartitionChangeRecord) -> None:
        """As in Kafka, a change of the leader, also to the same, begins a leader epoch."""
        topic = self.topics.get(message.topic_id)
        values = None if topic is None else topic.partitions.get(message.partition_id)
        if topic is None or values is None:
            return
        values = values._replace(
            replicas=_changed(values.replicas, message.replicas),
            isr=_changed(values.isr, message.isr),
            elr=_changed(values.elr, message.eligible_leader_replicas),
            last_known_elr=_changed(values.last_known_elr, message.last_known_elr),
        )
        if message.leader != records.NO_LEADER_CHANGE:
            values = values._replace(leader=message.leader, leader_epoch=values.leader_epoch + 1)
        topic.partitions[message.partition_id] = values

    def _put_config(self, message: records.ConfigRecord) -> None:
        resource = message.resource_type, message.resource_name
        own = self.configs.setdefault(resource, {})
        if message.value is None:
            own.pop(message.name, None)
        else:
            own[message.name] = message.value
        if not own:
            del self.configs[resource]

    def _put_quota(self, message: records.ClientQuotaRecord) -> None:
        entity = tuple((each.entity_type, each.entity_name) for each in message.entity)
        quotas = self.quotas.setdefault(entity, {})
        if message.remove:
            quotas.pop(message.key, None)
        else:
            quotas[message.key] = message.value
        if not quotas:
            del self.quotas[entity]


def _changed(before: tuple[int, ...], given: list[int] | None) -> tuple[int, ...]:
    return before if given is None else tuple(given)

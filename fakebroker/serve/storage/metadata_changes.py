"""What has changed in a cluster since the image of its metadata, as records of `__cluster_metadata`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.core.config_resources import BROKER_RESOURCE, GROUP_RESOURCE, METRICS_RESOURCE, TOPIC_RESOURCE
from fakebroker.broker.core.metadata_parts import MetadataEntry, MetadataPart
from fakebroker.protocol.records import metadata_records_schema as records
from fakebroker.protocol.schema import Message
from fakebroker.serve.storage.metadata_image import (
    MetadataImage,
    PartitionValues,
    ScramValues,
    TokenValues,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.quotas.client_quotas import Entity
    from fakebroker.broker.core.security.acl_state import AclState
    from fakebroker.broker.core.security.delegation_tokens import Token
    from fakebroker.broker.core.topics import Partition, Topic

SCRAM_TYPES: Mapping[str, int] = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""The numbers of mechanisms in UserScramCredentialRecord."""
MECHANISMS: Mapping[int, str] = {number: name for name, number in SCRAM_TYPES.items()}


class _Entries(NamedTuple):
    """The entries of a part: the keys of all that the cluster or the image has, and the records of one."""

    keys: Callable[[], Iterable[Any]]
    changes: Callable[[Any], Iterator[Message]]


class MetadataChanges:
    """Compares one cluster with an image; `directory_ids` are those of the nodes' log directories."""

    def __init__(self, cluster: "Cluster", image: MetadataImage, directory_ids: Mapping[int, bytes]) -> None:
        self._cluster = cluster
        self._image = image
        self._directory_ids = directory_ids
        self._parts: Mapping[MetadataPart, Callable[[], Iterator[Message]]] = {
            MetadataPart.FEATURES: self._features,
            MetadataPart.PRODUCER_IDS: self._producer_ids,
            MetadataPart.NODES: self._nodes,
        }
        self._entries: Mapping[MetadataPart, _Entries] = {
            MetadataPart.CONFIGS: _Entries(self._resources, self._configs),
            MetadataPart.ACLS: _Entries(self._all_acls, self._acls),
            MetadataPart.SCRAM: _Entries(self._all_scram, self._scram),
            MetadataPart.TOKENS: _Entries(self._all_tokens, self._tokens),
            MetadataPart.QUOTAS: _Entries(self._entities, self._quotas),
        }

    def of_part(self, part: MetadataPart) -> list[Message]:
        """The records of one part; of all its entries, if it has entries."""
        entries = self._entries.get(part)
        if entries is None:
            return list(self._parts[part]())
        return [record for key in dict.fromkeys(entries.keys()) for record in entries.changes(key)]

    def of_entry(self, entry: MetadataEntry) -> list[Message]:
        """The records of one entry: a part may have hundreds of thousands, and a change is no reason to look at all."""
        return list(self._entries[entry.part].changes(entry.key))

    def of_topic(self, topic: "Topic") -> list[Message]:
        """The records of a topic that is new, was deleted, or has other partitions or settings than before."""
        if self._cluster.topics.by_id(topic.id) is not topic:
            return [records.RemoveTopicRecord(topic_id=topic.id)] if topic.id in self._image.topics else []
        found: list[Message] = []
        known = self._image.topics.get(topic.id)
        if known is None:
            found.append(records.TopicRecord(name=topic.name, topic_id=topic.id))
        partitions = {} if known is None else known.partitions
        found += [self._partition_record(each) for each in topic.partitions if each.index not in partitions]
        found += self._config_records(TOPIC_RESOURCE, topic.name, topic.config.own)
        return found

    def of_partition(self, partition: "Partition") -> list[Message]:
        """The record of a partition's change, if there is any."""
        topic = self._image.topics.get(partition.topic.id)
        before = None if topic is None else topic.partitions.get(partition.index)
        if before is None:
            return []
        after = partition_values(partition)
        if after == before:
            return []
        if after.leader_epoch - before.leader_epoch not in (0, 1):
            return [self._partition_record(partition)]
        change = records.PartitionChangeRecord(partition_id=partition.index, topic_id=partition.topic.id)
        if after.replicas != before.replicas:
            change.replicas = list(after.replicas)
            change.directories = self._directories(after.replicas)
        if after.isr != before.isr:
            change.isr = list(after.isr)
        if after.elr != before.elr:
            change.eligible_leader_replicas = list(after.elr)
        if after.last_known_elr != before.last_known_elr:
            change.last_known_elr = list(after.last_known_elr)
        if after.leader_epoch != before.leader_epoch:
            change.leader = after.leader
        return [change]

    def _partition_record(self, partition: "Partition") -> Message:
        values = partition_values(partition)
        return records.PartitionRecord(
            partition_id=partition.index,
            topic_id=partition.topic.id,
            replicas=list(values.replicas),
            isr=list(values.isr),
            leader=values.leader,
            leader_epoch=values.leader_epoch,
            partition_epoch=values.leader_epoch,
            directories=self._directories(values.replicas),
            eligible_leader_replicas=list(values.elr) or None,
            last_known_elr=list(values.last_known_elr) or None,
        )

    def _directories(self, replicas: tuple[int, ...]) -> list[bytes]:
        return [self._directory_ids.get(node_id, bytes(16)) for node_id in replicas]

    # Parts of entries

    def _resources(self) -> Iterator[tuple[int, str]]:
        cluster = self._cluster
        yield BROKER_RESOURCE, ""
        yield from ((BROKER_RESOURCE, str(node_id)) for node_id in cluster.nodes)
        yield from ((GROUP_RESOURCE, name) for name in cluster.group_configs)
        yield from ((METRICS_RESOURCE, name) for name in cluster.client_metrics)
        yield from (resource for resource in self._image.configs if resource[0] != TOPIC_RESOURCE)

    def _configs(self, resource: tuple[int, str]) -> Iterator[Message]:
        return self._config_records(*resource, self._own_configs(*resource))

    def _own_configs(self, resource_type: int, name: str) -> Mapping[str, str]:
        cluster = self._cluster
        if resource_type == GROUP_RESOURCE:
            return cluster.group_configs.get(name, {})
        if resource_type == METRICS_RESOURCE:
            return cluster.client_metrics.get(name, {})
        if not name:
            return cluster.settings.dynamic(cluster=True)
        node = cluster.nodes.get(int(name))
        return {} if node is None else node.settings.dynamic(cluster=False)

    def _config_records(self, resource_type: int, name: str, own: Mapping[str, str]) -> Iterator[Message]:
        before = self._image.configs.get((resource_type, name), {})
        for setting, value in differences(before, own):
            yield records.ConfigRecord(resource_type=resource_type, resource_name=name, name=setting, value=value)

    def _all_acls(self) -> Iterable["AclState"]:
        authorizer = self._cluster.authorizer
        if authorizer is None:  # those that there are stay, for a start with an authorizer
            return ()
        return *authorizer.acls.state(), *self._image.acl_ids

    def _acls(self, acl: "AclState") -> Iterator[Message]:
        from fakebroker.broker.core.security.acls import acl_of

        assert self._cluster.authorizer is not None
        written_id = self._image.acl_ids.get(acl)
        is_there = acl_of(*acl) in self._cluster.authorizer.acls
        if written_id is None and is_there:
            yield records.AccessControlEntryRecord(
                id=acl_id(acl),
                resource_type=acl.resource_type,
                resource_name=acl.name,
                pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
        elif written_id is not None and not is_there:
            yield records.RemoveAccessControlEntryRecord(id=written_id)

    def _all_scram(self) -> Iterator[tuple[str, str]]:
        for name, by_mechanism in self._cluster.credentials.scram.items():
            yield from ((name, mechanism) for mechanism in by_mechanism)
        yield from ((name, MECHANISMS[number]) for name, number in self._image.scram)

    def _scram(self, key: tuple[str, str]) -> Iterator[Message]:
        name, mechanism = key
        number, credential = SCRAM_TYPES[mechanism], self._cluster.credentials.scram_of(name).get(mechanism)
        values = None if credential is None else ScramValues(*credential)
        if values == self._image.scram.get((name, number)):
            return
        if values is None:
            yield records.RemoveUserScramCredentialRecord(name=name, mechanism=number)
        else:
            yield records.UserScramCredentialRecord(name=name, mechanism=number, **values._asdict())

    def _all_tokens(self) -> Iterator[str]:
        yield from (token.token_id for token in self._cluster.credentials.tokens)
        yield from self._image.tokens

    def _tokens(self, token_id: str) -> Iterator[Message]:
        token = self._cluster.credentials.tokens.get(token_id)
        values = None if token is None else _token_values(token)
        if values == self._image.tokens.get(token_id):
            return
        if values is None:
            yield records.RemoveDelegationTokenRecord(token_id=token_id)
        else:
            yield records.DelegationTokenRecord(
                owner=values.owner,
                requester=values.requester,
                renewers=list(values.renewers),
                issue_timestamp=values.issued_ms,
                max_timestamp=values.max_ms,
                expiration_timestamp=values.expires_ms,
                token_id=token_id,
            )

    def _entities(self) -> Iterator["Entity"]:
        if self._cluster.has_client_quotas:
            yield from (entity for entity, _ in self._cluster.client_quotas)
        yield from self._image.quotas

    def _quotas(self, entity: "Entity") -> Iterator[Message]:
        quotas = self._cluster.client_quotas.of(entity) if self._cluster.has_client_quotas else {}
        for key, value in differences(self._image.quotas.get(entity, {}), quotas):
            yield records.ClientQuotaRecord(
                entity=[records.QuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity],
                key=key,
                value=value or 0.0,
                remove=value is None,
            )

    # Small parts

    def _features(self) -> Iterator[Message]:
        """Levels that were never changed are there too, but for those that are off in a new cluster."""
        features = self._cluster.features
        for name in features.supported:
            level = features.level(name)
            if level != self._image.features.get(name) and (level or features.is_off(name)):
                yield records.FeatureLevelRecord(name=name, feature_level=level)

    def _producer_ids(self) -> Iterator[Message]:
        next_id = self._cluster.next_producer_id_block
        if next_id != self._image.next_producer_id:
            node_id = next(iter(self._cluster.nodes))
            yield records.ProducerIdsRecord(broker_id=node_id, broker_epoch=0, next_producer_id=next_id)

    def _nodes(self) -> Iterator[Message]:
        racks = {node.id: node.rack for node in self._cluster.nodes.values()}
        for node_id, rack in racks.items():
            if node_id not in self._image.brokers or self._image.brokers[node_id] != rack:
                yield records.RegisterBrokerRecord(
                    broker_id=node_id,
                    incarnation_id=self._directory_ids.get(node_id, bytes(16)),
                    rack=rack,
                    log_dirs=[self._directory_ids[node_id]] if node_id in self._directory_ids else [],
                )
        for node_id in self._image.brokers:
            if node_id not in racks:
                yield records.UnregisterBrokerRecord(broker_id=node_id)


def partition_values(partition: "Partition") -> PartitionValues:
    """Replicas and leader of a partition as they are now."""
    return PartitionValues(
        tuple(partition.replicas),
        tuple(partition.isr),
        tuple(partition.elr),
        tuple(partition.last_known_elr),
        partition.leader,
        partition.leader_epoch,
    )


def acl_id(acl: "AclState") -> bytes:
    """The id of an entry, which follows from what it says: Kafka's are random."""
    data = bytearray(sha256(repr(tuple(acl)).encode()).digest()[:16])
    data[6], data[8] = data[6] & 0x0F | 0x40, data[8] & 0x3F | 0x80
    return bytes(data)


def differences(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """(key, value) of what is new or another in `after`, and (key, None) of what is gone."""
    for key, value in after.items():
        if key not in before or before[key] != value:
            yield key, value
    for key in list(before):
        if key not in after:
            yield key, None


def _token_values(token: "Token") -> TokenValues:
    return TokenValues(
        _principal(token.owner),
        _principal(token.requester),
        tuple(map(_principal, token.renewers)),
        token.issued_ms,
        token.max_ms,
        token.expires_ms,
    )


def _principal(principal: tuple[str, str]) -> str:
    return ":".join(principal)

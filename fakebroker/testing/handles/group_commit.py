"""Committing offsets to a group without a client, through the validator and the log that serve OffsetCommit."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fakebroker.protocol.errors import ErrorCode, InvalidArgument, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import newest_by_name
from fakebroker.testing.handles.finding import find_coordinator

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.offsets.commit_validator import CommitValidator

_NO_EPOCH = -1
_NO_GENERATION = -1


def commit_as_admin(
    cluster: "Cluster", group_id: str, offsets: Mapping[tuple[str, int], int], metadata: str, now: Instant
) -> None:
    """Store offsets as an OffsetCommit without member and generation does (OC-6, OC-7); all or none.

    Raises KafkaError as Kafka answers, InvalidArgument for invalid offsets; nothing is stored then.
    """
    if not offsets:
        raise InvalidArgument("offsets", offsets, "offsets: is empty; a commit has at least one topic and partition")
    shard = find_coordinator(cluster, group_id).coordinator.shard(group_id, now)
    group = shard.group(group_id)
    version = newest_by_name(ApiKey.OFFSET_COMMIT)
    if group is not None and (code := group.error_for_commit("", None, _NO_GENERATION, version)):
        raise KafkaError(code, f"group {group_id!r} is {group.state}: only its members may commit")
    validator = shard.commit_validator(now, None)
    for (topic, partition), offset in offsets.items():
        _validate(cluster, validator, topic, partition, offset, metadata)
    group = group or shard.create_group(group_id, now, for_commit=True)
    try:
        shard.commit(group, validator.accepted, now)
    except KafkaError:
        shard.look_at(group, now)
        raise


def _validate(
    cluster: "Cluster", validator: "CommitValidator", name: str, partition: int, offset: int, metadata: str
) -> None:
    topic = cluster.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
    ((_, code),) = validator.validate(topic, [(partition, offset, _NO_EPOCH, NO_TIMESTAMP, metadata)])
    if code:
        raise KafkaError(ErrorCode(code), f"{name}-{partition} at {offset}")

"""From the image of the metadata to the state that a cluster is built of."""

import hmac
from collections.abc import Mapping
from random import Random

from fakebroker.broker.core.cluster_state import (
    ClusterState,
    JobsState,
    NodeValues,
    PartitionState,
    QuotaState,
    RandomState,
    TopicState,
)
from fakebroker.broker.core.config_resources import BROKER_RESOURCE, GROUP_RESOURCE, METRICS_RESOURCE, TOPIC_RESOURCE
from fakebroker.broker.core.features import FeaturesState
from fakebroker.broker.core.security.credentials import CredentialsState, ScramState, TokenState
from fakebroker.broker.release import Release
from fakebroker.serve.storage.metadata_changes import MECHANISMS
from fakebroker.serve.storage.metadata_image import MetadataImage, TokenValues


def cluster_state_of(
    image: MetadataImage, cluster_id: str, release: Release, seed: str, token_key: str | None
) -> ClusterState:
    """The state of a cluster whose brokers all start now, without logs.

    Args:
        image: What the metadata log says.
        cluster_id: Of meta.properties.
        release: The Kafka release to emulate.
        seed: What random ids follow from; another one for each start, so that none comes twice.
        token_key: `delegation.token.secret.key`; without it there are no delegation tokens.
    """
    configs = image.configs
    return ClusterState(
        cluster_id=cluster_id,
        next_producer_id=image.next_producer_id,
        random=RandomState(*Random(seed).getstate()),
        nodes=tuple(_node_values(node_id, rack, image) for node_id, rack in image.brokers.items()),
        dynamic=dict(configs.get((BROKER_RESOURCE, ""), {})),
        topics=tuple(_topic_states(image)),
        being_deleted=(),
        group_configs=_configs_of(image, GROUP_RESOURCE),
        client_metrics=_configs_of(image, METRICS_RESOURCE),
        jobs=JobsState(None, None, None),
        expirations=(),
        credentials=CredentialsState({}, _scram_states(image), _token_states(image, token_key)),
        features=FeaturesState(_feature_levels(image, release)),
        client_quotas=_quota_states(image),
        acls=tuple(image.acls.values()),
    )


def _node_values(node_id: int, rack: str | None, image: MetadataImage) -> NodeValues:
    own = {} if rack is None else {"broker.rack": rack}
    return NodeValues(node_id, True, own, dict(image.configs.get((BROKER_RESOURCE, str(node_id)), {})))


def _topic_states(image: MetadataImage) -> list[TopicState]:
    states = []
    for topic_id, topic in image.topics.items():
        partitions = tuple(PartitionState(*topic.partitions[index], log=None) for index in sorted(topic.partitions))
        states.append(
            TopicState(topic.name, topic_id, dict(image.configs.get((TOPIC_RESOURCE, topic.name), {})), partitions)
        )
    return states


def _configs_of(image: MetadataImage, resource_type: int) -> dict[str, dict[str, str]]:
    return {name: dict(own) for (kind, name), own in image.configs.items() if kind == resource_type}


def _scram_states(image: MetadataImage) -> tuple[ScramState, ...]:
    return tuple(ScramState(user, MECHANISMS[number], *values) for (user, number), values in image.scram.items())


def _token_states(image: MetadataImage, token_key: str | None) -> tuple[TokenState, ...]:
    if token_key is None:
        return ()
    return tuple(_token_state(token_id, values, token_key) for token_id, values in image.tokens.items())


def _token_state(token_id: str, values: TokenValues, token_key: str) -> TokenState:
    return TokenState(
        token_id,
        hmac.digest(token_key.encode(), token_id.encode(), "sha512"),
        _principal(values.owner),
        _principal(values.requester),
        tuple(map(_principal, values.renewers)),
        values.issued_ms,
        values.max_ms,
        values.expires_ms,
    )


def _principal(text: str) -> tuple[str, str]:
    kind, _, name = text.partition(":")
    return kind, name


def _feature_levels(image: MetadataImage, release: Release) -> dict[str, int]:
    """The levels that differ from those of a new cluster."""
    return {
        name: image.features[name]
        for name, (_, highest) in release.features.items()
        if name in image.features and image.features[name] != highest
    }


def _quota_states(image: MetadataImage) -> tuple[QuotaState, ...]:
    return tuple(
        QuotaState(tuple(kind for kind, _ in entity), tuple(name for _, name in entity), dict(values))
        for entity, values in image.quotas.items()
    )


def unsupported_features(image: MetadataImage, features: Mapping[str, tuple[int, int]]) -> list[tuple[str, int, int]]:
    """(name, level, highest level that is supported) of the features that a newer release has written."""
    return [
        (name, level, features.get(name, (0, 0))[1])
        for name, level in image.features.items()
        if level > features.get(name, (0, 0))[1]
    ]

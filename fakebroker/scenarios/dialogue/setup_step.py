"""The `ready` step of a dialogue: creates topics, then asks the broker until all that the dialogue needs is available.

The recordings were made after the same requests, so their side effects (an internal topic that is created, a producer
id that is handed out) are the same here.
"""

from collections.abc import Container, Mapping
from contextlib import suppress

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import ClusterError, UnreadableAnswer
from fakebroker.client.cluster.preparing import await_group, await_producer_ids, await_transactions, create_topics
from fakebroker.client.cluster.topics import metadata_request
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from fakebroker.scenarios.comparison.names import Names
from fakebroker.testing.exchanges.kinds import Json, Ready


def make_ready(
    cluster: ClusterClient, names: Names, step: Ready, wall_ms: int, served: Container[str] | None = None
) -> None:
    """Create the topics, of which one that exists is used, and wait; save the topic ids if the step wants them.

    `served` are the names of the APIs that the broker serves; None means all that are needed here. What is not served
    is not waited for. Raises ClusterError for a topic that is refused, and for what is not available in time.
    """

    def serves(*apis: str) -> bool:
        return served is None or all(api in served for api in apis)

    topics: dict[str, Mapping[str, Json]] = names.fill(step.new_topics, wall_ms)
    group: str | None = names.fill(step.group, wall_ms)
    transactional_id: str | None = names.fill(step.transactional_id, wall_ms)
    if serves("CreateTopics"):
        create_topics(cluster, [_new_topic(*item) for item in topics.items()])
    else:
        _create_by_asking(cluster, topics)
    if group is not None and serves("FindCoordinator", "OffsetFetch"):
        with suppress(UnreadableAnswer):  # the coordinator is there; what it answers wrongly is for the steps to find
            await_group(cluster, group)
    cluster.await_topics({name: wanted.get("partitions", 1) for name, wanted in topics.items()})
    if transactional_id is not None and serves("InitProducerId"):
        await_producer_ids(cluster)
    if transactional_id and serves("FindCoordinator", "DescribeTransactions"):
        await_transactions(cluster, transactional_id)
    if step.names_topic_ids:
        found = cluster.topics(list(topics))
        for plain, name in zip(step.new_topics, topics, strict=True):
            names.save(f"id:{plain}", uuid_to_text(found[name].topic_id))


def _new_topic(name: str, wanted: Mapping[str, Json]) -> CreatableTopic:
    configs = [CreatableTopicConfig(name=key, value=str(value)) for key, value in wanted.get("config", {}).items()]
    return CreatableTopic(name=name, num_partitions=wanted.get("partitions", 1), replication_factor=1, configs=configs)


def _create_by_asking(cluster: ClusterClient, topics: Mapping[str, Mapping[str, Json]]) -> None:
    """Let a broker without CreateTopics make the topics, which gives them no configs. Raises ClusterError."""
    for name, wanted in topics.items():
        if needs_configs(wanted):
            raise ClusterError(f"topic {name} not created: its configs need CreateTopics, which is not served")
    if topics:
        cluster.ask(metadata_request(list(topics), creates=True))


def needs_configs(topic: Mapping[str, Json]) -> bool:
    """Whether a topic has configs that matter: that nothing is deleted is what a broker without configs does anyway."""
    return any((name, str(value)) != ("retention.ms", "-1") for name, value in topic.get("config", {}).items())

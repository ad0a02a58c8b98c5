"""The `ready` step of a dialogue: creates topics, then asks the broker until all that the dialogue needs is available.

The recordings were made after the same requests, so their side effects (an internal topic that is created, a producer
id that is handed out) are the same here.
"""

from collections.abc import Mapping

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.preparing import await_group, await_producer_ids, await_transactions, create_topics
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from fakebroker.scenarios.dialogue.names import Names
from fakebroker.testing.exchanges.kinds import Json, Ready


def make_ready(cluster: ClusterClient, names: Names, step: Ready, wall_ms: int) -> None:
    """Create the topics, of which one that exists is used, and wait; save the topic ids if the step wants them.

    Raises ClusterError for a topic that is refused, and for what is not available in time.
    """
    topics: dict[str, Mapping[str, Json]] = names.fill(step.new_topics, wall_ms)
    group: str | None = names.fill(step.group, wall_ms)
    transactional_id: str | None = names.fill(step.transactional_id, wall_ms)
    create_topics(cluster, [_new_topic(*item) for item in topics.items()])
    if group is not None:
        await_group(cluster, group)
    cluster.await_topics({name: wanted.get("partitions", 1) for name, wanted in topics.items()})
    if transactional_id is not None:
        await_producer_ids(cluster)
    if transactional_id:
        await_transactions(cluster, transactional_id)
    if step.names_topic_ids:
        found = cluster.topics(list(topics))
        for plain, name in zip(step.new_topics, topics, strict=True):
            names.save(f"id:{plain}", uuid_to_text(found[name].topic_id))


def _new_topic(name: str, wanted: Mapping[str, Json]) -> CreatableTopic:
    configs = [CreatableTopicConfig(name=key, value=str(value)) for key, value in wanted.get("config", {}).items()]
    return CreatableTopic(name=name, num_partitions=wanted.get("partitions", 1), replication_factor=1, configs=configs)

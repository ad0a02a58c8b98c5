"""A replay's target in real time: a Kafka that runs, with the topics that the session began with."""

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.preparing import await_group, await_producer_ids, create_topics
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_content import ReadRecord, records_of
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from fakebroker.scenarios.recording.earlier_commits import commit_before
from fakebroker.scenarios.recording.replay import Target
from fakebroker.scenarios.recording.survey import Survey
from fakebroker.testing.recorded_cluster.state import TopicBefore

MAX_RECORDS = 100_000  # of a partition that are made
_AT_ONCE = 1_000


def tcp_target(survey: Survey, kafka: ClientConfig) -> Target:
    """The target that is a Kafka. Topics that are not there are made, with as many records as they had.

    Raises FakebrokerError when there is no Kafka, or it does not take that.
    """
    with ClusterClient(kafka.bootstrap, security=kafka.security, client_id="fakebroker-replay") as cluster:
        driver = TcpDriver.secured(cluster.reached(), kafka.security)
        served = cluster.versions()
        made = create_topics(cluster, [_as_it_was(name, topic) for name, topic in survey.topics.items()])
        cluster.await_topics({name: survey.topics[name].partitions for name in made})
        notes = _leftovers(survey, cluster, made)
        for name in made:
            _fill(name, survey, cluster, driver.wall_ms)
        notes += _wake(survey, cluster)
        commit_before(survey, cluster)
        brokers = sorted(cluster.brokers().items())
    found = dict(zip(survey.node_ids, brokers, strict=False))  # as many as there are on both sides
    nodes = {recorded: node_id for recorded, (node_id, _) in found.items()}
    addresses = {recorded: address for recorded, (_, address) in found.items()} if len(brokers) > 1 else {}

    def is_served(api_key: int, version: int) -> bool:
        low, high = served.get(api_key, (0, -1))
        return low <= version <= high

    return Target(driver, nodes, addresses, is_served, notes=notes)


def _as_it_was(name: str, topic: TopicBefore) -> CreatableTopic:
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in topic.config.items()]
    return CreatableTopic(name=name, num_partitions=topic.partitions, replication_factor=-1, configs=configs)


def _leftovers(survey: Survey, cluster: ClusterClient, made: list[str]) -> list[str]:
    """A sentence for each topic of the session that is there already, from a replay before this one, for example."""
    names = [name for name in {**survey.topics, **survey.made} if name not in made]
    return [
        f"the topic {name} is there already, with what is in it: differences may come of that"
        for name in cluster.topics(names)
    ]


def _fill(name: str, survey: Survey, cluster: ClusterClient, wall_ms: int) -> None:
    """Produce what was there: records that somebody read as they were, and others in the place of the rest."""
    for index in range(survey.topics[name].partitions):
        before = survey.logs.get((name, index))
        end = min(before.end or 0, MAX_RECORDS) if before is not None else 0
        known = {} if before is None else {r.offset: r for _, data in before.batches.items() for r in records_of(data)}
        for start in range(0, end, _AT_ONCE):
            offsets = range(start, min(start + _AT_ONCE, end))
            records = [_record(offset, known.get(offset), wall_ms) for offset in offsets]
            batch = build_batch(records, base_offset=start, leader_epoch=-1)
            cluster.produce(TopicPartition(name, index), batch)


def _wake(survey: Survey, cluster: ClusterClient) -> list[str]:
    """Wait until coordinators answer. A sentence for each group that has committed offsets already."""
    await_producer_ids(cluster)
    groups = dict.fromkeys([*survey.first_generations, *survey.coordinators])
    return [
        f"the group {group_id} is there already, with offsets: differences may come of that"
        for group_id in groups
        if await_group(cluster, group_id).topics
    ]


def _record(offset: int, known: ReadRecord | None, wall_ms: int) -> Record:
    if known is None or known.is_control:
        return Record(offset, wall_ms, None, b"filler")
    return Record(offset, wall_ms, known.key, known.value, known.headers)

"""Whether a state that was read from a file can be that of a broker. A broker's own needs no check."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fakebroker.broker.core.cluster_state import ClusterState, LogState, PartitionState, SegmentState, build_cluster
from fakebroker.broker.engine.clock import FASTEST_RATE, LATEST_WALL_MS, SLOWEST_RATE
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.serve.listener_options import HIGHEST_FIRST_ID, MAX_NODES
from fakebroker.testing.snapshot.state import BrokerState

HIGHEST_EPOCH = (1 << 30) - 1  # of a leader: it is 32 bits in messages, and elections raise it
HIGHEST_OFFSET = (1 << 62) - 1


def what_is_wrong(state: BrokerState) -> str | None:
    """What is wrong with a state, None if nothing is: first what the parts say, then whether a cluster can be made."""
    problem = next(_problems(state), None)
    if problem is not None:
        return problem
    options = state.options
    try:
        settings = Settings(options.config, profile=options.profile)
        now = Instant(state.clock.wall_ms, 0)
        build_cluster(_with_few_partitions(state.cluster), settings, release(options.as_release), now)
    except FakebrokerError as error:
        return str(error)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        return f"{error.__class__.__name__}: {error}"
    return None


def _with_few_partitions(cluster: ClusterState) -> ClusterState:
    """The cluster without partitions that have no log, which were checked already; one of each topic stays.

    There may be thousands, and making them takes as long as the start of the broker.
    """
    topics = []
    for topic in cluster.topics:
        with_logs = tuple(each for each in topic.partitions if each.log is not None)
        topics.append(topic._replace(partitions=with_logs or topic.partitions[:1]))
    return cluster._replace(topics=tuple(topics))


def _problems(state: BrokerState) -> Iterator[str]:
    cluster = state.cluster
    if not SLOWEST_RATE <= state.clock.rate <= FASTEST_RATE or not 0 <= state.clock.wall_ms <= LATEST_WALL_MS:
        yield "its clock is invalid"
    node_ids = [node.id for node in cluster.nodes]
    first = state.options.node_ids
    are_ids = all(0 <= node_id < 2 * HIGHEST_FIRST_ID for node_id in node_ids)
    if not 0 < len(node_ids) == len(set(node_ids)) or not are_ids or len(node_ids) > MAX_NODES:
        yield f"its {len(node_ids)} nodes are {node_ids[:MAX_NODES]}"
    if not first or first != tuple(range(first[0], first[0] + len(first))) or len(first) > MAX_NODES:
        yield f"it began with the nodes {list(first)}"
    for what, each in (("name", [x.name for x in cluster.topics]), ("id", [x.id for x in cluster.topics])):
        if len(set(each)) < len(each):
            yield f"two topics have the same {what}"
    for topic in cluster.topics:
        if len(topic.id) != 16 or not topic.partitions:
            yield f"topic {topic.name!r:.60} has no id or no partitions"
        for index, partition in enumerate(topic.partitions):
            for problem in _problems_of_partition(partition, node_ids):
                yield f"partition {topic.name}-{index} {problem}"


def _problems_of_partition(partition: PartitionState, node_ids: Sequence[int]) -> Iterator[str]:
    unknown = [each for each in (*partition.replicas, *partition.isr, *partition.elr) if each not in node_ids]
    if unknown or not partition.replicas or partition.leader not in (-1, *node_ids):
        yield f"has nodes {[*partition.replicas, *unknown, partition.leader]} of {list(node_ids)}"
    if not 0 <= partition.leader_epoch <= HIGHEST_EPOCH:
        yield f"has the leader epoch {partition.leader_epoch}"
    if partition.empty_range is not None and partition.empty_range.end > HIGHEST_OFFSET:
        yield f"has the offset {partition.empty_range.end}"
    if partition.empty_range is not None and not 0 <= partition.empty_range.start <= partition.empty_range.end:
        yield f"has the offsets {partition.empty_range[:2]}, which are not in order"
    if partition.log is not None:
        yield from _problems_of_log(partition.log)


def _problems_of_log(log: LogState) -> Iterator[str]:
    offsets = (0, log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset)
    if any(after < before for before, after in pairwise((0, log.log_start_offset, log.log_end_offset))):
        yield f"has the offsets {offsets[1:]}, which are not in order"
    if log.log_end_offset > HIGHEST_OFFSET:
        yield f"has the offset {log.log_end_offset}"
    if wrong := [epoch for epoch, _ in log.epochs if not 0 <= epoch <= HIGHEST_EPOCH]:
        yield f"has the leader epoch {wrong[0]}"
    bases = [segment.base_offset for segment in log.segments]
    if not bases or any(after <= before for before, after in pairwise(bases)):
        yield f"has segments at {bases[:10]}"
    for segment in log.segments:
        yield from _problems_of_segment(segment)


def _problems_of_segment(segment: SegmentState) -> Iterator[str]:
    count = len(segment.batches)
    if {len(segment.offsets), len(segment.ends), len(segment.times)} != {count}:
        yield f"has a segment at {segment.base_offset} whose arrays are not of one length"
        return
    if any(len(batch) < HEADER_BYTES for batch in segment.batches):
        yield f"has a batch in the segment at {segment.base_offset} that is too short"
    size_bytes = 0
    for batch, end in zip(segment.batches, segment.ends, strict=True):
        size_bytes += len(batch)
        if size_bytes != end:
            yield f"has a segment at {segment.base_offset} whose batches are not as long as it says"
            return
    if any(after <= before for before, after in pairwise(segment.offsets)):
        yield f"has batches in the segment at {segment.base_offset} that are not in order"

"""A broker in virtual time that begins as the recorded cluster did."""

from collections.abc import Iterator, Mapping

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.logs.segment import Segment
from fakebroker.broker.core.topic_config import check_config
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.journal import Journal
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.records.batch import build_batch, parse_header, peek, plain_records
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_content import records_of
from fakebroker.testing.recorded_cluster.state import LogBefore, RecordedState

HOST, FIRST_PORT = "127.0.0.1", 9092
_MAGIC = 2


def engine_of(state: RecordedState, as_release: str | None = None, settings: Mapping[str, str] | None = None) -> Engine:
    """An engine with the nodes, topics, logs and settings that a session began with.

    `as_release` and `settings` go before what the session shows.
    """
    found = settings_of(state)
    node_ids = tuple(state.node_ids)
    racks = [state.nodes.get(node_id) for node_id in node_ids]
    config = Settings({**found, **(settings or {})}, profile="kafka")
    has_racks = all(rack is not None for rack in racks)
    cluster = Cluster(config, release(as_release or state.release), 0, node_ids, racks if has_racks else None)
    listeners = [Listener(node_id, HOST, FIRST_PORT + index) for index, node_id in enumerate(node_ids)]
    engine = Engine(cluster, listeners, Journal(), Instant(state.started_wall_ms, 0))
    _make_topics(state, engine)
    return engine


def settings_of(state: RecordedState) -> dict[str, str]:
    """The settings of the recorded brokers that there are here, and that differ from Kafka's defaults."""
    wanted = dict(state.settings)
    for partitions in state.created_later.values():
        wanted.setdefault("num.partitions", str(partitions))
    usual = Settings(profile="kafka")
    found = {}
    for name, value in wanted.items():
        try:
            if Settings({name: value}, profile="kafka").value(name) != usual.value(name):
                found[name] = value
        except FakebrokerError:  # a setting of other releases, or of what is not served
            continue
    return found


def _make_topics(state: RecordedState, engine: Engine) -> None:
    cluster = engine.cluster
    for name, topic in state.topics.items():
        known = [topic.replicas.get(index) for index in range(topic.partitions)]
        assignments = [each for each in known if each]
        is_whole = len(assignments) == topic.partitions
        config = _accepted(cluster.settings, topic.config)
        made = cluster.topics.create(
            name, None if is_whole else topic.partitions, None, config, assignments if is_whole else None
        )
        for partition in made.partitions:
            before = state.logs.get((name, partition.index))
            if before is not None and (before.end or before.start):
                segment, start, end = _segment_of(before, engine.now.wall_ms)
                log = partition.log
                log.fill([segment], [(0, start)])
                log.log_start_offset, log.log_end_offset = start, end
                log.limit_high_watermark(None, engine.now)


def accepted_by(settings: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """The settings of a topic that a broker with these settings takes."""
    return _accepted(Settings(settings, profile="kafka"), config)


def _accepted(settings: Settings, config: Mapping[str, str]) -> dict[str, str]:
    accepted = {}
    for name, value in config.items():
        try:
            check_config(settings, {name: value})
        except FakebrokerError:
            continue
        accepted[name] = value
    return accepted


def _segment_of(before: LogBefore, wall_ms: int) -> tuple[Segment, int, int]:
    """The log as one segment, its start and its end; what nobody read is filled with single records."""
    start = before.start if before.start is not None else 0
    end = max(before.end if before.end is not None else start, start)
    segment = Segment(min([start, *before.batches]) if end > start else start, wall_ms)
    for offset, batch in _batches(before, start, end, wall_ms):
        segment.add(batch, offset, parse_header(batch).max_timestamp_ms, wall_ms, 4096)
    return segment, start, end


def _batches(before: LogBefore, start: int, end: int, wall_ms: int) -> Iterator[tuple[int, bytes]]:
    at = start
    for base_offset, batch in sorted(before.batches.items()):
        if base_offset >= end:
            break
        if base_offset > at:
            yield at, _filler(at, base_offset, wall_ms)
        entry = peek(batch)
        if entry is None or entry[1] < _MAGIC:
            records = [Record(r.offset, r.timestamp_ms, r.key, r.value) for r in records_of(batch)]
            if not records:
                continue
            batch = build_batch(records, base_offset=records[0].offset)
        header = parse_header(batch)
        if header.last_offset < at:
            continue
        yield header.base_offset, batch
        at = header.last_offset + 1
    if at < end:
        yield at, _filler(at, end, wall_ms)


def _filler(start: int, end: int, wall_ms: int) -> bytes:
    """One record in the place of many, as after compaction."""
    records = plain_records([(None, b"filler")], wall_ms, start)
    return build_batch(records, base_offset=start, last_offset_delta=end - start - 1)

"""Counted cases of share and streams groups: the requests that their members send all the time."""

from collections.abc import Iterator, Sequence
from itertools import count

from bench import requests as r
from bench.scale import World
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from fakebroker.protocol.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from fakebroker.protocol.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)

GROUP, TOPIC = "bench", "bench"
MEMBER = "c5f6a5a0-0000-4000-8000-000000000001"
SHARE_HEARTBEAT, SHARE_FETCH, STREAMS_HEARTBEAT = 1, 2, 0
RECORDS = 16  # of a batch; each ShareFetch acquires one
LOG_BATCHES = 2_000  # more than the case reads
ACCEPT = 1

Requests = Iterator[tuple[Message, int]]


def share_heartbeats(world: World) -> Requests:
    """Of the one member of a share group, which has nothing to tell."""
    epoch = _joined(world)
    while True:
        yield ShareGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, member_epoch=epoch), SHARE_HEARTBEAT


def share_fetches(world: World) -> Requests:
    """Each accepts the records of the one before and acquires a batch of 1 KiB, in a session."""
    world.engine.cluster.group_configs[GROUP] = {"share.auto.offset.reset": "earliest"}
    _joined(world)
    topic = world.engine.cluster.topics.get(TOPIC)
    assert topic is not None
    for number in range(LOG_BATCHES):
        topic.partitions[0].log.append(r.batch(1024, RECORDS, r.FIRST_MS + number), world.now)
    yield _share_fetch(0, topic.id, ()), SHARE_FETCH
    for number in count():
        first = number * RECORDS
        accepted = AcknowledgementBatch(first_offset=first, last_offset=first + RECORDS - 1, acknowledge_types=[ACCEPT])
        yield _share_fetch(1 + number, topic.id, [accepted]), SHARE_FETCH


def streams_heartbeats(world: World) -> Requests:
    """Of one of three members of a streams group, reconciled, which has nothing to tell."""
    world.broker.create_topic(TOPIC, partitions=3)
    members = [f"member-{number}" for number in range(3)]
    answers = {each: world.ask(_streams_join(each), STREAMS_HEARTBEAT) for each in members}
    for _ in range(8):
        world.advance(1000)  # the initial delay, and between two targets
        for each, answer in answers.items():
            answers[each] = world.ask(_streams_heartbeat(each, answer), STREAMS_HEARTBEAT)
    (epoch,) = {answer.member_epoch for answer in answers.values()}
    while True:
        heartbeat = StreamsGroupHeartbeatRequest(group_id=GROUP, member_id=members[0], member_epoch=epoch)
        yield heartbeat, STREAMS_HEARTBEAT


def _joined(world: World) -> int:
    """Make the topic and the group with its member; returns the member's epoch."""
    world.broker.create_topic(TOPIC)
    join = ShareGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, member_epoch=0, subscribed_topic_names=[TOPIC])
    epoch: int = world.ask(join, SHARE_HEARTBEAT).member_epoch
    for _ in range(5):
        world.advance(1000)
        heartbeat = ShareGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, member_epoch=epoch)
        answer = world.ask(heartbeat, SHARE_HEARTBEAT)
        assert answer.error_code == 0, answer
        epoch = answer.member_epoch
    return epoch


def _share_fetch(epoch: int, topic_id: bytes, accepted: Sequence[AcknowledgementBatch]) -> ShareFetchRequest:
    partition = FetchPartition(partition_index=0, acknowledgement_batches=list(accepted))
    return ShareFetchRequest(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=epoch,
        max_wait_ms=0,
        min_bytes=1,
        max_records=RECORDS,
        batch_size=RECORDS,
        topics=[FetchTopic(topic_id=topic_id, partitions=[partition])],
    )


def _streams_join(member: str) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=r.TIMEOUT_MS,
        topology=Topology(epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=[TOPIC])]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id=member,
        client_tags=[],
    )


def _streams_heartbeat(member: str, answer: StreamsGroupHeartbeatResponse) -> StreamsGroupHeartbeatRequest:
    """The one after that answer, which owns what it was assigned."""
    assert answer.error_code == 0, answer
    has_tasks = answer.active_tasks is not None
    return StreamsGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member,
        member_epoch=answer.member_epoch,
        active_tasks=_owned(answer.active_tasks) if has_tasks else None,
        standby_tasks=[] if has_tasks else None,
        warmup_tasks=[] if has_tasks else None,
    )


def _owned(tasks: Sequence[TaskIds] | None) -> list[TaskIds]:
    return [TaskIds(subtopology_id=each.subtopology_id, partitions=list(each.partitions)) for each in tasks or ()]

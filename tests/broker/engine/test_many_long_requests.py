"""Very many clients that ask for something long at once: few answers are in the making, and others are served."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from fakebroker.broker.engine import engine
from fakebroker.broker.engine.authorization import access
from fakebroker.broker.engine.engine import MOST_UNDER_WAY, MOST_VERY_LONG
from fakebroker.broker.engine.work import STEPS_OF_VERY_LONG, Work
from fakebroker.protocol.pace import FIRST_STEP_S, STEP_S
from fakebroker.protocol.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from tests.support.engine import Client, SimEngine
from tests.support.frames import request
from tests.support.rights import allow, guarded_lab
from tests.support.work_counter import calls_of

PARTITIONS, CLIENTS = 2_000, 24
UNIT_S = FIRST_STEP_S
METADATA = request("Metadata", 12, topics=[MetadataRequestTopic(name="t")])
MEMBER = "c5f6a5a0-0000-4000-8000-000000000000"
DESCRIBE = request("ConsumerGroupDescribe", 0, group_ids=["g"])


@pytest.fixture
def lab() -> SimEngine:
    """A broker with a large topic, whose stopwatch goes on with each look at it."""
    lab = SimEngine()
    lab.cluster.topics.create("t", PARTITIONS)
    return lab


def arrive(lab: SimEngine, data: bytes, count: int = CLIENTS) -> tuple[list[Client], int]:
    """The same from so many clients, and the calls of the dearest turn of an arrival."""
    clients = [lab.client() for _ in range(count)]

    def receive(client: Client) -> None:
        client.socket.connection.receive(data, lab.network.now)

    return clients, max(calls_of(partial(receive, client)) for client in clients)


def step_by_step(lab: SimEngine) -> Iterator[int]:
    """Take all steps; after each, how many requests are in the making."""
    while lab.engine.works:
        lab.engine.step(lab.network.now)
        yield sum(isinstance(work, Work) and work.progress.steps_taken > 0 for work in lab.engine.works)


@pytest.mark.parametrize("has_authorizer", [False, True])
def test_few_answers_are_in_the_making(lab: SimEngine, has_authorizer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others have taken some steps, and go on in the order in which they came; so do checks of rights in steps."""
    if has_authorizer:
        lab = guarded_lab()
        topic = lab.cluster.topics.get("t")
        assert topic is not None
        topic.partitions *= PARTITIONS
        allow(lab, "DESCRIBE", principal="User:ANONYMOUS")
        monkeypatch.setattr(access, "NAMES_PER_STEP", 0)  # each question is a step
    clients, _ = arrive(lab, METADATA)
    assert max(step_by_step(lab)) <= MOST_UNDER_WAY
    lab.network.flush()
    for client in clients:
        answer = client.answer("Metadata", 12)
        assert len(answer.topics[0].partitions) == PARTITIONS


def test_a_request_that_takes_very_long_does_not_keep_others_waiting(lab: SimEngine) -> None:
    """It is no longer counted then."""
    arrive(lab, METADATA, MOST_UNDER_WAY)
    for connection in lab.engine.connections.values():
        connection.progress.steps_taken = STEPS_OF_VERY_LONG
    arrive(lab, METADATA, 1)
    assert not lab.engine._waiting


def test_few_requests_take_very_long(lab: SimEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are no longer counted hold as much as others: 24 clients had a GB of answers in the making."""
    monkeypatch.setattr(engine, "STEPS_OF_VERY_LONG", 1)
    clients, _ = arrive(lab, METADATA)
    assert max(step_by_step(lab)) <= MOST_UNDER_WAY + MOST_VERY_LONG
    lab.network.flush()
    assert all(client.answer("Metadata", 12).topics for client in clients)


def test_large_requests_are_under_way_one_by_one(lab: SimEngine) -> None:
    """One of 1 MB is read to eighty times its bytes, so it has all places."""
    names = [MetadataRequestTopic(name=f"name-of-a-topic-{number:05}") for number in range(45_000)]
    clients, _ = arrive(lab, request("Metadata", 9, topics=names), 3)
    assert max(step_by_step(lab)) == 1
    lab.network.flush()
    assert all(len(client.answer("Metadata", 9).topics) == len(names) for client in clients)


def test_works_that_wait_are_done_at_the_end(lab: SimEngine) -> None:
    """Of clients that are gone only what must be finished; nothing is left."""
    arrive(lab, METADATA)
    lab.engine.end_works(lab.network.now)
    assert not lab.engine.works
    assert not lab.engine._waiting


def test_a_stop_does_not_take_long(lab: SimEngine, caplog: pytest.LogCaptureFixture) -> None:
    """What must be finished has some seconds for that; the rest ends, and the log says so."""
    passed = itertools.count()
    lab.cluster.timers.passes.stopwatch = lambda: float(next(passed))
    clients, _ = arrive(lab, request("ElectLeaders", 2, topic_partitions=None, timeout_ms=60_000), 40)
    for client in clients:
        client.socket.connection.closed(lab.network.now)
    lab.engine.end_works(lab.network.now)
    assert not lab.engine.works
    assert not lab.engine._waiting
    assert "of clients that have gone were not finished" in caplog.text


def with_a_stopwatch(lab: SimEngine) -> None:
    passed = itertools.count()
    lab.cluster.timers.passes.stopwatch = lambda: next(passed) * UNIT_S


def test_members_that_join_begin_later_while_others_wait(lab: SimEngine) -> None:
    """An assignment of very many partitions is made in its own turn; the answer is the same."""
    member_of_all(lab)  # the first may load and compile things
    lab.engine.set_late(is_late=True)
    client, member = lab.client(), MEMBER.replace("0000-0000-4000", "0000-0001-4000")
    fields: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
    joins = request("ConsumerGroupHeartbeat", 1, group_id="late", member_id=member, member_epoch=0, **fields)
    assert calls_of(lambda: client.socket.connection.receive(joins, lab.network.now)) < PARTITIONS
    [*step_by_step(lab)]
    lab.network.flush()
    answer = client.answer("ConsumerGroupHeartbeat", 1)
    assert (answer.error_code, len(answer.assignment.topic_partitions[0].partitions)) == (0, PARTITIONS)


def member_of_all(lab: SimEngine) -> None:
    """A consumer group whose member has all partitions."""
    answer: ConsumerGroupHeartbeatResponse = lab.client().ask(
        "ConsumerGroupHeartbeat", 1, group_id="g", member_id=MEMBER, member_epoch=0, rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"], topic_partitions=[],
    )  # fmt: skip
    assert answer.error_code == 0


@pytest.mark.parametrize(
    ("data", "prepare"), [(METADATA, lambda _lab: None), (DESCRIBE, member_of_all)], ids=["Metadata", "Describe"]
)
def test_first_steps_are_short_while_others_wait(
    lab: SimEngine, data: bytes, prepare: Callable[[SimEngine], None]
) -> None:
    """A request that turns out to be long takes the rest of it when the others have had their turns."""
    prepare(lab)
    arrive(lab, data, 2)  # the first may load and compile things
    [*step_by_step(lab)]
    with_a_stopwatch(lab)
    _, usual = arrive(lab, data, 3)
    [*step_by_step(lab)]
    lab.engine.set_late(is_late=True)
    _, late = arrive(lab, data, 3)
    assert late < usual / 4
    assert lab.cluster.timers.passes.step_time.step_s == FIRST_STEP_S
    lab.engine.set_late(is_late=False)
    assert lab.cluster.timers.passes.step_time.step_s == STEP_S

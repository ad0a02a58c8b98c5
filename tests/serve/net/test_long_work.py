"""What becomes of long work when the broker is stopped or reset, or its client leaves."""

import itertools

import pytest

from fakebroker.broker.engine.work import STEPS_SOON_OVER, Work
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import FIRST_STEP_S, STEP_S
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.testing.broker import FakeBroker
from tests.serve.net.test_client_connection import Desk, Wire
from tests.serve.net.test_server import connect, correlation_id, read_frame
from tests.support.frames import request
from tests.support.small_steps import make_steps_smaller

SCALE = 10  # there are so many fewer groups and partitions, and the steps are as much smaller
GROUPS, PARTITIONS = 500, 900


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    make_steps_smaller(monkeypatch, SCALE)


def begun(broker: FakeBroker) -> None:
    """A client has asked for the end of a topic and for a description of another; nobody takes the steps."""
    broker.create_topic("t")
    broker.create_topic("large", partitions=PARTITIONS)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[(0, 1, -1, -1, None)])]
    with connect(broker) as committer:
        for number in range(GROUPS):
            frame = request("OffsetCommit", 7, group_id=f"g{number}", generation_id_or_member_epoch=-1, topics=topics)
            committer.sendall(frame)
            read_frame(committer)
    broker._call(lambda: setattr(broker._engine, "on_work", lambda: None))


def works(broker: FakeBroker) -> int:
    return len(broker._engine.works)


def wait_for_works(broker: FakeBroker, count: int) -> None:
    """So many requests are under way, none of which only waits for a machine that is busy with other things.

    What a busy machine cuts short is answered to a client that sends no more, and so keeps the connection.
    """
    broker.wait(lambda: works(broker) == count or None, 20, lambda: f"{works(broker)} requests under way")

    def regard_as_long() -> None:
        for work in broker._engine.works:
            if isinstance(work, Work):
                work.progress.was_cut_short = False

    broker._call(regard_as_long)


def offsets(broker: FakeBroker) -> int:
    """How many groups have an offset of the topic."""
    shards = broker._engine.cluster.nodes[1].coordinator.shards.values()
    return sum(bool(group.offsets.topics.get("t")) for shard in shards for group in shard)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_stop_finishes_what_must_be_finished(leaves: bool) -> None:
    """A deletion goes to its end, a description is dropped, and nothing is left or wrong."""
    with FakeBroker() as broker:
        begun(broker)
        with connect(broker) as deleting, connect(broker) as reading:
            deleting.sendall(request("DeleteTopics", 3, topic_names=["t"]))
            reading.sendall(request("Metadata", 9, topics=None))
            wait_for_works(broker, 2)
            if leaves:
                deleting.close()
                reading.close()
                broker.wait(lambda: not broker._engine.connections or None, 20, lambda: "connections are left")
            assert offsets(broker) > 0
            broker.stop()
        assert (works(broker), offsets(broker), broker.errors) == (0, 0, [])
        broker.start()
        with connect(broker) as client:
            client.sendall(request("ApiVersions", 0, 9))
            assert correlation_id(read_frame(client)) == 9


def test_a_reset_drops_all_of_it() -> None:
    """The new state has nothing of it; clients read the end of the stream; the next long request is answered."""
    with FakeBroker() as broker:
        begun(broker)
        with connect(broker) as deleting:
            deleting.sendall(request("DeleteTopics", 3, topic_names=["t"]))
            wait_for_works(broker, 1)
            broker.reset()
            assert deleting.recv(100) == b""
        assert (works(broker), broker.errors) == (0, [])
        broker.create_topic("large", partitions=PARTITIONS)
        with connect(broker) as client:
            client.sendall(request("Metadata", 9, 9, topics=None))
            assert correlation_id(read_frame(client)) == 9


def test_a_client_that_leaves_amid_a_deletion() -> None:
    """The loop goes on with it, and all groups' offsets go."""
    with FakeBroker() as broker:
        begun(broker)
        on_work = broker._call(lambda: broker._server._schedule_work)
        with connect(broker) as deleting:
            deleting.sendall(request("DeleteTopics", 3, topic_names=["t"]))
            wait_for_works(broker, 1)
        broker.wait(lambda: not broker._engine.connections or None, 20, lambda: "connections are left")
        assert offsets(broker) > 0
        broker._call(on_work)
        broker.wait(lambda: works(broker) == 0 or None, 20, lambda: "the deletion does not end")
        assert (offsets(broker), broker.errors) == (0, [])


def test_an_error_amid_long_work_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step fails, and the next ones are taken nevertheless."""
    with FakeBroker() as broker:
        begun(broker)
        engine, server = broker._engine, broker._server
        step, failures = engine.step, list[OSError]()

        def failing_step(now: Instant) -> None:
            step(now)
            if not failures:
                failures.append(OSError("the disk is full"))
                raise failures[0]

        with connect(broker) as client:
            client.sendall(request("Metadata", 9, 7, topics=None))
            wait_for_works(broker, 1)
            monkeypatch.setattr(engine, "step", failing_step)
            broker._call(server._schedule_work)
            assert correlation_id(read_frame(client)) == 7
        assert failures


def asked_and_left(is_late: bool, *partitions: int, look_s: float = FIRST_STEP_S) -> tuple[Desk, Wire]:
    """A client has asked for all topics and sends no more; each look at the stopwatch takes so long."""
    desk, looks = Desk(), itertools.count()
    for number, count in enumerate(partitions):
        desk.lab.cluster.topics.create(f"t{number}", count)
    desk.lab.cluster.timers.passes.stopwatch = lambda: look_s * next(looks)
    desk.lab.engine.set_late(is_late=is_late)
    _, wire = desk.client()
    desk.arrive(wire, request("Metadata", 9, 7, topics=None), b"")
    return desk, wire


@pytest.mark.parametrize(
    ("is_late", "look_s", "is_cut"), [(True, FIRST_STEP_S, True), (False, FIRST_STEP_S, False), (False, STEP_S, True)]
)
def test_a_client_that_sends_no_more_is_answered(is_late: bool, look_s: float, is_cut: bool) -> None:
    """Also where the first step of its request was cut short, as others waited or the machine was busy."""
    desk, wire = asked_and_left(is_late, 190, look_s=look_s)
    assert bool(desk.lab.engine.works) is is_cut
    while desk.lab.engine.works:
        desk.turn_loop()
    desk.turn_loop()
    assert (wire.answers, wire.is_closed) == ([7], True)
    desk.end()


def test_a_client_that_leaves_amid_very_long_work_is_not_waited_for() -> None:
    """Its request was cut short, too, but has taken some steps since."""
    desk, wire = asked_and_left(True, *[9_000] * 4)
    steps = 0
    while desk.lab.engine.works and not wire.is_closed:
        desk.turn_loop()
        steps += 1
    assert (wire.answers, wire.is_closed) == ([], True)
    assert steps <= STEPS_SOON_OVER + 5
    desk.end()

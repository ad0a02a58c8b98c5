"""Stepping rebalances from a test: holds through the object model, over a move, with scripted and real clients."""

import asyncio
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, UnknownThing, WaitTimeout
from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker
from fakebroker.testing.handles.group import GroupHandle
from tests.support.librdkafka import close

V3 = {"JoinGroup": 3}  # joins without a handshake: one request


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(nodes=2) as running:
        running.coordinator("billing").move(to=1)
        yield running


@pytest.fixture
def group(broker: FakeBroker) -> GroupHandle:
    return broker.group("billing")


def joining(broker: FakeBroker, *names: str) -> list[tuple[ScriptedClient, PendingStep[Any]]]:
    """Clients whose JoinGroup waits, in this order."""
    started = []
    for count, name in enumerate(names, 1):
        client = broker.client(name, V3)
        started.append((client, client.start(client.steps.join("billing", ["orders"]))))
        broker.group("billing").wait(joined=count)
    return started


def test_joins_are_released_in_an_order_under_a_leader(broker: FakeBroker, group: GroupHandle) -> None:
    """By hand; the handle says who waits, and has ended then."""
    hold = group.hold_joins()
    clients = joining(broker, "a", "b", "c")
    assert [member.client_id for member in hold.wait(members=3).waiting] == ["a", "b", "c"]
    assert (hold.is_active, group.state, [each.hold_id for each in group.holds]) == (True, "PreparingRebalance", [1])
    hold.release(order=["c", "b"], leader="b")

    answers = [step.result() for _, step in clients]
    assert [bool(answer.members) for answer in answers] == [False, True, False]
    order = [r.client_id for r in broker.journal.requests(api="JoinGroup") if r.response is not None]
    assert order == ["c", "b", "a"]
    assert (hold.is_active, group.holds, group.generation) == (False, [], 1)
    with pytest.raises(InvalidArgument, match="has ended"):
        hold.release()
    hold.remove()


def test_a_hold_with_a_number_ends_by_itself(broker: FakeBroker, group: GroupHandle) -> None:
    """With the second member; inside `with` or not."""
    with group.hold_joins(until_members=2, leader="b", order=["b"]) as hold:
        (_, first), (b, second) = joining(broker, "a") + _last(broker, "b")
        assert (first.result().generation_id, second.result().generation_id) == (1, 1)
        assert second.result().leader == b.member_id
        assert not hold.is_active


def _last(broker: FakeBroker, name: str) -> list[tuple[ScriptedClient, PendingStep[Any]]]:
    client = broker.client(name, V3)
    return [(client, client.start(client.steps.join("billing", ["orders"])))]


def test_the_end_of_a_with_removes_the_hold(broker: FakeBroker, group: GroupHandle) -> None:
    """The group goes on as if there had been none."""
    with group.hold_joins():
        [(_, step)] = joining(broker, "a")
        assert not step.is_done
    assert step.result().generation_id == 1


def test_syncs_are_held(broker: FakeBroker, group: GroupHandle) -> None:
    """Between the answers to JoinGroup and SyncGroup the test can look: CompletingRebalance, nothing assigned yet."""
    a = broker.client("a")
    a.join("billing", ["orders"])
    with group.hold_syncs() as hold:
        step = a.start(a.steps.sync({a.member_id: {"orders": [0]}}))
        hold.wait(members=1)
        assert (group.state, group.members[0].assignment) == ("CompletingRebalance", {})
        hold.release(order=["a"])
    step.result()
    group.wait(assigned=True, generation=1, protocol="range")
    assert group.members[0].assignment == {"orders": [0]}


@pytest.mark.rules("CLU-31", "CLU-35")
def test_a_hold_stays_when_the_coordinator_moves(broker: FakeBroker, group: GroupHandle) -> None:
    """Who waits gets 16; on the other node the hold applies again."""
    hold = group.hold_joins(until_members=2)
    [(_, step)] = joining(broker, "a")
    broker.coordinator("billing").move(to=2)
    assert step.result().error_code == ErrorCode.NOT_COORDINATOR
    assert (group.state, hold.is_active, hold.waiting) == ("Empty", True, [])

    broker.coordinator("billing").move(to=1)
    (_, first), (_, second) = joining(broker, "b") + _last(broker, "c")
    assert (first.result().generation_id, second.result().generation_id) == (1, 1)
    assert not hold.is_active


@pytest.mark.rules("CLU-34", "CLU-35")
def test_a_move_in_the_middle_of_a_held_rebalance(broker: FakeBroker, group: GroupHandle) -> None:
    """The last Stable generation is back; the member that was joining is unknown, the other goes on where it was."""
    a, b = broker.client("a"), broker.client("b", V3)
    a.join("billing", ["orders"])
    a.sync({a.member_id: {"orders": [0]}})
    hold = group.hold_joins()
    step = b.start(b.steps.join("billing", ["orders"]))
    group.wait(joined=1)
    assert a.heartbeat().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    broker.coordinator("billing").move(to=2)
    broker.coordinator("billing").move(to=1)

    assert step.result().error_code == ErrorCode.NOT_COORDINATOR
    assert (group.state, group.generation) == ("Stable", 1)
    assert [(m.client_id, m.assignment) for m in group.members] == [("a", {"orders": [0]})]
    assert a.heartbeat().error_code == ErrorCode.NONE
    assert hold.is_active


@pytest.mark.rules("LD-1", "CLU-34")
def test_a_load_in_the_middle_of_a_held_sync_phase(broker: FakeBroker, group: GroupHandle) -> None:
    """Who waits gets 16, later requests 14; then the generation before is back, Stable."""
    a = broker.client("a", {"JoinGroup": 3, "Heartbeat": 3})
    a.join("billing", ["orders"])
    a.sync({a.member_id: {"orders": [0]}})
    group.rebalance()
    a.rejoin()
    with group.hold_syncs() as hold:
        step = a.start(a.steps.sync({a.member_id: {"orders": [1]}}))
        hold.wait(members=1)
        broker.coordinator("billing").load(for_s=60)
        assert step.result().error_code == ErrorCode.NOT_COORDINATOR
        assert a.rejoin().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        broker.clock.advance(minutes=1, timers=True)
        assert (group.state, group.generation) == ("Stable", 1)
        assert group.members[0].assignment == {"orders": [0]}
        assert hold.is_active


def test_a_hold_stays_over_stop_and_start_but_not_reset(broker: FakeBroker, group: GroupHandle) -> None:
    """It is part of what the broker remembers."""
    hold = group.hold_joins()
    broker.stop()
    assert hold.is_active
    broker.start()
    assert [each.hold_id for each in group.holds] == [hold.hold_id]
    broker.reset()
    assert (hold.is_active, group.holds) == (False, [])
    another = group.hold_joins()
    hold.remove()
    assert (hold.is_active, another.is_active) == (False, True)


def test_a_wait_says_what_is_held(broker: FakeBroker, group: GroupHandle) -> None:
    """And who waits for it."""
    group.hold_joins(until_members=3, leader="c")
    group.hold_syncs()
    joining(broker, "a", "b")
    with pytest.raises(WaitTimeout) as raised:
        group.wait(state="Stable", timeout_s=0.01)
    text = str(raised.value)
    assert "of client a: its JoinGroup waits" in text
    assert "\n  held by a test: its joins wait until 3 members have sent JoinGroup, c among them\n" in text
    assert "\n  held by a test: its syncs wait for release()\n" in text
    assert "held:\n  billing: held by a test: its joins wait until 3 members" in broker.story()
    with pytest.raises(WaitTimeout, match=r"waited 0.01 s for 3 joins of group billing to wait; there is a, b"):
        group.holds[0].wait(members=3, timeout_s=0.01)


WRONG: list[tuple[Callable[[GroupHandle], Any], str, str]] = [
    (
        lambda group: group.hold_joins(until_members=0),
        "until_members",
        "until_members: should be a whole number, 1 or more, not 0",
    ),
    (lambda group: group.hold_joins(until_members=True), "until_members", "not True"),
    (lambda group: group.hold_joins(leader="a"), "leader", "leader='a': a hold without until_members"),
    (lambda group: group.hold_joins(order=["a"]), "order", "takes this in release"),
    (lambda group: group.hold_joins(until_members=2, order="ab"), "order", "order: should be a list, not 'ab'"),
    (lambda group: group.hold_syncs().release(leader="a"), "leader", "chosen when the joins are answered"),
    (lambda group: (group.hold_joins(), group.hold_joins()), "group_id", "joins of group billing> is active"),
    (lambda group: group.hold_joins().release(order=["nobody"]), "order", "order='nobody': among those that wait"),
    (lambda group: group.rebalance(), "group_id", "there is no group 'billing'"),
    (lambda group: group.evict("a"), "group_id", "there is no group 'billing'"),
    (lambda group: group.wait(state="stable"), "state", "did you mean 'Stable'?"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("wrong", "field", "message"), WRONG)
def test_what_cannot_be_is_refused(wrong: Callable[[GroupHandle], Any], field: str, message: str) -> None:
    """The error names field and value; no group was made."""
    group = FakeBroker().group("billing")
    with pytest.raises(InvalidArgument) as raised:
        wrong(group)

    assert raised.value.field == field
    assert message in str(raised.value)
    assert not group.exists


def test_a_name_that_nobody_has_is_answered_with_those_that_wait(broker: FakeBroker, group: GroupHandle) -> None:
    """And the hold goes on."""
    hold = group.hold_joins()
    [(_, step)] = joining(broker, "a")
    with pytest.raises(UnknownThing, match=r"leader='b': .* no such member; it has a \(a-"):
        hold.release(leader="b")
    assert hold.is_active
    assert not step.is_done
    with pytest.raises(UnknownThing, match=r"member='b': group 'billing' has no such member; it has a \(a-"):
        group.evict("b")


def test_waits_of_an_async_broker_are_awaited() -> None:
    """Holding and releasing is immediate, waiting is awaited."""

    async def story() -> int:
        async with AsyncFakeBroker() as broker:
            hold = broker.group("billing").hold_joins()
            a = await asyncio.to_thread(broker.client, "a", V3)
            join = asyncio.create_task(asyncio.to_thread(a.join, "billing"))
            await hold.wait(members=1)
            hold.release(leader="a")
            generation: int = (await join).generation_id
            return generation

    assert asyncio.run(story()) == 1


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("leader", ["consumer-1", "consumer-2"])
def test_real_consumers_get_into_one_generation(leader: str) -> None:
    """Two consumers of confluent-kafka start one after the other; one rebalance is enough, and the chosen one leads."""
    kafka = importlib.import_module("confluent_kafka")
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=2)
        group = broker.group("billing")
        hold = group.hold_joins(until_members=2, leader=leader)
        common = {"bootstrap.servers": broker.bootstrap, "group.id": "billing", "log_level": 0}
        consumers = []
        for number in (1, 2):
            consumers.append(kafka.Consumer({**common, "client.id": f"consumer-{number}"}))
            consumers[-1].subscribe(["orders"])
            if number == 1:
                hold.wait(members=1)
        group.wait(members=2, assigned=True)

        assert group.generation == 1, [t.reason for t in group.transitions]
        assert group.leader == next(m.member_id for m in group.members if m.client_id == leader)
        for consumer in consumers:
            close(consumer, poll_s=1)

"""The same timeline in every world: in virtual time, and over TCP on a broker that runs."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakebroker.client.connection import ClientConnection
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.happenings import BrokerEvent, Received, Sent, Skipped
from fakebroker.scenarios.language.reading import read_scenario
from fakebroker.scenarios.playing.player import Player
from fakebroker.scenarios.playing.worlds import BrokerWorld, VirtualWorld
from fakebroker.scenarios.running.options import broker_options
from fakebroker.scenarios.script import PowerStep, Step
from fakebroker.testing.broker import FakeBroker
from tests.support.scenarios import Steps, actor, play, scenario

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker that runs."""
    with FakeBroker(nodes=2) as broker:
        yield broker


@pytest.fixture
def s() -> Steps:
    """Makes the steps of one timeline."""
    return Steps()


def test_the_same_story_over_tcp(broker: FakeBroker, s: Steps) -> None:
    """Joins, parked requests, powers and expectations are the same on a running broker, in real time."""
    timeline = [
        s.power("coordinator.move", {"group_id": "billing"}, to=2),
        s.join("a", {"error": "NONE"}),
        s.sync("a", {"a": {"orders": [0, 1]}}, {"assignment": {"orders": [0, 1]}}),
        s.join("b", later=True),
        s.do("a", "heartbeat", {"error": "REBALANCE_IN_PROGRESS"}),
        s.silent("b", 20),
        s.do("a", "rejoin", {"generation_id": 2, "members": 2}),
        s.answered("b", {"error": "NONE"}),
        s.sync("b", later=True),
        s.sync("a", {"b": {"orders": [0, 1]}}, {"error": "NONE", "assignment": {}}),
        s.answered("b", {"assignment": {"orders": [0, 1]}}),
        s.do("a", "commit", {"error": "NONE"}, offsets={"orders-0": 42}),
        s.power("clock.advance", days=3),
        s.group(offsets={"orders-0": 42}, members=2),
        s.expect("journal", {}, {"requests": [{"api": "JoinGroup"}, {"api": "OffsetCommit", "error": "NONE"}]}),
    ]
    actors = {name: actor(name, node=2) for name in "ab"}
    real = play(*timeline, world=BrokerWorld(broker), nodes=2, actors=actors)
    virtual = play(*timeline, nodes=2, actors=actors)

    assert (real.problems, virtual.problems) == ([], [])
    codes = [
        [(e.api, e.response.get("ErrorCode")) for e in p.happenings if isinstance(e, Received)] for p in (real, virtual)
    ]
    assert codes[0] == codes[1]
    assert any(isinstance(each, BrokerEvent) for each in real.happenings)


def test_members_go_where_the_broker_listens(s: Steps) -> None:
    """What it advertises may be an address of another network, or of another server, which is not connected to."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.setblocking(False)
        elsewhere = f"127.0.0.1:{other.getsockname()[1]}"
        with FakeBroker(nodes=2, advertise=["no.such.host:9092", elsewhere]) as broker:
            played = play(
                s.power("coordinator.move", {"group_id": "billing"}, to=1),
                s.power("coordinator.move", {"group_id": "payments"}, to=2),
                s.do("a", "consume", group_id="billing", topics=["orders"]),
                s.do("b", "consume", group_id="payments", topics=["orders"]),
                s.expect("group", {"group_id": "billing"}, {"state": "Stable", "members": 1}, 5000),
                s.expect("group", {"group_id": "payments"}, {"state": "Stable", "members": 1}, 5000),
                world=BrokerWorld(broker),
            )
        assert played.problems == []
        with pytest.raises(BlockingIOError):
            other.accept()


def test_no_address_but_the_brokers_own_is_connected_to(broker: FakeBroker) -> None:
    """A broker that answers another one has a fault."""
    world = BrokerWorld(broker)
    with pytest.raises(OSError, match=r"the broker does not listen at localhost:1, only at 127\.0\.0\.1:\d+, 127"):
        world.driver.open(ClientConnection(None), Address("localhost", 1))
    world.close()


def test_members_act_by_themselves_in_real_time(broker: FakeBroker, s: Steps) -> None:
    """Their timers are those of the machine; the coordinator is found."""
    played = play(
        s.do("a", "consume", group_id="billing", topics=["orders"], heartbeat_interval_ms=20),
        s.do("b", "consume", group_id="billing", topics=["orders"], heartbeat_interval_ms=20),
        s.group(within_ms=5000, state="Stable", members=2),
        s.expect("actor", {"name": "a"}, {"assignment": {"orders": 1}}, 5000),
        s.expect("actor", {"name": "b"}, {"assignment": {"orders": 1}}, 5000),
        s.do("a", "stop"),
        s.group(within_ms=5000, state="Stable", members=1),
        s.do("b", "disconnect"),
        s.expect("actor", {"name": "b"}, {"is_connected": False, "is_consuming": False}),
        world=BrokerWorld(broker),
    )

    assert played.problems == []
    assert any(isinstance(each, Sent) and each.api == "Heartbeat" for each in played.happenings)


def test_a_running_broker_keeps_what_it_has(broker: FakeBroker, s: Steps) -> None:
    """A topic that is there stays; other clients go on; the broker is not stopped."""
    broker.create_topic("orders", partitions=5)
    other = broker.client("other")
    other.join("elsewhere", ["orders"])
    played = play(s.expect("topic", {"name": "orders"}, {"partitions": 5}), world=BrokerWorld(broker))

    assert played.problems == []
    assert other.heartbeat().error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


def test_a_wait_that_is_in_vain_ends_in_real_time(broker: FakeBroker, s: Steps) -> None:
    """Nothing hangs: the step fails when its time is over."""
    played = play(s.group(within_ms=20, state="Stable"), s.join("a"), world=BrokerWorld(broker))

    assert played.problems[0].startswith("made.yaml:1: expect group: state: expected Stable, but saw Dead after 20 ms")


def test_a_step_that_a_world_cannot_take_is_skipped(s: Steps) -> None:
    """It is reported with the reason; the rest is played."""

    class WithoutPowers(VirtualWorld):
        def why_not(self, step: Step) -> str | None:
            return "it has no powers" if isinstance(step, PowerStep) else None

    timeline = [s.power("clock.advance", days=1), s.do("a", "list_groups", {"error": "NONE"})]
    made = scenario(timeline)
    played = Player(WithoutPowers(made), made).play()

    assert played.problems == []
    assert [each.why for each in played.skipped] == ["it has no powers"]
    assert [type(each) for each in played.happenings].count(Skipped) == 1


@pytest.mark.parametrize("name", ["rolling-restart-of-static-members", "rolling-restart-of-dynamic-members"])
def test_stories_of_the_library_on_a_running_broker(name: str) -> None:
    """Steps of several clients arrive at the broker in the order of the timeline."""
    made = read_scenario(SCENARIOS / "groups" / f"{name}.yaml")
    with FakeBroker(**broker_options(made, {})) as broker:
        played = Player(BrokerWorld(broker), made).play()

    assert played.problems == []

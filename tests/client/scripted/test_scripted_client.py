"""Scripted clients over TCP and in the simulator: the same steps, the same answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.journal import Journal
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.client.connection import ConnectionLost
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument, UnknownThing, WaitTimeout
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequestProtocol
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.serve.sim.network import SimNetwork
from fakebroker.testing.broker import FakeBroker
from fakebroker.testing.sim_driver import SimDriver

TOPIC = "orders"


def clients_in_sim(as_release: str = "4.3") -> ScriptedClients:
    """A broker in the simulator, with a topic of two partitions."""
    cluster = Cluster(Settings({}, profile="test"), release(as_release))
    cluster.topics.create(TOPIC, 2)
    engine = Engine(cluster, [Listener(1, "127.0.0.1", 9092)], Journal(), Instant(10**12, 0))
    return ScriptedClients(SimDriver(SimNetwork.around(engine)))


@pytest.fixture(params=["sim", "tcp"])
def clients(request: pytest.FixtureRequest) -> Iterator[ScriptedClients]:
    """The same clients twice: in virtual time, and over sockets."""
    if request.param == "sim":
        yield clients_in_sim()
        return
    with FakeBroker() as broker:
        broker.create_topic(TOPIC, partitions=2)
        broker.client("first of all")
        assert broker._scripted_clients is not None
        yield broker._scripted_clients


@pytest.mark.rules("JG-16", "SG-5")
def test_a_member_joins_syncs_beats_and_leaves(clients: ScriptedClients) -> None:
    """One client goes through the life of a member; the handshake for its id happens by itself."""
    a = clients.client("a")
    joined = a.join("billing", [TOPIC])
    assert (joined.error_code, joined.generation_id, a.is_leader) == (0, 1, True)
    assert a.member_id.startswith("a-")

    a.sync({a.member_id: {TOPIC: [0, 1]}})
    assert a.assignment == {TOPIC: [0, 1]}
    assert a.heartbeat().error_code == 0
    assert a.commit({(TOPIC, 0): 5}, "note").topics[0].partitions == [(0, 0)]
    assert a.leave().error_code == 0
    assert (a.member_id, a.generation_id, a.assignment) == ("", -1, {})


@pytest.mark.rules("JG-30", "HB-4")
def test_two_members_rebalance_step_by_step(clients: ScriptedClients) -> None:
    """A step that is parked at the coordinator is begun, and asked for its result later."""
    a, b = clients.client("a"), clients.client("b")
    a.join("billing", [TOPIC])
    a.sync({a.member_id: {TOPIC: [0, 1]}})

    joining = b.start(b.steps.join("billing", [TOPIC]))
    while a.heartbeat().error_code == 0:  # until the handshake of b is through
        pass
    assert not joining.is_done
    assert a.rejoin().generation_id == 2
    assert joining.result().generation_id == 2

    syncing = b.start(b.steps.sync())
    a.sync({a.member_id: {TOPIC: [0]}, b.member_id: {TOPIC: [1]}})
    syncing.result()
    assert (a.assignment, b.assignment) == ({TOPIC: [0]}, {TOPIC: [1]})


def test_records_and_offsets_go_round(clients: ScriptedClients) -> None:
    """What is produced is fetched, what is committed is found again."""
    client = clients.client("c")
    client.produce(TOPIC, 1, [(b"k", b"v"), (None, b"w")], timestamp_ms=10**12)
    client.commit({(TOPIC, 1): 2}, group_id="simple")

    assert [(r.offset, r.key, r.value) for r in client.fetch(TOPIC, 1, 1)] == [(1, None, b"w")]
    assert client.committed("simple").topics[0].partitions[0][:2] == (1, 2)
    assert client.committed("simple", [(TOPIC, 0)]).topics[0].partitions[0][:2] == (0, -1)
    with pytest.raises(FakebrokerError, match="fetch of orders-1 at 9: OFFSET_OUT_OF_RANGE"):
        client.fetch(TOPIC, 1, 9)


def test_any_request_in_any_version(clients: ScriptedClients) -> None:
    """Raw requests have the fields of the message; the version is pinned, given, or the newest both sides speak."""
    client = clients.client("c", versions={"JoinGroup": 0})
    described = client.request("DescribeGroups", 5, groups=["nobody"])
    joined = client.join("old", ["t"])

    assert described.groups[0].group_state == "Dead"
    assert joined.error_code == 0  # v0 knows no handshake
    assert client.request("Heartbeat", group_id="old", member_id="?").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    with pytest.raises(UnknownThing, match="there is no API 'Hartbeat'; did you mean 'Heartbeat'"):
        client.request("Hartbeat")
    with pytest.raises(InvalidArgument, match="group: HeartbeatRequest has no such field"):
        client.request("Heartbeat", group="old")


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda c: c.commit({"orders": 1}, group_id="g"), "offsets"),
        (lambda c: c.commit([("orders", 0)], group_id="g"), "offsets"),
        (lambda c: c.commit({("orders", 0): "1"}, group_id="g"), "offsets"),
        (lambda c: c.committed("g", ["orders"]), "partitions"),
        (lambda c: c.committed("g", "orders"), "partitions"),
        (lambda c: c.produce("orders", 0, [3]), "records"),
        (lambda c: c.produce("orders", 0, b"xy"), "records"),
        (lambda c: c.produce("orders", 0, [("k", 1)]), "records"),
        (lambda c: c.request(3), "api_name"),
    ],
)
def test_a_step_with_a_wrong_value_is_not_taken(clients: ScriptedClients, ask: Any, field: str) -> None:
    """The error names the argument and shows what is right."""
    with pytest.raises(InvalidArgument, match=field) as refused:
        ask(clients.client("c"))
    assert refused.value.field == field


@pytest.mark.rules("TM-8")
def test_a_member_outlives_its_connection() -> None:
    """A join parked on a closed connection counts: the member is in the next generation, and goes by its session."""
    clients = clients_in_sim()
    a, b = clients.client("a"), clients.client("b", versions={"JoinGroup": 3})
    a.join("g")
    b.start(b.steps.join("g", session_timeout_ms=6000))
    b.close()
    joined = a.rejoin()
    assert (joined.generation_id, len(joined.members)) == (2, 2)

    a.sync()
    clients.driver.pass_time(5999)
    assert a.heartbeat().error_code == ErrorCode.NONE
    clients.driver.pass_time(1)
    assert a.heartbeat().error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_crash_tells_nobody(clients: ScriptedClients) -> None:
    """Closing a client leaves its member in the group; what it had under way ends with the connection."""
    a, b = clients.client("a"), clients.client("b")
    a.join("g")
    rejoining = b.start(b.steps.join("g"))
    while a.heartbeat().error_code == 0:
        pass
    b.close()

    with pytest.raises(ConnectionLost, match="closed by the client"):
        rejoining.result()
    assert a.request("DescribeGroups", 5, groups=["g"]).groups[0].members != []


def test_a_step_that_takes_too_long_says_what_it_waited_for() -> None:
    """The client gives up after the time it was given, and names the request."""
    clients = clients_in_sim()
    a, b = clients.client("a"), clients.client("b")
    a.join("g")
    joining = b.start(b.steps.join("g"))

    with pytest.raises(WaitTimeout, match=r"<client b>: no answer to JoinGroup v9 .* within 1.5 s"):
        joining.result(timeout_s=1.5)


def test_steps_of_a_member_need_a_membership() -> None:
    """A client that never joined cannot beat."""
    with pytest.raises(FakebrokerError, match="has joined no group"):
        clients_in_sim().client("a").heartbeat()


@pytest.mark.parametrize("as_release", ["2.1", "3.9"])
def test_the_client_speaks_what_older_brokers_do(as_release: str) -> None:
    """Versions are chosen by what the broker lists, down to the oldest release."""
    client = clients_in_sim(as_release).client("c")

    assert client.join("g", [TOPIC]).error_code == 0
    assert client.leave().error_code == 0


@pytest.mark.rules("GEN-8", "GEN-9")
def test_answers_keep_the_order_of_the_request_and_throttle_nobody() -> None:
    """Where Kafka's order is that of a hash map, ours is the request's; members come in the order of joining."""
    client = clients_in_sim().client("c")
    groups = ["z", "a", "m"]
    for name in groups:
        client.request("JoinGroup", 3, **wishes(name))
    for member in range(3):
        other = client.clients.client(f"late-{member}")
        other.start(other.steps.request("JoinGroup", 3, **wishes("z")))
    described = client.request("DescribeGroups", 5, groups=groups)
    listed = client.request("Metadata", 9, topics=[MetadataRequestTopic(name=name) for name in groups])

    assert [group.group_id for group in described.groups] == groups
    assert [m.client_id for m in described.groups[0].members] == ["c", "late-0", "late-1", "late-2"]
    assert [topic.name for topic in listed.topics] == groups
    assert (described.throttle_time_ms, listed.throttle_time_ms) == (0, 0)


def wishes(group_id: str) -> dict[str, Any]:
    """The fields of a JoinGroup request of a new member."""
    return {
        "group_id": group_id,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"")],
    }


def test_each_client_of_a_name_is_a_member_of_its_own(clients: ScriptedClients) -> None:
    """Their member ids are counted for each client id, and the same in every run."""
    first, second, other = clients.client("a"), clients.client("a"), clients.client("b")
    assert (first.member_id, first.member_epoch, first.assignment) == ("", -1, {})
    for client in (first, second, other):
        assert client.join_consumer_group("billing", [TOPIC]).error_code == 0

    assert [each.member_id for each in (first, second, other)] == ["a-member-1", "a-member-2", "b-member-1"]
    assert (first.member_epoch, first.generation_id, first.assignment) == (2, -1, {TOPIC: [0, 1]})
    assert first.commit({(TOPIC, 0): 5}).topics[0].partitions == [(0, 0)]
    assert first.join("classic", [TOPIC]).error_code == 0
    assert (first.member_epoch, first.generation_id) == (-1, 1)

"""Snapshots of brokers: what comes back, what stays apart, what a fork may change."""

import asyncio
import errno
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import AsyncFakeBroker, FakeBroker, InvalidArgument, SettingError, Snapshot, UnknownThing
from fakebroker.broker.release import UnknownRelease
from fakebroker.serve.net import ports
from fakebroker.types import ReleaseName
from tests.support.chance import examples
from tests.testing.snapshot.histories import STEPS, commit, commit_in_transaction, join, new_broker, play

steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 40)), max_size=25)
RETENTION = "offsets.retention.minutes"


@given(before=steps, after=steps)
@examples(60)
def test_a_restored_broker_is_as_it_was(before: list[Any], after: list[Any]) -> None:
    """Whatever happened after the snapshot: all durable state equals, and the snapshot is as it was."""
    broker = new_broker()
    play(broker, before)
    snapshot = broker.snapshot()
    content = snapshot.to_bytes()

    play(broker, after)
    broker.restore(snapshot)

    assert broker.snapshot() == snapshot
    assert snapshot.to_bytes() == content
    assert broker.errors == []


@given(before=steps, mine=steps, others=steps)
@examples(40)
def test_a_fork_and_its_original_do_not_disturb_each_other(
    before: list[Any], mine: list[Any], others: list[Any]
) -> None:
    """Each goes on as it would alone, and the snapshot stays."""
    broker = new_broker()
    play(broker, before)
    snapshot = broker.snapshot()
    fork = snapshot.fork()

    play(broker, mine)
    mine_alone = broker.snapshot()
    play(fork, others)
    others_alone = fork.snapshot()

    assert broker.snapshot() == mine_alone
    assert snapshot.fork().snapshot() == snapshot
    alone = snapshot.fork()
    play(alone, others)
    assert alone.snapshot() == others_alone


@given(before=steps)
@examples(40)
def test_groups_are_as_after_a_restart(before: list[Any]) -> None:
    """A restored broker knows the groups that the original knows after it was stopped and started."""
    broker = new_broker()
    play(broker, before)
    fork = broker.snapshot().fork()

    broker._restart_nodes()

    for group_id in ("g", "h", "billing"):
        mine, other = broker.group(group_id), fork.group(group_id)
        assert (mine.state, mine.generation, mine.members, mine.offsets) == (
            other.state,
            other.generation,
            other.members,
            other.offsets,
        )


def test_restoring_a_running_broker() -> None:
    """Its clients are disconnected and come back to what was; ports, and what the clients are called, stay."""
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=3)
        broker.client("a").commit({("orders", 0): 42}, group_id="billing")
        bootstrap, before = broker.bootstrap, broker.snapshot()
        client = broker.client("b")
        client.commit({("orders", 0): 43}, group_id="billing")
        broker.topic("orders").produce("one")
        broker.clock.advance(days=8)
        assert not broker.group("billing").exists

        broker.restore(before)

        assert broker.bootstrap == bootstrap
        assert broker._engine.connections == {}
        assert broker.group("billing").offsets == {("orders", 0): 42}
        assert broker.topic("orders").end_offsets == {0: 0, 1: 0, 2: 0}
        assert broker.clock.now - before.taken < timedelta(minutes=1)
        row = broker.client("c").committed("billing").topics[0].partitions[0]
        assert row[:2] == (0, 42)


def test_members_of_the_last_stable_generation_come_back() -> None:
    """Their session begins at the restore: in time they may heartbeat, later they are gone."""
    broker = new_broker()
    member_id = join(broker, "billing")
    before = broker.snapshot()
    broker.clock.advance(minutes=5, timers=True)
    assert broker.group("billing").state == "Empty"

    broker.restore(before)
    assert [member.member_id for member in broker.group("billing").members] == [member_id]
    broker.clock.advance(seconds=9, timers=True)
    assert broker.group("billing").state == "Stable"
    broker.clock.advance(seconds=2, timers=True)
    assert broker.group("billing").state == "Empty"


def test_a_reset_after_a_restore_is_of_the_broker_itself() -> None:
    """The options of the snapshot are forgotten: what one test restores is nothing to the next."""
    with FakeBroker(config={"num.partitions": 5}, seed=3, as_release="3.9") as other, FakeBroker() as broker:
        new = broker.snapshot().state.options
        broker.restore(other.snapshot())
        assert broker.snapshot().state.options.config == {"num.partitions": "5"}
        broker.reset()
        assert broker.snapshot().state.options == new
        assert broker._engine.cluster.settings.get_int("num.partitions") == 1


def test_the_clock_is_as_it_was() -> None:
    """Time of day, rate, and whether it stands still; also when the machine's time has gone on."""
    broker = FakeBroker()
    broker.clock.rate = 60
    broker.clock.advance(days=100)
    broker.clock.freeze()
    before, now_ms = broker.snapshot(), broker.clock.now_ms
    broker.reset()

    broker.restore(before)

    assert (broker.clock.now_ms, broker.clock.rate, broker._broker_clock.is_frozen) == (now_ms, 60, True)
    broker.clock.resume()
    assert broker.clock.now_ms >= now_ms


def test_ids_go_on_as_they_would_have() -> None:
    """Member ids, producer ids and topic ids after a restore are those from after the snapshot; with a seed others."""

    def next_ids(one: FakeBroker) -> tuple[object, ...]:
        cluster = one._engine.cluster
        return cluster.new_member_id("m"), cluster.new_producer_id(), cluster.new_uuid()

    broker = FakeBroker(seed=5)
    next_ids(broker)
    before = broker.snapshot()
    first = next_ids(broker)

    broker.restore(before)
    assert next_ids(broker) == first
    assert next_ids(before.fork()) == first
    assert next_ids(before.fork(seed=6)) != first
    assert (before.fork()._engine.cluster.seed, before.fork(seed=6)._engine.cluster.seed) == (5, 6)
    assert before.fork(seed=6)._engine.cluster.cluster_id == broker._engine.cluster.cluster_id


def test_what_had_expired_is_still_explained() -> None:
    """`explain` knows of the offsets that expired before the snapshot, and of none that did after it."""
    broker = new_broker()
    commit(broker, "old", 1)
    broker.clock.advance(days=8)
    commit(broker, "new", 2)
    before = broker.snapshot()
    text = str(broker.group("old").explain())
    assert "expired" in text
    broker.clock.advance(days=8)

    broker.restore(before)

    assert str(broker.group("old").explain()) == text
    assert "expired" not in str(broker.group("new").explain())


def test_stopped_nodes_stay_stopped(caplog: pytest.LogCaptureFixture) -> None:
    """A node that was down at the snapshot refuses clients after the restore, one that was up takes them."""
    with FakeBroker(nodes=2) as broker:
        broker.node(2).stop()
        before = broker.snapshot()
        broker.node(2).start()
        broker.node(1).stop()

        broker.restore(before)

        assert [broker.node(1).is_alive, broker.node(2).is_alive] == [True, False]
        assert [broker._server.ports.is_refusing(place) for place in (0, 1)] == [False, True]
        broker.restore(before)  # node 2 is down already
        for _ in range(3):  # turns of the loop
            broker._call(lambda: None)
        assert not caplog.records  # who watched a socket that does not listen would say so every second


@pytest.mark.parametrize("is_running", [True, False])
def test_nodes_that_were_added_or_removed(is_running: bool) -> None:
    """The nodes are those of the snapshot: each has a port where it takes clients, or refuses them if it is gone."""
    broker = FakeBroker(nodes=2, racks=["a", "b"])
    if is_running:
        broker.start()
    two = broker.snapshot()
    broker.add_node(rack="c")
    three = broker.snapshot()
    ports = [each.port for each in broker.listeners]
    broker.node(2).stop()
    broker.node(2).remove()
    one_and_three = broker.snapshot()
    assert broker.add_node().node_id == 4
    broker.restore(one_and_three)
    assert broker.add_node().node_id == 4
    broker.node(4).stop()
    broker.node(4).remove()
    only_two_left = broker.snapshot()
    broker.restore(only_two_left)
    assert broker.add_node().node_id == 5  # an id is not given again

    def nodes(one: FakeBroker) -> dict[int, str | None]:
        return {node.node_id: node.rack for node in one.nodes}

    for snapshot, expected in (
        (two, {1: "a", 2: "b"}),
        (one_and_three, {1: "a", 3: "c"}),
        (three, {1: "a", 2: "b", 3: "c"}),
    ):
        broker.restore(snapshot)
        assert nodes(broker) == expected
        with snapshot.fork() as fork:
            assert nodes(fork) == expected
            fork.reset()
            assert nodes(fork) == {1: "a", 2: "b"}
        assert broker.snapshot().state.cluster.nodes == snapshot.state.cluster.nodes
        refusing = {each.node_id for n, each in enumerate(broker.listeners) if broker._server.ports.is_refusing(n)}
        assert {each.node_id for each in broker.listeners} - refusing == set(expected)
    assert [each.port for each in broker.listeners][:2] == ports[:2]
    assert Snapshot.from_bytes(one_and_three.to_bytes()) == one_and_three
    broker.stop()


@pytest.mark.parametrize("refused_at", [0, 1])
def test_a_restore_whose_ports_cannot_be_had_changes_nothing(refused_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients stay connected; history, options, nodes and ports are as before; none of the new ports stays bound."""
    with FakeBroker(nodes=2, config={RETENTION: 60}) as other:
        other.add_node()
        other.add_node()
        four = other.snapshot()
    with FakeBroker(nodes=2) as broker:
        broker.clock.freeze()
        broker.node(2).stop()
        broker.create_topic("t")
        client = broker.client()
        client.produce("t", 0, [(None, b"first")])
        before, history, bootstrap = broker.snapshot(), len(broker.journal.entries()), broker.bootstrap
        connections = broker._engine.connections.copy()
        real, made = ports._bound_socket, list[socket.socket]()

        def bound_socket(host: str, port: int) -> socket.socket:
            if port == 0 and len(made) == refused_at:
                raise OSError(errno.EMFILE, "no more sockets")
            made.append(real(host, port))
            return made[-1]

        monkeypatch.setattr(ports, "_bound_socket", bound_socket)
        with pytest.raises(OSError, match="no more sockets"):
            broker.restore(four)

        assert [each.fileno() for each in made] == [-1] * refused_at
        assert len(broker.journal.entries()) == history > 0
        assert (broker.snapshot(), broker.bootstrap) == (before, bootstrap)
        assert [broker._server.ports.is_refusing(place) for place in (0, 1)] == [False, True]
        assert broker._engine.connections == connections
        monkeypatch.undo()
        broker.restore(four)
        assert len(broker.nodes) == len(broker.listeners) == 4


def test_a_restore_that_cannot_open_a_stopped_node_gives_up_the_new_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ports of added nodes are had first; when another port is taken they are closed, and nothing has changed."""
    with FakeBroker(nodes=2) as broker:
        broker.clock.freeze()
        broker.add_node()
        three = broker.snapshot()
        broker.reset()
        broker.clock.freeze()
        broker.node(2).stop()
        before, made = broker.snapshot(), list[socket.socket]()
        real = ports._bound_socket

        def bound_socket(host: str, port: int) -> socket.socket:
            made.append(real(host, port))
            return made[-1]

        def accept(_ports: ports.Ports, _place: int) -> None:
            raise OSError(errno.EADDRINUSE, "taken")

        with monkeypatch.context() as patched:
            patched.setattr(ports, "_bound_socket", bound_socket)
            patched.setattr(ports.Ports, "accept", accept)
            with pytest.raises(OSError, match="taken"):
                broker.restore(three)

        assert made[0].fileno() == -1
        assert broker.snapshot() == before
        assert len(broker.listeners) == 2


@pytest.mark.parametrize(
    "look",
    [
        lambda broker: broker.group("nope").state,
        lambda broker: broker.group("nope").explain(),
        lambda broker: broker.group("nope").members,
        lambda broker: broker.groups,
        lambda broker: broker.coordinator("nope").node_id,
        lambda broker: broker.topic("b").end_offsets,
        lambda broker: broker.topic("b").records(),
        lambda broker: broker.topic("b").partition(1).high_watermark,
        lambda broker: broker.topic("__consumer_offsets").end_offsets,
        lambda broker: broker.story(),
    ],
)
def test_a_look_changes_nothing_durable(look: Callable[[FakeBroker], object]) -> None:
    """A snapshot after looking at what was never used, while the clock stands still, equals the one before."""
    broker = new_broker()
    commit(broker, "billing", 3)
    before = broker.snapshot()
    look(broker)
    assert broker.snapshot() == before


def test_a_look_at_a_group_makes_no_log() -> None:
    """The partition of `__consumer_offsets` where the group would be is as unused as it was."""
    broker = new_broker()
    commit(broker, "billing", 3)
    partition = broker._engine.cluster.group_partition("nope")
    assert not partition.has_log
    assert broker.group("nope").state == "Dead"
    assert not partition.has_log


def test_what_is_due_by_other_rules_goes_at_the_next_cleanup() -> None:
    """The same history under a retention of one day: the offsets go within the interval of the cleanup."""
    broker = new_broker()
    commit(broker, "billing", 42)
    broker.clock.advance(days=2)
    before = broker.snapshot()
    fork = before.fork(config={RETENTION: 1440})
    assert fork.group("billing").offsets == {("a", 0): 42}

    fork.clock.advance(minutes=10)
    broker.clock.advance(minutes=10)

    assert fork.group("billing").offsets == {}
    assert broker.group("billing").offsets == {("a", 0): 42}


def test_a_setting_of_a_fork_goes_before_one_that_was_set_at_run_time() -> None:
    """What the broker had as a dynamic value does not hide it."""
    broker = FakeBroker()
    broker._engine.cluster.settings.replace_dynamic(
        {"log.retention.ms": "1000", "log.segment.bytes": "2000000"}, cluster=True
    )

    fork = broker.snapshot().fork(config={"log.retention.ms": 5000})

    found = fork._engine.cluster.settings
    assert (found.get_int("log.retention.ms"), found.get_int("log.segment.bytes")) == (5000, 2_000_000)


@pytest.mark.parametrize("as_release", ["2.0", "2.1", "3.9", "4.3"])
@pytest.mark.parametrize("former", ["2.0", "3.9", "4.3"])
def test_the_same_history_on_another_release(former: ReleaseName, as_release: ReleaseName) -> None:
    """Groups, offsets and records are there; what the broker does from then on is as that release did."""
    broker = new_broker(as_release=former)
    commit(broker, "billing", 42)
    join(broker, "h")
    broker.topic("a").produce("one")

    fork = broker.snapshot().fork(as_release=as_release)

    assert fork._engine.cluster.release.name.startswith(as_release)
    assert fork.group("billing").offsets == {("a", 0): 42}
    assert fork.topic("a").end_offsets == {0: 1, 1: 0}
    commit(fork, "billing", 43)
    fork.clock.advance(days=9)
    assert not fork.group("billing").exists
    assert fork.snapshot().fork(as_release=former).snapshot().topics == fork.snapshot().topics


def test_a_commit_that_was_lost() -> None:
    """The value before it counts again; named twice, the one before that; other partitions keep theirs."""
    broker = new_broker()
    for offset in (1, 2, 3):
        commit(broker, "billing", offset)
        commit(broker, "billing", offset + 10, partition=1)
    before = broker.snapshot()
    lost = ("billing", "a", 0)

    assert before.fork(lost_commits=[lost]).group("billing").offsets == {("a", 0): 2, ("a", 1): 13}
    assert before.fork(lost_commits=[lost, lost]).group("billing").offsets == {("a", 0): 1, ("a", 1): 13}
    assert before.fork(lost_commits=[lost] * 3).group("billing").offsets == {("a", 1): 13}
    assert before.fork().group("billing").offsets == {("a", 0): 3, ("a", 1): 13}


def test_a_lost_commit_of_several_partitions() -> None:
    """Only the partition that is named falls back; the rest of the same OffsetCommit stays."""
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=2)
        client = broker.client("a")
        for offset in (5, 6):
            client.commit({("orders", 0): offset, ("orders", 1): offset}, group_id="billing")
        fork = broker.snapshot().fork(lost_commits=[("billing", "orders", 1)])

    assert fork.group("billing").offsets == {("orders", 0): 6, ("orders", 1): 5}
    commit(fork, "billing", 7, "orders", 1)
    assert fork.snapshot().fork().group("billing").offsets == {("orders", 0): 6, ("orders", 1): 7}


@pytest.mark.parametrize("commits", [False, None])
def test_an_offset_of_a_transaction_that_was_not_committed_cannot_be_lost(commits: bool | None) -> None:
    """What was aborted or is open never counted: the latest committed offset is lost, in a transaction or not."""
    broker = new_broker()
    commit(broker, "billing", 1)
    commit_in_transaction(broker, "billing", 2, commits=True)
    commit_in_transaction(broker, "billing", 3, commits=commits)
    commit_in_transaction(broker, "billing", 4, commits=True, producer_id=8, partition=1)
    before = broker.snapshot()
    lost = ("billing", "a", 0)

    assert before.fork().group("billing").offsets == {("a", 0): 2, ("a", 1): 4}
    assert before.fork(lost_commits=[lost]).group("billing").offsets == {("a", 0): 1, ("a", 1): 4}
    assert before.fork(lost_commits=[lost, lost]).group("billing").offsets == {("a", 1): 4}
    with pytest.raises(UnknownThing, match="the group has no commit for it"):
        before.fork(lost_commits=[lost] * 3)


def bad_forks() -> list[Any]:
    return [
        ({"lost_commits": [("nobody", "a", 0)]}, UnknownThing, "group 'nobody' for a-0: the group has no"),
        ({"lost_commits": [("billing", "a", 7)]}, UnknownThing, "the group has no commit for it"),
        ({"lost_commits": [("gone", "a", 0)]}, UnknownThing, "expired"),
        ({"lost_commits": ["billing"]}, InvalidArgument, "should be a list of 3, not 'billing'"),
        ({"lost_commits": [("billing", "a", "0")]}, InvalidArgument, "should be a whole number, not '0'"),
        ({"config": {"offsets.retention.minute": 1}}, SettingError, "did you mean 'offsets.retention.minutes'"),
        ({"as_release": "2.9"}, UnknownRelease, "there is no '2.9'"),
        ({"profile": "fast"}, InvalidArgument, "profile: there is no 'fast'; there are"),
    ]


@pytest.mark.parametrize(("options", "error", "text"), bad_forks())
def test_forks_that_cannot_be(options: dict[str, Any], error: type[Exception], text: str) -> None:
    """The error names what is wrong."""
    broker = new_broker()
    commit(broker, "gone", 1)
    broker.clock.advance(days=8)
    commit(broker, "billing", 1)

    with pytest.raises(error, match=text):
        broker.snapshot().fork(**options)


def test_a_snapshot_of_other_nodes_is_refused() -> None:
    """The error says what the nodes are, and nothing has changed."""
    broker = FakeBroker(nodes=2)
    broker.create_topic("t")
    wanted = FakeBroker(nodes=3).snapshot()

    with pytest.raises(InvalidArgument, match=r"nodes 1, 2, 3, but this broker has 1, 2") as raised:
        broker.restore(wanted)

    assert raised.value.field == "snapshot"
    assert broker.topic("t").exists


def test_files(tmp_path: Path) -> None:
    """What was saved is loaded; a broker restores it by its path, also one with other options."""
    broker = new_broker(config={RETENTION: 60}, as_release="3.9", profile="kafka", seed=9)
    commit(broker, "billing", 42)
    path = tmp_path / "incident.fakebroker"
    broker.snapshot().save(path)

    other = FakeBroker(nodes=2)
    other.restore(str(path))

    assert Snapshot.load(path) == broker.snapshot() == other.snapshot()
    assert other.group("billing").offsets == {("a", 0): 42}
    assert [each.name for each in tmp_path.iterdir()] == ["incident.fakebroker"]


def test_a_file_that_cannot_be_written_leaves_none(tmp_path: Path) -> None:
    """The error is the system's; a former file stays as it was."""
    path = tmp_path / "there"
    path.mkdir()
    with pytest.raises(OSError):
        FakeBroker().snapshot().save(path)
    assert list(tmp_path.iterdir()) == [path]


def test_the_async_broker() -> None:
    """Has the same powers in its loop; a fork may be an AsyncFakeBroker."""

    async def live() -> None:
        async with AsyncFakeBroker() as broker:
            broker.create_topic("orders")
            before = broker.snapshot()
            broker.topic("orders").produce("one")
            broker.restore(before)
            assert broker.topic("orders").end_offsets == {0: 0}
            async with before.async_fork(seed=3) as fork:
                assert fork.bootstrap != broker.bootstrap
                assert fork.topic("orders").exists

    asyncio.run(live())


@pytest.mark.parametrize("act", [lambda b: b.clock.advance(days=1), lambda b: b.clock.freeze()])
def test_the_clock_of_a_broker_that_never_ran(act: Callable[[FakeBroker], None]) -> None:
    """It can be moved and stopped before the first start; what falls due has happened."""
    broker = FakeBroker(config={RETENTION: 60})
    commit(broker, "billing", 42)
    act(broker)
    assert broker.group("billing").exists is (broker._broker_clock.is_frozen)

"""Loads of long logs: in turns, with COORDINATOR_LOAD_IN_PROGRESS meanwhile, whatever happens during them."""

import pytest

from fakebroker.broker.core import broker_life
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.broker.core.transactions.transaction_markers import write_marker
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.offsets_topic import stored_offset
from tests.support.logs import Pairs
from tests.support.moved_coordinators import AT_ONCE, KINDS, STEP, Coordinators, Groups, ShareStates, make_loads_small
from tests.support.time import DAY

LONG = 10 * STEP
NONE, LOADING, NOT_COORDINATOR = ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred records are a long log."""
    make_loads_small(monkeypatch)


def amid_a_load(kind: type[Coordinators], turns: int = 2, count: int = LONG) -> Coordinators:
    """Node 2 has taken so many turns of its load of a partition that node 1 wrote to."""
    lab = kind()
    lab.written(count)
    lab.partition.lead(2, lab.now)
    for _ in range(turns):
        lab.turn()
    assert lab.code(2) == LOADING
    return lab


@kinds
@pytest.mark.rules("LD-1", "LD-6", "CLU-31")
def test_a_long_log_is_loaded_in_turns(kind: type[Coordinators]) -> None:
    """The former leader is out at once, the new one says that it loads, and then knows what the log says."""
    lab = kind()
    before = lab.written(LONG)
    lab.partition.lead(2, lab.now)

    assert (lab.code(1), lab.code(2), lab.on(2).is_loading) == (NOT_COORDINATOR, LOADING, True)
    assert lab.on(2).all_shards(lab.now) == []
    assert lab.turns_to_end() >= LONG // STEP // 3
    assert (lab.code(2), lab.on(2).is_loading, lab.state(2)) == (NONE, False, before)


@kinds
@pytest.mark.rules("LD-1")
def test_a_short_log_is_loaded_at_once(kind: type[Coordinators]) -> None:
    """Nobody sees that it is loading."""
    lab = kind()
    before = lab.written(AT_ONCE - 1)
    lab.partition.lead(2, lab.now)
    assert (lab.code(2), lab.state(2)) == (NONE, before)


@kinds
def test_no_turn_of_a_move_grows_with_the_log(kind: type[Coordinators]) -> None:
    """The longest turn is that of a log of a quarter, whether its last writes were stored yet or not."""

    def longest(count: int, *, is_stored: bool) -> int:
        lab = kind()
        for number in range(count):
            lab.write(number)
        if is_stored:
            lab.partition.log.materialize_pending()
        lab.settle()
        found = lab.longest_turn_of(lambda: lab.partition.lead(2, lab.now))
        assert lab.code(2) == NONE
        return found

    for is_stored in (True, False):
        short = longest(LONG, is_stored=is_stored)
        assert longest(4 * LONG, is_stored=is_stored) < 1.5 * short, is_stored


def test_no_turn_grows_with_what_one_batch_has() -> None:
    """A batch is read in steps, and so is what is made of it."""

    def longest(count: int) -> int:
        lab = Groups()
        shard = lab.shard(1)
        rows = [stored_offset(f"t{n}", 0, n, commit_ms=lab.now.wall_ms) for n in range(count)]
        shard.commit(shard.create_group("x", lab.now), rows, lab.now)
        lab.partition.log.materialize_pending()
        found = lab.longest_turn_of(lambda: lab.partition.lead(2, lab.now))
        assert len(lab.shard(2).group("x").offsets.topics) == count
        return found

    assert longest(4 * LONG) < 1.5 * longest(LONG)


def test_no_turn_grows_with_the_groups_of_other_transactions() -> None:
    """The marker of a transaction looks only at groups with offsets in it."""

    def longest(groups: int) -> int:
        lab = Groups()
        shard = lab.shard(1)
        for number in range(groups):
            lab.write(number, f"g{number}")
        group = shard.create_group("x", lab.now)
        for _ in range(STEP):
            shard.commit_pending(group, (7, 0), [stored_offset("t", 0, 5, commit_ms=lab.now.wall_ms)], lab.now)
            mark(lab)
        lab.on(1).unload(0, lab.now)
        lab.settle()
        found = lab.longest_turn_of(lambda: lab.partition.lead(2, lab.now))
        assert len(lab.state(2)) == groups + 1
        return found

    assert longest(4 * LONG) < 1.5 * longest(LONG)


@kinds
def test_many_short_logs_are_not_loaded_in_one_turn(kind: type[Coordinators]) -> None:
    """What is read at once at one moment has one bound, over all partitions."""
    lab = kind(partitions=12)
    for number in range(12 * AT_ONCE):
        lab.write(number, f"x{number % 100}")
    for partition in lab.partitions:
        partition.lead(2, lab.now)
    loaded = {each.partition for each in lab.on(2).all_shards(lab.now)}
    assert sum(each.log.log_end_offset for each in loaded) <= AT_ONCE
    lab.turns_to_end()
    assert {each.partition for each in lab.on(2).all_shards(lab.now)} == set(lab.partitions)


@kinds
@pytest.mark.rules("LD-1")
def test_the_first_request_finds_a_long_log(kind: type[Coordinators]) -> None:
    """It is answered that the partition is loading; so is one after the broker forgot what it knew."""
    lab = kind()
    before = lab.written(LONG)
    lab.on(1).unload(0, lab.now)
    assert lab.code(1) == LOADING
    lab.turns_to_end()
    assert (lab.code(1), lab.state(1)) == (NONE, before)


@kinds
def test_a_test_that_reloads_waits(kind: type[Coordinators]) -> None:
    """`load` reads a log of any length before it returns, also amid a load in turns, which goes no further."""
    lab = amid_a_load(kind)
    lab.on(2).load(0, lab.now)
    assert lab.code(2) == NONE
    before = lab.state(2)
    lab.turns_to_end()
    assert lab.state(2) == before


@kinds
@pytest.mark.parametrize("turns", range(4))
def test_a_second_move_amid_a_load(kind: type[Coordinators], turns: int) -> None:
    """The first load goes no further, the next begins anew."""
    lab = amid_a_load(kind, turns)
    lab.partition.lead(1, lab.now)
    assert (lab.code(2), lab.on(2).is_loading, lab.code(1)) == (NOT_COORDINATOR, False, LOADING)
    lab.turns_to_end()
    expected = kind().written(LONG)
    assert (lab.code(1), len(lab.state(1))) == (NONE, len(expected))
    assert lab.on(2).shards == {}


@kinds
@pytest.mark.rules("CLU-40", "CLU-41")
def test_a_frozen_broker_loads_nothing(kind: type[Coordinators]) -> None:
    """The load stands still with the process, and goes on with it."""
    lab = amid_a_load(kind)
    node = lab.cluster.nodes[2]
    broker_life.freeze(lab.cluster, node, lab.now)
    assert lab.turns_to_end() <= 1
    assert lab.on(2).is_loading
    broker_life.thaw(lab.cluster, node, lab.now)
    assert lab.turns_to_end() > 1
    assert lab.code(2) == NONE


@kinds
@pytest.mark.rules("CLU-33")
def test_a_killed_broker_loads_nothing(kind: type[Coordinators]) -> None:
    """Nothing is left of the load; the broker loads anew when it leads again."""
    lab = amid_a_load(kind)
    node = lab.cluster.nodes[2]
    broker_life.kill(lab.cluster, node, lab.now)
    lab.turns_to_end()
    assert (lab.on(2).shards, lab.on(2).is_loading, node.stopped_timers) == ({}, False, [])
    broker_life.start(lab.cluster, node, lab.now)
    lab.partition.lead(2, lab.now)
    lab.turns_to_end()
    assert lab.code(2) == NONE


@kinds
def test_a_driver_that_stops_ends_the_load(kind: type[Coordinators]) -> None:
    """Nothing is half done afterwards."""
    lab = amid_a_load(kind)
    lab.engine.end_works(lab.now)
    assert (lab.code(2), lab.engine.errors) == (NONE, [])


@kinds
def test_a_clock_that_moves_waits_for_the_load(kind: type[Coordinators]) -> None:
    """When time has passed, all is loaded that was loading."""
    lab = amid_a_load(kind)
    lab.engine.move_clock(lab.now._replace(wall_ms=lab.now.wall_ms + DAY), "advanced")
    assert lab.code(2) == NONE


@kinds
@pytest.mark.rules("EX-12")
@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("moves", [1, 2])
def test_a_topic_that_is_deleted_amid_a_load(kind: type[Coordinators], is_slow: bool, moves: int) -> None:
    """The load ends without what it read of the topic, also when it begins anew elsewhere, and says so in the log."""
    lab = kind()
    lab.written(LONG)
    if is_slow:
        lab.cluster.nodes[2].settings.set_own("fakebroker.coordinator.load.ms", "1000")
    lab.partition.lead(2, lab.now)
    lab.turn()
    lab.cluster.topics.delete("t", lab.now)
    assert lab.code(2) == LOADING
    if moves == 2:
        lab.partition.lead(1, lab.now)
    lab.engine.advance_to(lab.now.plus(1000))
    last = moves % 2 + 1
    assert lab.code(last) == NONE
    after = lab.state(last)
    if kind is Groups:
        assert [list(offsets) for offsets in after.values()] == [["u"]]
    elif kind is ShareStates:
        assert after == {}
    assert lab.cluster.topics.unforgotten == {}
    lab.on(last).load(0, lab.now)
    assert lab.state(last) == after


def mark(lab: Coordinators) -> None:
    write_marker(
        lab.cluster, lab.partition, Producer(7, 0), commit=True, coordinator_epoch=0, now=lab.now, is_tv2=False
    )


@pytest.mark.rules("LD-2", "WM-5")
def test_a_transaction_that_ends_amid_a_load() -> None:
    """Its marker is refused until the load is over, and then commits what was pending."""
    lab = Groups()
    lab.written(LONG)
    shard = lab.shard(1)
    shard.commit_pending(shard.group("x"), (7, 0), [stored_offset("v", 0, 5, commit_ms=lab.now.wall_ms)], lab.now)
    lab.partition.lead(2, lab.now)
    lab.turn()
    with pytest.raises(KafkaError) as refused:
        mark(lab)
    assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lab.turns_to_end()
    assert "v" not in lab.state(2)["x"]
    mark(lab)
    assert list(lab.state(2)["x"]["v"]) == [0]


@kinds
@pytest.mark.rules("LD-5")
def test_a_record_that_cannot_be_read(kind: type[Coordinators]) -> None:
    """The load in turns fails as every load does."""
    lab = kind()
    lab.written(LONG)
    log = lab.partition.log
    key = next(log.records(LONG - 1)).key
    log.append_records(Pairs((key, b"\0\x63?")), lab.now)
    lab.partition.lead(2, lab.now)
    assert lab.code(2) == LOADING
    lab.turns_to_end()
    assert (lab.code(2), lab.on(2).is_loading) == (NOT_COORDINATOR, False)


@kinds
def test_what_is_appended_amid_a_load(kind: type[Coordinators]) -> None:
    """A load reads until the log ends then, not where it ended."""
    lab = amid_a_load(kind)
    last = next(lab.partition.log.records(LONG - 1))
    lab.partition.log.append_records(Pairs((last.key, None)), lab.now)
    lab.turns_to_end()
    assert lab.code(2) == NONE
    assert len(lab.state(2)) == len(kind().written(LONG)) - (kind is not Groups)

"""The durable state of a cluster is complete: nothing is forgotten by accident."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.broker.core.cluster_state import DURABLE, build_cluster, cluster_state
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant
from tests.testing.snapshot.histories import STEPS, new_broker, play


def attributes(one: object) -> set[str]:
    """Every attribute that the object has of its own."""
    slots = {name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())}
    return {name for name in slots if hasattr(one, name)} | set(getattr(one, "__dict__", ()))


def parts(cluster: Any) -> Iterator[object]:
    """Objects with durable state, reached by the attributes of those that have it."""
    yield from (cluster, cluster.topics, cluster.log_jobs, *cluster.nodes.values())
    for topic in cluster.topics:
        yield from (topic, topic.config, *topic.partitions)
        for partition in topic.partitions:
            if partition.has_log:
                log = partition.log
                yield from (log, log.producers, log.aborted, log.epochs, *log.producers, *log.segments.values())


def lively_cluster() -> Any:
    broker = new_broker()
    play(broker, [(kind, n) for n in (3, 12, 14) for kind in STEPS if kind != "topic"])
    play(broker, [("produce", 15), ("produce", 16)])
    return broker._engine.cluster


def test_every_attribute_is_saved_or_listed() -> None:
    """An attribute is a field of the state, or DURABLE says why it is not. One that is new has to be put there."""
    seen = set()
    for part in parts(lively_cluster()):
        durable = DURABLE[type(part)]
        seen.add(type(part))
        saved = {name for field in durable.state._fields for name in (field, f"_{field}")}
        missing = attributes(part) - saved - set(durable.not_saved) - {"_values"}
        assert not missing, f"{type(part).__name__}: {missing} are neither in {durable.state.__name__} nor in DURABLE"
    assert seen == set(DURABLE)


def test_what_is_listed_is_there() -> None:
    """DURABLE names no attribute that has gone, and no field both as saved and as not saved."""
    found: dict[type, set[str]] = {}
    for part in parts(lively_cluster()):
        found.setdefault(type(part), set()).update(attributes(part))
    for kind, durable in DURABLE.items():
        assert set(durable.not_saved) - found[kind] == set(), kind.__name__
        assert set(durable.not_saved) & set(durable.state._fields) <= {"log"}, kind.__name__


@pytest.mark.parametrize("name", ["replicas", "isr", "elr"])
def test_a_state_shares_no_list_with_the_cluster(name: str) -> None:
    """What the cluster changes in place does not change the state, and the other way round."""
    cluster = lively_cluster()
    state = cluster_state(cluster)
    partition = next(iter(cluster.topics)).partitions[0]
    before = getattr(state.topics[0].partitions[0], name)

    getattr(partition, name).append(99)
    assert getattr(state.topics[0].partitions[0], name) == before
    now = Instant(1_700_000_000_000, 0)
    built = build_cluster(state, Settings(), release("4.3"), now)
    getattr(next(iter(built.topics)).partitions[0], name).append(99)
    assert getattr(
        cluster_state(build_cluster(state, Settings(), release("4.3"), now)).topics[0].partitions[0], name
    ) == (before)


def test_stored_batches_are_shared() -> None:
    """A snapshot does not copy records: the bytes of a batch are one object in both clusters and in the state."""
    cluster = lively_cluster()
    state = cluster_state(cluster)
    built = build_cluster(state, Settings(), release("4.3"), Instant(1_700_000_000_000, 0))

    def batches(one: Any) -> list[bytes]:
        return [
            b for t in one.topics for p in t.partitions if p.has_log for s in p.log.segments.values() for b in s.batches
        ]

    assert batches(cluster)
    assert all(mine is other for mine, other in zip(batches(cluster), batches(built), strict=True))


def test_a_retention_that_was_due_goes_on() -> None:
    """Jobs on logs go on at the same intervals: old records of a restored broker go when those of the original do."""
    broker = new_broker()
    broker.topic("a").produce("one")
    broker.clock.advance(hours=23, minutes=58)
    fork = broker.snapshot().fork()

    for one in (broker, fork):
        one.clock.advance(minutes=1)
        assert len(one.topic("a").records()) == 1
        one.clock.advance(minutes=10)
        assert one.topic("a").records() == []


def test_a_deletion_of_a_topic_that_was_under_way_is_completed() -> None:
    """The offsets of the topic that was being deleted are gone after the restore."""
    broker = new_broker()
    play(broker, [("commit", 0), ("commit", 3)])
    steps = broker._engine.cluster.topics.delete_in_steps("a", broker._broker_clock.now())
    next(steps)
    before = broker.snapshot()

    assert {topic for topic, _ in before.fork().group("g").offsets} == {"b"}
    assert before.fork().snapshot().state.cluster.being_deleted == ()

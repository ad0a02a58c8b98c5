"""Snapshots that are sent: what restoring them takes at once is bounded."""

import pytest

from fakebroker import VirtualBroker
from fakebroker.cli.http import brokers as brokers_module
from fakebroker.cli.http.brokers import MAX_NODES
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.testing.snapshot.snapshot import Snapshot
from tests.support.cluster import partition
from tests.support.control import Client, with_control


def bomb(codec: int) -> bytes:
    """A snapshot with a small batch in a coordinator's topic that unpacks to 20 MB, behind one that is broken."""
    with VirtualBroker() as broker:
        broker.create_topic("__consumer_offsets", 1)
        log = partition(broker._engine.cluster, topic="__consumer_offsets").log
        for size in (100, 20_000_000):
            log.append(build_batch([Record(0, 0, b"", b"\0" * size)], codec=codec), broker._engine.now)
        state = broker.snapshot().state
    (topic,) = state.cluster.topics
    kept = topic.partitions[0].log
    assert kept is not None
    first, *others = kept.segments[0].batches
    segment = kept.segments[0]._replace(batches=(first[:-6] + b"broken", *others))
    broken = topic.partitions[0]._replace(log=kept._replace(segments=(segment,)))
    topics = (topic._replace(partitions=(broken,)),)
    return Snapshot(state._replace(cluster=state.cluster._replace(topics=topics))).to_bytes()


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_batches_of_coordinators_unpack_to_little(codec: int) -> None:
    """What a restore reads at once is no more than a broker would have written."""
    content = bomb(codec)

    async def test(control: Client) -> None:
        problem = await control.problem("POST", "/snapshots/file", content=content)
        assert (problem["status"], "unpack to more than 16 MiB" in problem["detail"]) == (409, True)
        assert await control.get("/snapshots") == []

    assert len(content) < 2_000_000
    with_control(test)


def test_there_are_no_more_nodes_than_a_broker_may_have() -> None:
    """Neither in a file nor by what is made of it."""
    with VirtualBroker(nodes=MAX_NODES + 1) as broker:
        content = broker.snapshot().to_bytes()

    async def test(control: Client) -> None:
        problem = await control.problem("POST", "/snapshots/file", content=content)
        assert (problem["status"], "65 nodes" in problem["detail"]) == (409, True)

    with_control(test)


def test_restored_nodes_count_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot of three nodes is not restored where there is room for two."""
    monkeypatch.setattr(brokers_module, "MAX_NODES_TOGETHER", 2)
    with VirtualBroker() as broker:
        broker.add_node()
        broker.add_node()
        content = broker.snapshot().to_bytes()

    async def test(control: Client) -> None:
        sent = (await control.ask("POST", "/snapshots/file", content=content)).json()
        for what in ("restore", "fork"):
            problem = await control.problem("POST", f"/snapshots/{sent['snapshot_id']}/{what}")
            assert (problem["status"], "may have 2 nodes" in problem["detail"]) == (409, True)

    assert len(Snapshot.from_bytes(content).state.cluster.nodes) == 3
    with_control(test)

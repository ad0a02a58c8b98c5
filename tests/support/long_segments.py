"""A data directory whose segments have very many small batches, and what each turn of a broker on it costs."""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from fakebroker import VirtualBroker
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.core.logs.unloaded_segments import BATCHES_PER_STEP
from fakebroker.broker.engine.connection import Connection
from fakebroker.broker.engine.engine import Engine
from fakebroker.protocol.records.batch import parse_header
from fakebroker.protocol.storage.names import LOG, file_name
from tests.support.work_counter import calls_of

CONFIG: dict[str, Any] = {
    "log.cleaner.enable": False,
    "log.cleaner.min.cleanable.ratio": 1,  # cleaning itself has other turns
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "share.coordinator.state.topic.num.partitions": 1,
}
LOGS = ("orders", "compacted", "__share_group_state")
BATCHES = 4 * BATCHES_PER_STEP  # of each segment
MOST_CALLS = 15 * BATCHES_PER_STEP  # of a turn, which takes two steps of a pass; to read a batch takes six


def make_directory(path: Path) -> int:
    """Make the directory; returns the id of a producer, "tx", whose transaction is open in "orders" (epoch 0).

    "orders" has a closed segment and the active one, and so has "compacted", and what the share coordinator knows of
    the group "old", which reads "orders".
    """
    with VirtualBroker(data=path, config=CONFIG) as broker:
        broker.create_topic("orders")
        broker.create_topic("compacted", config={"cleanup.policy": "compact"})
        client = broker.client("first")
        producer = client.init_producer_id("tx", transaction_protocol=1)
        client.add_partitions_to_txn([("orders", 0)])
        client.produce("orders", 0, ["in the transaction"], transactional=True)
        for topic in ("orders", "compacted"):
            broker.client("second").produce(topic, 0, [("k", "v")])
        third = broker.client("third")
        third.join_share_group("old", ["orders"])
        broker.pass_time(ms=100)
        third.share_group_heartbeat()
        third.share_fetch([("orders", 0)])
    for topic in LOGS:
        fill(path / f"{topic}-0")
    producer_id: int = producer.producer_id
    return producer_id


def fill(folder: Path) -> None:
    """Write copies of the last batch of a log to its end, and as many in a segment after it."""
    path = folder / file_name(0, LOG)
    data, last = path.read_bytes(), b""
    while data:
        size = parse_header(data).size_bytes
        last, data = data[:size], data[size:]
    first = parse_header(last).base_offset + 1
    with path.open("ab") as file:
        file.write(copies(last, first, BATCHES))
    (folder / file_name(BATCHES, LOG)).write_bytes(copies(last, BATCHES, 2 * BATCHES))
    for index in (*folder.glob("*index"),):
        index.unlink()


def copies(batch: bytes, start: int, end: int) -> bytes:
    """A batch of one record at each offset in [start, end)."""
    return b"".join(struct.pack(">q", offset) + batch[8:] for offset in range(start, end))


def log_of(broker: VirtualBroker, topic: str = "orders") -> PartitionLog:
    partition = broker._engine.cluster.topics.partition(topic, 0)
    assert partition is not None
    return partition.log


def loaded(log: PartitionLog) -> list[bool]:
    """Which segments are in memory."""
    return [each.is_loaded for each in log.segments.values()]


@contextmanager
def counted_turns() -> Iterator[list[int]]:
    """The calls that each turn of any engine makes."""
    turns: list[int] = []
    is_inside = False

    def counted(turn: Callable[..., object]) -> Callable[..., None]:
        @wraps(turn)
        def take(*arguments: object) -> None:
            nonlocal is_inside
            if is_inside:
                turn(*arguments)
                return
            is_inside = True
            try:
                turns.append(calls_of(lambda: turn(*arguments)))
            finally:
                is_inside = False

        return take

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((Connection, "receive"), (Connection, "resume"), (Engine, "step"), (Engine, "tick")):
            patch.setattr(owner, name, counted(getattr(owner, name)))
        yield turns

"""How cost grows with size, measured inside this process on the engine: no sockets, time by hand."""

import random
import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

from bench import requests as r
from fakebroker import FakeBroker
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.broker.engine.connection import Connection
from fakebroker.cli.main import tune_garbage_collector
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.offsets_topic import GroupValue, MemberValue
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import decode_response
from tests.support.cluster import partition

START = Instant(r.FIRST_MS, 0)
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
FRAMES_OF_TURN = 50


class World:
    """A broker without network: frames in, answers out."""

    def __init__(self, config: Mapping[str, int] | None = None) -> None:
        self.broker = FakeBroker(config={"message.max.bytes": 10_485_760, **(config or {})})
        self.engine = self.broker._engine
        # Turns do not end earlier where all is slow, as in valgrind; `float` is always 0 and costs as much as a clock.
        self.engine.cluster.timers.passes.stopwatch = float
        self.engine.now = self.now = START
        self.connection = self.connect()

    def connect(self) -> Connection:
        address = Address("127.0.0.1", 9092)
        return self.engine.connect(self.broker.listeners[0], "/127.0.0.1", address, self.now)

    def ask(self, request: Message, version: int) -> Any:
        """One request and its decoded answer."""
        self.connection.receive(r.frame(request, version), self.now)
        answer = b"".join(self.connection.data_to_send())
        return decode_response(request.api_key, version, answer[4:])[1]

    def us_per_frame(self, frames: list[bytes], rounds: int = 1) -> float:
        """Microseconds for each of these frames, sent one by one."""
        began = time.perf_counter()
        for _ in range(rounds):
            for at in range(0, len(frames), FRAMES_OF_TURN):
                for frame in frames[at : at + FRAMES_OF_TURN]:
                    self.connection.receive(frame, self.now)
                self.connection.data_to_send()
                self.engine.flush()
        return (time.perf_counter() - began) / (rounds * len(frames)) * 1e6

    def log(self, topic: str) -> PartitionLog:
        """The log of a new topic with one partition."""
        self.broker.create_topic(topic)
        return partition(self.engine.cluster, topic=topic).log

    def group(self, group_id: str, members: int) -> ClassicGroup:
        """A Stable group, loaded from its record as a coordinator that takes over does."""
        ids = [f"client-{n:08d}-0000-4000-8000-000000000000" for n in range(members)]
        timeout_ms = r.TIMEOUT_MS
        stored = tuple(MemberValue(m, None, "bench", "/127.0.0.1", timeout_ms, timeout_ms, b"", b"") for m in ids)
        shard = self.engine.cluster.nodes[1].coordinator.shard(group_id, self.now)
        group = shard.create_group(group_id, self.now)
        group.restore(GroupValue("bench", 1, "range", ids[0], self.now.wall_ms, stored), self.now)
        return group

    def group_count(self) -> int:
        """How many groups the broker knows."""
        return sum(len(shard.groups) for shard in self.engine.cluster.nodes[1].coordinator.shards.values())

    def advance(self, ms: int) -> float:
        """Let time pass; returns the milliseconds it took."""
        began = time.perf_counter()
        self.now = self.now.plus(ms)
        self.engine.advance_to(self.now)
        return (time.perf_counter() - began) * 1000

    def turns(self, ms: int) -> list[float]:
        """Let time pass as a server that has clients does: the processor time of each turn, in milliseconds."""
        self.now = self.now.plus(ms)
        turns = [_cpu_ms(lambda: self.engine.tick(self.now))]
        while self.engine.works:
            turns.append(_cpu_ms(lambda: self.engine.step(self.now)))
        return turns


def _cpu_ms(action: Callable[[], None]) -> float:
    began = time.process_time()
    action()
    return (time.process_time() - began) * 1000


def heartbeat_curve() -> list[str]:
    """Microseconds per Heartbeat while the number of groups and members grows."""
    rows = []
    for groups, members in ((1, 3), (1, 2_000), (100, 3), (1_000, 3), (10_000, 3), (33_334, 3)):
        world = World()
        frames = []
        for n in range(groups):
            group = world.group(f"group-{n}", members)
            frames += [r.frame(r.heartbeat(group.group_id, 1, m), r.HEARTBEAT) for m in group.members]
        random.Random(1).shuffle(frames)
        world.us_per_frame(frames[:2_000])
        us = world.us_per_frame(frames, rounds=max(1, 100_000 // len(frames)))
        rows.append(f"| {groups:,} | {groups * members:,} | {us:.2f} |")
        print(rows[-1], flush=True)
    return rows


def rebalance_of(members: int) -> str:
    """All members of one Stable group rejoin and sync."""
    world = World()
    group = world.group("big", members)
    connections = {member: world.connect() for member in group.members}
    joins = [r.frame(r.join("big", m, b"new", session_timeout_ms=r.TIMEOUT_MS), r.JOIN) for m in connections]
    began = time.perf_counter()
    for connection, frame in zip(connections.values(), joins, strict=True):
        connection.receive(frame, world.now)
    assert group.generation == 2, group
    for member, connection in connections.items():
        everyone = list(connections) if member == group.leader else ()
        connection.receive(r.frame(r.sync("big", 2, member, everyone), r.SYNC), world.now)
    assert group.state == "Stable", group
    return f"| one rebalance of {members:,} members, joins and syncs | {(time.perf_counter() - began) * 1000:.0f} ms |"


def expiry(groups: int) -> list[str]:
    """So many new groups with 10 offsets, then eight days: first nothing is due, then everything."""
    world, us = _committed(groups)
    idle_ms, due_ms = world.advance(6 * DAY_MS), world.advance(2 * DAY_MS)
    assert not world.group_count()
    served, _ = _committed(groups)
    served.advance(7 * DAY_MS - HOUR_MS)
    turns = served.turns(HOUR_MS)
    assert not served.group_count()
    return [
        f"| {groups:,} new groups, a commit of 10 offsets each | {us:.1f} us a group ({1e6 / us:,.0f} groups/s) |",
        f"| six days over them, nothing due | {idle_ms:.1f} ms |",
        f"| two days more, all {groups * 10:,} offsets due | {due_ms:.0f} ms |",
        f"| while clients are served: processor time of the longest of {len(turns)} turns | {max(turns):.0f} ms |",
    ]


def _committed(groups: int) -> tuple[World, float]:
    """A broker with so many simple groups of 10 offsets, and the microseconds that each took."""
    world = World()
    topics = [f"t{n}" for n in range(5)]
    for topic in topics:
        world.broker.create_topic(topic, partitions=2)
    return world, world.us_per_frame([r.frame(r.commit(f"group-{n}", topics, 2), r.COMMIT) for n in range(groups)])


def lookup_curve() -> list[str]:
    """Microseconds per ListOffsets by time while the log grows."""
    rows = []
    for batches, size in ((100, 16384), (10_000, 16384), (100_000, 8192)):
        world = World()
        log, first_ms = world.log("t"), START.wall_ms - 20_000_000
        for n in range(batches):
            log.append(r.batch(size, 100, first_ms + n * 100), world.now)
        chance = random.Random(1)
        times = [first_ms + chance.randrange(batches * 100) for _ in range(3_000)]
        frames = [r.frame(r.offset_at("t", ms), r.LIST_OFFSETS) for ms in times]
        world.us_per_frame(frames[:100])
        us = world.us_per_frame(frames)
        rows.append(f"| {batches * 100:,} records in {batches:,} batches of {size:,} bytes | {us:.1f} |")
        print(rows[-1], flush=True)
    return rows


def memory() -> str:
    """Bytes of memory per stored byte at 16 KiB batches."""
    world = World()
    log, data = world.log("t"), r.batch(16384, 16)
    tracemalloc.start()
    for _ in range(2_000):
        log.append(bytes(bytearray(data)), world.now)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return f"| memory per stored byte, batches of {len(data):,} bytes | {held / (2_000 * len(data)):.2f} |"


EXPIRY_ABOUT = """A million offsets due at once have a goal of 3 s in all, and of 50 ms for a turn while clients are
served (the turn is met). Each offset is a tombstone in `__consumer_offsets`, 3 us: most of it is finding what is due,
group by group, and writing the tombstones as records when the log needs room. Ten offsets committed and expired are
661,000 instructions."""


def report() -> str:
    """The page's section on growth."""
    tune_garbage_collector()  # as `fakebroker serve` does
    parts = [
        "## Growth",
        "",
        "Inside one process, on the engine: framing, decoding, handler, encoding; no sockets.",
        "",
    ]
    parts += ["| groups | members | us per Heartbeat |", "|---|---|---|", *heartbeat_curve(), ""]
    parts += ["| log | us per ListOffsets by time |", "|---|---|", *lookup_curve(), ""]
    parts += ["| what | cost |", "|---|---|", rebalance_of(500), rebalance_of(2_000)]
    parts += [*expiry(10_000), *expiry(100_000), memory(), "", EXPIRY_ABOUT, ""]
    return "\n".join(parts)


if __name__ == "__main__":
    print(report())

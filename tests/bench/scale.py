"""How cost grows with size, measured inside this process on the engine: no sockets, time by hand."""

import random
import time

from fakebroker import FakeBroker
from fakebroker.instant import Instant
from fakebroker.records.batch import build_batch
from fakebroker.wire.frame import decode_response
from tests.bench.cases import request, struct
from tests.bench.driver import frame

START = Instant(1_700_000_000_000, 0)
DAY_MS = 86_400_000


class World:
    """A broker without network: one connection, frames in, answers out."""

    def __init__(self, **config: object) -> None:
        self.broker = FakeBroker(config={"message.max.bytes": 10_485_760, **config})
        self.engine = self.broker.engine
        self.engine.now = START
        listener = self.broker.listeners[0]
        self.connection = self.engine.connect(listener, "/127.0.0.1", ("127.0.0.1", 9092), START)
        self.now = START

    def ask(self, name: str, version: int, **fields: object) -> object:
        asked = request(name, **fields)
        return decode_response(asked.api_key, version, self.send(frame(asked, version)))[1]

    def send(self, data: bytes) -> bytes:
        """One frame in, its answer's frame out, without the length."""
        self.connection.receive(data, self.now)
        return b"".join(self.connection.data_to_send())[4:]

    def advance(self, ms: int) -> None:
        self.now = self.now.plus(ms)
        self.engine.advance_to(self.now)


def heartbeat_curve() -> list[str]:
    """Microseconds per Heartbeat while the number of groups and members grows."""
    rows = []
    for groups, members in ((1, 3), (1, 2_000), (100, 3), (1_000, 3), (10_000, 3), (33_334, 3)):
        world = World()
        frames = [f for n in range(groups) for f in stable_members(world, f"group-{n}", members)]
        random.Random(1).shuffle(frames)
        rounds = max(1, 100_000 // len(frames))
        for data in frames[:2_000]:
            world.send(data)
        began = time.perf_counter()
        for _ in range(rounds):
            for data in frames:
                world.connection.receive(data, world.now)
            world.connection.data_to_send()
        us = (time.perf_counter() - began) / (rounds * len(frames)) * 1e6
        rows.append(f"| {groups:,} | {groups * members:,} | {us:.2f} |")
        print(rows[-1], flush=True)
    return rows


def stable_members(world: World, group_id: str, members: int) -> list[bytes]:
    """Load a Stable group from its record, as a coordinator that takes over does; a Heartbeat frame for each member."""
    from fakebroker.records.offsets_topic import GroupValue, MemberValue

    shard = world.engine.cluster.nodes[1].coordinator.shard(group_id, world.now)
    ids = [f"client-{n:08d}-0000-4000-8000-000000000000" for n in range(members)]
    stored = tuple(MemberValue(m, None, "client", "/127.0.0.1", 1_000_000, 1_000_000, b"", b"") for m in ids)
    group = shard.create_group(group_id, world.now)
    group.restore(GroupValue("x", 1, "range", ids[0], world.now.wall_ms, stored), world.now)
    return [frame(request("Heartbeat", group_id=group_id, generation_id=1, member_id=m), 3) for m in ids]


def rebalance_of(members: int) -> str:
    """All members of one Stable group rejoin and sync: milliseconds of CPU for the whole rebalance."""
    world = World()
    stable_members(world, "big", members)
    group = world.engine.cluster.nodes[1].coordinator.shard("big", world.now).groups["big"]
    ids = list(group.members)
    protocol = struct("JoinGroup", "JoinGroupRequestProtocol", name="range", metadata=b"new")
    listener = world.broker.listeners[0]
    connections = [world.engine.connect(listener, "/127.0.0.1", ("127.0.0.1", 9092), world.now) for _ in ids]
    joins = [frame(request("JoinGroup", group_id="big", member_id=m, session_timeout_ms=1_000_000, rebalance_timeout_ms=1_000_000,
                           protocol_type="x", protocols=[protocol]), 3) for m in ids]  # fmt: skip
    began = time.perf_counter()
    for connection, data in zip(connections, joins, strict=True):
        connection.receive(data, world.now)
    assert group.generation == 2, group
    entries = [struct("SyncGroup", "SyncGroupRequestAssignment", member_id=m, assignment=b"mine") for m in ids]
    for connection, member in zip(connections, ids, strict=True):
        mine = entries if member == group.leader else []
        connection.receive(frame(request("SyncGroup", group_id="big", generation_id=2, member_id=member, assignments=mine), 2), world.now)
    assert group.state == "Stable", group
    return f"| one rebalance of {members:,} members (join and sync) | {(time.perf_counter() - began) * 1000:.0f} ms |"


def commit_groups(world: World, groups: int) -> float:
    """One OffsetCommit of 10 partitions for each of so many new groups: seconds for all."""
    for t in range(5):
        world.broker.create_topic(f"t{t}", partitions=2)
    entries = [struct("OffsetCommit", "OffsetCommitRequestTopic", name=f"t{t}", partitions=[(p, 7, -1, -1, "") for p in range(2)]) for t in range(5)]
    frames = [
        frame(request("OffsetCommit", group_id=f"group-{n}", generation_id_or_member_epoch=-1, member_id="", topics=entries), 7) for n in range(groups)
    ]
    began = time.perf_counter()
    for data in frames:
        world.connection.receive(data, world.now)
    world.connection.data_to_send()
    return time.perf_counter() - began


def expiry(groups: int) -> list[str]:
    """Eight days over so many groups of 10 offsets, when all is due, and the same when nothing is."""
    world = World()
    made = commit_groups(world, groups)
    began = time.perf_counter()
    world.advance(6 * DAY_MS)
    idle = time.perf_counter() - began
    began = time.perf_counter()
    world.advance(2 * DAY_MS)
    due = time.perf_counter() - began
    left = sum(len(s.groups) for s in world.engine.cluster.nodes[1].coordinator.shards.values())
    assert left == 0, left
    return [
        f"| {groups:,} new groups with 10 offsets each, one commit per group | {made * 1000:.0f} ms ({groups / made:,.0f} groups/s) |",
        f"| six days over them, nothing due | {idle * 1000:.1f} ms |",
        f"| two days more, all of it due | {due * 1000:.0f} ms |",
    ]


def lookup_curve() -> list[str]:
    """Microseconds per ListOffsets by time while the log grows."""
    rows = []
    for batches, size in ((100, 16384), (10_000, 16384), (100_000, 8192)):
        world = World()
        log = world.broker.create_topic("t", partitions=1) and world.engine.cluster.topics.get("t").partitions[0].log
        value = b"v" * (size // 100 - 12)
        for n in range(batches):
            records = [(None, value, START.wall_ms - 10_000_000 + n * 100 + i, ()) for i in range(100)]
            log.append(build_batch(records), world.now)
        chance = random.Random(1)
        frames = []
        for _ in range(2_000):
            target = START.wall_ms - 10_000_000 + chance.randrange(batches * 100)
            topic = struct("ListOffsets", "ListOffsetsTopic", name="t", partitions=[(0, -1, target, 1)])
            frames.append(frame(request("ListOffsets", replica_id=-1, topics=[topic]), 5))
        world.send(frames[0])
        began = time.perf_counter()
        for data in frames:
            world.connection.receive(data, world.now)
        us = (time.perf_counter() - began) / len(frames) * 1e6
        rows.append(f"| {batches * 100:,} records in {batches:,} batches of {size:,} bytes | {us:.1f} |")
        print(rows[-1], flush=True)
    return rows


def memory() -> str:
    """Bytes of memory per stored byte at 16 KiB batches."""
    import tracemalloc

    world = World()
    world.broker.create_topic("t")
    log = world.engine.cluster.topics.get("t").partitions[0].log
    data = build_batch([(None, b"v" * 1000, START.wall_ms, ())] * 16)
    tracemalloc.start()
    for _ in range(2_000):
        log.append(bytes(bytearray(data)), world.now)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return f"| memory per stored byte, batches of {len(data):,} bytes | {held / (2_000 * len(data)):.2f} |"


def report() -> str:
    """The page's section on growth."""
    parts = [
        "## Growth",
        "",
        "Inside one process, on the engine: framing, decoding, handler and encoding, no sockets.",
        "",
        "| groups | members | us per Heartbeat |",
        "|---|---|---|",
        *heartbeat_curve(),
        "",
        "| log | us per ListOffsets by time |",
        "|---|---|",
        *lookup_curve(),
        "",
        "| what | cost |",
        "|---|---|",
        rebalance_of(500),
        rebalance_of(2_000),
        *expiry(10_000),
        *expiry(100_000),
        memory(),
        "",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    print(report())

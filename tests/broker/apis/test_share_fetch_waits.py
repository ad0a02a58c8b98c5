"""Share fetches that wait: they measure again only what has changed, and come to what measuring all would give."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from fakebroker.broker.core.share_partitions.share_fetch import ShareFetch
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.chance import SEED
from tests.support.share_fetches import ACCEPT, REJECT, RELEASE, ShareGroupLab, ShareMember, ranges
from tests.support.time import T0
from tests.support.work_counter import calls_of

FEW, MANY = 20, 80
MUCH = 1 << 19


def append(lab: ShareGroupLab) -> None:
    for index in range(len(lab.topic.partitions)):
        lab.log(index).append(build_batch([Record(0, T0, None, b"v")]), lab.sim.network.now)


def fetch_of_another(lab: ShareGroupLab) -> None:
    append(lab)
    other = lab.member("other")
    indexes = range(len(lab.topic.partitions))
    answer = other.send(*indexes, wait=0)
    assert all(ranges(answer, index) for index in indexes)


def delete(lab: ShareGroupLab) -> None:
    lab.cluster.topics.delete("t", lab.sim.network.now)


def elect(lab: ShareGroupLab) -> None:
    for partition in lab.topic.partitions:
        partition.begin_epoch(1)
        for callback in lab.cluster.topics.on_leader_changed:
            callback(partition, lab.sim.network.now)


@pytest.mark.rules("SGF-16")
@pytest.mark.parametrize("change", [append, fetch_of_another, delete, elect])
def test_a_change_of_all_partitions_costs_each_the_same(change: Callable[[ShareGroupLab], None]) -> None:
    """However many partitions a fetch waits for, a change of one makes it look at that one."""
    calls = []
    for partitions in (FEW, MANY):
        lab = ShareGroupLab(partitions)
        lab.member("waits").send(*range(partitions), wait=30_000, min_bytes=MUCH)
        calls.append(calls_of(lambda lab=lab: change(lab)) / partitions)  # type: ignore[misc]
    assert calls[1] < 1.2 * calls[0]


def enough(fetch: ShareFetch) -> bool:
    """Whether there is enough, by a look at all partitions."""
    sizes = [fetch._readable_bytes(each) for each in fetch._loaded.values() if each.can_acquire]
    return bool(sizes) and sum(sizes) >= fetch._params.min_bytes


class Life:
    """Members that fetch, wait, acknowledge and leave, on a topic of three partitions."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lab = ShareGroupLab(3, share_record_lock_duration_ms=15_000, share_partition_max_record_locks=100)
        self.members: list[ShareMember] = [self.lab.member(f"m{n}") for n in range(3)]
        self.acquired: dict[ShareMember, list[tuple[int, int]]] = {each: [] for each in self.members}

    def step(self) -> None:
        kinds = [self.produce, self.produce, self.fetch, self.fetch, self.acknowledge, self.wait, self.other]
        self.random.choice(kinds)()
        for member in self.members:
            self.take(member, member.answer())

    def produce(self) -> None:
        self.lab.produce(*[self.random.choice((1, 5, 60))] * 2, partition=self.random.randrange(3))

    def fetch(self) -> None:
        member = self.random.choice(self.members)
        if not member.client.socket.connection.is_parked:
            some = self.random.sample(range(3), 2)
            wanted: dict[str, Any] = {
                "min_bytes": self.random.choice((1, 600)),
                "max_records": self.random.choice((1, 500)),
            }
            self.take(member, member.send(*some, wait=self.random.choice((0, 2_000)), **wanted))

    def acknowledge(self) -> None:
        member = self.random.choice(self.members)
        if self.acquired[member] and not member.client.socket.connection.is_parked:
            acks = self.acquired[member].pop(0)
            member.acknowledge((*acks, self.random.choice((ACCEPT, RELEASE, RELEASE, REJECT))))

    def wait(self) -> None:
        self.lab.wait(self.random.choice((100, 1_000, 15_000)))

    def other(self) -> None:
        log = self.lab.log(self.random.randrange(3))
        match self.random.randrange(4):
            case 0:
                self.lab.configure(share_partition_max_record_locks=self.random.choice((100, 200)))
            case 1:
                self.lab.configure(share_isolation_level=self.random.choice(("read_committed", "read_uncommitted")))
            case 2 if log.log_end_offset > log.log_start_offset:
                log.advance_log_start(log.log_start_offset + 1, self.lab.sim.network.now)
            case _:
                member = self.random.choice(self.members)
                if not member.client.socket.connection.is_parked:
                    member.close()
                    member.epoch = 0
                    self.acquired[member].clear()

    def take(self, member: ShareMember, answer: Any) -> None:
        if answer is not None and answer.error_code:
            member.epoch = 0
        elif answer is not None:
            self.acquired[member] += [(first, last) for first, last, _ in ranges(answer)]


@pytest.mark.random
@pytest.mark.rules("SGF-15", "SGF-16")
def test_what_changes_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """At every look a fetch knows what measuring all partitions would give, whatever happened since the last one."""
    known = ShareFetch._is_enough
    looks = []

    def compared(fetch: ShareFetch) -> bool:
        found = known(fetch)
        assert found == enough(fetch), f"seed {SEED}"
        looks.append(found)
        return found

    monkeypatch.setattr(ShareFetch, "_is_enough", compared)
    for number in range(10):
        life = Life(Random(f"share fetches {SEED} {number}"))
        for _ in range(200):
            life.step()
        assert life.lab.sim.engine.errors == []
    assert {True, False} <= set(looks)
    assert len(looks) > 200

"""Share partitions under arbitrary members, clocks and crashes: no record is lost, none is delivered too often.

Hypothesis makes up producers, members that fetch and acknowledge, sessions that close, connections that break, clocks
that jump over locks, leaders that move and brokers that die. Every record that was acquired is acknowledged, released
or delivered again; nobody has what another has; what is finished never comes back; in the end everything is finished.
"""

from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.chance import MINUTES, model_settings, run_model
from tests.support.share_fetches import ACCEPT, GAP, REJECT, RELEASE, ShareGroupLab, ShareMember, ranges

NODES = (1, 2, 3)
MEMBERS = ("a", "b", "c")
LOCK_MS = 15_000
FINISHING = (GAP, ACCEPT, REJECT)


class Held(NamedTuple):
    """A record that a member has acquired, until a time."""

    member_id: str
    until_ms: int


class SharePartitionMachine(RuleBasedStateMachine):
    """One share partition on three brokers, and three members.

    `delivered` counts how often each record was acquired; `losses` how often the memory of a leader was lost, each of
    which may cost every record one delivery that nobody has counted.
    """

    @initialize(limit=st.integers(2, 6), locks=st.sampled_from([100, 2000]))
    def begin(self, limit: int, locks: int) -> None:
        self.lab = ShareGroupLab(
            nodes=NODES,
            share_delivery_count_limit=limit,
            share_partition_max_record_locks=locks,
            share_record_lock_duration_ms=LOCK_MS,
        )
        self.limit = limit
        self.members: dict[str, ShareMember] = {}
        self.held: dict[int, Held] = {}
        self.finished: set[int] = set()
        self.delivered: Counter[int] = Counter()
        self.losses = 0
        self.produced = 0

    @property
    def leader(self) -> int:
        return self.lab.topic.partitions[0].leader

    @property
    def now_ms(self) -> int:
        return self.lab.sim.network.now.mono_ms

    def member(self, member_id: str) -> ShareMember:
        """A member with a session at the leader."""
        known = self.members.get(member_id)
        if known is None or known.client.socket.is_closed or known.node != self.leader:
            known = self.members[member_id] = self.lab.member(member_id, node=self.leader)
        return known

    def still_held(self, offset: int) -> Held | None:
        held = self.held.get(offset)
        return held if held is not None and held.until_ms > self.now_ms else None

    def forgotten(self) -> None:
        """The memory of a leader is lost."""
        self.losses += 1
        self.held.clear()

    # -- what happens -----------------------------------------------------------------------------------------------

    @rule(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4))
    def produce(self, sizes: list[int]) -> None:
        self.lab.produce(*sizes)
        self.produced += sum(sizes)

    @precondition(lambda self: self.leader > 0)
    @rule(
        who=st.sampled_from(MEMBERS),
        max_records=st.sampled_from([1, 3, 10, 500]),
        batch_size=st.sampled_from([1, 4, 500]),
        mode=st.sampled_from([0, 1]),
    )
    def fetch(self, who: str, max_records: int, batch_size: int, mode: int) -> None:
        member = self.member(who)
        answer = self.ask(
            member, max_records=max_records, batch_size=batch_size, share_acquire_mode=mode, wait=10, listed=True
        )
        if answer is None:
            return
        acquired = ranges(answer)
        note(f"{who} acquired {acquired}")
        if mode == 1:
            assert sum(last - first + 1 for first, last, _ in acquired) <= max_records
        for first, last, count in acquired:
            assert count <= self.limit
            for offset in range(first, last + 1):
                held = self.still_held(offset)
                assert held is None, f"{offset} is held by {held}"
                assert offset not in self.finished, f"{offset} was finished"
                self.delivered[offset] += 1
                self.held[offset] = Held(who, self.now_ms + LOCK_MS)

    def ask(self, member: ShareMember, *, listed: bool, **fields: Any) -> Any:
        """Send a ShareFetch; None if its session is not there any more: the member then has a new one."""
        answer = member.send(*([0] if listed else []), **fields)
        if answer is None:
            self.lab.wait(fields["wait"])
            answer = member.answer()
        if answer is not None and answer.error_code:
            member.epoch = 0
            return None
        return answer

    @precondition(lambda self: self.leader > 0 and self.held)
    @rule(who=st.sampled_from(MEMBERS), data=st.data())
    def acknowledge(self, who: str, data: st.DataObject) -> None:
        mine = sorted(offset for offset, held in self.held.items() if held.member_id == who)
        if not mine:
            return
        first = data.draw(st.sampled_from(mine))
        last = first
        while last + 1 in mine and last - first < 20 and data.draw(st.booleans()):
            last += 1
        types = data.draw(st.lists(st.sampled_from([GAP, ACCEPT, RELEASE, REJECT]), min_size=1, max_size=1))
        if data.draw(st.booleans()):
            size = last - first + 1
            types = data.draw(st.lists(st.sampled_from([ACCEPT, RELEASE, REJECT]), min_size=size, max_size=size))
        member = self.member(who)
        held = [offset for offset in range(first, last + 1) if self.still_held(offset)]
        code = member.acknowledge((first, last, *types)) if member.epoch else -1
        note(f"{who} says {types} of {first} to {last}: {code}")
        if code != 0:
            return
        for number, offset in enumerate(range(first, last + 1)):
            if offset in held:
                del self.held[offset]
                if types[number if len(types) > 1 else 0] in FINISHING:
                    self.finished.add(offset)
            else:  # its lock had timed out: it may only be before the start, given up or finished by another
                assert offset in self.finished or self.delivered[offset] >= self.limit

    @rule(who=st.sampled_from(MEMBERS))
    def close(self, who: str) -> None:
        member = self.members.get(who)
        if member is not None and not member.client.socket.is_closed and member.epoch:
            code = member.close()
            member.epoch = 0
            if code == 0:
                self.released(who)

    @rule(who=st.sampled_from(MEMBERS))
    def hang_up(self, who: str) -> None:
        member = self.members.pop(who, None)
        if member is not None and not member.client.socket.is_closed:
            member.hang_up()
            self.released(who)
            if not any(each.epoch for each in self.members.values()):
                self.forgotten()  # nothing was acquired any more, but it may have been by sessions that were replaced

    def released(self, who: str) -> None:
        self.held = {offset: held for offset, held in self.held.items() if held.member_id != who}

    @rule(ms=st.sampled_from([1, 500, 5_000, 15_000, 40_000]))
    def wait(self, ms: int) -> None:
        self.lab.wait(ms)

    @precondition(lambda self: self.leader > 0)
    @rule()
    def move_leader(self) -> None:
        now = self.lab.sim.network.now
        self.lab.topic.partitions[0].lead(next(node for node in NODES if node != self.leader), now)
        self.forgotten()

    @precondition(lambda self: self.leader > 0)
    @rule(kill=st.booleans())
    def lose_a_broker(self, kill: bool) -> None:
        node = self.leader
        network = self.lab.sim.network
        (network.kill_node if kill else network.stop_node)(node)
        self.lab.wait(20_000)
        network.start_node(node)
        self.lab.wait(1_000)
        self.forgotten()

    # -- what must be -----------------------------------------------------------------------------------------------

    @invariant()
    def deliveries_are_limited(self) -> None:
        most = max(self.delivered.values(), default=0)
        assert most <= self.limit + self.losses

    def teardown(self) -> None:
        """Somebody takes and accepts everything that is left: then all records are finished, none was left out."""
        self.lab.wait(2 * LOCK_MS)
        self.held.clear()
        for _ in range(20 * (self.produced + 2)):
            member = self.member("last")
            answer = self.ask(member, listed=True, wait=10)
            if answer is None:
                continue
            acquired = ranges(answer)
            if not acquired:
                break
            for first, last, _ in acquired:
                assert not self.finished & set(range(first, last + 1))
                self.delivered.update(range(first, last + 1))
            assert member.acknowledge(*[(first, last, ACCEPT) for first, last, _ in acquired]) == 0
            for first, last, _ in acquired:
                self.finished.update(range(first, last + 1))
        given_up = {offset for offset in range(self.produced) if offset not in self.finished}
        assert all(self.delivered[offset] >= self.limit for offset in given_up), "a record is lost"
        assert self.lab.states() == {}, "not all is finished"


SHORT = model_settings(max_examples=60, steps=40)


@pytest.mark.random
@pytest.mark.timeout(0 if MINUTES else 600)  # a failure takes its time to shrink
@pytest.mark.rules("SGF-14", "SGK-2", "SGP-2", "SGP-4", "SGP-5", "SGP-6", "SGP-7", "SGP-9")
def test_share_partitions_under_arbitrary_members() -> None:
    """The invariants hold whatever happens; with FAKEBROKER_MODEL_MINUTES for that long."""
    runs = run_model(SharePartitionMachine, SHORT, settings(SHORT, max_examples=50, stateful_step_count=100))
    if MINUTES:
        print(f"\n{runs:,} runs over {MINUTES:g} minutes: nothing found")

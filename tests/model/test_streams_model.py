"""A streams group under arbitrary members: no task is ever active twice, and in the end each is active once.

Hypothesis makes up members of several processes that are slow, silent, killed or do not hear their answers, topics that
grow, vanish and come back, other settings, and coordinators that move. What members run is compared, not what the
coordinator believes.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fakebroker.broker.core.groups.streams.states import GroupState
from fakebroker.broker.core.groups.streams.streams_group import StreamsGroup
from fakebroker.broker.core.groups.streams.tasks import Task
from tests.model.streams_clients import StreamsClient
from tests.support.chance import MINUTES, model_settings, run_model
from tests.support.streams_groups import OneStreamsGroup, subtopology, topology

TOPOLOGY = topology(
    subtopology("0", ["t"], changelogs=["c"]), subtopology("1", ["u"]), subtopology("2", ["t", "u"], changelogs=["d"])
)
SIZES = {"t": 4, "u": 3, "c": 4, "d": 4}
MEMBERS, PROCESSES = "abcde", "pqr"
SESSION_MS, REBALANCE_MS = 45_000, 5_000

steps_run = 0


class StreamsMachine(RuleBasedStateMachine):
    """Up to five members in three processes."""

    @initialize(interval_ms=st.sampled_from([0, 0, 1_000]), delay_ms=st.sampled_from([0, 0, 3_000]))
    def begin(self, interval_ms: int, delay_ms: int) -> None:
        self.one = OneStreamsGroup(
            {
                "group.streams.assignment.interval.ms": interval_ms,
                "group.streams.initial.rebalance.delay.ms": delay_ms,
            }
        )
        for name, size in SIZES.items():
            if name != "t":
                self.one.create(name, size)
        self.clients: dict[str, StreamsClient] = {}

    @property
    def group(self) -> StreamsGroup | None:
        group = self.one.shard.group("g")
        assert group is None or isinstance(group, StreamsGroup)
        return group

    # -- members -------------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(MEMBERS), process=st.sampled_from(PROCESSES))
    def join(self, name: str, process: str) -> None:
        """A new member, or one that was killed and comes back."""
        if name not in self.clients:
            self.clients[name] = StreamsClient(self.one, name, process, TOPOLOGY)
            self.clients[name].heartbeat()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), answer_is_lost=st.booleans(), reports=st.booleans())
    def heartbeat(self, data: st.DataObject, answer_is_lost: bool, reports: bool) -> None:
        global steps_run
        steps_run += 1
        self._client(data).heartbeat(answer_is_lost=answer_is_lost, reports=reports)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def stop_others(self, data: st.DataObject) -> None:
        self._client(data).stop_others()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), rounds=st.integers(1, 4))
    def behave(self, data: st.DataObject, rounds: int) -> None:
        """A member does what it should."""
        client = self._client(data)
        for _ in range(rounds):
            client.stop_others()
            client.heartbeat()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def rejoin(self, data: st.DataObject) -> None:
        client = self._client(data)
        client.stop()
        client.heartbeat()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), says_so=st.booleans())
    def end(self, data: st.DataObject, says_so: bool) -> None:
        """A member leaves, or is killed."""
        client = self._client(data)
        if says_so:
            client.leave()
        del self.clients[client.member_id]

    def _client(self, data: st.DataObject) -> StreamsClient:
        return self.clients[data.draw(st.sampled_from(sorted(self.clients)))]

    # -- the broker ----------------------------------------------------------------------------------------------------

    @rule(ms=st.sampled_from([100, 1_000, REBALANCE_MS, SESSION_MS]))
    def time_passes(self, ms: int) -> None:
        self.one.wait(ms)

    @rule(standbys=st.integers(0, 2))
    def configure(self, standbys: int) -> None:
        self.one.configure(num_standby_replicas=standbys)

    @rule(name=st.sampled_from("tu"))
    def topic_vanishes(self, name: str) -> None:
        if self.one.cluster.topics.get(name) is not None:
            self.one.cluster.topics.delete(name, self.one.now)

    @rule(name=st.sampled_from("tu"))
    def topic_comes_back(self, name: str) -> None:
        if self.one.cluster.topics.get(name) is None:
            self.one.create(name, SIZES[name])

    @rule()
    def coordinator_moves(self) -> None:
        """What is not in the log is gone."""
        shard = self.one.shard
        self.one.cluster.nodes[1].coordinator.unload(shard.partition.index, self.one.now)

    # -- what must be --------------------------------------------------------------------------------------------------

    @invariant()
    def no_task_is_active_twice(self) -> None:
        """Of the members of the group no two run the same active task; nor does the coordinator believe they do."""
        if not hasattr(self, "one") or self.group is None:
            return
        members = self.group.members
        running: list[Task] = []
        held: list[Task] = []
        for member_id, member in members.items():
            held += [*member.current.assigned.active, *member.current.pending.active]
            client = self.clients.get(member_id)
            if client is not None and client.epoch in (member.epoch, member.current.previous_epoch):
                running += client.running.active
        assert len(held) == len(frozenset(held)), held
        assert len(running) == len(frozenset(running)), running

    @invariant()
    def timers_have_owners(self) -> None:
        """No timer of a group or member that is gone."""
        if not hasattr(self, "one"):
            return
        for deadline in self.one.cluster.timers.mono.armed():
            assert not isinstance(deadline.owner, StreamsGroup) or deadline.owner is self.group

    def teardown(self) -> None:
        """Topics are back, everybody behaves: then each task is active once, and nothing moves any more."""
        if not hasattr(self, "one"):
            return
        for name, size in SIZES.items():
            if self.one.cluster.topics.get(name) is None:
                self.one.create(name, size)
        if not self.clients:
            self.join("a", "p")
        for client in self.clients.values():
            if client.has_missed_an_answer:
                client.stop()
        for _ in range(60):
            self.one.wait(1_000)
            for client in self.clients.values():
                client.stop_others()
                client.heartbeat()
        assert self.group is not None
        assert self.group.state is GroupState.STABLE
        tasks = [Task(name, partition) for name, count in (("0", 4), ("1", 3), ("2", 4)) for partition in range(count)]
        assert sorted(task for client in self.clients.values() for task in client.running.active) == tasks


SHORT = model_settings(max_examples=60, steps=30)


@pytest.mark.random
@pytest.mark.timeout(0 if MINUTES else 600)  # a failure takes its time to shrink
@pytest.mark.rules("STR-1", "STR-3", "STM-1", "STM-2", "STA-1")
def test_streams_groups_under_arbitrary_members() -> None:
    """The invariants hold whatever members do; with FAKEBROKER_MODEL_MINUTES for that long."""
    runs = run_model(StreamsMachine, SHORT, settings(SHORT, max_examples=25, stateful_step_count=100))
    if MINUTES:
        print(f"\n{steps_run:,} heartbeats in {runs:,} runs over {MINUTES:g} minutes: nothing found")

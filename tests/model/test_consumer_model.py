"""A consumer group under arbitrary members: no partition is read by two, and in the end each is read by one.

Hypothesis makes up members that are slow, silent, killed or do not hear their answers, dynamic and static ones, with
topics and patterns; topics that grow, vanish and come back; other settings, and coordinators that move. What members
read is compared, not what the coordinator believes.
"""

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.states import GroupState
from tests.model.consumer_clients import ConsumerClient
from tests.support.chance import MINUTES, model_settings, run_model
from tests.support.consumer_groups import OneConsumerGroup

NAMES = "abcdef"
STATIC = {"e": "instance", "f": "instance"}  # two member ids of one instance
SUBSCRIPTIONS: list[tuple[list[str], str | None]] = [
    (["t"], None),
    (["t", "u"], None),
    (["u"], None),
    ([], None),
    ([], "[tu]"),
    (["u"], "t.*"),
]
SIZES = {"t": 4, "u": 2}
SESSION_MS, REBALANCE_MS, REFRESH_MS = 45_000, 5_000, 10_001

steps_run = 0


class ConsumerMachine(RuleBasedStateMachine):
    """Up to six members."""

    @initialize(
        interval_ms=st.sampled_from([0, 0, 1_000]), assignors=st.sampled_from(["uniform,range", "range,uniform"])
    )
    def begin(self, interval_ms: int, assignors: str) -> None:
        self.one = OneConsumerGroup(
            {"group.consumer.assignment.interval.ms": interval_ms, "group.consumer.assignors": assignors}
        )
        self.clients: dict[str, ConsumerClient] = {}
        self.epochs = (0, 0)

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.one.shard.group("g")
        assert group is None or isinstance(group, ConsumerGroup)
        return group

    # -- members -------------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), subscription=st.sampled_from(SUBSCRIPTIONS))
    def join(self, name: str, subscription: tuple[list[str], str | None]) -> None:
        """A new member, or one that was killed and comes back."""
        if name not in self.clients:
            client = self.clients[name] = ConsumerClient(self.one, name, STATIC.get(name))
            client.subscribe(*subscription)
            client.heartbeat()

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
    @rule(data=st.data(), subscription=st.sampled_from(SUBSCRIPTIONS))
    def subscribe(self, data: st.DataObject, subscription: tuple[list[str], str | None]) -> None:
        client = self._client(data)
        client.subscribe(*subscription)
        client.heartbeat()

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def rejoin(self, data: st.DataObject) -> None:
        client = self._client(data)
        client.stop()
        client.heartbeat()

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), says_so=st.sampled_from(["for good", "for a while", None]))
    def end(self, data: st.DataObject, says_so: str | None) -> None:
        """A member leaves, or is killed."""
        client = self._client(data)
        if says_so is not None:
            client.leave(for_a_while=says_so == "for a while")
        del self.clients[client.member_id]

    def _client(self, data: st.DataObject) -> ConsumerClient:
        return self.clients[data.draw(st.sampled_from(sorted(self.clients)))]

    # -- the broker ----------------------------------------------------------------------------------------------------

    @rule(ms=st.sampled_from([100, 1_000, REBALANCE_MS, REFRESH_MS, SESSION_MS]))
    def time_passes(self, ms: int) -> None:
        self.one.wait(ms)

    @rule(name=st.sampled_from("tu"))
    def topic_vanishes(self, name: str) -> None:
        if self.one.cluster.topics.get(name) is not None:
            self.one.cluster.topics.delete(name, self.one.now)

    @rule(name=st.sampled_from("tu"))
    def topic_comes_back(self, name: str) -> None:
        if self.one.cluster.topics.get(name) is None:
            self.one.create(name, SIZES[name])

    @rule(name=st.sampled_from("tu"))
    def topic_grows(self, name: str) -> None:
        topic = self.one.cluster.topics.get(name)
        if topic is not None and len(topic.partitions) < 8:
            topic.add_partitions([[1]])

    @rule()
    def coordinator_moves(self) -> None:
        """What is not in the log is gone."""
        self.one.reload_shard()

    # -- what must be --------------------------------------------------------------------------------------------------

    @invariant()
    def no_partition_is_read_twice(self) -> None:
        """Of the members of the group no two read the same partition; nor does the coordinator believe they do."""
        group = self.group if hasattr(self, "one") else None
        if group is None:
            return
        held = Counter(partition for member in group.members.values() for partition in member.current.partitions())
        read = Counter(partition for client in self._members_of(group) for partition in read_by(client))
        assert max(held.values(), default=0) <= 1, held
        assert max(read.values(), default=0) <= 1, read

    def _members_of(self, group: ConsumerGroup) -> list[ConsumerClient]:
        """The clients that are members as far as they can know; others will learn that they are not."""
        return [
            client
            for member_id, member in group.members.items()
            if (client := self.clients.get(member_id)) is not None
            and client.epoch in (member.epoch, member.current.previous_epoch)
        ]

    @invariant()
    def targets_do_not_overlap(self) -> None:
        """The target is of members, and gives no partition twice."""
        group = self.group if hasattr(self, "one") else None
        if group is None:
            return
        given = Counter(
            (topic_id, partition)
            for assignment in group.target.values()
            for topic_id, partitions in assignment.items()
            for partition in partitions
        )
        assert max(given.values(), default=0) <= 1, given
        assert group.target.keys() <= group.members.keys()

    @invariant()
    def epochs_are_in_order(self) -> None:
        """Members are not ahead of the target, nor the target of the group; neither ever goes back in one group."""
        group = self.group if hasattr(self, "one") else None
        if group is None:
            self.epochs = (0, 0)
            return
        epochs = group.assignment_epoch, group.group_epoch
        assert epochs[0] <= epochs[1]
        assert all(member.epoch <= epochs[0] for member in group.members.values())
        assert all(now >= before for now, before in zip(epochs, self.epochs, strict=True))
        self.epochs = epochs

    @invariant()
    def timers_have_owners(self) -> None:
        """No timer of a group that is gone; every member has a session."""
        group = self.group if hasattr(self, "one") else None
        if not hasattr(self, "one"):
            return
        for deadline in self.one.cluster.timers.mono.armed():
            assert not isinstance(deadline.owner, ConsumerGroup) or deadline.owner is group
        if group is not None:
            assert all(group.session_ends_ms(member_id) is not None for member_id in group.members)

    def teardown(self) -> None:
        """Topics are back, everybody behaves: then each partition that somebody wants is read by one of those."""
        if not hasattr(self, "one"):
            return
        for name in SIZES:
            if self.one.cluster.topics.get(name) is None:
                self.one.create(name, SIZES[name])
        self._everybody_behaves()
        last = self.clients["z"] = ConsumerClient(self.one, "z", None)
        last.subscribe(["t"], None)  # so that the target is not one of a member that joined without topics (CGA-10)
        last.heartbeat()
        self._everybody_behaves()
        assert self.group is not None
        assert self.group.state is GroupState.STABLE, self.group.state
        wanted = {
            (self.one.topics[name].id, partition.index)
            for name in self.group.subscribed_topics or ()
            for partition in self.one.topics[name].partitions
        }
        assert sorted(each for client in self.clients.values() for each in read_by(client)) == sorted(wanted)

    def _everybody_behaves(self) -> None:
        """For longer than any session."""
        for _ in range(60):
            self.one.wait(1_000)
            for client in self.clients.values():
                client.stop_others()
                client.heartbeat()


def read_by(client: ConsumerClient) -> list[tuple[bytes, int]]:
    return [(topic_id, partition) for topic_id, partitions in client.reads.items() for partition in partitions]


SHORT = model_settings(max_examples=60, steps=30)


@pytest.mark.random
@pytest.mark.timeout(0 if MINUTES else 600)  # a failure takes its time to shrink
@pytest.mark.rules("CGR-1", "CGR-3", "CGR-6", "CGT-1", "CGT-3", "CGS-3", "CGX-1", "CGA-23")
def test_consumer_groups_under_arbitrary_members() -> None:
    """The invariants hold whatever members do; with FAKEBROKER_MODEL_MINUTES for that long."""
    runs = run_model(ConsumerMachine, SHORT, settings(SHORT, max_examples=25, stateful_step_count=100))
    if MINUTES:
        print(f"\n{steps_run:,} heartbeats in {runs:,} runs over {MINUTES:g} minutes: nothing found")

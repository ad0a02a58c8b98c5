"""Share groups under random joins, leaves, topics and waits: what must hold after every step."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_groups import OneShareGroup
from tests.support.time import SECOND

MEMBERS = st.sampled_from(["m1", "m2", "m3", "m4"])
TOPICS = st.lists(st.sampled_from(["t", "u", "v"]), min_size=1, max_size=3, unique=True)
STORED = ("group_epoch", "assignment_epoch", "metadata_hash", "state", "target", "members", "subscribed_topics")


class ShareGroupHistories(RuleBasedStateMachine):
    """One share group; topic "v" comes and goes."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = OneShareGroup()
        self.epochs: dict[str, int] = {}  # of the members, as they were reported
        self.highest = 0

    @property
    def group(self) -> ShareGroup | None:
        return self.lab.shard.group_of(ShareGroup, "g")

    @rule(member_id=MEMBERS, topics=TOPICS)
    def join(self, member_id: str, topics: list[str]) -> None:
        answer = self.lab.send(member_id, 0, topics)
        assert answer.code == ErrorCode.NONE
        assert answer.assignment is not None
        self.epochs[member_id] = answer.member_epoch

    @rule(member_id=MEMBERS, topics=st.one_of(st.none(), TOPICS))
    def go_on(self, member_id: str, topics: list[str] | None) -> None:
        if member_id not in self.epochs:
            return
        answer = self.lab.send(member_id, self.epochs[member_id], topics)
        assert answer.code == ErrorCode.NONE
        assert answer.member_epoch >= self.epochs[member_id]
        self.epochs[member_id] = answer.member_epoch

    @rule(member_id=MEMBERS)
    def leave(self, member_id: str) -> None:
        code = self.lab.send(member_id, -1).code
        if self.group is None:
            assert code == ErrorCode.GROUP_ID_NOT_FOUND
        else:
            assert code == (ErrorCode.NONE if member_id in self.epochs else ErrorCode.UNKNOWN_MEMBER_ID)
        self.epochs.pop(member_id, None)

    @rule(seconds=st.sampled_from([0, 1, 20, 46]))
    def wait(self, seconds: int) -> None:
        self.lab.wait(seconds * SECOND)
        members = self.group.members if self.group is not None else {}
        self.epochs = {member_id: epoch for member_id, epoch in self.epochs.items() if member_id in members}

    @rule()
    def topic_comes_or_goes(self) -> None:
        if "v" in self.lab.cluster.topics:
            self.lab.cluster.topics.delete("v", self.lab.now)
        else:
            self.lab.create("v", 2)

    @precondition(lambda self: self.group is not None)
    @rule()
    def load(self) -> None:
        before = self.lab.group
        stored = {name: getattr(before, name) for name in STORED}
        known = before.state_partitions

        loaded = self.lab.reload()

        assert {name: getattr(loaded, name) for name in STORED} == stored
        assert loaded.state_partitions == known._replace(since_ms=loaded.state_partitions.since_ms)

    @invariant()
    def epochs_only_rise(self) -> None:
        group = self.group
        if group is not None:
            assert group.group_epoch >= max(self.highest, group.assignment_epoch)
            assert all(member.current.epoch <= group.assignment_epoch for member in group.members.values())
            self.highest = group.group_epoch

    @invariant()
    def member_ids_are_as_answered(self) -> None:
        group = self.group
        if group is not None:
            assert {each.member_id: each.current.epoch for each in group.members.values()} == self.epochs
            assert group.target.keys() <= group.members.keys()
            assert group.is_empty == (group.state == "Empty")

    @invariant()
    def what_is_assigned_has_a_state(self) -> None:
        group = self.group
        for target in group.target.values() if group is not None else ():
            for topic_id, partitions in target.items():
                if group is not None and topic_id in group.state_partitions.initialized:
                    assert set(partitions) <= set(group.state_partitions.initialized[topic_id].partitions)

    def teardown(self) -> None:
        """When everybody is heard of a few times, and states were made in between, all partitions have members."""
        for seconds in (31, 0, 0, 0):  # what was asked for before a load is asked for again after 30 s
            for member_id in list(self.epochs):
                self.go_on(member_id, None)
            self.lab.wait(seconds * SECOND)
        if self.group is not None and self.epochs:
            topics = [self.lab.cluster.topics.get(name) for name in sorted(self.lab.group.subscribed_topics)]
            expected = {(topic.name, each.index) for topic in topics if topic is not None for each in topic.partitions}
            found = {
                (name, index)
                for member_id in self.epochs
                for name, indexes in self.lab.has(member_id)[1].items()
                for index in indexes
            }
            assert found == expected


TestShareGroupHistories = ShareGroupHistories.TestCase
TestShareGroupHistories.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)

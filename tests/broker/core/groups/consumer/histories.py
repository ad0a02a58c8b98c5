"""Random histories of a consumer group with dynamic and static members."""

from hypothesis import strategies as st

from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.messages import HeartbeatAnswer
from tests.support.consumer_groups import OneConsumerGroup

MEMBERS = ("m1", "m2", "m3", "m4")
STATIC = {"m3": "i1", "m4": "i1"}  # two member ids that take turns
Step = tuple[str, str, list[str], str | None]  # member id, what it does, topics, assignor

steps = st.tuples(
    st.sampled_from(MEMBERS),
    st.sampled_from(["join", "beat", "give up", "leave", "away", "wait"]),
    st.sampled_from([["t"], ["t", "u"], ["u"], []]),
    st.sampled_from([None, "range", "uniform"]),
)

histories = st.lists(steps, max_size=25)


def take(
    lab: OneConsumerGroup, member_id: str, what: str, topics: list[str], assignor: str | None
) -> HeartbeatAnswer | None:
    """One step of a history; a member that may not take it is refused, which is a step, too."""
    instance = STATIC.get(member_id)
    group = lab.shard.group("g")
    member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
    epoch = 1 if member is None else member.epoch
    if what == "join":
        return lab.join(member_id, topics, instance=instance, assignor=assignor)
    if what == "beat":
        return lab.send(member_id, max(epoch, 1), instance=instance)
    if what == "give up":
        assigned = {} if member is None else lab.names(member.current.assigned)
        return lab.send(member_id, max(epoch, 1), assigned, instance=instance)
    if what == "wait":
        lab.wait(3_000)
        return None
    return lab.send(member_id, -1 if what == "leave" or instance is None else -2, instance=instance)

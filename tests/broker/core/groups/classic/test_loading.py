"""A group that was read from the log (LD-3, LD-4, LD-7, CR-9)."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import GroupValue
from tests.support.groups import EMPTY, PREPARING, RANGE, STABLE, OneGroup
from tests.support.time import START

STICKY = ("sticky", b"s")
SUBSCRIBED = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"


def reloaded(lab: OneGroup, **settings: object) -> OneGroup:
    """Another broker that reads the last record of the group, a minute later."""
    other = OneGroup({name.replace("_", "."): value for name, value in settings.items()})
    other.ms = lab.ms + 60_000
    other.group.restore(lab.written[-1], other.now)
    return other


@pytest.mark.rules("LD-3")
def test_a_group_with_members_is_stable(lab: OneGroup) -> None:
    """Members, assignments, generation, leader, protocol and state time are as stored."""
    a, s = lab.stable({}, {"instance": "i"})
    group = reloaded(lab).group

    assert (group.state, group.generation, group.leader, group.protocol) == (STABLE, 1, a, "range")
    assert (group.protocol_type, group.state_ms) == ("consumer", lab.written[-1].state_ms)
    assert [(m.member_id, m.instance_id, m.assignment) for m in group.members.values()] == [
        (a, None, a.encode()),
        (s, "i", s.encode()),
    ]
    assert group.to_value() == lab.written[-1]


@pytest.mark.rules("LD-3")
def test_a_group_without_members_is_empty(lab: OneGroup) -> None:
    """It is Empty since it became so, at the generation it had."""
    lab.leave(*lab.stable({}))
    group = reloaded(lab).group

    assert (group.state, group.generation, group.protocol_type) == (EMPTY, 2, "consumer")
    assert group.state_ms == lab.group.state_ms


@pytest.mark.rules("LD-3")
def test_a_leader_that_is_no_member(lab: OneGroup) -> None:
    """A record that names one is no reason to fail: the first member leads."""
    a, b = lab.stable({}, {})
    other = OneGroup()
    other.group.restore(lab.written[-1]._replace(leader="nobody"), other.now)
    assert other.group.leader == a

    assert other.join(a).is_parked
    assert other.join(b).generation == 2


@pytest.mark.rules("LD-3", "CR-8")
def test_an_unknown_state_time_stays_unknown(lab: OneGroup) -> None:
    """-1 is kept; a protocol type "" is none."""
    lab.group.restore(GroupValue("", 3, None, None, -1, ()), lab.now)

    assert (lab.group.state_ms, lab.group.protocol_type, lab.group.generation) == (-1, None, 3)


@pytest.mark.rules("LD-4", "TM-1")
def test_sessions_begin_anew(lab: OneGroup) -> None:
    """A member has its full session timeout after the load."""
    _, b = lab.stable({"session": 60_000}, {"session": 7000})
    other = reloaded(lab)
    other.wait(6999)
    assert b in other.group.members
    other.wait(1)

    assert (b in other.group.members, other.group.state) == (False, PREPARING)


@pytest.mark.rules("LD-4")
def test_a_rebalance_that_was_running_is_forgotten(lab: OneGroup) -> None:
    """The generation before it is back, with those who were leaving it."""
    a, b = lab.stable({}, {})
    lab.leave(b)
    other = reloaded(lab)

    assert (other.group.state, other.group.generation, list(other.group.members)) == (STABLE, 1, [a, b])
    assert other.heartbeat(b) == ErrorCode.NONE


@pytest.mark.rules("LD-4", "JG-8")
def test_a_loaded_group_that_is_too_large(lab: OneGroup) -> None:
    """It has to rejoin at once, and the last ones are kept out."""
    a, b, c = lab.stable({}, {}, {})
    other = reloaded(lab, group_max_size=2)
    assert other.group.state == PREPARING

    joins = [other.join(each) for each in (c, a, b)]

    assert [joins[0].is_parked, joins[1].is_parked, joins[2].code] == [True, True, ErrorCode.GROUP_MAX_SIZE_REACHED]


@pytest.mark.rules("LD-7", "CR-9")
def test_a_member_with_several_protocols_knows_one(lab: OneGroup) -> None:
    """Its unchanged rejoin counts as changed, since only the chosen protocol was stored."""
    both = [*RANGE, STICKY]
    _, b = lab.stable({"protocols": both}, {"protocols": both})
    other = reloaded(lab)
    assert list(other.group.members[b].protocols) == [*RANGE]

    assert other.join(b, protocols=both).is_parked
    assert other.group.state == PREPARING


@pytest.mark.rules("LD-7")
def test_what_goes_on_as_before(lab: OneGroup) -> None:
    """An unchanged rejoin with one protocol, a static return, the next generations."""
    a, s = lab.stable({}, {"instance": "i"})
    other = reloaded(lab)

    assert other.join(s, instance="i").generation == 1
    new = other.join(instance="i").member_id
    assert other.group.state == STABLE
    joins = [other.join(a), other.join(new, instance="i")]
    assert [join.generation for join in joins] == [2, 2]


@pytest.mark.rules("CP-4", "EX-7", "ST-5")
def test_subscribed_topics(lab: OneGroup) -> None:
    """They are those of the chosen protocol's metadata, per generation and after a load; None is unknown."""
    assert lab.group.subscribed_topics is None
    (a,) = lab.stable({"protocols": [("range", SUBSCRIBED)]})
    assert lab.group.subscribed_topics == {"t"}
    assert reloaded(lab).group.subscribed_topics == frozenset({"t"})

    lab.join(a, protocols=[("range", b"\0")])
    assert lab.group.subscribed_topics is None
    lab.leave(a)
    assert lab.group.subscribed_topics == frozenset()

    other = OneGroup()
    other.stable({"type": "connect", "protocols": [("range", SUBSCRIBED)]})
    assert other.group.subscribed_topics is None


def test_start_is_an_instant() -> None:
    """The lab's two readings of time differ, so that tests notice when one is taken for the other."""
    assert START.wall_ms != START.mono_ms

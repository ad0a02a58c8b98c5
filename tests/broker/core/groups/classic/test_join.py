"""JoinGroup of dynamic members (JG)."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, RANGE, STABLE, OneGroup

UNKNOWN, INCONSISTENT = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.INCONSISTENT_GROUP_PROTOCOL
STICKY = ("sticky", b"s")
LIVE = [PREPARING, COMPLETING, STABLE]


@pytest.mark.rules("JG-11", "JG-13", "JG-29")
@pytest.mark.parametrize("changes", [{"type": ""}, {"protocols": []}])
def test_the_first_member_must_offer_something(lab: OneGroup, changes: dict[str, Any]) -> None:
    """An Empty group takes any protocol type and list but empty ones."""
    join = lab.join(**changes)

    assert (join.code, join.member_id, join.generation, join.leader) == (INCONSISTENT, "", -1, "")
    assert (join.protocol_type, join.protocol, join.members) == (None, None, ())
    assert lab.group.state == EMPTY


@pytest.mark.rules("JG-12", "JG-13")
@pytest.mark.parametrize("state", LIVE)
@pytest.mark.parametrize(
    "changes", [{"type": "connect"}, {"type": ""}, {"protocols": [STICKY]}, {"protocols": []}], ids=str
)
def test_a_live_group_keeps_its_protocols(lab: OneGroup, state: str, changes: dict[str, Any]) -> None:
    """Type and at least one protocol must be those of all members; the answer echoes the id of a member only."""
    a, _ = lab.in_state(state)

    for member_id in ("", a):
        join = lab.join(member_id, **changes)
        assert (join.code, join.member_id) == (INCONSISTENT, member_id)


@pytest.mark.rules("JG-12")
def test_a_sole_member_cannot_change_to_other_protocols(lab: OneGroup) -> None:
    """Its own old list counts: it has to widen first, then it may move on."""
    (a,) = lab.stable({})
    assert lab.join(a, protocols=[STICKY]).code == INCONSISTENT

    assert lab.join(a, protocols=[STICKY, *RANGE]).protocol == "sticky"
    assert lab.join(a, protocols=[STICKY]).protocol == "sticky"


@pytest.mark.rules("JG-12", "LG-11")
def test_without_members_every_list_passes(lab: OneGroup) -> None:
    """All members left during the initial delay: the next one brings any protocols, but the type still holds."""
    (a,) = [lab.ask_for_id()]
    lab.join(a)
    lab.leave(a)
    assert (lab.group.state, len(lab.group.members)) == (PREPARING, 0)

    assert lab.join(type="connect", protocols=[STICKY]).code == INCONSISTENT
    assert lab.join(protocols=[]).code == INCONSISTENT
    assert lab.join(protocols=[STICKY]).is_parked


@pytest.mark.rules("JG-14")
def test_generated_ids(lab: OneGroup) -> None:
    """Ids are made of the client id, or of the instance id, and something random."""
    assert lab.ask_for_id(client="app") == "app-1"
    assert lab.ask_for_id(client="") == "-2"
    join = lab.join(instance="worker", client="app")
    lab.wait(3000)

    assert join.member_id == "worker-3"


@pytest.mark.rules("JG-15")
@pytest.mark.parametrize("state", [EMPTY, *LIVE])
def test_old_clients_are_members_at_once(lab: OneGroup, state: str) -> None:
    """Without the handshake a newcomer is added and parked in every state."""
    lab.in_state(state)
    before = len(lab.group.members)

    join = lab.join()

    assert (join.is_parked, lab.group.state, len(lab.group.members)) == (True, PREPARING, before + 1)


@pytest.mark.rules("JG-16", "JG-29")
@pytest.mark.parametrize("state", [EMPTY, *LIVE])
def test_the_handshake_adds_nothing(lab: OneGroup, state: str) -> None:
    """A newcomer gets its id with 79; it is no member yet and no rebalance starts."""
    lab.in_state(state)
    before = list(lab.group.members)

    join = lab.join(handshake=True)

    assert (join.code, join.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "c-3")
    assert join.answer is not None
    assert join.answer[2:] == (-1, None, None, "", (), False)
    assert (lab.group.state, list(lab.group.members), "c-3" in lab.group.pending_join_members) == (state, before, True)


@pytest.mark.rules("JG-17")
def test_a_pending_id_is_no_member(lab: OneGroup) -> None:
    """It counts neither for the rebalance timeout, nor for the vote, nor in the list of members."""
    (a,) = lab.stable({"rebalance": 5000})
    lab.ask_for_id(rebalance=50_000, protocols=[*RANGE, STICKY])
    join = lab.join(a, rebalance=5000)
    lab.wait(4999)
    assert join.is_parked
    lab.wait(1)

    assert [member.member_id for member in join.members] == [a]


@pytest.mark.rules("JG-19", "JG-26")
@pytest.mark.parametrize("state", [EMPTY, *LIVE])
def test_a_pending_id_joins(lab: OneGroup, state: str) -> None:
    """It becomes a dynamic member; outside of the join phase that starts a rebalance."""
    lab.in_state(state)
    pending = lab.ask_for_id()

    assert lab.join(pending).is_parked
    assert (lab.group.state, list(lab.group.members)[-1], len(lab.group.pending_join_members)) == (
        PREPARING,
        pending,
        0,
    )


@pytest.mark.rules("JG-19")
def test_a_pending_id_cannot_become_static(lab: OneGroup) -> None:
    """Kafka answers -1 without an id, and the id stays pending; so do we."""
    pending = lab.ask_for_id()

    join = lab.join(pending, instance="i")

    assert (join.code, join.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
    assert pending in lab.group.pending_join_members


@pytest.mark.rules("JG-6", "JG-20", "JG-21")
@pytest.mark.parametrize("state", [EMPTY, *LIVE])
def test_a_stranger(lab: OneGroup, state: str) -> None:
    """An unknown id gets an error with that id, in every state; a former member's too."""
    _a, b = lab.in_state(state)
    lab.leave(b)

    for member_id in ("stranger", b):
        join = lab.join(member_id)
        assert (join.code, join.member_id) == (UNKNOWN, member_id)


@pytest.mark.rules("JG-20")
def test_a_dynamic_member_cannot_add_an_instance_id(lab: OneGroup) -> None:
    """The instance id is not registered: 25, with the member id."""
    (a,) = lab.stable({})

    join = lab.join(a, instance="i")

    assert (join.code, join.member_id) == (UNKNOWN, a)


@pytest.mark.rules("JG-21")
def test_rejoining_in_preparing_replaces_everything(lab: OneGroup) -> None:
    """Metadata and timeouts are those of the last JoinGroup, also of one that was already parked."""
    _a, b = lab.in_state(PREPARING)
    lab.join(b, protocols=[("range", b"new")], session=7000, rebalance=8000)

    member = lab.group.members[b]
    assert (member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms) == (
        (("range", b"new"),),
        7000,
        8000,
    )


@pytest.mark.rules("JG-21")
def test_a_second_join_replaces_the_first(lab: OneGroup) -> None:
    """The first one is never answered."""
    a, b = lab.stable({}, {})
    first = lab.join(a)
    second = lab.join(a)
    lab.join(b)

    assert (first.is_parked, second.generation) == (True, 2)


@pytest.mark.rules("JG-21", "JG-28")
def test_the_same_again_in_completing(lab: OneGroup) -> None:
    """A member that missed the answer gets it again; the leader with the members. Timeouts alone are no change."""
    a, b = lab.completing({}, {})

    leads, follows = lab.join(a, session=7000), lab.join(b, rebalance=1)

    assert [len(leads.members), len(follows.members)] == [2, 0]
    assert {leads.generation, follows.generation} == {1}
    assert (lab.group.state, lab.group.members[a].session_timeout_ms) == (COMPLETING, 10_000)


@pytest.mark.rules("JG-21")
@pytest.mark.parametrize("state", [COMPLETING, STABLE])
@pytest.mark.parametrize(
    "protocols",
    [[("range", b"R"), STICKY], [STICKY, *RANGE], list(RANGE), [*RANGE, STICKY, ("other", b"")]],
    ids=["bytes", "order", "fewer", "more"],
)
def test_changed_metadata_rebalances(lab: OneGroup, state: str, protocols: list[tuple[str, bytes]]) -> None:
    """Names, order or bytes of a follower's protocols changed: everybody has to rejoin."""
    both = [*RANGE, STICKY]
    ids = lab.completing({"protocols": both}, {"protocols": both})
    if state == STABLE:
        lab.sync_all(ids)

    join = lab.join(ids[1], protocols=protocols)

    assert (join.is_parked, lab.group.state) == (True, PREPARING)
    assert lab.group.members[ids[1]].protocols == tuple(protocols)
    assert lab.reasons[-1] == f"member {ids[1]} changed its metadata"


@pytest.mark.rules("JG-21")
def test_the_same_again_in_stable(lab: OneGroup) -> None:
    """A follower is answered at once and nothing changes; the leader always starts a rebalance."""
    a, b = lab.stable({}, {})

    follows = lab.join(b)
    assert (follows.generation, follows.members, follows.leader, lab.group.state) == (1, (), a, STABLE)

    leads = lab.join(a)
    assert (leads.is_parked, lab.group.state, lab.reasons[-1]) == (True, PREPARING, "the leader rejoined")


@pytest.mark.rules("JG-28")
def test_what_the_members_get(lab: OneGroup) -> None:
    """The leader learns all members with their metadata for the chosen protocol; followers only who leads."""
    a = lab.join(protocols=[STICKY, ("range", b"ra")])
    b = lab.join(protocols=[("range", b"rb")], instance="i")
    lab.wait(6000)

    expected = (
        ErrorCode.NONE,
        "c-1",
        1,
        "consumer",
        "range",
        "c-1",
        [("c-1", None, b"ra"), ("i-2", "i", b"rb")],
        False,
    )
    assert a.answer == expected
    assert b.answer == (ErrorCode.NONE, "i-2", 1, "consumer", "range", "c-1", (), False)


@pytest.mark.rules("JG-33")
def test_who_does_not_rejoin_is_dropped(lab: OneGroup) -> None:
    """Dynamic members that miss the join phase are gone without a word; static ones stay, with their old metadata."""
    a, b, c = lab.stable({"rebalance": 6000}, {"rebalance": 6000}, {"instance": "i", "rebalance": 6000})
    join = lab.join(a, rebalance=6000)
    lab.wait(6000)

    assert [member.member_id for member in join.members] == [a, c]
    assert lab.heartbeat(b) == UNKNOWN
    assert c in lab.group.pending_sync_members


@pytest.mark.rules("JG-34")
def test_only_static_members_and_none_is_back(lab: OneGroup) -> None:
    """The join phase then goes on for another rebalance timeout, and another, at the same generation."""
    a, s = lab.stable({"rebalance": 6000}, {"instance": "i", "rebalance": 6000, "session": 60_000})
    lab.leave(a)
    for _ in range(3):
        lab.wait(6000)
        assert (lab.group.state, lab.group.generation, list(lab.group.members)) == (PREPARING, 1, [s])

    join = lab.join(s, instance="i")

    assert (join.generation, join.leader) == (2, s)


@pytest.mark.rules("JG-27")
def test_a_protocol_named_twice_counts_once(lab: OneGroup) -> None:
    """Kafka counts it twice and never completes such a group; we take the first entry of the name."""
    join = lab.join(protocols=[("range", b"1"), ("range", b"2")])
    lab.wait(3000)

    assert [member.metadata for member in join.members] == [b"1"]

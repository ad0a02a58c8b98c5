"""Members and the running sums over them."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.groups.members import Member, Roster
from fakebroker.core.groups.messages import JoinRequest
from fakebroker.instant import Instant

names = st.sampled_from("abcd")
protocol_lists = st.lists(names.map(lambda name: (name, b"")), max_size=4).map(tuple)
actions = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "update", "rename", "park", "unpark"]), protocol_lists, st.integers(0, 3)
    ),
    max_size=30,
)


def request(member_id: str, protocols: Any, timeout_ms: int, instance_id: str | None = None) -> JoinRequest:
    return JoinRequest(member_id, instance_id, "c", "/h", 10, timeout_ms, "consumer", protocols)


def ignore(*_: object) -> None:
    """A timer or an answer that nobody looks at."""


def act(roster: Roster, number: int, kind: str, protocols: Any, which: int) -> None:
    """One change; `which` picks the member and its timeout."""
    members = list(roster.by_id.values())
    if kind == "add":
        instance_id = f"i{number}" if which else None
        roster.add(Member(f"m{number}", request(f"m{number}", protocols, which, instance_id), ignore))
        return
    if not members:
        return
    member = members[which % len(members)]
    changes: dict[str, Callable[[], None]] = {
        "remove": lambda: roster.remove(member),
        "update": lambda: roster.update(member, protocols, 10, which),
        "park": lambda: roster.park_join(member, ignore),
        "unpark": lambda: roster.park_join(member, None),
        "rename": lambda: roster.rename(member, f"r{number}") if member.instance_id else None,
    }
    changes[kind]()


@given(actions)
def test_the_sums_are_right(steps: list[tuple[str, Any, int]]) -> None:
    """After any changes each sum is what counting anew gives."""
    roster = Roster({}, {})
    for number, (kind, protocols, which) in enumerate(steps):
        act(roster, number, kind, protocols, which)
        members = roster.by_id.values()

        common = {name for member in members for name, _ in member.protocols}
        for member in members:
            common &= {name for name, _ in member.protocols}
        assert roster.candidates() == common
        assert roster.joined_count == sum(member.answer_join is not None for member in members)
        assert roster.rebalance_timeout_ms == max((member.rebalance_timeout_ms for member in members), default=0)
        assert roster.static == {member.instance_id: member.member_id for member in members if member.instance_id}
        assert list(roster.by_id) == [member.member_id for member in members]


def test_a_renamed_member_keeps_its_place() -> None:
    """Order and everything else stays."""
    roster = Roster({}, {})
    for name in "abc":
        roster.add(Member(name, request(name, (), 1, f"i-{name}"), ignore))
    roster.rename(roster.by_id["b"], "x")

    assert list(roster.by_id) == ["a", "x", "c"]
    assert roster.static == {"i-a": "a", "i-b": "x", "i-c": "c"}


def test_metadata_by_protocol() -> None:
    """A member has the metadata it sent with a protocol, and none for another."""
    member = Member("m", request("m", (("a", b"1"), ("b", b"2")), 1), ignore)

    assert [member.metadata(name) for name in ("a", "b", "c", None)] == [b"1", b"2", b"", b""]


def test_the_session_timer_belongs_to_its_member() -> None:
    """Its action gets the member and the time; its owner is the member."""
    fired: list[object] = []
    member = Member("m", request("m", (), 1), lambda who, now: fired.extend([who, now]))
    member.session.action(Instant(1, 2))

    assert (fired, member.session.owner) == ([member, Instant(1, 2)], member)

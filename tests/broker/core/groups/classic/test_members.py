"""Members and the running sums over them."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.classic.members import Member, Members
from fakebroker.protocol.instant import Instant

names = st.sampled_from("abcd")
protocol_lists = st.lists(names.map(lambda name: (name, b"")), max_size=4).map(tuple)
actions = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "update", "rename", "park", "unpark"]), protocol_lists, st.integers(0, 3)
    ),
    max_size=30,
)


def member_of(
    member_id: str,
    protocols: Any,
    timeout_ms: int,
    instance_id: str | None = None,
    on_timeout: Callable[[Member, Instant], None] | None = None,
) -> Member:
    return Member(
        member_id,
        instance_id=instance_id,
        client_id="c",
        client_host="/h",
        session_timeout_ms=10,
        rebalance_timeout_ms=timeout_ms,
        protocols=protocols,
        on_timeout=on_timeout or ignore,
    )


def ignore(*_: object) -> None:
    """A timer or an answer that nobody looks at."""


def act(members: Members, number: int, kind: str, protocols: Any, which: int) -> None:
    """One change; `which` picks the member and its timeout."""
    everybody = list(members.values())
    if kind == "add":
        instance_id = f"i{number}" if which else None
        members.add(member_of(f"m{number}", protocols, which, instance_id))
        return
    if not everybody:
        return
    member = everybody[which % len(everybody)]
    changes: dict[str, Callable[[], None]] = {
        "remove": lambda: members.remove(member),
        "update": lambda: members.update_member(member, protocols, 10, which),
        "park": lambda: members.park_join(member, ignore),
        "unpark": lambda: members.park_join(member, None),
        "rename": lambda: members.rename(member, f"r{number}") if member.instance_id else None,
    }
    changes[kind]()


@given(actions)
def test_the_sums_are_right(steps: list[tuple[str, Any, int]]) -> None:
    """After any changes each sum is what counting anew gives."""
    members = Members()
    for number, (kind, protocols, which) in enumerate(steps):
        act(members, number, kind, protocols, which)
        everybody = members.values()

        common = {name for member in everybody for name, _ in member.protocols}
        for member in everybody:
            common &= {name for name, _ in member.protocols}
        assert members.candidates() == common
        assert members.awaiting_join_count == sum(member.parked_join is not None for member in everybody)
        assert members.rebalance_timeout_ms == max((member.rebalance_timeout_ms for member in everybody), default=0)
        assert members.static == {member.instance_id: member.member_id for member in everybody if member.instance_id}
        assert list(members) == [member.member_id for member in everybody]


def test_a_renamed_member_keeps_its_place() -> None:
    """Order and everything else stays."""
    members = Members()
    for name in "abc":
        members.add(member_of(name, (), 1, f"i-{name}"))
    members.rename(members["b"], "x")

    assert list(members) == ["a", "x", "c"]
    assert members.static == {"i-a": "a", "i-b": "x", "i-c": "c"}


def test_metadata_by_protocol() -> None:
    """A member has the metadata it sent with a protocol, and none for another."""
    member = member_of("m", (("a", b"1"), ("b", b"2")), 1)

    assert [member.metadata(name) for name in ("a", "b", "c", None)] == [b"1", b"2", b"", b""]


def test_the_session_timer_belongs_to_its_member() -> None:
    """Its action gets the member and the time; its owner is the member."""
    fired: list[object] = []
    member = member_of("m", (), 1, on_timeout=lambda who, now: fired.extend([who, now]))
    member.session.action(Instant(1, 2))

    assert (fired, member.session.owner) == ([member, Instant(1, 2)], member)

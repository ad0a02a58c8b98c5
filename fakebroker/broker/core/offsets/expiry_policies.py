"""The rules of offset expiry: one policy for each set of rules that a release had (EX-3, EX-17, EX-18).

A policy looks at a group and says how its offsets age as long as the group stays as it is (`Aging`).

2.0      before KIP-211: every offset dies on its own timer, whatever its group does
2.1      KIP-211 as first released: a group with members loses nothing
3.9      the rules of today; an offset of a topic that no member subscribes to ages in a Stable group too (since 2.4)
4.3      the same
kip-211  the text of the proposal: an Empty group expires as a whole; such topics age in every live group
"""

from functools import cache
from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.offsets.expiry import Aging
from fakebroker.protocol.errors import InvalidArgument, wrong_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum

    from fakebroker.broker.release import Behaviours
    from fakebroker.broker.settings import Settings

    Policy = Callable[["AgingGroup", int], Aging]  # the group and the retention in milliseconds


class AgingGroup(Protocol):
    """What expiry looks at in a group of any kind. `Group` implements it."""

    state_ms: int
    protocol_type: str | None

    @property
    def subscribed_topics(self) -> frozenset[str] | None: ...

    @property
    def kind(self) -> GroupKind: ...

    @property
    def state(self) -> "StrEnum": ...


def _without_members(group: AgingGroup, retention_ms: int) -> Aging | None:
    """The aging of a group without members (first and third row of EX-3); None for a group that has some."""
    if group.state != State.EMPTY:
        return None
    if not group.protocol_type:
        return _simple(retention_ms)
    if group.state_ms < 0:
        return Aging(
            "EX-3", "Empty since an unknown time: the retention of each offset starts at its commit", retention_ms
        )
    return Aging("EX-3", "Empty: the retention of all offsets starts there", retention_ms, base_ms=group.state_ms)


@cache
def _simple(retention_ms: int) -> Aging:
    return Aging("EX-3", "a simple group: the retention of each offset starts at its commit", retention_ms)


def _policy_2_0(group: AgingGroup, retention_ms: int) -> Aging:  # noqa: ARG001 - the group does not matter, that is the point
    return Aging("EX-17", "each offset expires by itself, with or without live members", retention_ms)


def _policy_2_1(group: AgingGroup, retention_ms: int) -> Aging:
    empty = _without_members(group, retention_ms)
    return empty or Aging(
        "EX-18", f"{group.state}: nothing expires while the group has members", retention_ms, kept=True
    )


def _policy_4_3(group: AgingGroup, retention_ms: int) -> Aging:
    empty = _without_members(group, retention_ms)
    if empty is not None:
        return empty
    topics = group.subscribed_topics
    if group.protocol_type != "consumer":
        why = f"{group.state} with protocol type {group.protocol_type!r}: nothing expires"
    elif group.state != State.STABLE:
        why = f"{group.state}: nothing expires during a rebalance"
    elif topics is None:
        why = "Stable, but its subscriptions are unknown: nothing expires"
    else:
        why = "Stable: offsets of subscribed topics are kept, the retention of others starts at their commits"
        return Aging("EX-3", why, retention_ms, kept_topics=topics)
    return Aging("EX-3", why, retention_ms, kept=True)


def _kip_211_as_written(group: AgingGroup, retention_ms: int) -> Aging:
    empty = _without_members(group, retention_ms)
    if empty is not None:
        return empty._replace(rule="EX-14", whole_group=empty.base_ms is not None)
    topics = group.subscribed_topics
    if topics is None:
        why = f"{group.state}, and its subscriptions are unknown: nothing expires"
        return Aging("EX-14", why, retention_ms, kept=True)
    why = f"{group.state}: offsets of subscribed topics are kept, the retention of others starts at their commits"
    return Aging("EX-14", why, retention_ms, kept_topics=topics)


def aging_of(group: AgingGroup, policy: "Policy", retention_ms: int) -> Aging:
    """How the offsets of a group of any kind age: a classic group's as `policy` says.

    In a consumer or streams group the state does not matter, nor when it became Empty: offsets of topics that no
    member reads age, each from its own commit (CGO-10).
    """
    if group.kind is GroupKind.CLASSIC:
        return policy(group, retention_ms)
    why = (
        f"a {group.kind} group: offsets of subscribed topics are kept, the retention of others starts at their commits"
    )
    return Aging("CGO-10", why, retention_ms, kept_topics=group.subscribed_topics or frozenset())


EXPIRY_POLICIES: "dict[str, Policy]" = {
    "2.0": _policy_2_0,
    "2.1": _policy_2_1,
    "3.9": _policy_4_3,
    "4.3": _policy_4_3,
    "kip-211": _kip_211_as_written,
}


def configured_policy(settings: "Settings", behaviours: "Behaviours") -> str:
    """The name of the policy in force: the release's, unless `fakebroker.expiry.policy` names another."""
    chosen = settings.get_str("fakebroker.expiry.policy")
    return behaviours.expiry_policy if chosen == "release" else chosen


def policy_named(name: str) -> "Policy":
    """The policy of that name. Raises InvalidArgument, about `policy`, for any other name."""
    policy = EXPIRY_POLICIES.get(str(name))
    if policy is None:
        raise InvalidArgument("policy", name, wrong_name("policy", name, EXPIRY_POLICIES))
    return policy

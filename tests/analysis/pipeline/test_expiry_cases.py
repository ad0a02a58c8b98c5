"""The table of expiry: as the broker, which is written from other lines."""

from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from fakebroker.analysis.pipeline.expiry_cases import CASES, POLICIES, Aging, aging_of
from fakebroker.broker.core.groups.classic.states import State
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.offsets import expiry, expiry_policies, group_offsets
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.offsets_topic import stored_offset

RETENTION_MS = 1000
STATES = (State.EMPTY, State.STABLE, State.PREPARING)


OFFSETS = (("read", 200, None), ("unread", 200, None), ("unread", 400, None), ("unread", 200, 700))


def groups() -> Iterator[Any]:
    """All that expiry can see of a group: topics are known of consumers alone, of the newer kinds always."""
    for kind, state, state_ms in product((GroupKind.CLASSIC, GroupKind.CONSUMER, GroupKind.STREAMS), STATES, (-1, 300)):
        is_empty, is_classic = state == State.EMPTY, kind is GroupKind.CLASSIC
        for protocol_type in ("consumer", "connect", "", None) if is_classic and is_empty else ("consumer", "connect"):
            known = frozenset({"read"}) if protocol_type == "consumer" or not is_classic else None
            subscribed = (None,) if is_empty else (known, None) if is_classic else (known,)
            for topics in subscribed:
                yield SimpleNamespace(
                    kind=kind,
                    state=state,
                    protocol_type=protocol_type,
                    subscribed_topics=topics,
                    state_ms=state_ms,
                )


def our_aging(group: Any, policy: str) -> Aging:
    """The table's, with the facts that a journal would have."""
    kind = None if group.kind is GroupKind.CLASSIC else str(group.kind)
    empty_ms = None if group.state_ms < 0 else group.state_ms
    return aging_of(policy, group.state, group.protocol_type or "", group.subscribed_topics, empty_ms, kind)


@pytest.mark.rules("EX-2", "EX-3", "EX-5", "EX-14", "EX-17", "EX-18", "CGO-10")
@pytest.mark.parametrize("policy", POLICIES)
def test_the_table_and_the_broker_agree(policy: str) -> None:
    """When every offset of every group is due, and by which rule.

    The broker always knows what members of the newer kinds read; a journal may not, and the table then says never.
    """
    for group, (topic, committed, own) in product(groups(), OFFSETS):
        offset = stored_offset(topic, 0, 1, commit_ms=committed, expire_ms=NO_TIMESTAMP if own is None else own)
        aging = expiry_policies.aging_of(group, expiry_policies.EXPIRY_POLICIES[policy], RETENTION_MS)
        theirs = expiry.evaluate(aging, offset)
        ours = our_aging(group, policy).due(topic, committed, own, RETENTION_MS)

        expected = None if theirs.due_ms == group_offsets.NEVER else (theirs.rule, theirs.due_ms)
        assert (None if ours is None else tuple(ours)) == expected, (group, topic, committed, own)


def test_every_policy_has_a_case_for_everything() -> None:
    """The last case of each policy asks for nothing of classic groups; none stands behind one that always holds."""
    for policy in POLICIES:
        classic = [case for case in CASES if policy in case.policies and "is_newer" not in case.facts]
        assert [bool(case.facts) for case in classic] == [True] * (len(classic) - 1) + [False]

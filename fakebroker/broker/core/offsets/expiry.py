"""Whether and when a committed offset expires (KIP-211, EX-2..EX-6). The one place where due times are computed.

A policy (`expiry_policies.py`) looks at a group and says how its offsets age as long as the group stays as it is: an
`Aging`. These functions apply that to an offset:

    due_ms           when it is due
    due_offsets      which offsets of a group are due; the cleanup decides by this
    evaluate         the same with what the retention counts from and the rule that decided; `explain` shows this
    earliest_due_ms  a lower bound of due_ms under any policy; tells the cleanup when to look, after each commit
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from fakebroker.broker.core.offsets.group_offsets import NEVER
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.offsets_topic import COMMIT_MS, EXPIRE_MS, TOPIC, StoredOffset


class Aging(NamedTuple):
    """How the offsets of one group age as long as the group stays as it is.

    `base_ms` is the moment from which the retention of all of them counts; None: of each from its own commit. `kept`
    and `kept_topics` say what does not age at all. An expire timestamp stored with the offset decides alone (EX-2),
    unless `whole_group` is set.
    """

    rule: str
    why: str  # an English clause
    retention_ms: int
    base_ms: int | None = None
    kept: bool = False
    kept_topics: frozenset[str] = frozenset()
    whole_group: bool = False


class Evaluation(NamedTuple):
    """What an aging means for one offset. `base_ms` is None and `due_ms` is NEVER for one that does not age."""

    rule: str
    base_ms: int | None
    due_ms: int


def due_ms(aging: Aging, offset: StoredOffset) -> int:
    """When `offset` is due; it expires at the first cleanup with now >= due (EX-2). NEVER while it does not age."""
    if aging.kept or offset[TOPIC] in aging.kept_topics:
        return NEVER
    return _due_times(aging, (offset,))[0]


def due_offsets(
    aging: Aging, topics: Mapping[str, Mapping[int, StoredOffset]], now_ms: int
) -> tuple[list[StoredOffset], int]:
    """Those of a group's offsets whose `due_ms` has come, and when the next of the others is due (or NEVER)."""
    due: list[StoredOffset] = []
    next_ms = NEVER
    for topic, partitions in topics.items():
        if aging.kept or topic in aging.kept_topics:
            continue
        offsets = partitions.values()
        times_ms = _due_times(aging, offsets)
        if max(times_ms) <= now_ms:  # as for most groups that the cleanup looks at
            due += offsets
            continue
        for offset, at_ms in zip(offsets, times_ms, strict=True):
            if at_ms <= now_ms:
                due.append(offset)
            elif at_ms < next_ms:
                next_ms = at_ms
    return due, next_ms


def _due_times(aging: Aging, offsets: Collection[StoredOffset]) -> list[int]:
    """When each offset is due, if it ages."""
    base_ms, retention_ms = aging.base_ms, aging.retention_ms
    if aging.whole_group and base_ms is not None:
        return [base_ms + retention_ms] * len(offsets)
    from_base_ms = None if base_ms is None else base_ms + retention_ms
    return [
        (offset[COMMIT_MS] + retention_ms if from_base_ms is None else from_base_ms)
        if offset[EXPIRE_MS] == NO_TIMESTAMP or aging.whole_group
        else offset[EXPIRE_MS]
        for offset in offsets
    ]


def earliest_due_ms(commit_ms: int, expire_ms: int, retention_ms: int, empty_since_ms: int | None) -> int:
    """A time before which an offset is not due under any policy, without asking the policy: cheap enough per commit.

    Args:
        commit_ms: when the offset is committed.
        expire_ms: its expire timestamp, or NO_TIMESTAMP.
        retention_ms: the retention of offsets without an expire timestamp of their own.
        empty_since_ms: when its group became Empty, if the group's retention may count from there; else None.
    """
    due = (commit_ms if empty_since_ms is None else empty_since_ms) + retention_ms
    return due if expire_ms == NO_TIMESTAMP else min(due, expire_ms)


def evaluate(aging: Aging, offset: StoredOffset) -> Evaluation:
    """When `offset` is due, what its retention counts from, and by which rule."""
    commit_ms = offset[COMMIT_MS]
    due = due_ms(aging, offset)
    has_expire_timestamp = offset[EXPIRE_MS] != NO_TIMESTAMP
    if due == NEVER:
        return Evaluation("EX-6" if has_expire_timestamp and aging.rule == "EX-3" else aging.rule, None, due)
    if has_expire_timestamp and not aging.whole_group:
        return Evaluation("EX-2" if aging.rule == "EX-3" else aging.rule, commit_ms, due)
    if aging.base_ms is None:
        return Evaluation(aging.rule, commit_ms, due)
    is_late = commit_ms > aging.base_ms and aging.rule == "EX-3"
    return Evaluation("EX-5" if is_late else aging.rule, aging.base_ms, due)

"""Whether and when a committed offset expires: one decision, two callers (KIP-211, EX-2..EX-6).

The policy of an era (`eras.py`) looks at a group and says how its offsets age as long as it stays as it is: an
`Aging`. `due_ms` applies that to one offset, and decides; `judge` adds the reasons. The cleanup and `explain` ask these
and nobody else, so that what is announced is what happens.
"""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.core.offsets.group_offsets import NEVER
from fakebroker.records.offsets_topic import NO_TIMESTAMP, StoredOffset

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakebroker.core.groups.classic_group import ClassicGroup

    Policy = Callable[[ClassicGroup, int], "Aging"]


class Aging(NamedTuple):
    """How the offsets of one group age as long as the group stays as it is.

    `base_ms` is the moment from which all of them count; None: each from its own commit. `kept` and `kept_topics` say
    what does not age at all. An expire timestamp of its own decides alone (EX-2), unless `whole_group`.
    """

    rule: str
    why: str  # an English clause
    retention_ms: int
    base_ms: int | None = None
    kept: bool = False
    kept_topics: frozenset[str] = frozenset()
    whole_group: bool = False


class Judgement(NamedTuple):
    """What an aging means for one offset. `base_ms` is None and `due_ms` is NEVER for one that does not age."""

    rule: str
    base_ms: int | None
    due_ms: int


def due_ms(aging: Aging, offset: StoredOffset) -> int:
    """When `offset` is due; it expires at the first cleanup with now >= due (EX-2). NEVER while it does not age."""
    if aging.kept or offset[0] in aging.kept_topics:
        return NEVER
    own_ms = offset[6]
    if own_ms != NO_TIMESTAMP and not aging.whole_group:
        return own_ms
    base_ms = aging.base_ms
    return (offset[5] if base_ms is None else base_ms) + aging.retention_ms


def judge(aging: Aging, offset: StoredOffset) -> Judgement:
    """When `offset` is due, what it counts from, and by which rule."""
    _, _, _, _, _, commit_ms, own_ms, _ = offset
    due = due_ms(aging, offset)
    has_own = own_ms != NO_TIMESTAMP
    if due == NEVER:
        return Judgement("EX-6" if has_own and aging.rule == "EX-3" else aging.rule, None, due)
    if has_own and not aging.whole_group:
        return Judgement("EX-2" if aging.rule == "EX-3" else aging.rule, commit_ms, due)
    if aging.base_ms is None:
        return Judgement(aging.rule, commit_ms, due)
    is_late = commit_ms > aging.base_ms and aging.rule == "EX-3"
    return Judgement("EX-5" if is_late else aging.rule, aging.base_ms, due)

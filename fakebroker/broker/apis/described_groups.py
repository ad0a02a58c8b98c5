"""What ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe do alike: each group by itself, in steps.

A group with many members that read many topics takes several steps: each member is as it is when its turn comes.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Protocol, TypeVar

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace

TOPICS_PER_STEP = 20_000  # in subscriptions and assignments, or partitions or tasks
_COSTS_TOPICS = 20  # what a group or a member counts as


class Request(Protocol):
    """What the requests have in common."""

    include_authorized_operations: bool


class Described(Protocol):
    """What the groups in the answers have in common."""

    error_code: int
    authorized_operations: int


Entry = TypeVar("Entry", bound=Described)
Steps = Generator[None, None, Entry]
Member = TypeVar("Member")
MemberEntry = TypeVar("MemberEntry")
Kind = TypeVar("Kind", bound=Group)


def describe_groups(
    call: Call, request: Request, group_ids: Iterable[str], describe: Callable[[str, Pace], Steps[Entry]]
) -> Generator[None, None, list[Entry]]:
    """An entry for each group, with the operations that the client may do if it asks for them (CGD-3).

    A group that is asked for again has the same entry: a frame of 1 MB may name one with many members 490,000 times.
    """
    entries, known = list[Entry](), dict[str, Entry]()
    pace, written = call.pace(TOPICS_PER_STEP), WrittenEntries(call)
    for group_id in group_ids:
        entry = known.get(group_id)
        if entry is None:
            entry = known[group_id] = yield from describe(group_id, pace)
        elif written.is_over(entry):  # the first time its members were counted
            yield
        if request.include_authorized_operations and entry.error_code == ErrorCode.NONE:
            entry.authorized_operations = call.cluster.behaviours.group_authorized_operations
        entries.append(entry)
        if pace.is_over(_COSTS_TOPICS):
            yield
    return entries


def describe_members(
    group: Group, members: Mapping[str, Member], describe: Callable[[Member], tuple[MemberEntry, int]], pace: Pace
) -> Generator[None, None, list[MemberEntry]]:
    """The members of a group, in the order of its table, without those that leave meanwhile.

    `describe` returns the entry of a member and how many topics, partitions or tasks it took to make it.
    """
    entries: list[MemberEntry] = []
    for member_id in group.member_ids():
        member = members.get(member_id)
        if member is not None:
            entry, topics = describe(member)
            entries.append(entry)
            if pace.is_over(_COSTS_TOPICS + topics):
                yield
    return entries


def describe_group(
    call: Call,
    group_id: str,
    kind: type[Kind],
    describe: Callable[[Kind], Steps[Entry]],
    refuse: Callable[[ErrorCode, Group | None], Entry],
) -> Steps[Entry]:
    """One group of a kind, or why it is not shown (CGD-1, STD-1).

    `refuse` makes the entry with an error code; for GROUP_ID_NOT_FOUND it is given the group of another kind.
    """
    if not group_id:
        return refuse(ErrorCode.INVALID_GROUP_ID, None)
    try:
        group = call.shard(group_id).seen_group(group_id)
    except KafkaError as error:
        return refuse(error.code, None)
    if not isinstance(group, kind):
        return refuse(ErrorCode.GROUP_ID_NOT_FOUND, group)
    return (yield from describe(group))

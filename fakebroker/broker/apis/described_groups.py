"""What ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe do alike: each group by itself, in steps."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Protocol, TypeVar

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.group import Group
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace

MEMBERS_PER_STEP = 1_000  # and groups, which cost about as much


class Request(Protocol):
    """What the requests have in common."""

    include_authorized_operations: bool


class Described(Protocol):
    """What the groups in the answers have in common."""

    error_code: int
    authorized_operations: int

    @property
    def members(self) -> Sequence[object]:
        """Those that are shown."""


Entry = TypeVar("Entry", bound=Described)
Kind = TypeVar("Kind", bound=Group)


def describe_groups(
    call: Call, request: Request, group_ids: Iterable[str], describe: Callable[[str], Entry]
) -> Generator[None, None, list[Entry]]:
    """An entry for each group, with the operations that the client may do if it asks for them (CGD-3).

    A group that is asked for again has the same entry: a frame of 1 MB may name one with many members 490,000 times.
    """
    entries, known, pace = list[Entry](), dict[str, Entry](), Pace(MEMBERS_PER_STEP)
    for group_id in group_ids:
        entry = known.get(group_id) or known.setdefault(group_id, describe(group_id))
        if request.include_authorized_operations and entry.error_code == ErrorCode.NONE:
            entry.authorized_operations = call.cluster.behaviours.group_authorized_operations
        entries.append(entry)
        if pace.is_over(1 + len(entry.members)):
            yield
    return entries


def describe_group(
    call: Call,
    group_id: str,
    kind: type[Kind],
    describe: Callable[[Kind], Entry],
    refuse: Callable[[ErrorCode, Group | None], Entry],
) -> Entry:
    """One group of a kind, or why it is not shown (CGD-1, STD-1).

    `refuse` makes the entry with an error code; for GROUP_ID_NOT_FOUND it is given the group of another kind.
    """
    if not group_id:
        return refuse(ErrorCode.INVALID_GROUP_ID, None)
    try:
        group = call.shard(group_id).seen_group(group_id)
    except KafkaError as error:
        return refuse(error.code, None)
    return describe(group) if isinstance(group, kind) else refuse(ErrorCode.GROUP_ID_NOT_FOUND, group)

"""Groups for assignors in a few words: topics are called by one letter, an assignment is text such as "a0-3 b1"."""

import re

from fakebroker.broker.core.groups.modern.assignments import Assignment, Assignor, AssignorGroup, AssignorMember
from fakebroker.protocol.pace import AT_ONCE, finished


def topic_id(name: str) -> bytes:
    """The id of topic "a", "b" ...: ids are in order of the letters, in Java's tables too."""
    return bytes(15) + bytes([ord(name) - ord("a") + 1])


def assignment(text: str) -> Assignment:
    """Partitions, e.g. "a0-3 b1,5": topics and partitions in the order of the text."""
    made = {}
    for name, listed in re.findall(r"([a-z])([0-9,-]+)", text):
        partitions: list[int] = []
        for part in listed.split(","):
            first, _, last = part.partition("-")
            partitions += range(int(first), int(last or first) + 1)
        made[topic_id(name)] = tuple(partitions)
    return made


def shown(assigned: Assignment) -> str:
    """An assignment as text, with every partition: "a0,1,2 b1"."""
    names = {topic_id(name): name for name in "abcdefgh"}
    return " ".join(f"{names[each]}{','.join(map(str, partitions))}" for each, partitions in assigned.items())


def assigned(
    assignor: Assignor,
    topics: dict[str, int],
    members: dict[str, tuple[str, str]],
    *,
    static: dict[str, str] | None = None,
    assignable: str | None = None,
) -> dict[str, str]:
    """What an assignor gives.

    Args:
        assignor: The assignor.
        topics: Their numbers of partitions.
        members: In walking order: the topics that each wants, as letters, and what it had.
        static: Instance ids of members.
        assignable: What may be assigned; None: everything.
    """
    group = AssignorGroup(
        {
            member_id: AssignorMember(tuple(map(topic_id, wants)), assignment(had), (static or {}).get(member_id))
            for member_id, (wants, had) in members.items()
        },
        {topic_id(name): count for name, count in topics.items()},
        len({wants for wants, _ in members.values()}) == 1,
        None if assignable is None else assignment(assignable),
    )
    return {member_id: shown(target) for member_id, target in finished(assignor(group, AT_ONCE)).items()}

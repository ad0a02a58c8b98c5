"""The members of a classic group, and the sums over them that a rebalance asks for again and again."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fakebroker.core.deadlines import Deadline
from fakebroker.core.groups.messages import AnswerJoin, AnswerSync, JoinRequest, Protocols
from fakebroker.instant import Instant

K = TypeVar("K")


class Member:
    """One member. `answer_join` and `answer_sync` are its parked requests, `session` is its one timer (TM-1, TM-3)."""

    __slots__ = (
        "answer_join",
        "answer_sync",
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_timeout_ms",
    )

    def __init__(self, member_id: str, request: JoinRequest, on_timer: "Callable[[Member, Instant], None]") -> None:
        self.member_id = member_id
        self.instance_id = request.instance_id
        self.client_id = request.client_id  # of the request that added the member; nothing updates it (DS-6)
        self.client_host = request.client_host
        self.session_timeout_ms = request.session_timeout_ms
        self.rebalance_timeout_ms = request.rebalance_timeout_ms
        self.protocols: Protocols = request.protocols
        self.assignment = b""
        self.is_new = True  # until the join phase it was added in completes (TM-3)
        self.answer_join: AnswerJoin | None = None
        self.answer_sync: AnswerSync | None = None
        self.session = Deadline(partial(on_timer, self), self)

    def metadata(self, protocol: str | None) -> bytes:
        """What it said under the name of `protocol`; empty if it does not know it."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """The candidate it likes best (JG-27)."""
        return next(name for name, _ in self.protocols if name in candidates)

    def __repr__(self) -> str:
        return f"<member {self.member_id}>"


class Roster:
    """The members by id, in the order they were added, and by instance id, with running sums.

    Each change costs the same however many members there are, so that a rebalance of thousands is not quadratic;
    only a static member's return, which keeps its place, walks over all.
    """

    __slots__ = ("_supporters", "_timeouts", "by_id", "joined_count", "static")

    def __init__(self, by_id: dict[str, Member], static: dict[str, str]) -> None:
        self.by_id = by_id
        self.static = static  # instance id -> member id
        self.joined_count = 0  # members whose JoinGroup is parked
        self._supporters: dict[str, int] = {}  # protocol name -> how many members offer it
        self._timeouts: dict[int, int] = {}  # rebalance timeout -> how many members have it

    def add(self, member: Member) -> None:
        """A new member."""
        self.by_id[member.member_id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self._count(member, 1)

    def remove(self, member: Member) -> None:
        """A member is gone; its parked requests must have been answered."""
        del self.by_id[member.member_id]
        if member.instance_id is not None:
            del self.static[member.instance_id]
        self._count(member, -1)
        self.park_join(member, None)

    def rename(self, member: Member, member_id: str) -> None:
        """A static member returned under another id: it keeps its place (JG-22)."""
        assert member.instance_id is not None
        everybody = list(self.by_id.values())
        member.member_id = self.static[member.instance_id] = member_id
        self.by_id.clear()
        self.by_id.update((each.member_id, each) for each in everybody)

    def update(self, member: Member, protocols: Protocols, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """The member rejoined and says these anew."""
        self._count(member, -1)
        member.protocols = protocols
        member.session_timeout_ms = session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms
        self._count(member, 1)

    def park_join(self, member: Member, answer: AnswerJoin | None) -> None:
        """Keep the member's JoinGroup, in place of an earlier one, which is then never answered; None forgets it."""
        self.joined_count += (answer is not None) - (member.answer_join is not None)
        member.answer_join = answer

    def candidates(self) -> set[str]:
        """The protocols that every member supports."""
        everybody = len(self.by_id)
        return {name for name, count in self._supporters.items() if count == everybody}

    def shares(self, protocols: Protocols) -> bool:
        """Whether one of these is supported by every member; with no members each is (JG-12)."""
        everybody, supporters = len(self.by_id), self._supporters
        return any(supporters.get(name, 0) == everybody for name, _ in protocols)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of any member (JG-36)."""
        return max(self._timeouts, default=0)

    def _count(self, member: Member, by: int) -> None:
        _tally(self._timeouts, member.rebalance_timeout_ms, by)
        for name in {name: None for name, _ in member.protocols}:  # a name given twice is one
            _tally(self._supporters, name, by)


def _tally(counts: dict[K, int], key: K, by: int) -> None:
    count = counts.get(key, 0) + by
    if count:
        counts[key] = count
    else:
        del counts[key]

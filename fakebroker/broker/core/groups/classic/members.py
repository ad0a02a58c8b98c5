"""The members of a classic group, with the sums over them that a rebalance needs again and again.

Kafka: `ClassicGroupMember`, and the member maps and counters of `ClassicGroup`.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.groups.classic.messages import AnswerJoin, AnswerSync, Protocols
from fakebroker.protocol.instant import Instant

K = TypeVar("K")


class Member:
    """One member.

    `parked_join` and `parked_sync` answer its parked JoinGroup and SyncGroup (Kafka: awaitingJoinFuture,
    awaitingSyncFuture). `session` is its only timer: the session timeout, for a new member the time it has to join
    (TM-1, TM-3).
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "member_id",
        "parked_join",
        "parked_sync",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocols: Protocols,
        on_timeout: "Callable[[Member, Instant], None]",
    ) -> None:
        """A member that has just been added; nothing is parked, the timer is not armed.

        `client_id` and `client_host` are those of the request that adds the member; later requests do not change them
        (DS-6). `on_timeout(member, now)` runs when the timer does.
        """
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocols = protocols
        self.assignment = b""
        self.is_new = True  # until the join phase it was added in completes (TM-3)
        self.parked_join: AnswerJoin | None = None
        self.parked_sync: AnswerSync | None = None
        self.session = Deadline(partial(on_timeout, self), self)

    def metadata(self, protocol: str | None) -> bytes:
        """The metadata the member sent for `protocol`; empty if it does not support it."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """The first of the member's protocols that is a candidate (JG-27). There must be one."""
        return next(name for name, _ in self.protocols if name in candidates)

    def __repr__(self) -> str:
        return f"<member {self.member_id}>"


class Members(dict[str, Member]):
    """The members by member id, in the order in which they were added, with running sums.

    `static` holds the member id of each instance id (KIP-345). `awaiting_join_count` is the number of members whose
    JoinGroup is parked (Kafka: numMembersAwaitingJoinResponse).

    It is a dict so that a lookup, which each Heartbeat does, costs what one in a dict costs; only the methods here
    change it. Each change costs the same however many members there are, so that a rebalance of thousands is not
    quadratic; only `rename` walks over all. The sums are made with the first member: there may be many groups that
    only commit offsets and never have one.
    """

    __slots__ = ("_supporters", "_timeouts", "awaiting_join_count", "static")

    def __init__(self) -> None:
        super().__init__()
        self.static: dict[str, str] = {}
        self.awaiting_join_count = 0
        self._supporters: dict[str, int] | None = None  # protocol name -> number of members that support it
        self._timeouts: dict[int, int] | None = None  # rebalance timeout -> number of members that have it

    def add(self, member: Member) -> None:
        """Add a member; its id must be new."""
        self[member.member_id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self._count(member, 1)

    def remove(self, member: Member) -> None:
        """Take a member out; its parked requests must have been answered."""
        del self[member.member_id]
        if member.instance_id is not None:
            del self.static[member.instance_id]
        self._count(member, -1)
        self.park_join(member, None)

    def rename(self, member: Member, member_id: str) -> None:
        """Give a static member another member id; it keeps its position in the order (JG-22)."""
        assert member.instance_id is not None
        in_order = list(self.values())
        member.member_id = self.static[member.instance_id] = member_id
        self.clear()
        self.update((each.member_id, each) for each in in_order)

    def update_member(
        self, member: Member, protocols: Protocols, session_timeout_ms: int, rebalance_timeout_ms: int
    ) -> None:
        """Replace what the member said in its last JoinGroup."""
        self._count(member, -1)
        member.protocols = protocols
        member.session_timeout_ms = session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms
        self._count(member, 1)

    def park_join(self, member: Member, answer: AnswerJoin | None) -> None:
        """Keep `answer` for the member's JoinGroup; None: there is none parked any more.

        A JoinGroup that was parked before is replaced and never answered. Keeps `awaiting_join_count` right, so
        nothing else may write `member.parked_join`.
        """
        self.awaiting_join_count += (answer is not None) - (member.parked_join is not None)
        member.parked_join = answer

    def candidates(self) -> set[str]:
        """The protocols that every member supports (Kafka: candidateProtocols)."""
        return {name for name, count in (self._supporters or {}).items() if count == len(self)}

    def support_any(self, protocols: Protocols) -> bool:
        """Whether every member supports at least one and the same of `protocols`; true without members (JG-12)."""
        everybody, supporters = len(self), self._supporters or {}
        return any(supporters.get(name, 0) == everybody for name, _ in protocols)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of any member (JG-36), 0 without members."""
        return max(self._timeouts or (), default=0)

    def _count(self, member: Member, by: int) -> None:
        if self._timeouts is None or self._supporters is None:
            self._timeouts, self._supporters = {}, {}
        _add_to_count(self._timeouts, member.rebalance_timeout_ms, by)
        for name in {name: None for name, _ in member.protocols}:  # a name given twice counts once
            _add_to_count(self._supporters, name, by)


def _add_to_count(counts: dict[K, int], key: K, by: int) -> None:
    count = counts.get(key, 0) + by
    if count:
        counts[key] = count
    else:
        del counts[key]

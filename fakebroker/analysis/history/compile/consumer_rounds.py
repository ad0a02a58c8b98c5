"""What members of a consumer group (KIP-848) do from one state of it to the next.

The coordinator assigns: who gets which partition is left to it, and may differ from the history.
"""

from typing import Any

from fakebroker.analysis.history.compile.happened import Member, Settled
from fakebroker.analysis.history.compile.rounds import VISITOR, Rounds
from fakebroker.scenarios.recording.step_fields import duration_text

Json = Any

_OK = {"error": "NONE"}
_JOIN, _LEAVE, _HEARTBEAT, _RECONCILE = (
    "join_consumer_group", "leave_consumer_group", "consumer_group_heartbeat", "reconcile"
)  # fmt: skip


class ConsumerRounds(Rounds):
    """The members that the group has here. Each change is one bump of the group epoch or several."""

    leave_word = _LEAVE

    def settle(self, settled: Settled) -> None:
        """Go on to a state with members, or to Empty."""
        wanted = {member.identity: member for member in settled.members}
        if wanted or self.members or settled.generation != self._recorded_generation:
            self._go(settled, wanted)
        self._recorded_generation = settled.generation

    def visit(self, settled: Settled, topics: Any) -> None:
        """Somebody joins of whom the history does not tell, and leaves again."""
        self._line.remark("An unknown member was there, and left before the history names it.")
        self._go(settled, {VISITOR.identity: VISITOR._replace(topics=tuple(topics))})
        self._go(settled, {})

    def seen(self) -> dict[str, Json]:
        """What must be seen of the group now. Its epoch is not that of the history: other things bump it, too."""
        return {"state": self.state, "members": len(self.members)}

    def _go(self, settled: Settled, wanted: dict[str, Member]) -> None:
        before = self.members
        gone = [each for each in before if each not in wanted]
        back = [each for each in wanted if each in before and before[each].member_id != wanted[each].member_id]
        new = [each for each in wanted if each not in before]
        changed = [
            each
            for each in wanted
            if each not in (*back, *new) and _subscribes(wanted[each]) != _subscribes(before[each])
        ]
        self.members, self.exists, self.generation = wanted, True, 1
        self.leader = next(iter(wanted), None)
        self.state = "Stable" if wanted else "Empty"
        if not (gone or back or new or changed):
            return
        if settled.generation is not None:
            self._line.remark(f"Group epoch {settled.generation} of the history.")
        ended = {self.actor(each) for each in gone if before[each].member_id in settled.expired}
        self._leave([self.actor(each) for each in gone], ended)
        for identity in back:
            self._line.remark("A static member restarts.")
            self._line.add({self.actor(identity): _LEAVE, "is_temporary": True, "expect": _OK})
        for identity in (*back, *new):
            if identity in new:
                self._name(wanted[identity])
            self._line.add({**self._join(wanted[identity]), "expect": _OK})
        for identity in changed:
            step = {self.actor(identity): _HEARTBEAT, **self._subscription(wanted[identity])}
            self._line.add({**step, "expect": _OK})
        self._reconcile()
        self._line.add({"expect": {"group": self._line.group, **self.seen()}})

    def _reconcile(self) -> None:
        """All give up what others shall have, then all take what they shall have."""
        actors = [self.actor(each) for each in self.members]
        for _ in range(min(len(actors), 2)):
            for actor in actors:
                self._line.add({actor: _HEARTBEAT, "expect": _OK})
                self._line.add({actor: _RECONCILE, "expect": _OK})

    def _subscription(self, member: Member) -> dict[str, Json]:
        if member.pattern is not None:
            return {"topics": [], "topic_regex": ".*"}
        return {"topics": [self._line.topic(each) for each in member.topics or ()]}

    def _join(self, member: Member) -> dict[str, Json]:
        step: dict[str, Json] = {
            self.actor(member.identity): f"{_JOIN} {self._line.group}",
            **self._subscription(member),
        }
        if member.rebalance_timeout_ms is not None and member.rebalance_timeout_ms > 0:
            step["rebalance_timeout"] = duration_text(member.rebalance_timeout_ms)
        if member.instance_id is not None:
            step["group_instance_id"] = self._line.names.name("instance", member.instance_id)
        return step


def _subscribes(member: Member) -> tuple[object, object]:
    return member.topics, member.pattern

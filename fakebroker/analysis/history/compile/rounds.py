"""What members do from one settled state of a group to the next: leave, join, join again, and share the partitions."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from fakebroker.analysis.history.compile.anonymise import HashedNames
from fakebroker.analysis.history.compile.happened import Member, Settled
from fakebroker.analysis.history.compile.timeline import ADMIN, Timeline
from fakebroker.scenarios.language.declaration import ALL_WORDS, STEP_KEYS
from fakebroker.scenarios.recording.step_fields import duration_text

_OTHERS = re.compile(r"[^a-z0-9_-]+")
Json = Any

_OK = {"error": "NONE"}
_CONSUMER, _RANGE = "consumer", "range"
_HOLD = "joins"
EARLIER = "earlier"  # the member that stands for those before a window
VISITOR = Member("visitor", None, None, None, None, (), {})


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name for an actor that is not among `taken`: small letters, digits, `_` and `-`."""
    name = _OTHERS.sub("_", wanted.lower()).strip("_-") or "member"
    if not name[0].isalpha():
        name = f"member_{name}"
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


class Rounds:
    """The members that the group has here, and the steps that change them. Each change is one rebalance.

    A hold lets everybody join before the rebalance goes on, so that it has one generation and the leader of the
    history, whatever the order was in which they came.
    """

    leave_word: ClassVar[str] = "leave"

    def __init__(self, timeline: Timeline) -> None:
        self._line = timeline
        self.actors: dict[str, dict[str, Json]] = {}
        self._names: dict[str, str] = {}  # the actor of each member that ever was, by identity
        self.members: dict[str, Member] = {}  # by identity, those of now
        self.state = "Empty"
        self.generation = 0
        self.exists = False
        self.leader: str | None = None  # identity
        self._recorded_generation: int | None = None
        self._settled: Settled | None = None  # the state of the last rebalance

    # -- who is who --------------------------------------------------------------------------------------------------

    def actor(self, identity: str) -> str:
        """The name of a member's actor."""
        return self._names[identity]

    def committer_of(self, member_id: str | None, place: tuple[str, int]) -> str | None:
        """The identity of who commits: the member itself, who owns the partition, or the leader; None without any."""
        for identity, member in self.members.items():
            if member_id and member.member_id == member_id:
                return identity
        for identity, member in self.members.items():
            if place[1] in member.assignment.get(place[0], ()):
                return identity
        return self.leader if self.members else None

    def _name(self, member: Member) -> None:
        """An actor for a member: the one that it had before it left, if that is of the same client; else a new one."""
        names, wanted = self._line.names, member.client_id or member.identity
        client = None if member.client_id is None else names.name("client", member.client_id)
        before = self._names.get(member.identity)
        if before is not None and member.identity not in self.members and self._client_of(before) == (client or before):
            return
        if member.instance_id is not None:
            wanted = f"static_{member.instance_id}"  # not the instance id itself, by which steps name the member
        if isinstance(names, HashedNames) and member.identity not in (EARLIER, VISITOR.identity):
            wanted = names.name("member", member.identity)
        name = free_name(wanted, {*self.actors, ADMIN, *ALL_WORDS, *STEP_KEYS})
        self._names[member.identity] = name
        self.actors[name] = {} if client in (None, name) else {"client_id": client}

    def _client_of(self, actor: str) -> str:
        return str(self.actors[actor].get("client_id", actor))

    # -- from one state to the next ----------------------------------------------------------------------------------

    def settle(self, settled: Settled) -> None:
        """Go on to a settled state with members, or to Empty."""
        if settled.state == "Empty" or not settled.members:
            self._empty(settled)
            return
        wanted = {member.identity: member for member in settled.members}
        if self._is_return(settled, wanted):
            self._return(wanted)
        elif self.members != wanted or self.state != "Stable" or settled.causes:
            self._rebalance(settled, wanted)

    def _is_return(self, settled: Settled, wanted: dict[str, Member]) -> bool:
        """Whether static members came back, and nothing else."""
        if self.state != "Stable" or settled.causes or wanted.keys() != self.members.keys():
            return False
        others = [each for each in wanted if wanted[each].member_id != self.members[each].member_id]
        is_same = all(
            wanted[each].assignment == self.members[each].assignment
            and (each in others or wanted[each].topics == self.members[each].topics)
            for each in wanted
        )
        return bool(others) and is_same and settled.generation == self._recorded_generation

    def _return(self, wanted: dict[str, Member]) -> None:
        for identity, member in wanted.items():
            if member.member_id != self.members[identity].member_id:
                actor, assigned = self.actor(identity), self._line.assignment(member.assignment)
                self._line.remark("A static member restarts and takes over its assignment.")
                self._line.add({**self._join(member), "expect": {**_OK, "generation_id": self.generation}})
                self._line.add({actor: "sync", "expect": {**_OK, "assignment": assigned}})
        self.members = wanted

    def _empty(self, settled: Settled) -> None:
        """Everybody leaves. A group that is Empty again in another generation had somebody for a moment."""
        if not settled.protocol_type or (not self.members and settled.generation == self._recorded_generation):
            return
        if not self.members:
            self.visit(settled, ())
        ended = {self.actor(each) for each, member in self.members.items() if member.member_id in settled.expired}
        self._leave([self.actor(each) for each in self.members], ended)
        self.generation += 1
        self.members, self.state, self.leader = {}, "Empty", None
        self._recorded_generation = settled.generation
        self._line.add({"expect": {"group": self._line.group, **self.seen()}})

    def visit(self, settled: Settled, topics: Sequence[str]) -> None:
        """Somebody joins of whom the history does not tell; the group is Empty in a later generation, `settled`."""
        self._line.remark("An unknown member was there, and left before the history names it.")
        visitor = VISITOR._replace(topics=tuple(topics))
        self._rebalance(settled._replace(generation=None), {visitor.identity: visitor})

    def seen(self) -> dict[str, Json]:
        """What must be seen of the group now."""
        return {"state": self.state, "generation": self.generation, "members": len(self.members)}

    def died(self) -> None:
        """The group is gone."""
        self.members, self.state, self.leader, self.generation, self.exists = {}, "Empty", None, 0, False
        self._recorded_generation = None

    def _leave(self, actors: Sequence[str], ended: Collection[str]) -> None:
        """Actors leave; of those in `ended` the session ends."""
        for actor in actors:
            if actor in ended:
                self._line.remark(f"The session of {actor} ended.")
                self._line.add({"group": f"evict {self._line.group}", "member": f"${actor}.member_id"})
            else:
                self._line.add({actor: self.leave_word, "expect": _OK})

    def _rebalance(self, settled: Settled, wanted: dict[str, Member]) -> None:
        """One rebalance from the members of now to those that are wanted."""
        line, before, self._settled = self._line, self.members, settled
        changed = [each for each in wanted if each in before and wanted[each].topics != before[each].topics]
        again = [each for each in changed if wanted[each].instance_id is None]
        gone = [self.actor(each) for each in before if each not in wanted or each in again]
        new = [each for each in wanted if each not in before or each in again]
        stay = [each for each in wanted if each not in new]
        ended = {self.actor(each) for each in before if before[each].member_id in settled.expired}
        if settled.generation is not None:
            line.remark(f"Generation {settled.generation} of the history.")
        if again:
            line.remark("A member that changed its subscription is a new actor from here on.")
        line.add({"group": f"hold_joins {line.group}", "as": _HOLD})
        if before and not gone and not new:
            line.add({"group": f"rebalance {line.group}", "reason": "the history has a rebalance here"})
        for identity in new:  # before others leave: a group that everybody left would become Empty
            self._name(wanted[identity])
            line.add({**self._join(wanted[identity]), "later": True})
        self._leave(gone, ended)
        for identity in stay:
            member = wanted[identity]
            is_same = member.member_id == before[identity].member_id and identity not in changed
            step = {self.actor(identity): "rejoin"} if is_same else self._join(member)
            line.add({**step, "later": True})
        self._share(settled, wanted)

    def _share(self, settled: Settled, wanted: dict[str, Member]) -> None:
        """The joins are answered, the leader assigns, and all learn their partitions."""
        line = self._line
        leading = [each for each, member in wanted.items() if member.member_id == settled.leader]
        self.leader = leader = leading[0] if leading else next(iter(wanted))
        self.generation += 1
        self.exists = True
        line.add({"hold": f"release {_HOLD}", "leader": self._named(wanted[leader], wanted)})
        for identity in wanted:
            line.add({self.actor(identity): "answered", "expect": {**_OK, "generation_id": self.generation}})
        assignments = {self.actor(each): line.assignment(member.assignment) for each, member in wanted.items()}
        followers = [each for each in wanted if each != leader]
        for identity in followers:
            line.add({self.actor(identity): "sync", "later": True})
        name = self.actor(leader)
        line.add({name: "sync", "assignments": assignments, "expect": {**_OK, "assignment": assignments[name]}})
        for identity in followers:
            name = self.actor(identity)
            line.add({name: "answered", "expect": {**_OK, "assignment": assignments[name]}})
        self.members, self.state, self._recorded_generation = wanted, "Stable", settled.generation
        line.add({"expect": {"group": line.group, **self.seen()}})

    def _named(self, member: Member, wanted: Mapping[str, Member]) -> str:
        """How a step names a member: its instance id; its actor, if no other has its client id; else its member id.

        Before KIP-394 (2.2) a member has no id before its JoinGroup is answered.
        """
        if member.instance_id is not None:
            return self._line.names.name("instance", member.instance_id)
        actor = self.actor(member.identity)
        clients = [self._client_of(self.actor(each)) for each in wanted]
        return actor if clients.count(self._client_of(actor)) == 1 else f"${actor}.member_id"

    def _join(self, member: Member) -> dict[str, Json]:
        """The step in which a member joins, as it would send it."""
        names, settled = self._line.names, self._settled
        step: dict[str, Json] = {self.actor(member.identity): f"join {self._line.group}"}
        protocol_type = settled.protocol_type or _CONSUMER if settled else _CONSUMER
        if protocol_type == _CONSUMER:
            step["topics"] = [self._line.topic(each) for each in member.topics or tuple(member.assignment)]
        else:
            step |= {"metadata": {"hex": "00"}, "protocol_type": names.public("type", protocol_type)}
        protocol = settled.protocol if settled else None
        if protocol not in (None, _RANGE):
            step["protocols"] = [names.public("protocol", protocol)]
        for key, value in (("session", member.session_timeout_ms), ("rebalance", member.rebalance_timeout_ms)):
            if value is not None and value > 0:
                step[f"{key}_timeout"] = duration_text(value)
        if member.instance_id is not None:
            step["group_instance_id"] = names.name("instance", member.instance_id)
        return step

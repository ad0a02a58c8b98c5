"""Members of groups in a session: whose member id is whose, and what of it the verbs of scenarios can say exactly."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.record_content import bytes_of
from fakebroker.scenarios.recording.exchanges import Exchange
from fakebroker.scenarios.recording.step_fields import assigned, duration_text, written

Json = Any

_JOINED = ("GroupId", "SessionTimeoutMs", "RebalanceTimeoutMs", "GroupInstanceId", "ProtocolType", "Protocols")
_CONSUMER = "consumer"
GROUP_APIS = frozenset({"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"})


@dataclass
class Members:
    """Which actor a recorded member id belongs to, and which actors say all by verbs."""

    owners: dict[str, str] = field(default_factory=dict)
    by_verbs: dict[str, bool] = field(default_factory=dict)  # actor -> whether verbs say exactly what it did

    def member_id(self, recorded: str) -> str:
        """How a scenario names a member id; the id itself for one that nobody got in the session."""
        owner = self.owners.get(recorded)
        if owner is None:
            return recorded
        return f"${owner}.member_id" if self.by_verbs[owner] else f"${owner}_member"

    def generation(self, member_id: str, recorded: int) -> Json:
        """How a scenario names the generation that a member speaks of."""
        owner = self.owners.get(member_id)
        if owner is None or recorded < 0:
            return recorded
        return f"${owner}.generation_id" if self.by_verbs[owner] else f"${owner}_generation"


def members_of(exchanges: Sequence[Exchange]) -> Members:
    """Find out who is who."""
    members = Members()
    by_actor: dict[str, list[Exchange]] = {}
    for one in exchanges:
        if one.api == "JoinGroup" and one.answer and one.answer.get("MemberId"):
            members.owners.setdefault(one.answer["MemberId"], one.actor)
        by_actor.setdefault(one.actor, []).append(one)
    members.by_verbs = {actor: _Course().is_said_by_verbs(ones) for actor, ones in by_actor.items()}
    return members


class _Course:
    """One actor's way through a group, as the scripted client remembers it."""

    def __init__(self) -> None:
        self.joined: Json = None
        self.member_id = ""
        self.generation = -1
        self.is_refused = False

    def is_said_by_verbs(self, exchanges: Sequence[Exchange]) -> bool:
        """Whether every group request is what the verb would send."""
        checks = {
            "JoinGroup": self._join,
            "SyncGroup": self._sync,
            "Heartbeat": self._speaks,
            "LeaveGroup": self._leave,
        }
        return all(checks[one.api](one) for one in exchanges if one.api in checks)

    def _join(self, one: Exchange) -> bool:
        request, answer = one.request, one.answer or {}
        said = {name: request.get(name) for name in _JOINED}
        if request["MemberId"] != self.member_id and request["MemberId"]:
            return False
        if self.joined is not None and self.member_id and said != self.joined:
            return False
        if len({repr(each["Metadata"]) for each in request["Protocols"]}) != 1:
            return False
        self.joined = said
        code = answer.get("ErrorCode")
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            if self.is_refused:
                return False
            self.is_refused, self.member_id = True, answer["MemberId"]
            return True
        if self.is_refused and request["MemberId"] != self.member_id:
            return False
        self.is_refused = False
        if code == ErrorCode.NONE:
            self.member_id, self.generation = answer["MemberId"], answer["GenerationId"]
        return code in (ErrorCode.NONE, None)

    def _sync(self, one: Exchange) -> bool:
        request = one.request
        if request.get("ProtocolType", _CONSUMER) not in (_CONSUMER, None):
            return False
        datas = [bytes_of(each["Assignment"]) or b"" for each in request["Assignments"]]
        return self._speaks(one) and all(assigned(data) is not None for data in datas)

    def _speaks(self, one: Exchange) -> bool:
        return (one.request["MemberId"], one.request["GenerationId"]) == (self.member_id, self.generation)

    def _leave(self, one: Exchange) -> bool:
        named = [one.request] if "MemberId" in one.request else one.request["Members"]
        is_own = [each["MemberId"] for each in named] == [self.member_id]
        self.member_id, self.generation, self.joined = "", -1, None
        return is_own


def join_arguments(request: Json) -> dict[str, Json]:
    """The arguments of the verb `join` that send this request."""
    metadata = bytes_of(request["Protocols"][0]["Metadata"]) or b""
    arguments: dict[str, Json] = {}
    form = written("Metadata", metadata)
    if isinstance(form, dict) and "subscription" in form:
        arguments["topics"] = form["subscription"]
    else:
        arguments["metadata"] = {"hex": metadata.hex()}
    protocols = [each["Name"] for each in request["Protocols"]]
    if protocols != ["range"]:
        arguments["protocols"] = protocols
    arguments["session_timeout"] = duration_text(request["SessionTimeoutMs"])
    if request.get("RebalanceTimeoutMs", -1) >= 0:
        arguments["rebalance_timeout"] = duration_text(request["RebalanceTimeoutMs"])
    if request.get("GroupInstanceId") is not None:
        arguments["group_instance_id"] = request["GroupInstanceId"]
    if request["ProtocolType"] != _CONSUMER:
        arguments["protocol_type"] = request["ProtocolType"]
    return arguments

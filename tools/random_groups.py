"""A random life of one group on fakebroker in virtual time, printed as a dialogue (see ask_kafka.py)."""

import json
import random
from collections.abc import Callable
from typing import Any

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.states import State
from tests.model.world import GROUP, TOPIC, Request, World

CONFIG = {"group.min.session.timeout.ms": 100, "group.initial.rebalance.delay.ms": 500}
LENGTH_MS = 14_000
STEP_MS = 45  # between two requests, so that a real broker sees them in the same order
CLEAR_MS = 250  # no request is sent closer than that before a timer fires
UNKNOWN, MEMBER_ID_REQUIRED = 25, 79


class Undecided(Exception):
    """What comes next is any member's guess in Kafka (ST-12), or an oddity we do not copy (LG-6)."""


class RandomClient:
    """A consumer: what it is, and what it believes."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.name = name
        self.version = rng.choice([9, 9, 4, 5, 7])
        self.instance = f"i-{name}~" if self.version >= 5 and rng.random() < 0.4 else None
        self.protocols = rng.choice([["range"], ["range"], ["range", "sticky"], ["sticky", "range"]])
        self.session_ms = rng.choice([2000, 3000, 5000])
        self.rebalance_ms = rng.choice([1500, 2500, 4000])
        self.forget()

    def forget(self) -> None:
        self.member_id = ""
        self.generation = -1
        self.leads: list[str] = []

    def learn(self, answer: dict[str, Any]) -> None:
        if answer["ErrorCode"] in (0, MEMBER_ID_REQUIRED):
            self.member_id, self.generation = answer["MemberId"], answer["GenerationId"]
            self.leads = [member["MemberId"] for member in answer["Members"]]
        elif answer["ErrorCode"] == UNKNOWN:
            self.member_id = ""


class RandomRun:
    """One run. `play` raises Undecided where a real Kafka may rightly go on otherwise."""

    def __init__(self, seed: int, as_release: str, config: dict[str, object] | None = None) -> None:
        self.rng = random.Random(seed)
        self.world = World({**CONFIG, **(config or {}), "offsets.topic.replication.factor": 1}, as_release)
        self.clients = [RandomClient(self.rng, f"c{n}") for n in range(self.rng.choice([2, 3, 3]))]
        self._joins: list[tuple[RandomClient, Request]] = []
        self._leader: Member | None = None

    def play(self) -> str:
        """The dialogue of the run; "~" in names stands for what makes them unique on a broker."""
        actions: list[tuple[Callable[[RandomClient], None], int]] = [
            *((self._join, 6), (self._sync, 5), (self._heartbeat, 5), (self._commit, 2), (self._leave, 2)),
            *((self._crash, 1), (self._restart, 2), (self._change, 2), (self._settle, 3), (self._describe, 4)),
        ]
        self._settle(self.clients[0])
        while self.world.driver.mono_ms < LENGTH_MS:
            (act,) = self.rng.choices([act for act, _ in actions], [weight for _, weight in actions])
            act(self.rng.choice(self.clients))
            self._wait(self.rng.choice([40, 40, 120, 400, 900]))
        self._describe(self.clients[0])
        self._wait(6000)
        self._describe(self.clients[0])
        assert self.world.engine.errors == []
        return self._report()

    # -- what clients do -----------------------------------------------------------------------------------------------

    def _join(self, client: RandomClient) -> None:
        request: dict[str, Any] = {
            "GroupId": GROUP,
            "SessionTimeoutMs": client.session_ms,
            "RebalanceTimeoutMs": client.rebalance_ms,
            "MemberId": client.member_id,
            "ProtocolType": "consumer",
            "Protocols": [{"Name": name, "Metadata": {"hex": _subscription(name)}} for name in client.protocols],
        }
        if client.version >= 5:
            request["GroupInstanceId"] = client.instance
        sent = self._send(client, "JoinGroup", client.version, request)
        if sent is not None:
            self._joins.append((client, sent))
        self._learn()

    def _sync(self, client: RandomClient) -> None:
        generation = {"hex": str(client.generation).encode().hex()}
        assignments = [{"MemberId": member_id, "Assignment": generation} for member_id in client.leads]
        self._send(client, "SyncGroup", 3, self._named(client) | {"Assignments": assignments})

    def _heartbeat(self, client: RandomClient) -> None:
        self._send(client, "Heartbeat", 3, self._named(client))

    def _commit(self, client: RandomClient) -> None:
        request = self._named(client)
        request["GenerationIdOrMemberEpoch"] = request.pop("GenerationId")
        partition = {"PartitionIndex": 0, "CommittedOffset": 7, "CommittedLeaderEpoch": -1, "CommittedMetadata": ""}
        self._send(client, "OffsetCommit", 7, request | {"Topics": [{"Name": TOPIC, "Partitions": [partition]}]})

    def _leave(self, client: RandomClient) -> None:
        by_instance = client.instance is not None and self.rng.random() < 0.4
        entry = {"MemberId": "" if by_instance else client.member_id, "GroupInstanceId": client.instance}
        self._send(client, "LeaveGroup", 3, {"GroupId": GROUP, "Members": [entry]})

    def _crash(self, client: RandomClient) -> None:
        self.world.close(client.name)
        self.world.close(f"{client.name}-other")

    def _restart(self, client: RandomClient) -> None:
        self._crash(client)
        client.forget()
        self._join(client)

    def _change(self, client: RandomClient) -> None:
        client.protocols = self.rng.choice([["range"], ["range", "sticky"], ["sticky", "range"], ["sticky"]])
        self._join(client)

    def _settle(self, _client: RandomClient) -> None:
        """All join and sync properly, if nothing comes between."""
        for _ in range(4):
            group = self.world.group
            for client in self.clients:
                if group is None or group.state is State.PREPARING or client.member_id not in group.members:
                    self._join(client)
            self._wait(300)
            if group is not None and group.state is State.COMPLETING:
                break
        for client in sorted(self.clients, key=lambda each: bool(each.leads)):
            self._sync(client)

    def _describe(self, _client: RandomClient) -> None:
        """Unless a member's id has not been reported yet: nobody could compare it."""
        group = self.world.group
        if group is None or all(self.world.is_known(member_id) for member_id in group.members):
            self._send_on("admin", "DescribeGroups", 5, {"Groups": [GROUP]})

    # -- how it is done ------------------------------------------------------------------------------------------------

    def _named(self, client: RandomClient) -> dict[str, Any]:
        """Who asks; now and then with the generation before, or without the instance id."""
        generation = client.generation - (self.rng.random() < 0.1)
        instance = client.instance if self.rng.random() < 0.9 else None
        fields = {"GenerationId": generation, "MemberId": client.member_id, "GroupInstanceId": instance}
        return {"GroupId": GROUP, **fields}

    def _send(self, client: RandomClient, name: str, version: int, request: dict[str, Any]) -> Request | None:
        """Send on a connection of the client that is free, if there is one."""
        names = (client.name, f"{client.name}-other")
        conn = next((conn for conn in names if not self.world.is_busy(conn)), None)
        return self._send_on(conn, name, version, request) if conn is not None else None

    def _send_on(self, conn: str, name: str, version: int, request: dict[str, Any]) -> Request:
        at_ms = self.world.driver.mono_ms
        sent = self.world.send(conn, name, version, request)
        sent.step["at_ms"] = at_ms
        self._wait(STEP_MS)
        return sent

    def _wait(self, ms: int) -> None:
        """Let time pass, and more of it until no timer is about to fire."""
        syncs = [request for request in self.world.open if request.api == "SyncGroup"]
        self.world.sleep(ms)
        mono = self.world.cluster.timers.mono
        for _ in range(100):
            due_ms, now_ms = mono.next_due_ms(), self.world.driver.mono_ms
            if due_ms is None or due_ms - now_ms >= CLEAR_MS:
                break
            self.world.sleep(due_ms - now_ms + CLEAR_MS)
        self._learn()
        self._look_out(self.world.group)
        if any(request.answer is not None and request.answer["ErrorCode"] == UNKNOWN for request in syncs):
            raise Undecided("a parked sync of a removed member")

    def _learn(self) -> None:
        for client, request in self._joins:
            if request.answer is not None:
                client.learn(request.answer)
        self._joins = [(client, request) for client, request in self._joins if request.answer is None]

    def _look_out(self, group: ClassicGroup | None) -> None:
        """A new leader out of several is any of them in Kafka."""
        before = self._leader
        self._leader = None if group is None or group.leader is None else group.members[group.leader]
        if None not in (before, self._leader) and before is not self._leader and group and len(group.members) > 1:
            raise Undecided("who leads next")

    def _report(self) -> str:
        """The dialogue with names that a broker has not seen yet."""
        lines = [json.loads(line) for line in self.world.dialogue().splitlines()]
        for line in lines:
            if "group" in line:
                line["group"], line["new_topics"] = f"{GROUP}~", {f"{TOPIC}~": {}}
        text = "\n".join(map(json.dumps, lines))
        for name in (f'"GroupId": "{GROUP}"', f'"Groups": ["{GROUP}"', f'"Name": "{TOPIC}"'):
            text = text.replace(name, f'{name[:-1]}~"')
        return text + "\n"


def _subscription(name: str) -> str:
    """A subscription to no topic, with the protocol's name as user data: version 0, in hex."""
    data = name.encode()
    return (bytes(6) + len(data).to_bytes(4, "big") + data).hex()

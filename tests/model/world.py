"""A broker in virtual time with several clients, and a record of all that passed between them as a dialogue."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.groups.classic.holds import Hold, Phase
from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.schema.jsonable import from_json, to_json
from fakebroker.protocol.wire.registry import api
from fakebroker.testing.exchanges.kinds import SCHEMA_VERSION
from fakebroker.testing.sim_driver import SimDriver
from tests.support.engine import SimEngine

GROUP = "g"
TOPIC = "t"
ID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


class Request:
    """A request that was sent: on which connection, by whom, and its answer (Kafka's JSON) once it is there."""

    def __init__(self, conn: str, step: dict[str, Any], pending: Pending, sent_ms: int, member: object) -> None:
        self.conn = conn
        self.step = step
        self.pending = pending
        self.sent_ms = sent_ms
        self.member = member  # the core's member it speaks for, where there is one
        self.is_new_member = False
        self.is_replaced = False
        self.answer: dict[str, Any] | None = None

    @property
    def api(self) -> str:
        return str(self.step["api"])

    def __repr__(self) -> str:
        return f"<request {self.step['id']} {self.api} on {self.conn}>"


class World:
    """One broker of one node. `open` are the requests without an answer on connections that are still there."""

    def __init__(self, config: Mapping[str, object], as_release: str) -> None:
        self.config = {name: str(value) for name, value in config.items()}
        made = SimEngine(config, profile="kafka", as_release=as_release)
        self.cluster, self.engine = made.cluster, made.engine
        self.driver = SimDriver(made.network)
        self.as_release = as_release
        self.open: list[Request] = []
        self._clients: dict[str, ClientConnection] = {}
        self._steps: list[dict[str, Any]] = [{"kind": "ready", "group": GROUP, "new_topics": {TOPIC: {}}}]
        self._names: dict[str, str] = {}  # member id -> the name it is saved under
        self._count = 0
        self.cluster.topics.create(TOPIC, 1, 1)

    # -- what clients do -----------------------------------------------------------------------------------------------

    def is_busy(self, conn: str) -> bool:
        """Whether a request of the connection is parked, so that nothing behind it is read."""
        return any(request.conn == conn for request in self.open)

    def send(self, conn: str, name: str, version: int, request: dict[str, Any], member: object = None) -> Request:
        """Send a request and take in whatever the broker answers at once, to whomever."""
        client = self._clients.get(conn)
        if client is None:
            client = self._clients[conn] = ClientConnection(conn)
            self.driver.open(client)
        self._count += 1
        step: dict[str, Any] = {
            "kind": "request",
            "id": self._count,
            "connection": conn,
            "api": name,
            "version": version,
        }
        step["message"] = request
        self._steps.append(step)
        pending = client.send(from_json(api(name).request, version, request), version)
        sent = Request(conn, step, pending, self.driver.mono_ms, member)
        self.open.append(sent)
        self.driver.flush(client)
        self._take_answers()
        return sent

    def sleep(self, ms: int) -> None:
        """Let time pass, and take in each answer when it comes."""
        while ms > 0:
            began_ms = self.driver.mono_ms
            self.driver.pass_time(ms, lambda: any(request.pending.is_done for request in self.open))
            passed_ms = self.driver.mono_ms - began_ms
            if not self._take_answers():  # else waiting for the answer is what a player does meanwhile
                self._steps.append({"kind": "wait", "for_ms": passed_ms})
            ms -= passed_ms

    def close(self, conn: str) -> None:
        """The client goes away, its requests are void."""
        client = self._clients.pop(conn, None)
        if client is not None:
            self._steps.append({"kind": "close", "connection": conn})
            self.driver.close(client)
            self.open = [request for request in self.open if request.conn != conn]
            self._take_answers()

    def move_coordinator(self, load_ms: int) -> None:
        """The group's coordinator is taken away and given back; loading takes `load_ms`."""
        self._steps.append({"kind": "move the coordinator (no line of a dialogue)", "load_ms": load_ms})
        coordinator, now = self.cluster.nodes[1].coordinator, self.engine.now
        partition = self.cluster.group_partition(GROUP).index
        self.engine.run(lambda now: coordinator.unload(partition, now), now)
        self.engine.run(partial(self._load, partition, load_ms), now)
        self.driver.pass_time(1)
        self._take_answers()

    def _load(self, partition: int, load_ms: int, now: Instant) -> None:
        self.cluster.nodes[1].coordinator.load(partition, now, load_ms)

    # -- what a test does ----------------------------------------------------------------------------------------------

    def hold(self, phase: Phase, hold: Hold) -> None:
        """Hold a phase, unless it has a hold that is not released."""
        if (active := self.cluster.holds.get(GROUP, {}).get(phase)) is not None and not active.is_released:
            return
        self._steps.append({"kind": "hold (no line of a dialogue)", "phase": phase, "hold": str(hold)})
        self.cluster.hold(GROUP, phase, hold)

    def release(self, phase: Phase, order: tuple[str, ...], leader: str | None) -> None:
        """Release the hold of a phase if there is one."""
        hold = self.cluster.holds.get(GROUP, {}).get(phase)
        if hold is not None:
            self._steps.append({"kind": "release (no line of a dialogue)", "phase": phase, "order": order})
            released = hold._replace(order=order, leader=leader, is_released=True)
            self._do(lambda group, now: group.release_hold(released, phase, now))

    def evict(self, member_id: str) -> None:
        """End the session of a member."""
        self._steps.append({"kind": "evict (no line of a dialogue)", "member": member_id})
        self._do(lambda group, now: group.evict(member_id, now) if member_id in group.members else None)

    def request_rebalance(self) -> None:
        """Start a rebalance."""
        self._steps.append({"kind": "rebalance (no line of a dialogue)"})
        self._do(lambda group, now: group.request_rebalance(now, "requested by a test"))

    def _do(self, action: Callable[[ClassicGroup, Instant], None]) -> None:
        group = self.group
        if group is not None:
            self.engine.run(lambda now: action(group, now), self.engine.now)
            self.driver.pass_time(1)
            self._take_answers()

    # -- what can be seen ----------------------------------------------------------------------------------------------

    def is_known(self, member_id: str) -> bool:
        """Whether a client has got the id."""
        return member_id in self._names

    @property
    def shard(self) -> Shard | None:
        """Where the group lives; None while it is being loaded."""
        try:
            return self.cluster.nodes[1].coordinator.shard(GROUP, self.engine.now)
        except KafkaError:
            return None

    @property
    def group(self) -> ClassicGroup | None:
        shard = self.shard
        group = None if shard is None else shard.group(GROUP)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def dialogue(self) -> str:
        """All that happened, as a dialogue that can be played against any broker."""
        config = self.config
        broker = f"Kafka {self.as_release}"
        head: dict[str, Any] = {
            "kind": "dialogue",
            "schema_version": SCHEMA_VERSION,
            "name": "model",
            "broker": broker,
            "config": config,
        }
        head["about"] = "A failing run of the group model."
        return "\n".join(json.dumps(self._named(step)) for step in [head, *self._steps])

    def _take_answers(self) -> int:
        """How many requests were answered."""
        answered = [each for each in self.open if each.pending.is_done]
        for request in answered:
            self.open.remove(request)
            pending = request.pending
            request.answer = to_json(pending.result(), pending.version)
            waited_ms = self.driver.mono_ms - request.sent_ms
            recv = {"kind": "answer", "id": request.step["id"], "message": request.answer, "waited_ms": waited_ms}
            member_id = request.answer.get("MemberId", "")
            if ID.search(member_id) and member_id not in self._names:
                name = self._names[member_id] = f"id{len(self._names)}"
                request.step["save"] = {name: "MemberId"}
            self._steps.append(recv)
        return len(answered)

    def _named(self, data: Any) -> Any:
        """The same with saved ids by name."""
        if isinstance(data, dict):
            return {key: self._named(value) for key, value in data.items()}
        if isinstance(data, list):
            return [self._named(value) for value in data]
        return f"${self._names[data]}" if isinstance(data, str) and data in self._names else data

"""A cluster in virtual time for the model of transactions: requests to whoever leads, and a record of all of them."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from fakebroker.broker.core.broker_life import become_zombie
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch import parse_header, read_records, split_batches
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.schema.jsonable import to_json
from fakebroker.protocol.wire.registry import api
from fakebroker.testing.virtual_broker import VirtualBroker
from fakebroker.types import ReleaseName

NODES = (1, 2, 3)
TOPIC, PARTITIONS = "t", 2
ANSWER_S = 4.0
STATE_TOPIC, OFFSETS_TOPIC = "__transaction_state", "__consumer_offsets"
ABORT, COMMIT = 0, 1

Partition = tuple[str, int]


class Batch(NamedTuple):
    """A batch that a reader got. `control` is None for data."""

    producer_id: int
    is_transactional: bool
    control: int | None
    rows: list[tuple[int, bytes]]  # offsets and values


class World:
    """Three nodes, a topic whose partitions each have two replicas, and clients with a connection to every node."""

    def __init__(self, config: dict[str, object], as_release: ReleaseName) -> None:
        self.config, self.as_release = config, as_release
        self.broker = VirtualBroker(nodes=len(NODES), profile="kafka", config=config, as_release=as_release)
        self.broker.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=2)
        self._clients: dict[tuple[str, int], ScriptedClient] = {}
        self._steps: list[dict[str, Any]] = []
        self.requests = 0
        self.set_back_ms = 0

    # -- requests ------------------------------------------------------------------------------------------------------

    def ask(self, name: str, node_id: int, api_name: str, version: int, **fields: Any) -> Any:
        """The answer to a client's request; None if the node is not there, or does not answer in time."""
        self.requests += 1
        request = to_json(built(api(api_name).request, fields), version)
        step = {
            "kind": "request",
            "id": self.requests,
            "connection": f"{name}@{node_id}",
            "api": api_name,
            "version": version,
        }
        self._steps.append({**step, "message": request})
        try:
            client = self._client(name, node_id)
            answer = client.start(client.steps.request(api_name, version, **fields)).result(ANSWER_S)
        except (OSError, FakebrokerError) as error:
            self._steps.append({"kind": "no answer", "id": step["id"], "why": str(error)})
            self.disconnect(name, node_id)
            return None
        self._steps.append({"kind": "answer", "id": step["id"], "message": to_json(answer, version)})
        return answer

    def disconnect(self, name: str, node_id: int) -> None:
        """The client closes its connection to a node."""
        client = self._clients.pop((name, node_id), None)
        if client is not None:
            client.close()

    def coordinator(self, name: str, key: str, key_type: int) -> int | None:
        """What FindCoordinator says, asked of any node that is alive; None if nobody knows."""
        for node_id in self.alive:
            answer = self.ask(name, node_id, "FindCoordinator", 4, key_type=key_type, coordinator_keys=[key])
            if answer is not None and answer.coordinators[0].error_code == 0:
                return int(answer.coordinators[0].node_id)
        return None

    def leader(self, place: Partition) -> int | None:
        """Who leads a partition."""
        node_id = self.broker.topic(place[0]).partition(place[1]).leader
        return node_id if node_id in NODES else None

    @property
    def alive(self) -> list[int]:
        """The nodes that run."""
        return [node_id for node_id in NODES if self.broker.node(node_id).is_alive]

    def _client(self, name: str, node_id: int) -> ScriptedClient:
        client = self._clients.get((name, node_id))
        if client is None:
            client = self._clients[name, node_id] = self.broker.client(name, node_id=node_id)
        return client

    # -- powers --------------------------------------------------------------------------------------------------------

    def note(self, what: str, **details: Any) -> None:
        """Something happens that is no step of a client."""
        self._steps.append({"kind": f"{what} (no line of a dialogue)", **details})

    def sleep(self, ms: int) -> None:
        """Time passes for everybody."""
        self._steps.append({"kind": "wait", "for_ms": ms})
        self.broker.pass_time(ms=ms)

    def advance(self, ms: int) -> None:
        """The time of day moves."""
        self.note("advance the clock", ms=ms)
        self.broker.clock.advance(ms=ms)

    def step_back(self, ms: int) -> None:
        """The time of day moves back."""
        self.note("set the clock back", ms=ms)
        self.set_back_ms += ms
        self.broker.clock.step_back(ms=ms)

    def move(self, topic: str, index: int, to: int) -> None:
        """Another replica leads a partition, where it can."""
        if not self.has(topic):
            return
        partition = self.broker.topic(topic).partition(index)
        if to in partition.in_sync and not self.broker.node(to).is_fenced and to != partition.leader:
            self.note("move the leader", partition=f"{topic}-{index}", to=to)
            partition.move_leader(to)

    def become_zombie(self, topic: str, index: int, for_ms: int) -> None:
        """Another replica leads a partition, and the old leader does not know it for a while."""
        if not self.has(topic):
            return
        partition = self.broker.topic(topic).partition(index)
        fit = [node_id for node_id in partition.in_sync if not self.broker.node(node_id).is_fenced]
        others = [node_id for node_id in fit if node_id != partition.leader]
        if others and partition.leader in self.alive:
            self.note("the old leader is a zombie", partition=f"{topic}-{index}", to=others[0], for_ms=for_ms)
            self.broker._call(lambda: self._become_zombie(topic, index, others[0], for_ms))

    def _become_zombie(self, topic: str, index: int, to: int, for_ms: int) -> None:
        engine = self.broker._engine
        partition = engine.cluster.topics.partition(topic, index)
        assert partition is not None
        now = self.broker._broker_clock.now()
        become_zombie(engine.cluster, engine.cluster.nodes[partition.leader], partition, to, for_ms, now)

    def abort(self, transactional_id: str) -> None:
        """An operator aborts the transaction of an id, if it is open."""
        transaction = self.broker.transaction(transactional_id)
        if transaction.state == "Ongoing":
            self.note("abort", transactional_id=transactional_id)
            with suppress(FakebrokerError):  # its coordinator cannot write now
                transaction.abort()

    def change_node(self, node_id: int, power: str) -> None:
        """Stop, kill, start, freeze, thaw, isolate or heal a node, if that is possible."""
        node = self.broker.node(node_id)
        running = ("stop", "kill", "freeze", "heal" if node.network else "isolate")
        allowed = {"running": running, "frozen": ("thaw", "kill")}.get(node.state, ("start",))
        if power in allowed:
            self.note(f"{power} node {node_id}")
            getattr(node, power)()
            for name, connected in list(self._clients):
                if connected == node_id and power in ("stop", "kill"):
                    self.disconnect(name, connected)

    def heal(self) -> None:
        """Every node runs and serves, and replicas have caught up."""
        for node_id in NODES:
            for power in ("thaw", "start", "heal"):
                self.change_node(node_id, power)
        self.sleep(60_000)

    def has(self, topic: str) -> bool:
        """Whether a topic is there."""
        return any(each.name == topic for each in self.broker.topics)

    # -- readers -------------------------------------------------------------------------------------------------------

    def fetch(self, name: str, place: Partition, offset: int, isolation_level: int) -> Any:
        """The answer for one partition, None if there is none."""
        leader = self.leader(place)
        if leader is None:
            return None
        row = (place[1], -1, offset, -1, -1, 1 << 20, bytes(16), -1)
        answer = self.ask(
            name, leader, "Fetch", 11, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20,
            isolation_level=isolation_level, session_epoch=-1, topics=[{"topic": place[0], "partitions": [row]}],
        )  # fmt: skip
        return None if answer is None else answer.responses[0].partitions[0]

    def dialogue(self) -> str:
        """All that happened, one JSON object a line."""
        head: dict[str, Any] = {
            "name": "model",
            "about": "A failing run of the model of transactions.",
            "config": self.config,
        }
        head |= {"broker": f"Kafka {self.as_release}", "nodes": len(NODES)}
        return "\n".join(json.dumps(step, default=repr) for step in [head, *self._steps])


def batches_in(data: bytes) -> Iterator[Batch]:
    """The batches of an answer."""
    for each in split_batches(data):
        header = parse_header(each)
        rows = [(row.offset, row.value or b"") for row in read_records(each)]
        control = None
        if header.is_control:
            (record,) = read_records(each)
            control = int.from_bytes((record.key or b"")[2:4])
        yield Batch(header.producer_id, header.is_transactional, control, rows)


class Reader:
    """A reader of committed records, as consumers are: it leaves out what the broker says was aborted."""

    def __init__(self, world: World, place: Partition) -> None:
        self.world, self.place = world, place
        self.position = 0
        self.values: list[bytes] = []

    def read(self) -> bool:
        """Read on up to the last stable offset; whether the broker answered."""
        while True:
            answer = self.world.fetch("reader", self.place, self.position, 1)
            if answer is None or answer.error_code != 0:
                return False
            assert answer.last_stable_offset <= answer.high_watermark
            before = self.position
            self._take(answer)
            if self.position == before:
                return True

    def _take(self, answer: Any) -> None:
        aborted = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or [])
        skipped: set[int] = set()
        for batch in batches_in(answer.records or b""):
            last = batch.rows[-1][0]
            assert last < answer.last_stable_offset, "a reader of committed records got more"
            while aborted and aborted[0][0] <= last:
                skipped.add(aborted.pop(0)[1])
            if batch.control is not None:
                if batch.control == ABORT:
                    skipped.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in skipped):
                self.values += [value for offset, value in batch.rows if offset >= self.position]
            self.position = max(self.position, last + 1)

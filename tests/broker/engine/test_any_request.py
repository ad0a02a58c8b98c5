"""Any requests of any APIs in any order, while brokers die, freeze and come back and time jumps.

Whatever happens: nothing raises inside the broker, every answer can be decoded as one of its API and version, and when
all brokers are up again and enough time has passed nobody waits and a bystander is served.
"""

import logging
from collections import deque
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

import pytest

from fakebroker.broker.core.node import NodeState
from fakebroker.broker.engine.connection_state import BUFFERED, ENDED, READING
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import decode_response, encode_request
from fakebroker.protocol.wire.registry import APIS, Api
from fakebroker.serve.sim.sim_socket import SimSocket
from tests.support.chance import IS_FUZZING, SEED
from tests.support.engine import SimEngine
from tests.support.frames import framed, frames
from tests.support.hostile_requests import HostileRequests
from tests.support.plausible_requests import Memory, is_plausible, plausible

NODES = ((1,), (1, 2, 3))  # of a run
RELEASES = ("4.3", "4.3", "4.3", "3.9", "2.8", "2.1")
RUNS = 12 if IS_FUZZING else 3  # of each shard
STEPS = 2_500  # of a run
SHARDS = 8
CLIENTS = 6
LONGEST_MS = 3_600_000  # more than any wait of what is sent here
JUMPS_MS = (1, 50, 1_000, 10_000, 60_000, 900_000)
WALL_JUMPS_MS = (-3_600_000, -1_000, 60_000, 86_400_000, 8 * 86_400_000)


class Sent(NamedTuple):
    """A request that a client waits for."""

    api: Api
    version: int
    correlation_id: int
    may_be_silent: bool
    request: Message


class Player:
    """One client: what it has sent, and whether the answers are what they must be."""

    def __init__(self, run: "Run", socket: SimSocket) -> None:
        self.run = run
        self.socket = socket
        self.sent: deque[Sent] = deque()

    def send(self) -> None:
        """One request, or several behind one another."""
        random, versions = self.run.random, self.socket.listener.versions
        for _ in range(random.choice((1, 1, 1, 2, 5))):
            api = APIS[self.run.key_among(versions.keys())]
            version = random.randint(*versions[api.key])
            self.run.count += 1
            request = self.run.request(api, version)
            frame = encode_request(request, version, self.run.count, "player")
            self.sent.append(Sent(api, version, self.run.count, getattr(request, "acks", -1) == 0, request))
            self.run.last = f"{api.name} v{version}: {request!r}"
            self.socket.send(framed(frame))
            self.read()
            if self.socket.is_closed:
                return

    def read(self) -> None:
        """Decode what has arrived: answers come in the order of the requests."""
        for frame in frames(self.socket.take()):
            correlation_id = int.from_bytes(frame[:4], "big", signed=True)
            while self.sent and self.sent[0].correlation_id != correlation_id and self.sent[0].may_be_silent:
                self.sent.popleft()
            sent = self.sent.popleft()
            assert sent.correlation_id == correlation_id, f"an answer to {correlation_id}, {sent} was asked"
            _, answer = decode_response(sent.api.key, sent.version, frame)
            self.run.requests.learn(answer)
            self.run.memory.note(sent.api.name, sent.request, answer)
            self.run.answered += 1

    @property
    def is_waiting(self) -> bool:
        return self.socket.connection.state not in (READING, BUFFERED, *ENDED)


class Run:
    """A cluster of one broker or three, and what is done to it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        release = random.choice(RELEASES)
        self.nodes = random.choice(NODES)
        self.sim = SimEngine(as_release=release, node_ids=self.nodes, seed=random.randrange(1000))
        self.requests = HostileRequests(random)
        self.sim.cluster.group_configs["share"] = {"share.auto.offset.reset": "earliest"}
        self.count = self.answered = 0
        self.last = "nothing yet"
        configs: dict[str, dict[str, str]] = {"t": {}, "u": {}, "compacted": {"cleanup.policy": "compact"}}
        made = [self.sim.cluster.topics.create(name, 3, len(self.nodes), config) for name, config in configs.items()]
        for topic in made:
            self.requests.learn_topic(topic.id)
        self.memory = Memory(random, made[0].id)
        self.players: list[Player] = []

    def key_among(self, served: Iterable[int]) -> int:
        """The API of the next request: often one of those whose requests follow from each other, seldom a deletion."""
        keys = sorted(key for key in served if key in APIS)
        likely = [key for key in keys if is_plausible(APIS[key].name)]
        while True:
            key = self.random.choice(likely if self.random.random() < 0.5 else keys)
            if not APIS[key].name.startswith("Delete") or self.random.random() < 0.2:
                return key

    def request(self, api: Api, version: int) -> Message:
        """A request that a client would send next, often with a field changed, or any one."""
        random, wanted = self.random, api.request
        fields = plausible(api.name, self.memory) if random.random() < 0.7 else None
        any_fields = self.requests.fields(wanted, version)
        if fields is None:
            return wanted(**any_fields)
        known = {spec.name for spec in wanted.fields if spec.versions.includes(version)}
        good = {name: value for name, value in fields.items() if name in known}
        while random.random() < 0.3 and any_fields:
            name = random.choice(sorted(any_fields))
            good[name] = any_fields[name]
        return wanted(**good)

    def play(self, steps: int) -> None:
        """That many steps, each looked at."""
        for _ in range(steps):
            self._step()
            self._look()
        self._settle()

    def _step(self) -> None:
        random = self.random
        match random.randrange(40):
            case 0:
                self.last = "time passed"
                self.sim.network.advance(random.choice(JUMPS_MS))
            case 1:
                self.last = "the time of day was moved"
                self.sim.network.move_wall(random.choice(WALL_JUMPS_MS))
            case 2 | 3:
                self._change_node(random.choice(self.nodes))
            case 4:
                if self.players:
                    self.players.pop(random.randrange(len(self.players))).socket.close()
            case _:
                self._player().send()

    def _change_node(self, node_id: int) -> None:
        network, state = self.sim.network, self.sim.cluster.nodes[node_id].state
        self.last = f"broker {node_id} was {state}"
        if state is NodeState.RUNNING:
            self.random.choice((network.stop_node, network.kill_node, network.freeze_node))(node_id)
        elif state is NodeState.FROZEN:
            network.thaw_node(node_id)
        else:
            network.start_node(node_id)

    def _player(self) -> Player:
        self.players = [each for each in self.players if not each.socket.is_closed]
        if len(self.players) < CLIENTS:
            nodes = self.sim.cluster.nodes
            if not any(node.has_process for node in nodes.values()):
                self._change_node(1)
            listeners = [each for each in self.sim.engine.listeners if nodes[each.node_id].has_process]
            self.players.append(Player(self, self.sim.network.connect(self.random.choice(listeners))))
        player = self.random.choice(self.players)
        if player.socket.is_closed or len(player.sent) > 20:
            player.socket.close()
            self.players.remove(player)
            return self._player()
        return player

    def _look(self) -> None:
        errors = self.sim.engine.errors
        assert not errors, f"after {self.last}: {errors[0]!r}"
        for player in self.players:
            player.read()

    def _settle(self) -> None:
        """Everybody is up again and time passes: nobody waits, and who comes now is served."""
        network = self.sim.network
        for node in self.sim.cluster.nodes.values():
            if node.state is not NodeState.RUNNING:
                self._change_node(node.id)
        network.advance(LONGEST_MS)
        self._look()
        waiting = [player.sent for player in self.players if not player.socket.is_closed and player.is_waiting]
        assert waiting == [], waiting
        bystander = self.sim.client()
        assert bystander.ask("Heartbeat", 0, group_id="other", generation_id=1, member_id="m") is not None


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_broker_lives(shard: int, caplog: pytest.LogCaptureFixture) -> None:
    """No internal error, every answer decodes, nobody waits for ever."""
    caplog.set_level(logging.CRITICAL, "fakebroker")
    answered = 0
    for number in range(RUNS):
        run = Run(Random(f"any request {SEED} {shard} {number}"))
        run.play(STEPS)
        answered += run.answered
    assert answered > RUNS * STEPS // 3

"""A workload whose every byte is printed, for comparison between processes: python -m tests.serve.sim.workload SEED

Six clients join, sync, heartbeat, commit, produce, fetch, change configurations and leave; groups time out, offsets
expire, a coordinator loads. What is printed: each answer, the journal, every batch of every log.
"""

import sys
from random import Random

from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.client.requesting import Flow
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.testing.sim_driver import SimDriver
from tests.support.engine import SimEngine

DAY_MS = 86_400_000
TOPICS = {"orders": 3, "audit": 2, "late": 1}
GROUPS = ("billing", "shipping")
SETTINGS = {
    "offsets.topic.replication.factor": 1,
    "offsets.retention.minutes": 60,
    "group.initial.rebalance.delay.ms": 100,
    "group.min.session.timeout.ms": 1,
    "group.consumer.min.session.timeout.ms": 1,
    "group.share.min.session.timeout.ms": 1,
}


class Workload:
    """The clients and what they heard."""

    def __init__(self, seed: int) -> None:
        self.lab = SimEngine(profile="kafka", settings=SETTINGS, seed=seed)
        for topic, partitions in TOPICS.items():
            self.lab.cluster.topics.create(topic, partitions, None, {"retention.ms": str(DAY_MS)})
        self.scripted = ScriptedClients(SimDriver(self.lab.network))
        self.clients = [self.scripted.client(f"client-{number}") for number in range(6)]
        self.random = Random(5)
        self.heard: list[str] = []

    def run(self) -> list[str]:
        """Every answer, journal entry and stored batch, in order."""
        for _ in range(300):
            client = self.random.choice(self.clients)
            self.take(client, self.next_step(client))
            if self.random.random() < 0.2:
                self.scripted.driver.pass_time(self.random.choice((1, 100, 3_000, 3_000, 3_000, 7_200_000)))
            if self.random.random() < 0.05:
                self.load_coordinator()
        self.scripted.driver.pass_time(8 * DAY_MS)
        assert self.lab.engine.errors == []
        return self.heard + [repr(entry) for entry in self.lab.journal.entries()] + self.stored()

    def take(self, client: ScriptedClient, flow: Flow[object]) -> None:
        """One step of a client; one that is not answered within a minute is left parked."""
        step = client.start(flow)
        self.scripted.driver.pass_time(60_000, lambda: self.is_over(step))
        try:
            self.heard.append(repr(vars(step).get("_value")) if step.is_done else "parked")
        except FakebrokerError as error:
            self.heard.append(str(error))
        if not step.is_done:
            client.close()
            self.clients[self.clients.index(client)] = self.scripted.client(f"again-{len(self.heard)}")

    def is_over(self, step: object) -> bool:
        """Whether the answer is there."""
        self.scripted.advance()
        return bool(step.is_done)  # type: ignore[attr-defined]

    def next_step(self, client: ScriptedClient) -> Flow[object]:
        """What the client does next."""
        random, steps, topic = self.random, client.steps, self.random.choice(list(TOPICS))
        partition = random.randrange(TOPICS[topic])
        if steps.membership is None:
            return random.choice((self.joining(client), self.producing(client, topic, partition)))
        choices = [
            steps.heartbeat(),
            steps.rejoin(),
            steps.sync({member: {topic: [partition]} for member in steps.membership.members}),
            steps.commit({(topic, partition): random.randrange(100)}),
            steps.commit({(topic, partition): random.randrange(100)}, group_id="simple"),
            steps.committed(random.choice(GROUPS)),
            self.producing(client, topic, partition),
            steps.request("Fetch", 11, **fetching(steps, topic, partition)),
            steps.request("AlterConfigs", 1, resources=bad_group_config()),
            steps.request("Metadata", 9, topics=None),
            steps.request("ListGroups", 4),
            steps.leave(),
        ]
        return random.choice(choices)

    def joining(self, client: ScriptedClient) -> Flow[object]:
        """Join one of the groups."""
        topics = self.random.sample(list(TOPICS), 2)
        return client.steps.join(
            self.random.choice(GROUPS), topics, session_timeout_ms=60_000, rebalance_timeout_ms=5_000
        )

    def producing(self, client: ScriptedClient, topic: str, partition: int) -> Flow[object]:
        """Append one to three records."""
        pairs = [
            (b"k%d" % self.random.randrange(9), self.random.randbytes(20)) for _ in range(self.random.randint(1, 3))
        ]
        return client.steps.produce(topic, partition, pairs, self.lab.network.now.wall_ms)

    def load_coordinator(self) -> None:
        """Read a group's partition of the offsets topic again from its log."""
        now = self.lab.network.now
        coordinator = self.lab.cluster.nodes[1].coordinator
        coordinator.load(self.lab.cluster.group_partition(self.random.choice(GROUPS)).index, now)

    def stored(self) -> list[str]:
        """The bytes of every log."""
        return [
            f"{topic.name}-{partition.index} {batch.hex()}"
            for topic in self.lab.cluster.topics
            for partition in topic.partitions
            for batch in batches_of(partition.log)
        ]


def batches_of(log: PartitionLog) -> list[bytes]:
    """Every batch as it is fetched."""
    return log.read(log.log_start_offset, 1 << 30, log.log_end_offset)


def fetching(steps: object, topic: str, partition: int) -> dict[str, object]:
    """The fields of a Fetch that does not wait."""
    from fakebroker.protocol.wire.messages.fetch import FetchTopic

    row = (partition, -1, 0, -1, -1, 1 << 20, bytes(16), 2**63 - 1)
    return {"max_wait_ms": 0, "topics": [FetchTopic(topic=topic, partitions=[row])]}


def bad_group_config() -> list[object]:
    """Two kinds of group settings, both wrong: which one the answer names may not depend on a hash."""
    from fakebroker.protocol.wire.messages.alter_configs import AlterableConfig, AlterConfigsResource

    values = {
        f"{kind}.{name}": value
        for kind in ("share", "consumer")
        for name, value in (("heartbeat.interval.ms", "5000"), ("session.timeout.ms", "5000"))
    }
    configs = [AlterableConfig(name=name, value=value) for name, value in values.items()]
    return [AlterConfigsResource(resource_type=32, resource_name="billing", configs=configs)]


if __name__ == "__main__":
    sys.stdout.write("\n".join(Workload(int(sys.argv[1])).run()))

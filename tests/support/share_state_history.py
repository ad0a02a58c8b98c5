"""Random states of share partitions, asked of any share coordinator: what was asked, and what it answered.

answers = ShareStateHistory(clients, seed=7).play()

The same seed asks the same of every broker, so two brokers are compared by what they reported.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from random import Random
from typing import Any

from fakebroker.client.scripted.scripted_client import ScriptedClients
from tests.support.transaction_history import Answered

SETTINGS: Mapping[str, object] = {"share.coordinator.snapshot.update.records.per.snapshot": 3}
PARTITIONS = 2
NOT_YET = {14, 15, 16}
_INITIALIZE, _READ, _WRITE, _DELETE = (
    "InitializeShareGroupState",
    "ReadShareGroupState",
    "WriteShareGroupState",
    "DeleteShareGroupState",
)
_SUMMARIZE = "ReadShareGroupStateSummary"
# Epochs of writes lie around those that initializations and reads have, so that some are fenced.
_WEIGHTS = {_INITIALIZE: 10, _READ: 40, _WRITE: 100, _DELETE: 3, _SUMMARIZE: 20}


class ShareStateHistory:
    """One history, of the share partitions of one group and topic."""

    def __init__(self, clients: ScriptedClients, seed: int, steps: int = 400) -> None:
        self.clients, self.client = clients, clients.client(f"share-state-{seed}")
        self.chance, self.steps = Random(seed), steps
        self.topic, self.group_id = f"s{seed}-t", f"s{seed}-g"
        self.topic_id = b""

    def play(self) -> list[Answered]:
        """Everything that was asked, with its answers."""
        self.topic_id = self.client.create_topic(self.topic, PARTITIONS).topics[0].topic_id
        for partition in range(PARTITIONS):
            self._await_coordinator(partition)
        return [self._step() for _ in range(self.steps)]

    def _step(self) -> Answered:
        (api,) = self.chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        partition = self.chance.choice([0, 0, 0, 1, 1, 1, PARTITIONS, -1])
        version = self.chance.randrange(2) if api in (_WRITE, _SUMMARIZE) else 0
        fields = self._fields(api, version)
        return Answered(f"{api} v{version} {partition} {fields}", self._ask(api, version, partition, fields))

    def _fields(self, api: str, version: int) -> dict[str, Any]:
        choice = self.chance.choice
        if api == _INITIALIZE:
            return {"state_epoch": choice([-1, 0, 1, 2, 3, 4]), "start_offset": choice([-1, 0, 10])}
        if api == _READ:
            return {"leader_epoch": choice([-1, 0, 0, 1, 2])}
        if api == _SUMMARIZE:
            return {"leader_epoch": choice([-1, 0, 3])}
        if api == _DELETE:
            return {}
        fields = {
            "state_epoch": choice([-1, 4, 5]),
            "leader_epoch": choice([-1, 2, 2, 2, 1]),
            "start_offset": choice([-1, -1, -1, self.chance.randrange(40)]),
            "state_batches": self._batches(),
        }
        return {**fields, "delivery_complete_count": self.chance.randrange(-1, 9)} if version else fields

    def _batches(self) -> list[dict[str, int]]:
        """Up to three batches in a row, with gaps or without."""
        batches, first = [], self.chance.randrange(30)
        for _ in range(self.chance.randrange(4)):
            last = first + self.chance.randrange(6)
            batches.append(
                {
                    "first_offset": first,
                    "last_offset": last,
                    "delivery_state": self.chance.choice([0, 2, 4]),
                    "delivery_count": self.chance.randrange(1, 5),
                }
            )
            first = last + 1 + self.chance.choice([0, 0, 1, 3])
        return batches

    def _ask(self, api: str, version: int, partition: int, fields: Mapping[str, Any]) -> dict[Any, Any]:
        """What was answered of the partition: batches by offset, because how they are cut says nothing."""
        topics = [{"topic_id": self.topic_id, "partitions": [{"partition": partition, **fields}]}]
        [result] = self.client.request(api, version, group_id=self.group_id, topics=topics).results
        [answer] = result.partitions
        answers: dict[Any, Any] = {
            name: getattr(answer, name)
            for name in ("error_code", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count")
            if hasattr(answer, name)
        }
        for batch in getattr(answer, "state_batches", ()):
            for offset in range(batch.first_offset, batch.last_offset + 1):
                answers[offset] = batch.delivery_state, batch.delivery_count
        return answers

    def _await_coordinator(self, partition: int) -> None:
        """Until it answers: the first question makes its topic, which has to be loaded."""
        topic_id = urlsafe_b64encode(self.topic_id).rstrip(b"=").decode()
        key = f"{self.group_id}:{topic_id}:{partition}"
        for _ in range(200):
            found = self.client.request("FindCoordinator", 6, key_type=2, coordinator_keys=[key]).coordinators[0]
            if found.error_code == 0:
                answer = self._ask(_SUMMARIZE, 1, partition, {"leader_epoch": -1})
                if answer["error_code"] not in NOT_YET | {3}:
                    return
            self.clients.driver.pass_time(100, lambda: False)
        raise AssertionError(f"no share coordinator for {key}")

"""Brokers with much of several things: no request takes the product of them, such as each topic times each group."""

from collections.abc import Sequence
from typing import Any

import pytest

from fakebroker.protocol.schema.types import ArrayOf
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from fakebroker.protocol.wire.registry import APIS, api
from tests.support.engine import SimEngine
from tests.support.large_states import Naming, World

SERVED = SimEngine().engine.listeners[0].versions
NAMES = [each.name for each in APIS.values() if each.key in SERVED]
NULLABLE = [  # what asks for all there is by null
    name
    for name in NAMES
    if any(
        isinstance(each.type, ArrayOf) and each.nullable.includes(SERVED[api(name).key][1])
        for each in api(name).request.fields
    )
]
FEW = 60
LEAST_OF_A_PAIR = 0.25  # calls; less is of pauses, of which there are more
OF_A_PAIR = {"DeleteTopics": 6}  # a look at each group for each topic
GIVEN: dict[str, Any] = {"DeleteTopics": {"name": None}}  # a name beside an id is refused


class CrowdedWorld(World):
    """So many topics, groups with an offset of the first one, and open transactions of one group and several topics.

    `calls` has all of what was done, not those of its dearest turn.
    """

    @staticmethod
    def of_turns(calls: Sequence[int]) -> int:
        """All of them."""
        return sum(calls)

    def __init__(self, entries: int) -> None:
        super().__init__(entries, entries)
        self.groups = [f"g{number}" for number in range(entries)]
        self.transactions = [f"x{number}" for number in range(entries)]
        self.facts["require_stable"] = True
        self._commit()
        self._begin_transactions()
        self.calls.clear()

    def _commit(self) -> None:
        client = self.client()
        topics = [OffsetCommitRequestTopic(name="t0", partitions=[(0, 1, -1, -1, None)])]
        for group_id in self.groups:
            fields = {"group_id": group_id, "generation_id_or_member_epoch": -1, "topics": topics}
            client.ask("OffsetCommit", 7, **fields)

    def _begin_transactions(self) -> None:
        for number, name in enumerate(self.transactions):
            client, transactional_id = self.client(), {"transactional_id": name}
            made = client.ask("InitProducerId", 4, **transactional_id, transaction_timeout_ms=60_000)
            fields = {
                **transactional_id,
                "group_id": "g0",
                "producer_id": made.producer_id,
                "producer_epoch": made.producer_epoch,
            }
            topics = [
                TxnOffsetCommitRequestTopic(
                    name=f"t{number}", partitions=[TxnOffsetCommitRequestPartition(committed_offset=1)]
                )
            ]
            assert client.ask("AddOffsetsToTxn", 3, **fields).error_code == 0
            client.ask("TxnOffsetCommit", 3, **fields, generation_id=-1, topics=topics)


def calls(name: str, naming: Naming, entries: int) -> int:
    """How many calls a request takes that asks for all there is."""
    world = CrowdedWorld(entries)
    world.ask(world.client(), name, "", naming, **GIVEN.get(name, {}))
    return world.calls[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "naming"), [*((name, Naming.ALL) for name in NAMES), *((name, Naming.NULL) for name in NULLABLE)]
)
def test_no_request_takes_a_product(name: str, naming: Naming) -> None:
    """An entry more costs the same, however many there are of it and of others."""
    calls(name, naming, 2)  # it loads and compiles what it needs
    few, more, many = (calls(name, naming, entries) for entries in (FEW, 2 * FEW, 4 * FEW))
    each, each_of_many = (more - few) / FEW, (many - more) / (2 * FEW)
    assert (each_of_many - each) / (3 * FEW) < OF_A_PAIR.get(name, LEAST_OF_A_PAIR)

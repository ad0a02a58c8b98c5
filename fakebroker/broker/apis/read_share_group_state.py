"""ReadShareGroupState, key 84, v0: the leader of partitions reads states (KIP-932, SGP-1)."""

from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.share_states import Outcome, Topics, ask_all
from fakebroker.broker.core.share_state.states import SharePartition, StateAnswer
from fakebroker.broker.core.share_state.states import StateBatch as StoredBatch
from fakebroker.protocol.wire.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.shard import ShareStateShard

StoredBatches = tuple[StoredBatch, ...]


def handle(call: Call, request: ReadShareGroupStateRequest) -> ReadShareGroupStateResponse | None:
    """Read each state; leaders of earlier epochs are fenced from then on."""

    def ask(shard: "ShareStateShard", key: SharePartition, entry: PartitionData, answer: StateAnswer) -> None:
        shard.read(key, entry.leader_epoch, answer, call.now)

    return ask_all(call, request, ask, partial(_partition, _Batches()), _response)


def _response(topics: Topics) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        results=[ReadStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics]
    )


class _Batches:
    """The batches of states as they are in the answer: once, however often the request names a partition."""

    def __init__(self) -> None:
        # By the identity of the stored batches, which are kept here: to compare them would take as long.
        self._listed: dict[int, tuple[StoredBatches, list[StateBatch]]] = {}

    def listed(self, stored: StoredBatches) -> list[StateBatch]:
        """The same list for the same batches."""
        known = self._listed.get(id(stored))
        if known is None:
            known = self._listed[id(stored)] = stored, [_batch(each) for each in stored]
        return known[1]


def _partition(batches: _Batches, outcome: Outcome) -> PartitionResult:
    """One partition; of an error the numbers are 0."""
    if outcome.code:
        return PartitionResult(partition=outcome.partition, error_code=outcome.code, error_message=outcome.message)
    return PartitionResult(
        partition=outcome.partition,
        state_epoch=outcome.state.state_epoch,
        start_offset=outcome.state.start_offset,
        state_batches=batches.listed(outcome.state.batches),
    )


def _batch(stored: StoredBatch) -> StateBatch:
    return StateBatch(
        first_offset=stored.first_offset,
        last_offset=stored.last_offset,
        delivery_state=stored.delivery_state,
        delivery_count=stored.delivery_count,
    )

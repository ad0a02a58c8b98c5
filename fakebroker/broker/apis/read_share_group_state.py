"""ReadShareGroupState, key 84, v0: the leader of partitions reads states (KIP-932, SGP-1)."""

from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.share_states import Outcome, Topics, ask_all
from fakebroker.broker.core.share_state.states import SharePartition, StateAnswer
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


def handle(call: Call, request: ReadShareGroupStateRequest) -> ReadShareGroupStateResponse | None:
    """Read each state; leaders of earlier epochs are fenced from then on."""

    def ask(shard: "ShareStateShard", key: SharePartition, entry: PartitionData, answer: StateAnswer) -> None:
        shard.read(key, entry.leader_epoch, answer, call.now)

    return ask_all(call, request, ask, _partition, _response)


def _response(topics: Topics) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        results=[ReadStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics]
    )


def _partition(outcome: Outcome) -> PartitionResult:
    """One partition; of an error the numbers are 0."""
    if outcome.code:
        return PartitionResult(partition=outcome.partition, error_code=outcome.code, error_message=outcome.message)
    return PartitionResult(
        partition=outcome.partition,
        state_epoch=outcome.state.state_epoch,
        start_offset=outcome.state.start_offset,
        state_batches=[
            StateBatch(
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                delivery_state=each.delivery_state,
                delivery_count=each.delivery_count,
            )
            for each in outcome.state.batches
        ],
    )

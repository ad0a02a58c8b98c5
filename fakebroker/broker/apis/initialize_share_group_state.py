"""InitializeShareGroupState, key 83, v0: the share coordinator begins to keep states (KIP-932, SGB-3)."""

from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.share_states import Outcome, Topics, ask_all, without_state
from fakebroker.broker.core.share_state.states import SharePartition, StateAnswer
from fakebroker.protocol.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.shard import ShareStateShard


def handle(call: Call, request: InitializeShareGroupStateRequest) -> InitializeShareGroupStateResponse | None:
    """Begin each state, or begin it anew."""

    def ask(shard: "ShareStateShard", key: SharePartition, entry: PartitionData, answer: StateAnswer) -> None:
        shard.initialize(key, entry.state_epoch, entry.start_offset, without_state(answer), call.now)

    return ask_all(call, request, ask, _partition, _response)


def _response(topics: Topics) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[InitializeStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics]
    )


def _partition(outcome: Outcome) -> PartitionResult:
    return PartitionResult(partition=outcome.partition, error_code=outcome.code, error_message=outcome.message)

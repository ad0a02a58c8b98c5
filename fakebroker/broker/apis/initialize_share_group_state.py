"""InitializeShareGroupState, key 83, v0: the share coordinator begins to keep states (KIP-932, SGB-3)."""

from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.share_states import Results, ask_all, without_state
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


def handle(call: Call, request: InitializeShareGroupStateRequest) -> None:
    """Begin each state, or begin it anew."""

    def ask(shard: "ShareStateShard", key: SharePartition, entry: PartitionData, answer: StateAnswer) -> None:
        shard.initialize(key, entry.state_epoch, entry.start_offset, without_state(answer), call.now)

    ask_all(call, request.group_id, request.topics, ask, _response)


def _response(results: Results) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[
            InitializeStateResult(
                topic_id=topic_id,
                partitions=[
                    PartitionResult(partition=each.partition, error_code=each.code, error_message=each.message)
                    for each in outcomes
                ],
            )
            for topic_id, outcomes in results
        ]
    )

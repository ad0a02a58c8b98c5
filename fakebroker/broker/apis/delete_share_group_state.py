"""DeleteShareGroupState, key 86, v0: the share coordinator forgets states (KIP-932, SGB-4)."""

from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.share_states import Outcome, Topics, ask_all, without_state
from fakebroker.broker.core.share_state.states import SharePartition, StateAnswer
from fakebroker.protocol.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.shard import ShareStateShard


def handle(call: Call, request: DeleteShareGroupStateRequest) -> DeleteShareGroupStateResponse | None:
    """Forget each state, if there is one."""

    def ask(shard: "ShareStateShard", key: SharePartition, _entry: PartitionData, answer: StateAnswer) -> None:
        shard.delete(key, without_state(answer), call.now)

    return ask_all(call, request, ask, _partition, _response)


def _response(topics: Topics) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        results=[DeleteStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics]
    )


def _partition(outcome: Outcome) -> PartitionResult:
    return PartitionResult(partition=outcome.partition, error_code=outcome.code, error_message=outcome.message)

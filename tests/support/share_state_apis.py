"""Requests to the share coordinator by field names, on a cluster without a network, and what all five APIs do alike."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.registry import api
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]
TOPIC_DATA = {
    "InitializeShareGroupState": "InitializeStateData",
    "ReadShareGroupState": "ReadStateData",
    "WriteShareGroupState": "WriteStateData",
    "DeleteShareGroupState": "DeleteStateData",
    "ReadShareGroupStateSummary": "ReadStateSummaryData",
}


class ShareStateApis(GroupApis):
    """A cluster with topic "t" of 2 partitions; requests are about the group "g"."""

    def __init__(self, make_call: MakeCall, **settings: Any) -> None:
        super().__init__(make_call, share_coordinator_state_topic_replication_factor=1, **settings)
        self.topic_id = self.cluster.topics.create("t", 2, 1).id

    def outcomes(self, name: str, *entries: dict[str, Any], group_id: str = "g") -> Any:
        """The outcome of each partition; an entry has the fields of the request's PartitionData."""
        wire = api(name)
        messages = import_module(f"fakebroker.protocol.wire.messages.{wire.module}")
        partitions = [messages.PartitionData(**entry) for entry in entries]
        data = getattr(messages, TOPIC_DATA[name])
        topics = [data(topic_id=self.topic_id, partitions=partitions)] if entries else []
        results = self.ask(name, wire.max, group_id=group_id, topics=topics).results
        return results[0].partitions if results else []

    def initialize(self, partition: int = 0, state_epoch: int = 0, start_offset: int = 3) -> Any:
        entry = {"partition": partition, "state_epoch": state_epoch, "start_offset": start_offset}
        return self.outcomes("InitializeShareGroupState", entry)[0]


def check_each_partition(lab: ShareStateApis, name: str) -> None:
    """A negative partition is 42 with a text, a good one beside it is served."""
    lab.initialize(1)

    refused, served = lab.outcomes(name, {"partition": -1}, {"partition": 1})

    assert (refused.partition, refused.error_code, bool(refused.error_message)) == (-1, ErrorCode.INVALID_REQUEST, True)
    assert (served.partition, served.error_code, served.error_message) == (1, 0, None)


def check_nothing_asked(lab: ShareStateApis, name: str) -> None:
    """Without a group id or topics the answer has no results."""
    assert lab.outcomes(name, {"partition": 0}, group_id="") == []
    assert lab.outcomes(name) == []


def check_other_coordinator(make_call: MakeCall, name: str) -> None:
    """Of share partitions that another broker coordinates: 16 with a text, in the partition."""
    lab = ShareStateApis(make_call, node_ids=(1, 2))
    answers = [lab.outcomes(name, {"partition": 0}, group_id=f"g{number}")[0] for number in range(20)]
    refused = [answer for answer in answers if answer.error_code == ErrorCode.NOT_COORDINATOR]

    assert refused
    assert all(answer.error_message for answer in refused)

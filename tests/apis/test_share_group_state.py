"""The five APIs of the share coordinator on the wire: keys 83 to 87."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.apis.call import Call
from fakebroker.wire.messages import delete_share_group_state as delete
from fakebroker.wire.messages import initialize_share_group_state as initialize
from fakebroker.wire.messages import read_share_group_state as read
from fakebroker.wire.messages import read_share_group_state_summary as summary
from fakebroker.wire.messages import write_share_group_state as write
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]
APIS = [
    ("InitializeShareGroupState", initialize, "InitializeStateData"),
    ("ReadShareGroupState", read, "ReadStateData"),
    ("WriteShareGroupState", write, "WriteStateData"),
    ("DeleteShareGroupState", delete, "DeleteStateData"),
    ("ReadShareGroupStateSummary", summary, "ReadStateSummaryData"),
]
EVERY = pytest.mark.parametrize(("api", "messages", "topic_data"), APIS, ids=[each[0] for each in APIS])


class Lab(GroupApis):
    """A cluster with topic "t" of 2 partitions."""

    def __init__(self, make_call: MakeCall, **settings: object) -> None:
        super().__init__(make_call, share_coordinator_state_topic_replication_factor=1, **settings)
        self.topic_id = self.cluster.topics.create("t", 2, 1).id

    def state(self, name: str, messages: Any, topic_data: str, *entries: dict[str, Any], group_id: str = "g") -> Any:
        """The outcome of each partition."""
        partitions = [messages.PartitionData(**entry) for entry in entries]
        topics = [getattr(messages, topic_data)(topic_id=self.topic_id, partitions=partitions)] if entries else []
        newest = 1 if name in ("WriteShareGroupState", "ReadShareGroupStateSummary") else 0
        results = self.ask(name, newest, group_id=group_id, topics=topics).results
        return results[0].partitions if results else []


@pytest.fixture
def lab(make_call: MakeCall) -> Lab:
    return Lab(make_call)


@pytest.mark.rules("SGB-3", "SGP-1", "SGO-1", "SGB-4")
def test_a_state_from_its_beginning_to_its_end(lab: Lab) -> None:
    """Initialized, written, read, summarized and deleted."""
    batch = write.StateBatch(first_offset=3, last_offset=4, delivery_state=2, delivery_count=1)
    changed = {"state_epoch": 2, "leader_epoch": 1, "start_offset": 3, "delivery_complete_count": 2}

    [begun] = lab.state(*APIS[0], {"partition": 0, "state_epoch": 2, "start_offset": 3})
    [written] = lab.state(*APIS[2], {"partition": 0, "state_batches": [batch], **changed})
    [found] = lab.state(*APIS[1], {"partition": 0, "leader_epoch": 1})
    [short] = lab.state(*APIS[4], {"partition": 0, "leader_epoch": -1})
    [gone] = lab.state(*APIS[3], {"partition": 0})

    assert [each.error_code for each in (begun, written, found, short, gone)] == [0] * 5
    assert (found.state_epoch, found.start_offset) == (2, 3)
    assert [(each.first_offset, each.last_offset, each.delivery_state) for each in found.state_batches] == [(3, 4, 2)]
    assert (short.state_epoch, short.leader_epoch, short.start_offset, short.delivery_complete_count) == (2, 1, 3, 2)


@EVERY
def test_each_partition_on_its_own(lab: Lab, api: str, messages: Any, topic_data: str) -> None:
    """A negative partition is 42 with a text, a good one beside it is served."""
    lab.state(*APIS[0], {"partition": 1, "state_epoch": 0, "start_offset": 3})

    refused, served = lab.state(api, messages, topic_data, {"partition": -1}, {"partition": 1})

    assert (refused.partition, refused.error_code, bool(refused.error_message)) == (-1, 42, True)
    assert (served.partition, served.error_code, served.error_message) == (1, 0, None)


@EVERY
def test_no_group_id_and_no_topics(lab: Lab, api: str, messages: Any, topic_data: str) -> None:
    """An answer without results."""
    assert lab.state(api, messages, topic_data, {"partition": 0}, group_id="") == []
    assert lab.state(api, messages, topic_data) == []


@EVERY
def test_another_broker_coordinates(make_call: MakeCall, api: str, messages: Any, topic_data: str) -> None:
    """16 with a text, in the partition."""
    lab = Lab(make_call, node_ids=(1, 2))
    answers = [lab.state(api, messages, topic_data, {"partition": 0}, group_id=f"g{number}")[0] for number in range(20)]
    refused = [answer for answer in answers if answer.error_code == 16]

    assert refused
    assert all(answer.error_message for answer in refused)

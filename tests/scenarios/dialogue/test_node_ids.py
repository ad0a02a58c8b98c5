"""A single broker may have another id than the recorded one."""

from fakebroker.scenarios.dialogue.node_ids import blanked, filled

TOPIC = {"Name": "t", "Partitions": [{"LeaderId": 0, "ReplicaNodes": [0], "IsrNodes": [0], "PartitionIndex": 0}]}


def test_ids_in_answers_become_the_recorded_one() -> None:
    """Leaders and replicas are replaced, numbers that mean something else are not."""
    answer = {"ControllerId": 0, "Topics": [TOPIC], "ErrorCode": 0}

    partition = {"LeaderId": 1, "ReplicaNodes": [1], "IsrNodes": [1], "PartitionIndex": 0}
    assert blanked(answer, 0) == {
        "ControllerId": 1, "Topics": [{"Name": "t", "Partitions": [partition]}], "ErrorCode": 0
    }  # fmt: skip
    assert blanked(answer, 1) is answer


def test_requests_name_the_broker_that_there_is() -> None:
    """Assignments and resources of brokers get its id; ids of brokers that there are not, and topics, stay."""
    request = {
        "Assignments": [{"BrokerIds": [1]}, {"BrokerIds": [99]}],
        "Resources": [{"ResourceType": 4, "ResourceName": "1"}, {"ResourceType": 2, "ResourceName": "1"}],
    }

    assert filled(request, 7) == {
        "Assignments": [{"BrokerIds": [7]}, {"BrokerIds": [99]}],
        "Resources": [{"ResourceType": 4, "ResourceName": "7"}, {"ResourceType": 2, "ResourceName": "1"}],
    }

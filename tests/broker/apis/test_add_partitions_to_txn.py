"""AddPartitionsToTxn: what is refused before the coordinator is asked, and its codes in each version."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from tests.support.group_apis import GroupApis
from tests.support.transactional import add, asked, codes, elsewhere, load_slowly, producer, state

Make = Callable[..., Call]
UNKNOWN, LOADING, ELSEWHERE, UNAUTHORIZED, BAD_REQUEST, BAD_EPOCH = 3, 14, 16, 29, 42, 47
NO_MAPPING, NOT_ATTEMPTED, FENCED, NOT_ADDED = 49, 55, 90, 120


@pytest.fixture
def lab(make_call: Make) -> GroupApis:
    """A broker with topic "t" of two partitions."""
    lab = GroupApis(make_call)
    lab.cluster.topics.create("t", 2)
    return lab


@pytest.mark.rules("TX-9")
@pytest.mark.parametrize("version", range(4))
def test_the_first_partition_begins_the_transaction(lab: GroupApis, version: int) -> None:
    """Also when it is added twice, or no partition at all."""
    who = producer(lab)

    assert state(lab) == "Empty"
    assert add(lab, who, version) == {}
    assert state(lab) == "Ongoing"
    assert add(lab, who, version, t=[0, 1]) == add(lab, who, version, t=[0, 1]) == {("t", 0): 0, ("t", 1): 0}


@pytest.mark.rules("TX-8")
def test_nothing_is_added_beside_what_cannot_be(lab: GroupApis) -> None:
    """Unknown partitions 3 and internal topics 29, before the coordinator is asked; the others 55."""
    lab.cluster.group_partition("g")
    who = producer(lab)

    assert add(lab, who, t=[0, 7]) == {("t", 0): NOT_ATTEMPTED, ("t", 7): UNKNOWN}
    refused = add(lab, {**who, "transactional_id": ""}, __consumer_offsets=[0], t=[1], u=[0])
    assert refused == {("__consumer_offsets", 0): UNAUTHORIZED, ("t", 1): NOT_ATTEMPTED, ("u", 0): UNKNOWN}
    assert state(lab) == "Empty"


@pytest.mark.rules("TX-9")
@pytest.mark.parametrize(("version", "fenced"), [(0, BAD_EPOCH), (1, BAD_EPOCH), (2, FENCED), (3, FENCED)])
def test_who_may_not_add(lab: GroupApis, version: int, fenced: int) -> None:
    """An empty id, unknown ids, and other epochs, which v0 and v1 call another name."""
    who = producer(lab)

    for changed, code in (
        ({"transactional_id": ""}, BAD_REQUEST),
        ({"transactional_id": "other"}, NO_MAPPING),
        ({"producer_id": 999}, NO_MAPPING),
        ({"producer_epoch": 1}, fenced),
        ({"producer_epoch": -1}, fenced),
    ):
        assert add(lab, {**who, **changed}, version, t=[0]) == {("t", 0): code}
    assert state(lab) == "Empty"


@pytest.mark.rules("TX-14", "TX-9")
@pytest.mark.parametrize("version", [4, 5])
def test_brokers_send_many_transactions(lab: GroupApis, version: int) -> None:
    """Each is added, verified or refused by itself, and answered in its place."""
    one, two = producer(lab, "one"), producer(lab, "two")
    transactions = [
        asked(one, t=[0]),
        asked(two, verify=True, t=[1]),
        asked({**two, "producer_epoch": 5}, t=[0]),
        asked(two, t=[0, 9]),
        asked({**two, "transactional_id": ""}, verify=True, t=[0]),
    ]
    answer = lab.ask("AddPartitionsToTxn", version, transactions=transactions)

    assert answer.error_code == 0
    assert [(each.transactional_id, codes(each.topic_results)) for each in answer.results_by_transaction] == [
        ("one", {("t", 0): 0}),
        ("two", {("t", 1): NOT_ADDED}),
        ("two", {("t", 0): FENCED}),
        ("two", {("t", 0): NOT_ATTEMPTED, ("t", 9): UNKNOWN}),
        ("", {("t", 0): BAD_REQUEST}),
    ]


@pytest.mark.rules("TX-14")
def test_no_transactions(lab: GroupApis) -> None:
    """Kafka never answers; here the answer is empty."""
    assert lab.ask("AddPartitionsToTxn", 4, transactions=[]).results_by_transaction == []


@pytest.mark.rules("TX-14")
def test_topics_without_partitions(lab: GroupApis) -> None:
    """They are repeated when they are added, and left out when they are verified."""
    who = producer(lab)
    for verify, names in ((False, ["t"]), (True, [])):
        answer = lab.ask("AddPartitionsToTxn", 5, transactions=[asked(who, verify=verify, t=[])])
        assert [each.name for each in answer.results_by_transaction[0].topic_results] == names


@pytest.mark.rules("CLU-13")
def test_another_broker_coordinates(make_call: Make) -> None:
    """16 on every partition, after unknown partitions; v4 tells it per transaction and nothing at the top."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    lab.cluster.topics.create("t", 2)
    who = {"transactional_id": elsewhere(lab), "producer_id": 1, "producer_epoch": 0}

    assert add(lab, who, t=[0, 1]) == {("t", 0): ELSEWHERE, ("t", 1): ELSEWHERE}
    assert add(lab, who, t=[0, 5]) == {("t", 0): NOT_ATTEMPTED, ("t", 5): UNKNOWN}
    answer = lab.ask("AddPartitionsToTxn", 4, transactions=[asked(who, t=[0])])
    assert answer.error_code == 0
    assert codes(answer.results_by_transaction[0].topic_results) == {("t", 0): ELSEWHERE}


@pytest.mark.rules("LD-1")
def test_a_coordinator_that_loads(lab: GroupApis) -> None:
    """14 until it has read its log."""
    who = producer(lab)
    load_slowly(lab)

    assert add(lab, who, t=[0]) == {("t", 0): LOADING}

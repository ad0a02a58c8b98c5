"""The administrator's steps and those with records, against the broker in virtual time."""

import pytest

from fakebroker.client.record_steps import ProducedRecord
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument
from tests.client.scripted.test_scripted_client import TOPIC, clients_in_sim

EARLIER_MS = 999_993_600_000  # 2001-09-09, before the time of day of these brokers


@pytest.fixture
def client() -> ScriptedClient:
    """A client of a broker with one topic of two partitions."""
    return clients_in_sim().client("admin")


def test_topics_come_grow_and_go(client: ScriptedClient) -> None:
    """A topic is made with settings, gets partitions, is described, and is deleted."""
    made = client.create_topic("bills", 2, config={"cleanup.policy": "compact"})
    assert (made.topics[0].error_code, made.topics[0].num_partitions) == (0, 2)
    assert client.create_partitions("bills", 3).results[0].error_code == 0
    assert len(client.describe_topic("bills").topics[0].partitions) == 3
    assert sorted(topic.name for topic in client.metadata().topics) == ["bills", TOPIC]
    assert client.delete_topic("bills").responses[0].error_code == 0
    assert client.describe_topic("bills").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_replicas_of_a_new_topic_can_be_named(client: ScriptedClient) -> None:
    """Partitions with named nodes take the place of the two numbers."""
    made = client.create_topic("bills", replicas={0: [1], 1: [1]})

    assert (made.topics[0].error_code, made.topics[0].num_partitions) == (0, 2)


@pytest.mark.parametrize(
    "versions",
    [{}, {"FindCoordinator": 1, "Metadata": 0, "DeleteTopics": 1, "CreateTopics": 4}],
)
def test_old_versions_say_the_same_in_other_fields(versions: dict[str, int]) -> None:
    """What has moved between fields from version to version is put where the version has it."""
    client = clients_in_sim().client("admin", versions)
    found = client.find_coordinator("billing")

    assert (found.coordinators[0] if not versions else found).node_id == 1
    assert client.create_topic("bills").topics[0].error_code == 0
    assert len(client.metadata().topics) >= 2
    assert client.delete_topic("bills").responses[0].error_code == 0


def test_groups_are_listed_described_and_deleted(client: ScriptedClient) -> None:
    """A group with committed offsets is seen by every question, loses an offset, and goes."""
    client.commit({(TOPIC, 0): 4, (TOPIC, 1): 5}, group_id="billing")
    assert [group.group_id for group in client.list_groups().groups] == ["billing"]
    assert client.list_groups(states=["Stable"]).groups == []
    assert client.describe_group("billing").groups[0].group_state == "Empty"
    assert client.delete_offsets("billing", [(TOPIC, 0)]).error_code == 0
    assert [row[:2] for row in client.committed("billing").topics[0].partitions] == [(1, 5)]
    assert client.delete_group("billing").results[0].error_code == 0
    assert client.list_groups().groups == []


def test_settings_are_changed_and_put_back(client: ScriptedClient) -> None:
    """None takes a setting back to its default; only the keys that are asked for are answered."""
    for value, expected in (("1000", "1000"), (True, "true"), (None, "false")):
        key = "retention.ms" if expected == "1000" else "preallocate"
        assert client.alter_configs(TOPIC, {key: value}).responses[0].error_code == 0
        configs = client.describe_configs(TOPIC, keys=[key]).results[0].configs
        assert [(config.name, config.value) for config in configs] == [(key, expected)]
    assert client.describe_configs("1", kind="broker").results[0].error_code == 0


def test_the_cluster_is_described(client: ScriptedClient) -> None:
    """DescribeCluster names the brokers."""
    assert [broker.broker_id for broker in client.describe_cluster().brokers] == [1]


def test_records_have_keys_headers_and_times(client: ScriptedClient) -> None:
    """What is produced is fetched as it was; values may stand alone, texts are UTF-8."""
    made = ProducedRecord("k", "v", {"trace": "7", "none": None}, EARLIER_MS)
    client.produce(TOPIC, 0, [made, "value", (b"\xff", None)], timestamp_ms=5)

    first, second, third = client.fetch(TOPIC, 0, 0)
    assert (first.timestamp_ms, first.key, first.value) == (EARLIER_MS, b"k", b"v")
    assert list(first.headers) == [(b"trace", b"7"), (b"none", None)]
    assert (second.timestamp_ms, second.key, second.value) == (5, None, b"value")
    assert (third.key, third.value) == (b"\xff", None)


def test_offsets_by_time(client: ScriptedClient) -> None:
    """ListOffsets takes names, milliseconds and ISO 8601 texts."""
    for timestamp_ms in (EARLIER_MS, EARLIER_MS + 9000, EARLIER_MS + 1000):
        client.produce(TOPIC, 0, [("k", "v")], timestamp_ms)

    def at(when: str | int) -> int:
        offset: int = client.list_offsets(TOPIC, 0, when).topics[0].partitions[0][4]
        return offset

    assert [at(when) for when in ("earliest", "latest", "max_timestamp")] == [0, 3, 1]
    assert at(EARLIER_MS + 1) == at("2001-09-09T00:00:00.001Z") == 1
    for wrong in ("first", "2001-09-09", True):
        with pytest.raises(InvalidArgument, match="at="):
            at(wrong)


def test_an_idempotent_producer_counts_its_sequences(client: ScriptedClient) -> None:
    """Batches follow each other; one sent again is a duplicate, one that leaves a gap is refused."""
    with pytest.raises(FakebrokerError, match="init_producer_id"):
        client.produce(TOPIC, 0, ["a"], idempotent=True)
    client.init_producer_id()

    offsets = [client.produce(TOPIC, 0, ["a", "b"], idempotent=True) for _ in range(2)]
    again = client.produce(TOPIC, 0, ["a", "b"], idempotent=True, base_sequence=2)
    gap = client.produce(TOPIC, 0, ["a"], idempotent=True, base_sequence=9)

    answers = [each.responses[0].partition_responses[0] for each in (*offsets, again, gap)]
    assert [each.base_offset for each in answers[:3]] == [0, 2, 2]
    assert answers[3].error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_produce_without_acks_has_no_answer(client: ScriptedClient) -> None:
    """With acks 0 the step is over when the request is sent, and the record is there."""
    assert client.produce(TOPIC, 0, ["a"], acks=0) is None
    assert [record.value for record in client.fetch(TOPIC, 0, 0)] == [b"a"]


def test_records_are_deleted_up_to_an_offset(client: ScriptedClient) -> None:
    """DeleteRecords moves the start of the log; the end of a leader epoch is where the log ends."""
    client.produce(TOPIC, 0, ["a", "b", "c"])

    assert client.delete_records(TOPIC, 0, 2).topics[0].partitions[0].low_watermark == 2
    assert client.list_offsets(TOPIC, 0, "earliest").topics[0].partitions[0][4] == 2
    assert client.offset_for_leader_epoch(TOPIC, 0, 0).topics[0].partitions[0].end_offset == 3

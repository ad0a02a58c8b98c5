"""A scripted client as a transactional producer, with both transaction protocols, in virtual time and over TCP."""

from collections.abc import Iterator

import pytest

from fakebroker.client.committed_records import committed_records
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument
from fakebroker.protocol.records.batch import build_batch, with_base_offset
from fakebroker.protocol.records.markers import build_marker
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.fetch import AbortedTransaction
from tests.client.scripted.test_scripted_client import TOPIC, clients, clients_in_sim

__all__ = ["clients"]  # the fixture: each test in virtual time, and over sockets


def producer_of(clients: ScriptedClients, transactional_id: str = "tx-1", protocol: int = 2) -> ScriptedClient:
    """A producer, initialized."""
    client = clients.client("producer")
    client.find_coordinator(transactional_id, key_type="transaction")
    assert client.init_producer_id(transactional_id, transaction_protocol=protocol).error_code == 0
    return client


def produced(client: ScriptedClient, *values: str, epoch: int | None = None) -> int:
    """The error code of a produce in the transaction."""
    answer = client.produce(TOPIC, 0, list(values), transactional=True, producer_epoch=epoch)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def committed(client: ScriptedClient) -> list[bytes | None]:
    """The committed values."""
    return [record.value for record in client.fetch(TOPIC, 0, 0, isolation_level=1)]


@pytest.mark.rules("TX-10", "TX-11", "TX-12")
def test_a_transaction_with_protocol_2(clients: ScriptedClients) -> None:
    """Nothing has to be added first; each end gives the epoch of the next transaction."""
    client = producer_of(clients)
    assert produced(client, "a") == 0
    assert client.txn_offset_commit({(TOPIC, 1): 7}, "billing").topics[0].partitions[0].error_code == 0
    assert committed(client) == []

    assert client.commit_transaction().producer_epoch == client.steps.producer_epoch == 1
    assert committed(client) == [b"a"]
    assert client.committed("billing", [(TOPIC, 1)]).topics[0].partitions[0][1] == 7
    assert produced(client, "b") == 0
    assert client.abort_transaction().producer_epoch == 2
    assert committed(client) == [b"a"]
    assert [record.value for record in client.fetch(TOPIC, 0, 0)] == [b"a", b"b"]


@pytest.mark.rules("TX-1", "TX-6", "TO-5")
def test_a_transaction_with_protocol_1(clients: ScriptedClients) -> None:
    """Partitions and groups are added first; the epoch stays, and sequences go on."""
    client = producer_of(clients, protocol=1)
    assert produced(client, "early") == ErrorCode.TRANSACTION_ABORTABLE
    client.init_producer_id("tx-1", transaction_protocol=1)
    for value in ("a", "b"):
        added = client.add_partitions_to_txn([(TOPIC, 0)])
        assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
        assert client.add_offsets_to_txn("billing").error_code == 0
        assert produced(client, value) == 0
        assert client.txn_offset_commit({(TOPIC, 1): 7}, "billing").topics[0].partitions[0].error_code == 0
        ended = client.commit_transaction() if value == "a" else client.abort_transaction()
        assert (ended.error_code, client.steps.producer_epoch) == (0, 1)
    assert committed(client) == [b"a"]


@pytest.mark.rules("TX-1", "TX-10")
def test_a_release_without_protocol_2_is_spoken_to_with_1() -> None:
    """Kafka 3.9 serves the versions of protocol 1 only."""
    client = producer_of(clients_in_sim("3.9"))
    assert produced(client, "a") == ErrorCode.INVALID_TXN_STATE or client.init_producer_id("tx-1").error_code == 0
    client.add_partitions_to_txn([(TOPIC, 0)])
    assert produced(client, "a") == 0
    assert client.commit_transaction().error_code == 0
    assert (committed(client), client.steps.producer_epoch) == ([b"a"], 1)


@pytest.mark.rules("PI-7", "TX-7", "TX-22")
def test_a_zombie_is_fenced(clients: ScriptedClients) -> None:
    """The same transactional id, initialized again: whoever had it before writes and ends nothing."""
    zombie = producer_of(clients)
    client = producer_of(clients)

    assert client.steps.producer_epoch == zombie.steps.producer_epoch + 1
    assert produced(zombie, "a") == ErrorCode.INVALID_PRODUCER_EPOCH
    assert zombie.commit_transaction().error_code == ErrorCode.PRODUCER_FENCED
    assert produced(client, "b") == 0
    client.commit_transaction()
    assert committed(client) == [b"b"]


@pytest.mark.rules("TO-7")
def test_offsets_are_committed_for_a_member(clients: ScriptedClients) -> None:
    """Generation and member are checked, so that a consumer that has lost its partitions commits nothing."""
    consumer = clients.client("consumer")
    consumer.join("billing", [TOPIC])
    consumer.sync({consumer.member_id: {TOPIC: [0, 1]}})
    client = producer_of(clients)

    codes = [
        client.txn_offset_commit({(TOPIC, 0): 3}, "billing", generation_id=generation, member_id=consumer.member_id)
        .topics[0]
        .partitions[0]
        .error_code
        for generation in (consumer.generation_id, consumer.generation_id + 1)
    ]
    assert codes == [0, ErrorCode.ILLEGAL_GENERATION]


@pytest.mark.rules("TX-7", "TX-22")
def test_another_epoch_can_be_given(clients: ScriptedClients) -> None:
    """Every step takes one, as a zombie would have it."""
    client = producer_of(clients)
    assert produced(client, "a", epoch=7) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert client.commit_transaction(producer_epoch=7).error_code == ErrorCode.PRODUCER_FENCED
    assert client.abort_transaction(producer_epoch=7).error_code == ErrorCode.PRODUCER_FENCED
    assert client.add_offsets_to_txn("billing", producer_epoch=7).error_code == ErrorCode.PRODUCER_FENCED


def test_what_is_no_producer_is_reported() -> None:
    """Each step of a transaction needs a transactional id, and there are two protocols."""
    client = clients_in_sim().client("a")
    for step in (client.commit_transaction, client.abort_transaction):
        with pytest.raises(FakebrokerError, match="no transactional id: take the step init_producer_id"):
            step()
    client.init_producer_id()
    with pytest.raises(FakebrokerError, match="no transactional id"):
        client.produce(TOPIC, 0, ["a"], transactional=True)
    with pytest.raises(InvalidArgument, match="transaction_protocol is 3; it must be 1 or 2"):
        client.init_producer_id("tx-1", transaction_protocol=3)
    with pytest.raises(InvalidArgument, match="partitions"):
        client.add_partitions_to_txn("orders")  # type: ignore[arg-type]


# -- what is made of fetched batches -----------------------------------------------------------------------------------


def log_of(*entries: tuple[int, str]) -> bytes:
    """Batches of one record each: (producer id, value); "commit" and "abort" are markers, -1 is no producer."""
    data = b""
    for offset, (producer_id, value) in enumerate(entries):
        if value in ("commit", "abort"):
            batch = build_marker(producer_id, 0, commit=value == "commit", coordinator_epoch=0, timestamp_ms=0)
        else:
            is_transactional = producer_id >= 0
            records = [Record(0, 0, None, value.encode())]
            batch = build_batch(records, transactional=is_transactional, producer_id=producer_id, producer_epoch=0)
        data += with_base_offset(batch, offset, 0)
    return data


def values(data: bytes, *aborted: tuple[int, int]) -> Iterator[str]:
    """The values of what a consumer is given."""
    listed = [AbortedTransaction(producer_id=producer_id, first_offset=offset) for producer_id, offset in aborted]
    return (str(record.value, "utf-8") for record in committed_records(data, listed) if record.value is not None)


@pytest.mark.rules("FT-15", "TX-4")
def test_records_of_aborted_transactions_are_passed_over() -> None:
    """From the first offset of each up to the marker of its producer, whatever lies between."""
    data = log_of((1, "a"), (2, "b"), (-1, "c"), (1, "abort"), (1, "d"), (2, "commit"), (1, "commit"))

    assert [*values(data, (1, 0))] == ["b", "c", "d"]
    assert [*values(data)] == ["a", "b", "c", "d"]


@pytest.mark.rules("FT-15")
def test_two_aborted_transactions_of_one_producer() -> None:
    """Each has its own entry, in whatever order; what was committed between them is seen."""
    data = log_of((1, "a"), (1, "abort"), (1, "b"), (1, "commit"), (1, "c"), (1, "abort"))

    assert [*values(data, (1, 4), (1, 0))] == ["b"]


def test_markers_are_no_records() -> None:
    """Not even without isolation, as no consumer ever sees them."""
    assert [*committed_records(log_of((1, "commit"), (2, "abort")))] == []

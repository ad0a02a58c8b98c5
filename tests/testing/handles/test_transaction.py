"""What a test sees of a transactional id, what it does to it without a client, and what it can wait for."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, KafkaError, WaitTimeout
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.testing.broker import AsyncFakeBroker, FakeBroker
from fakebroker.testing.virtual_broker import START_WALL_MS, VirtualBroker

FENCED = "aborted, with its producer fenced, unless it ends before"
ONGOING = "it is Ongoing with 1 partition, producer 0 with epoch 0"
NO_PARTITIONS: list[tuple[str, int]] = []


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    with VirtualBroker() as running:
        running.create_topic("orders", partitions=2)
        yield running


@pytest.fixture
def producer(broker: VirtualBroker) -> ScriptedClient:
    """The producer of the transactional id "tx-1"."""
    client = broker.client("producer")
    client.find_coordinator("tx-1", key_type="transaction")
    assert client.init_producer_id("tx-1").error_code == 0
    return client


def test_an_id_that_nobody_knows(broker: VirtualBroker) -> None:
    """It is Dead; looking at it makes no internal topic."""
    transaction = broker.transaction("tx-1")

    assert (transaction.exists, transaction.state, transaction.producer_id) == (False, "Dead", -1)
    assert (transaction.partitions, transaction.due_ms, transaction.timeout_ms) == ([], None, -1)
    assert str(transaction.explain()) == "transaction tx-1: Dead\n  unknown to every coordinator"
    assert (broker.transactions, broker.topic("__transaction_state").exists) == ([], False)


def test_where_it_is_stored(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """Partition and coordinator are the same before the topic is made and after it."""
    coordinator = broker.transaction_coordinator("tx-2")
    before = (coordinator.partition, coordinator.node_id)
    with VirtualBroker() as fresh:
        expected = fresh.transaction_coordinator("tx-2")
        assert (expected.partition, expected.node_id) == before

    found = producer.find_coordinator("tx-2", key_type="transaction").coordinators[0]
    assert found.node_id == before[1]


@pytest.mark.rules("TX-11", "TX-12")
def test_a_transaction_from_its_begin_to_its_end(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """State, producer, partitions and times are those of the coordinator at every moment."""
    transaction = broker.transaction("tx-1")
    assert (transaction.state, transaction.partitions, transaction.start_ms) == ("Empty", [], -1)

    broker.clock.advance(seconds=1)
    producer.produce("orders", 1, ["a"], transactional=True)
    assert (transaction.state, transaction.partitions) == ("Ongoing", [("orders", 1)])
    assert (transaction.producer_epoch, transaction.transaction_protocol) == (0, 2)
    times_ms = (transaction.start_ms, transaction.timeout_ms, transaction.due_ms)
    assert times_ms == (START_WALL_MS + 1000, 60_000, START_WALL_MS + 61_001)

    producer.commit_transaction()
    transaction.wait("CompleteCommit", partitions=0, epoch=1)
    assert (transaction.producer_epoch, transaction.due_ms) == (1, None)
    assert [each.transactional_id for each in broker.transactions] == ["tx-1"]
    assert [(each.before, each.after) for each in transaction.transitions] == [
        ("Empty", "Empty"),
        ("Empty", "Ongoing"),
        ("Ongoing", "PrepareCommit"),
        ("PrepareCommit", "CompleteCommit"),
    ]


@pytest.mark.rules("TX-23", "TX-24")
def test_what_happens_if_nobody_does_anything(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """The times that `explain` gives are those at which it comes: the abort, and that the id is forgotten."""
    transaction = broker.transaction("tx-1")
    producer.produce("orders", 0, ["a"], transactional=True)

    explanation = transaction.explain()
    assert (explanation.state, explanation.rule, explanation.due_ms) == ("Ongoing", "TX-23", START_WALL_MS + 60_001)
    assert explanation.pass_ms is not None
    broker.clock.set(explanation.pass_ms - 1)
    assert transaction.state == "Ongoing"
    broker.clock.set(explanation.pass_ms)
    transaction.wait("CompleteAbort")

    explanation = transaction.explain()
    assert (explanation.rule, explanation.due_ms) == ("TX-24", transaction.last_update_ms + 604_800_000)
    assert explanation.pass_ms is not None
    broker.clock.set(explanation.pass_ms - 1)
    assert transaction.exists
    broker.clock.set(explanation.pass_ms)
    assert (transaction.exists, transaction.state) == (False, "Dead")


@pytest.mark.rules("TX-23")
def test_the_text_of_an_open_transaction(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """One line says what it is, one what it has, one what becomes of it."""
    producer.produce("orders", 0, ["a"], transactional=True)

    assert str(broker.transaction("tx-1").explain()).splitlines() == [
        "transaction tx-1: Ongoing since 2026-01-01 00:00, producer 0 with epoch 0, timeout 60000 ms",
        "  partitions: orders-0",
        f"  due 2026-01-01 00:01:00, checked 2026-01-01 00:01:10: {FENCED} (TX-23)",
    ]


@pytest.mark.rules("TX-2")
def test_markers_that_are_on_their_way() -> None:
    """While a transaction ends, it shows the partitions without markers, and why one has none yet."""
    with VirtualBroker(nodes=3, config={"fakebroker.transaction.markers.delay.ms": 500}) as broker:
        broker.create_topic("orders", replication_factor=1)
        producer = a_producer(broker)
        leader = broker.topic("orders").leaders[0]
        producer.produce_to_leader(leader)
        producer.client.commit_transaction()
        transaction = broker.transaction("tx-1")
        assert (transaction.state, transaction.partitions) == ("PrepareCommit", [("orders", 0)])
        assert transaction.explain().next == "its commit markers are being written"
        assert transaction.explain().rule == "TX-2"


def test_a_partition_whose_leader_was_killed_is_waited_for() -> None:
    """The transaction is not complete before the leader is back; `explain` names the partition."""
    with VirtualBroker(nodes=3, config={"fakebroker.transaction.markers.delay.ms": 500}) as broker:
        producer = a_producer(broker)
        others = [
            node.node_id for node in broker.nodes if node.node_id != broker.transaction_coordinator("tx-1").node_id
        ]
        broker.create_topic("orders", replication_factor=1)
        broker.topic("orders").partition(0).reassign([others[0]])
        producer.produce_to_leader(others[0])
        producer.client.commit_transaction()
        broker.node(others[0]).kill()

        transaction = broker.transaction("tx-1")
        broker.clock.advance(seconds=30, timers=True)
        assert transaction.explain().next == ("its commit markers are being written; orders-0 has no running leader")
        with pytest.raises(WaitTimeout, match="it is PrepareCommit with 1 partition, producer 0 with epoch 1"):
            transaction.wait("CompleteCommit", timeout_s=0.1)
        broker.node(others[0]).start()
        transaction.wait("CompleteCommit")


@pytest.mark.rules("TX-23")
def test_a_test_aborts_a_transaction(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """It is aborted as if it were overdue: the producer is fenced, and the reason is in the journal."""
    transaction = broker.transaction("tx-1")
    producer.produce("orders", 0, ["a"], transactional=True)
    transaction.abort("the operator is tired of it")

    transaction.wait("CompleteAbort")
    assert transaction.producer_epoch == 1
    assert "the operator is tired of it" in [each.reason for each in transaction.transitions]
    late = producer.produce("orders", 0, ["b"], transactional=True)
    assert late.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert broker.client("reader").fetch("orders", 0, 0, isolation_level=1) == []


@pytest.mark.rules("TX-20", "TX-22")
def test_what_cannot_be_aborted_is_refused() -> None:
    """With the error that Kafka has for it, and nothing happens."""
    with VirtualBroker(config={"fakebroker.transaction.markers.delay.ms": 500}) as broker:
        broker.create_topic("orders")
        transaction = broker.transaction("tx-1")
        with pytest.raises(KafkaError, match="TRANSACTIONAL_ID_NOT_FOUND: the transactional id"):
            transaction.abort()
        producer = a_producer(broker).client
        with pytest.raises(KafkaError, match="INVALID_TXN_STATE: transaction 'tx-1' is Empty, so there is nothing"):
            transaction.abort()
        producer.produce("orders", 0, ["a"], transactional=True)
        producer.commit_transaction()
        with pytest.raises(KafkaError, match="CONCURRENT_TRANSACTIONS: transaction 'tx-1' is PrepareCommit"):
            transaction.abort()
        transaction.wait("CompleteCommit")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"state": "Committed"}, "state: there is no 'Committed'; there are Empty, Ongoing, "),
        ({"state": "PrepareEpochFence"}, "state: there is no 'PrepareEpochFence'; there are "),
        ({"partitions": -1}, "partitions"),
        ({"epoch": "one"}, "epoch"),
    ],
)
def test_waits_in_vain_are_refused(broker: VirtualBroker, wanted: dict[str, str], message: str) -> None:
    """What no transaction can be is an InvalidArgument at once."""
    with pytest.raises(InvalidArgument, match=message):
        broker.transaction("tx-1").wait(**wanted)  # type: ignore[arg-type]


def test_a_wait_that_failed_says_what_there_is(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """State, partitions, producer and how it came there."""
    producer.produce("orders", 0, ["a"], transactional=True)
    with pytest.raises(WaitTimeout) as raised:
        broker.transaction("tx-1").wait("CompleteCommit", partitions=0, epoch=1, timeout_s=1)

    assert str(raised.value).splitlines() == [
        f"waited 1 s for transaction tx-1 to be CompleteCommit with 0 partitions with epoch 1 or later; {ONGOING}",
        "  partition orders-0",
        "  Empty -> Empty, epoch 0: InitProducerId returned epoch 0",
        "  Empty -> Ongoing, epoch 0: partitions were added",
    ]
    with pytest.raises(WaitTimeout, match="to be Ongoing; it is Dead: unknown to every coordinator"):
        broker.transaction("tx-2").wait("Ongoing", timeout_s=0)


def test_a_wait_on_a_broker_with_sockets() -> None:
    """It is over as soon as another thread's producer has committed."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        client = broker.client("producer")
        client.find_coordinator("tx-1", key_type="transaction")

        def produce() -> None:
            client.init_producer_id("tx-1")
            client.produce("orders", 0, ["a"], transactional=True)
            client.commit_transaction()

        thread = threading.Thread(target=produce)
        thread.start()
        transaction = broker.transaction("tx-1").wait("CompleteCommit")
        thread.join()
        assert (transaction.state, transaction.partitions) == ("CompleteCommit", NO_PARTITIONS)


async def wait_in_a_loop() -> int:
    """The epoch after the abort that a client in a thread asks for; steps of scripted clients block."""
    async with AsyncFakeBroker() as broker:
        broker.create_topic("orders")
        client = broker.client("producer")

        def produce() -> None:
            client.find_coordinator("tx-1", key_type="transaction")
            client.init_producer_id("tx-1")
            client.produce("orders", 0, ["a"], transactional=True)
            client.abort_transaction()

        await asyncio.to_thread(produce)
        transaction = await broker.transaction("tx-1").wait("CompleteAbort")
        epoch: int = transaction.producer_epoch
        return epoch


def test_a_wait_in_a_loop() -> None:
    """AsyncFakeBroker gives an awaitable of the handle."""
    assert asyncio.run(wait_in_a_loop()) == 1


# -- its coordinator ---------------------------------------------------------------------------------------------------


@pytest.mark.rules("TX-25")
def test_an_open_transaction_moves_with_its_coordinator() -> None:
    """The new coordinator has it from the log, and its timeout counts from the same moment."""
    with VirtualBroker(nodes=2) as broker:
        producer = a_producer(broker)
        broker.create_topic("orders")
        producer.client.add_partitions_to_txn([("orders", 0)])
        transaction, coordinator = broker.transaction("tx-1"), broker.transaction_coordinator("tx-1")
        before = (transaction.state, transaction.partitions, transaction.due_ms)
        old = coordinator.node_id
        coordinator.move(to=3 - old)

        assert coordinator.node_id == 3 - old
        assert (transaction.state, transaction.partitions, transaction.due_ms) == before
        assert before[0] == "Ongoing"
        assert producer.client.commit_transaction().error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.rules("PI-4")
def test_a_coordinator_that_loads(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """Requests are told to come again, the handle knows nothing meanwhile, and nothing is lost."""
    producer.produce("orders", 0, ["a"], transactional=True)
    broker.transaction_coordinator("tx-1").load(for_s=5)

    assert producer.commit_transaction().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert broker.transaction("tx-1").state == "Dead"
    with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        broker.transaction("tx-1").explain()
    broker.transaction("tx-1").wait("Ongoing", partitions=1)
    assert producer.commit_transaction().error_code == 0


def test_a_coordinator_that_does_not_know_that_it_was_replaced() -> None:
    """It calls itself coordinator for a while; what it decides is lost, and the new one goes on with what there was."""
    with VirtualBroker(nodes=2) as broker:
        broker.create_topic("orders")
        producer = a_producer(broker)
        coordinator = broker.transaction_coordinator("tx-1")
        old = coordinator.node_id
        coordinator.zombie(for_s=8)

        explanation = {
            node_id: broker.client("any", node_id=node_id)
            .find_coordinator("tx-1", key_type="transaction")
            .coordinators[0]
            .node_id
            for node_id in (1, 2)
        }
        assert explanation == {1: 1, 2: 2}
        answer = producer.client.init_producer_id("tx-1")
        assert answer.error_code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
        assert (coordinator.node_id, broker.transaction("tx-1").producer_epoch) == (3 - old, 0)


def test_coordinators_are_moved_to_brokers_that_are_there(broker: VirtualBroker) -> None:
    """As those of groups."""
    with pytest.raises(InvalidArgument, match="transactional id tx-1 cannot move: other in-sync replicas are none"):
        broker.transaction_coordinator("tx-1").zombie(for_s=1)
    with pytest.raises(InvalidArgument, match="for_s"):
        broker.transaction_coordinator("tx-1").load(for_s=-1)


# -- snapshots ---------------------------------------------------------------------------------------------------------


@pytest.mark.rules("TX-25")
def test_a_snapshot_has_what_was_open(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """It comes from the log: what was ended since is open again, and times out by the clock."""
    producer.produce("orders", 0, ["a"], transactional=True)
    transaction = broker.transaction("tx-1")
    before = (transaction.state, transaction.producer_epoch, transaction.partitions, transaction.due_ms)
    snapshot = broker.snapshot()
    producer.commit_transaction()
    broker.clock.advance(days=30)
    assert not transaction.exists

    broker.restore(snapshot)
    assert (transaction.state, transaction.producer_epoch, transaction.partitions, transaction.due_ms) == before
    broker.clock.advance(minutes=2)
    assert transaction.state == "CompleteAbort"
    assert broker.client("reader").fetch("orders", 0, 0, isolation_level=1) == []


# -- faults ------------------------------------------------------------------------------------------------------------


def test_faults_mean_transactions_by_their_ids(broker: VirtualBroker, producer: ScriptedClient) -> None:
    """Whatever field the request has the id in; the error stands where the API has it."""
    fault = broker.fault(transactional_id="tx-*", error="COORDINATOR_NOT_AVAILABLE")
    producer.steps.newest[ApiKey.END_TXN] = 4

    added = producer.add_partitions_to_txn([("orders", 0), ("orders", 1)])
    [topic] = added.results_by_topic_v3_and_below
    assert [(each.partition_index, each.partition_error_code) for each in topic.results_by_partition] == [
        (0, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ]
    assert producer.commit_transaction().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    [described] = producer.request("DescribeTransactions", transactional_ids=["tx-1"]).transaction_states
    assert (described.transactional_id, described.error_code) == ("tx-1", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert fault.hits == 3
    other = broker.client("other")
    assert other.init_producer_id("another").error_code == 0


class _Producer:
    """A producer of "tx-1" in a cluster: a client of its coordinator, and one of each leader."""

    def __init__(self, broker: VirtualBroker) -> None:
        self._broker = broker
        self.client = broker.client("producer", node_id=broker.transaction_coordinator("tx-1").node_id)

    def produce_to_leader(self, node_id: int) -> None:
        """Produce a record of the transaction to orders-0, which the node leads."""
        client = self._broker.client("producer", node_id=node_id)
        client.steps.transactional_id = "tx-1"
        client.steps.producer_id, client.steps.producer_epoch = self.client.steps.producer_id, 0
        answer = client.produce("orders", 0, ["a"], transactional=True)
        assert answer.responses[0].partition_responses[0].error_code == 0


def a_producer(broker: VirtualBroker) -> _Producer:
    """The producer of "tx-1", with epoch 0."""
    broker.client("any").find_coordinator("tx-1", key_type="transaction")
    producer = _Producer(broker)
    assert producer.client.init_producer_id("tx-1").error_code == 0
    return producer

"""Records of transactional ids that are values until somebody needs their bytes."""

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.logs.pending_batches import DeferredBatch
from fakebroker.broker.core.transactions.records import ForgottenIds, TransactionRecord, in_batches
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.transaction_log import TransactionEntry, TransactionValue, read_transaction
from tests.support.transactions import ONGOING, T0, Transactions


def record(partitions: int = 1, latest: dict[str, int] | None = None) -> TransactionRecord:
    names = tuple(TopicPartition("t" * 200, each) for each in range(partitions))
    return TransactionRecord("x", TransactionValue(1, 2, 3, 1, names, 5), 1, 7, latest or {})


def test_the_bytes_say_what_the_value_says() -> None:
    """Key and value, once they are needed."""
    [(key, value)] = record().records()

    assert read_transaction(key, value) == TransactionEntry("x", record().value)


def test_a_record_is_overwritten_by_a_later_one_and_by_a_tombstone() -> None:
    """Until then it may not be dropped."""
    assert not record(latest={"x": 7}).all_overwritten()
    assert record(latest={"x": 9}).all_overwritten()
    assert record(latest={"y": 7}).all_overwritten()


@given(st.integers(0, 40), st.integers(60, 9000))
def test_the_size_limit_is_exact(partitions: int, limit_bytes: int) -> None:
    """A batch is built only to know, and then its bytes count."""
    some = record(partitions)
    batch = DeferredBatch(0, some, 0, 0, 0, 0).build()

    assert some.is_larger_than(limit_bytes) == (len(batch) > limit_bytes)


def test_memory_grows_with_partitions() -> None:
    """The bound on pending batches counts it."""
    assert record(10).memory_bytes() > record(1).memory_bytes()
    assert ForgottenIds(["a" * 500]).memory_bytes() > ForgottenIds(["a"]).memory_bytes()


@given(st.lists(st.text(max_size=60), max_size=60))
def test_tombstones_fit_into_their_batches(names: list[str]) -> None:
    """None is lost, and the order stays."""
    limit_bytes = 1700
    batches = in_batches(names, limit_bytes)

    assert [name for batch in batches for name in batch] == names
    for batch in batches:
        assert len(DeferredBatch(0, ForgottenIds(batch), 0, 0, 0, 0).build()) <= limit_bytes
    assert not ForgottenIds(names).all_overwritten()


def test_what_was_overwritten_may_be_dropped_from_the_log_and_nothing_else() -> None:
    """With no room for pending batches a load still finds the same."""
    lab = Transactions({"fakebroker.unread.writes.max.bytes": 2000})
    for _ in range(50):
        lab.add(lab.producer(), T0)
        lab.init()
        lab.wait(0)
    lab.add(lab.producer(), T0)
    before = lab.transaction().to_value()

    lab.cluster.nodes[1].transactions.load(lab.state_partition().index, lab.now)

    assert (lab.state(), lab.transaction().to_value()) == (ONGOING, before)
    assert len(lab.entries()) < 50

"""What brokers have before they are sent anything, so that requests at random find something."""

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.engine import SimEngine
from tests.support.transactional import topics

_RECORD = Record(0, 1_700_000_000_000, b"k", b"v", ())
BATCH = build_batch([_RECORD])
TRANSACTIONAL_BATCH = build_batch(
    [_RECORD], transactional=True, producer_id=0, producer_epoch=0, base_sequence=0
)  # of "ab"


def broker_to_fuzz(seed: int = 0) -> SimEngine:
    """A broker with the topic "ab", and with open transactions of "ab", as producer 0 of epoch 0, and "g", 1 of 1."""
    broker = SimEngine(seed=seed)
    broker.cluster.topics.create("ab", 2)
    client = broker.client()
    for number, name in enumerate(("ab", "g")):
        client.ask("FindCoordinator", 1, key=name, key_type=1)
        for epoch in range(number + 1):
            given = client.ask("InitProducerId", 1, transactional_id=name, transaction_timeout_ms=60_000)
            assert (given.error_code, given.producer_id, given.producer_epoch) == (0, number, epoch)
        added = client.ask(
            "AddPartitionsToTxn", 0, v3_and_below_transactional_id=name, v3_and_below_producer_id=number,
            v3_and_below_producer_epoch=number, v3_and_below_topics=topics(ab=[0]),
        )  # fmt: skip
        assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
    client.socket.close()
    return broker

"""How much work the records of aborted transactions are."""

import pytest

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.share_fetches import ShareGroupLab
from tests.support.time import T0
from tests.support.work_counter import calls_of


def calls_to_fetch(batches: int) -> int:
    """A fetch over so many batches of one record each, of a transaction that was aborted."""
    lab = ShareGroupLab(share_isolation_level="read_committed")
    log, now = lab.log(), lab.sim.network.now
    for sequence in range(batches):
        log.append(
            build_batch(
                [Record(0, T0, None, b"v")],
                transactional=True,
                producer_id=1,
                producer_epoch=0,
                base_sequence=sequence,
            ),
            now,
        )
    log.append_marker(1, 0, now, commit=False, coordinator_epoch=0)
    member = lab.member("m")
    calls = calls_of(lambda: member.send(0, batch_size=1, max_records=2 * batches))
    assert lab.states()[batches - 1] == ("Archived", 1)
    return calls


@pytest.mark.rules("SGP-10")
def test_the_work_grows_with_the_batches() -> None:
    """Four times as many aborted batches are about four times the work."""
    assert calls_to_fetch(800) < 5 * calls_to_fetch(200)

"""How much work the records of aborted transactions are."""

from typing import Any

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


def calls_among_others(batches: int) -> int:
    """The same with as many batches between them that are in no transaction: all are acquired as one range."""
    lab = ShareGroupLab(share_isolation_level="read_committed")
    log, now = lab.log(), lab.sim.network.now
    for sequence in range(batches):
        fields: dict[str, Any] = {
            "transactional": True,
            "producer_id": 1,
            "producer_epoch": 0,
            "base_sequence": sequence,
        }
        log.append(build_batch([Record(0, T0, None, b"v")]), now)
        log.append(build_batch([Record(0, T0, None, b"v")], **fields), now)
    log.append_marker(1, 0, now, commit=False, coordinator_epoch=0)
    member = lab.member("m")
    calls = calls_of(lambda: member.send(0, batch_size=2_000, max_records=2 * batches))
    states = lab.states()
    assert [states[offset] for offset in (0, 1, 2 * batches - 2, 2 * batches - 1)] == [
        ("Acquired", 1),
        ("Archived", 1),
    ] * 2
    return calls


@pytest.mark.rules("SGP-10")
def test_the_work_among_other_records_grows_with_the_batches() -> None:
    """Each aborted batch is a part of the range: no other part of it is looked at for it."""
    assert calls_among_others(800) < 5 * calls_among_others(200)


@pytest.mark.rules("SGP-10")
def test_the_work_grows_with_the_batches() -> None:
    """Four times as many aborted batches are about four times the work."""
    assert calls_to_fetch(800) < 5 * calls_to_fetch(200)

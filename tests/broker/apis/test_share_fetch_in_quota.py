"""ShareFetch of a client that has a quota: what it gets beyond it, and what becomes of the records."""

import pytest

from fakebroker.broker.core.quotas.client_quotas import make_entity
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.support.share_fetches import ACCEPT, ShareGroupLab, listed, ranges
from tests.support.time import T0

LOCK_MS = 30_000


def lab_with_records(count: int, partitions: int = 1) -> ShareGroupLab:
    """Records of 4,000 bytes in partition 0, each a batch."""
    lab = ShareGroupLab(partitions)
    for _ in range(count):
        lab.log().append(build_batch([Record(0, T0, None, b"v" * 4000)]), lab.sim.network.now)
    return lab


def set_quota(lab: ShareGroupLab, key: str = "consumer_byte_rate", limit: float | None = 1000) -> None:
    lab.cluster.client_quotas.alter(make_entity({"user": None}), {key: limit})


@pytest.mark.rules("SGF-20", "QU-8")
def test_beyond_the_quota_no_records_come_until_the_throttle_time_is_over() -> None:
    """Two answers of 4 KB are within ten seconds of 1,000 bytes, the third is not, as Kafka 4.3.1 answered."""
    lab = lab_with_records(6)
    set_quota(lab)
    member = lab.member("m")
    within = [member.send(0, max_bytes=4500, max_records=1) for _ in range(2)]
    assert [(ranges(each), each.throttle_time_ms) for each in within] == [([(0, 0, 1)], 0), ([(1, 1, 1)], 0)]

    refused = member.send(max_bytes=4500, max_records=1)
    assert (refused.error_code, refused.responses) == (0, [])
    assert 3000 < refused.throttle_time_ms < 4000
    assert member.send(max_bytes=4500, max_records=1) is None
    lab.wait(refused.throttle_time_ms - 1)
    assert member.answer() is None
    lab.wait(1)
    assert member.answer() is not None


@pytest.mark.rules("SGF-20")
def test_what_was_not_sent_stays_acquired_until_its_lock_ends() -> None:
    """The next answer has the record behind it, and the record comes later as one that was delivered before."""
    lab = lab_with_records(4)
    set_quota(lab)
    member = lab.member("m")
    for _ in range(3):
        throttle_ms = member.send(0, max_bytes=4500, max_records=1).throttle_time_ms
    assert throttle_ms > 0
    set_quota(lab, limit=None)
    lab.wait(throttle_ms)

    assert member.fetch(max_bytes=4500, max_records=1) == [(3, 3, 1)]
    lab.wait(LOCK_MS)
    assert [member.fetch(max_bytes=4500, max_records=1) for _ in range(3)] == [[(0, 0, 2)], [(1, 1, 2)], [(2, 2, 2)]]


@pytest.mark.rules("SGF-20")
def test_a_throttled_request_acknowledges() -> None:
    """Its acknowledgements are carried out, and the answer tells of them."""
    lab = lab_with_records(4)
    set_quota(lab)
    member = lab.member("m")
    for _ in range(2):
        assert ranges(member.send(0, max_bytes=4500, max_records=1))
    throttled = member.send(acks=[(0, 0, ACCEPT)], max_bytes=4500, max_records=1)

    assert throttled.throttle_time_ms > 0
    assert (listed(throttled), ranges(throttled)) == ({0: (0, 0)}, [])
    assert 0 not in lab.states()


@pytest.mark.rules("SGF-20", "SGF-15")
def test_a_partition_that_an_answer_left_out_is_in_a_later_one() -> None:
    """It was added to the session with the request that was throttled."""
    lab = lab_with_records(4, partitions=2)
    set_quota(lab)
    member = lab.member("m")
    for _ in range(2):
        assert ranges(member.send(0, max_bytes=4500, max_records=1))
    throttled = member.send(1, max_bytes=9000, max_records=1)
    assert (throttled.responses, throttled.throttle_time_ms > 0) == ([], True)
    set_quota(lab, limit=None)
    lab.wait(throttled.throttle_time_ms)

    assert sorted(listed(member.send(max_bytes=9000, max_records=1))) == [0, 1]


@pytest.mark.rules("SGF-20")
def test_no_share_fetch_reads_more_than_the_quota_of_the_window() -> None:
    """So a client that was quiet for long gets records, however much it asks for."""
    lab = lab_with_records(10)
    set_quota(lab)
    answer = lab.member("m").send(0)

    assert (ranges(answer), answer.throttle_time_ms) == ([(0, 1, 1)], 0)


@pytest.mark.rules("SGF-20", "QU-10")
def test_a_client_throttled_for_its_requests_gets_no_records_either() -> None:
    """As Kafka 4.3.1 answered with a tiny request_percentage."""
    lab = lab_with_records(2)
    set_quota(lab, "request_percentage", 0.0001)
    answer = lab.member("m").send(0)

    assert (answer.responses, answer.throttle_time_ms) == ([], 1000)

"""What of a commit is stored, partition by partition; where a due time comes from; that the log comes first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.offsets.commit_validator import CommitRejection, CommitValidator, expire_timestamp
from fakebroker.broker.core.offsets.commit_validator import is_metadata_too_large as too_large
from fakebroker.broker.core.offsets.expiry import due_ms, earliest_due_ms
from fakebroker.broker.core.offsets.expiry_policies import EXPIRY_POLICIES
from fakebroker.broker.core.offsets.records import Several
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import CommittedOffset, TopicPartition, stored_offset
from tests.support.offsets import PASS, WEEK, OffsetsCluster
from tests.support.time import DAY


@pytest.mark.rules("OC-21")
def test_an_expire_timestamp_wraps() -> None:
    """The sum of commit time and retention has 64 bits, as in Java."""
    assert expire_timestamp(5, 7) == 12
    assert expire_timestamp(2**63 - 1, 1) == -(2**63)
    assert expire_timestamp(-1, -(2**63)) == 2**63 - 1


@pytest.mark.rules("OC-11")
@given(st.text(max_size=12), st.integers(0, 24))
def test_metadata_is_measured_in_utf16_units(text: str, limit: int) -> None:
    """The short cut by the number of characters decides as the encoded text does."""
    assert too_large(text, limit) == (len(text.encode("utf-16-le", "surrogatepass")) // 2 > limit)


@pytest.mark.rules("OC-10", "OC-12")
def test_timestamps_of_the_client() -> None:
    """They count for the expire timestamp; whether they are stored depends on the release."""
    topic: Any = OffsetsCluster().cluster.topics.get("t")
    for stores, commit_ms in ((True, 50), (False, 1000)):
        validator = CommitValidator(1000, 10, 7, stores_client_timestamps=stores, stores_topic_ids=False)
        assert validator.validate(topic, [(0, 5, -1, 50, None)]) == [(0, 0)]
        (stored,) = map(CommittedOffset._make, validator.accepted)
        assert (stored.commit_ms, stored.expire_ms, stored.topic_id) == (commit_ms, 57, bytes(16))


@pytest.mark.rules("OC-4")
def test_a_rejection_stands_on_partitions_that_exist() -> None:
    """Others are unknown all the same."""
    topic: Any = OffsetsCluster().cluster.topics.get("t")
    rejection = CommitRejection(ErrorCode.ILLEGAL_GENERATION)
    assert rejection.validate(topic, [(0, 5, -1, -1, None), (999, 5, -1, -1, None)]) == [
        (0, ErrorCode.ILLEGAL_GENERATION),
        (999, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert rejection.saw_unknown


@pytest.mark.rules("EX-2")
@given(st.sampled_from(sorted(EXPIRY_POLICIES)), st.sampled_from([-1, 1, 10**15]), st.booleans(), st.booleans())
def test_nothing_is_due_before_the_earliest_due_time(name: str, expire_ms: int, has_type: bool, joined: bool) -> None:
    """Whatever the policy and the group, a commit that is looked at then is not looked at too late."""
    lab = OffsetsCluster()
    shard = lab.shard()
    group = shard.create_group("g", lab.now)
    group.protocol_type = "consumer" if has_type or joined else None
    lab.wait(PASS)
    offset = stored_offset("t", 0, 1, commit_ms=lab.now.wall_ms, expire_ms=expire_ms)
    empty_since_ms = group.state_ms if group.protocol_type else None
    earliest_ms = earliest_due_ms(lab.now.wall_ms, expire_ms, WEEK, empty_since_ms)
    assert earliest_ms <= due_ms(EXPIRY_POLICIES[name](group, WEEK), offset)


@pytest.mark.rules("LD-2", "EX-8", "OD-8")
@pytest.mark.parametrize("how", ["expiry", "OffsetDelete", "topic deleted"])
def test_the_log_comes_first(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """While tombstones are appended the cache still has the offsets; afterwards it has not."""
    lab = OffsetsCluster()
    lab.commit({("t", 0): 5})
    shard = lab.shard()
    cached: list[int] = []
    append = shard.append

    def spy(records: Several, now: Any) -> None:
        cached.append(len(lab.offsets()))
        append(records, now)

    monkeypatch.setattr(shard, "append", spy)
    if how == "expiry":
        lab.wait(WEEK + DAY)
    elif how == "OffsetDelete":
        shard.delete_offsets(shard.groups["g"], [TopicPartition("t", 0)], lab.now)
    else:
        list(shard.delete_topic("t", lab.now))

    assert (cached[0], lab.offsets()) == (1, {})

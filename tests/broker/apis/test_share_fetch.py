"""ShareFetch (KIP-932): sessions, what is acquired, how long a fetch waits."""

from typing import Any

import pytest

from fakebroker.broker.core.share_partitions import share_fetch
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import BatchHeader, build_batch, parse_header
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
)
from tests.support.share_fetches import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ShareGroupLab,
    ShareMember,
    batches,
    listed,
    ranges,
)
from tests.support.time import T0


@pytest.fixture
def lab() -> ShareGroupLab:
    return ShareGroupLab()


@pytest.mark.rules("SGF-1", "SGF-2")
def test_a_session_counts_its_requests(lab: ShareGroupLab) -> None:
    """Epoch 0 opens, then come 1, 2, ...; a fetch and an acknowledgement count alike, one with an error does not."""
    lab.produce(1)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 0, 1)]
    assert member.acknowledge((0, 0, ACCEPT), epoch=1) == 0
    assert member.send(epoch=5).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.send(epoch=2, wait=0).error_code == 0


@pytest.mark.rules("SGF-2")
def test_epochs_wrap(lab: ShareGroupLab) -> None:
    """After 2147483647 comes 1."""
    member = lab.member("m")
    member.fetch(0)
    session = lab.cluster.nodes[1].share_partitions.sessions.get("g", "m")
    assert session is not None
    session.epoch = 2**31 - 1
    assert member.send(epoch=2**31 - 1, wait=0).error_code == 0
    assert member.send(epoch=1, wait=0).error_code == 0


@pytest.mark.rules("SGF-1")
def test_opening_again_keeps_what_was_acquired(lab: ShareGroupLab) -> None:
    """A new session drops the old one of the member; its records stay locked, and it can acknowledge them."""
    lab.produce(2)
    member = lab.member("m")
    member.fetch(0)
    member.epoch = 0
    assert member.fetch(0) == []
    assert member.acknowledge((0, 1, ACCEPT)) == 0


@pytest.mark.rules("SGF-1")
def test_acknowledgements_do_not_open_a_session(lab: ShareGroupLab) -> None:
    """Those in a request with epoch 0 make it invalid as a whole."""
    assert lab.member("m").send(0, acks=[(0, 0, ACCEPT)]).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.rules("SGF-3")
@pytest.mark.parametrize("epoch", [1, 7, -1, -2])
def test_without_a_session(lab: ShareGroupLab, epoch: int) -> None:
    """Any other epoch than 0 needs a session."""
    assert lab.member("m").send(0, epoch=epoch).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


@pytest.mark.rules("SGF-4")
def test_too_many_sessions(lab: ShareGroupLab) -> None:
    """One more than the broker has room for is refused after its wait; a member that opens anew has room."""
    sessions = lab.cluster.nodes[1].share_partitions.sessions
    for number in range(lab.cluster.settings.get_int("group.share.max.share.sessions")):
        sessions.open("g", f"m{number}", number, [])
    late = lab.member("late")
    assert late.send(0, wait=300) is None
    lab.wait(299)
    assert late.answer() is None
    lab.wait(1)
    assert late.answer().error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert late.send(0, wait=0).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    lab.produce(1)
    assert lab.member("m3").fetch(0) == [(0, 0, 1)]


@pytest.mark.rules("SGF-5")
def test_partitions_are_forgotten() -> None:
    """A forgotten partition is fetched no more, and its records can still be acknowledged."""
    lab = ShareGroupLab(2)
    lab.produce(1)
    lab.produce(1, partition=1)
    member = lab.member("m")
    assert listed(member.send(0, 1)) == {0: (0, 0), 1: (0, 0)}
    lab.produce(1, partition=1)
    forgotten = [ForgottenTopic(topic_id=lab.topic.id, partitions=[1])]
    assert member.fetch(forgotten_topics_data=forgotten) == []
    assert member.acknowledge((0, 0, ACCEPT), partition=1) == 0
    assert ranges(member.send(1), 1) == [(1, 1, 1)]


@pytest.mark.rules("SGF-6", "SGP-7")
def test_closing_acknowledges_and_releases(lab: ShareGroupLab) -> None:
    """The acknowledgements in the last request count; what is acquired beyond them is available again."""
    lab.produce(3)
    member = lab.member("m")
    member.fetch(0)
    answer = member.send(acks=[(0, 0, ACCEPT)], epoch=-1)
    assert (listed(answer), ranges(answer)) == ({0: (0, 0)}, [])
    assert member.send(epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert lab.member("n").fetch(0) == [(1, 2, 2)]


@pytest.mark.rules("SGF-7")
@pytest.mark.parametrize(("group", "member"), [(None, "m"), ("g", None), ("g", ""), ("g", "x" * 37)])
def test_ids_are_checked(lab: ShareGroupLab, group: str | None, member: str | None) -> None:
    """A group id is needed, and a member id of at most 36 characters."""
    answer = lab.member("m").send(0, group_id=group, member_id=member)
    assert (answer.error_code, answer.responses) == (ErrorCode.INVALID_REQUEST, [])


@pytest.mark.rules("SGF-8")
def test_unknown_partition(lab: ShareGroupLab) -> None:
    """A partition that the topic does not have is an error of its own, at once."""
    assert listed(lab.member("m").send(9)) == {9: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)}


@pytest.mark.rules("SGF-8")
def test_unknown_topic_id(lab: ShareGroupLab) -> None:
    """An unknown topic id, also of a topic that was deleted, fails the whole request; the session has counted it."""
    member = lab.member("m")
    topics = [FetchTopic(topic_id=bytes(15) + b"x", partitions=[FetchPartition(partition_index=0)])]
    assert member.send(topics=topics).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    other = lab.member("n")
    other.fetch(0)
    lab.cluster.topics.delete("t", lab.sim.network.now)
    assert other.send(epoch=1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert other.send(epoch=1).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


@pytest.mark.rules("SGF-8")
def test_what_a_request_with_an_unknown_topic_id_acquires(lab: ShareGroupLab) -> None:
    """Beside an unknown topic id acknowledgements count, and records are acquired, though the request fails."""
    lab.produce(3)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 2, 1)]
    lab.produce(2)
    unknown = FetchTopic(topic_id=bytes(15) + b"x", partitions=[FetchPartition(partition_index=0)])
    accepted = AcknowledgementBatch(first_offset=0, last_offset=1, acknowledge_types=[ACCEPT])
    listed_too = FetchPartition(partition_index=0, acknowledgement_batches=[accepted])
    topics = [unknown, FetchTopic(topic_id=lab.topic.id, partitions=[listed_too])]
    assert member.send(topics=topics).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    done, acquired = ("Acknowledged", 1), ("Acquired", 1)
    assert lab.states() == {0: done, 1: done, 2: acquired, 3: acquired, 4: acquired}


@pytest.mark.rules("SGF-8", "SGF-15")
def test_a_request_with_an_unknown_topic_id_waits(lab: ShareGroupLab) -> None:
    """It fails when its wait for records of other partitions is over."""
    member = lab.member("m")
    unknown = FetchTopic(topic_id=bytes(15) + b"x", partitions=[FetchPartition(partition_index=0)])
    known = FetchTopic(topic_id=lab.topic.id, partitions=[FetchPartition(partition_index=0)])
    assert member.send(topics=[unknown, known]) is None
    lab.wait(300)
    assert member.answer().error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.rules("SGF-6", "SGF-8")
def test_a_session_with_an_unknown_topic_id_is_closed(lab: ShareGroupLab) -> None:
    """The request that closes it does not fail."""
    member = lab.member("m")
    topics = [FetchTopic(topic_id=bytes(15) + b"x", partitions=[FetchPartition(partition_index=0)])]
    assert member.send(topics=topics).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert member.send(epoch=-1).error_code == 0


@pytest.mark.rules("SGF-9")
@pytest.mark.parametrize("field", ["max_records", "max_bytes"])
def test_errors_without_records(lab: ShareGroupLab, field: str) -> None:
    """A request that wants no records is answered the errors of its partitions."""
    nothing: dict[str, Any] = {field: 0}
    assert listed(lab.member("m").send(0, 9, **nothing)) == {9: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)}


@pytest.mark.rules("SGF-9")
def test_only_initialized_partitions_are_read(lab: ShareGroupLab) -> None:
    """Neither group nor member is asked for; a share partition without state is an error when the wait ends."""
    lab.produce(1)
    stranger = lab.member("m", group="other")
    assert stranger.send(0, wait=300) is None
    lab.wait(300)
    assert listed(stranger.answer()) == {0: (ErrorCode.UNKNOWN_SERVER_ERROR, 0)}


@pytest.mark.rules("SGF-9")
@pytest.mark.parametrize("field", ["max_records", "max_bytes"])
def test_nothing_wanted(lab: ShareGroupLab, field: str) -> None:
    """Without room for records nothing is fetched, and the answer comes at once."""
    lab.produce(1)
    assert lab.member("m").send(0, **{field: 0}).responses == []  # type: ignore[arg-type]


@pytest.mark.rules("SGF-10")
def test_whole_batches_cover_what_was_acquired(lab: ShareGroupLab) -> None:
    """The records are the stored batches that have acquired ones, the lock's duration is the group's."""
    lab.produce(3, 3)
    member = lab.member("m")
    member.fetch(0)
    member.acknowledge((1, 1, RELEASE), (4, 4, RELEASE))
    answer = member.send()
    assert (batches(answer), ranges(answer)) == ([(0, 2), (3, 5)], [(1, 1, 2), (4, 4, 2)])
    assert answer.acquisition_lock_timeout_ms == 30_000
    lab.configure(share_record_lock_duration_ms=20_000)
    assert member.send(wait=0).acquisition_lock_timeout_ms == 20_000


@pytest.mark.rules("SGF-13")
def test_a_limit_of_records_holds_for_the_request() -> None:
    """In the mode with a hard limit the partitions share it; each request begins with another one."""
    lab = ShareGroupLab(2)
    lab.produce(5)
    lab.produce(5, partition=1)
    member = lab.member("m")
    first = member.send(0, 1, max_records=3, share_acquire_mode=1)
    assert (ranges(first), ranges(first, 1)) == ([(0, 2, 1)], [])
    second = member.send(max_records=7, share_acquire_mode=1)
    assert (ranges(second), ranges(second, 1)) == ([(3, 4, 1)], [(0, 4, 1)])


@pytest.mark.rules("SGF-13")
def test_an_unknown_mode(lab: ShareGroupLab) -> None:
    """There are two modes; another one fails the request."""
    assert lab.member("m").send(0, share_acquire_mode=2).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.rules("SGF-14")
def test_members_get_different_records(lab: ShareGroupLab) -> None:
    """What one member has acquired no other gets."""
    lab.produce(1, 1)
    one, two = lab.member("one"), lab.member("two")
    assert one.fetch(0, max_records=1) == [(0, 0, 1)]
    assert two.fetch(0) == [(1, 1, 1)]
    assert one.fetch() == []


@pytest.mark.rules("SGF-15")
def test_a_partition_is_in_the_answer_when_it_is_new(lab: ShareGroupLab) -> None:
    """Listed for the first time it is answered although it is empty, later with records, errors, acknowledgements."""
    member = lab.member("m")
    assert member.send(0) is None
    lab.wait(300)
    assert listed(member.answer()) == {0: (0, 0)}
    assert member.send(0) is None
    lab.wait(300)
    assert listed(member.answer()) == {}
    assert listed(member.send(acks=[(5, 0, ACCEPT)], wait=0)) == {0: (0, ErrorCode.INVALID_REQUEST)}


@pytest.mark.rules("SGF-15")
def test_a_fetch_waits_for_enough_bytes(lab: ShareGroupLab) -> None:
    """It is answered when min_bytes can be acquired, over all partitions; else when its time is up."""
    lab.produce(1)
    size = len(next(lab.log().batches()))
    member = lab.member("m")
    assert member.send(0, min_bytes=2 * size) is None
    lab.produce(1)
    assert ranges(member.answer()) == [(0, 1, 1)]


def test_a_setting_bounds_the_wait() -> None:
    """`fakebroker.fetch.max.wait.ms` holds for share fetches as for others."""
    lab = ShareGroupLab(settings={"fakebroker.fetch.max.wait.ms": 50})
    member = lab.member("m")
    assert member.send(0, wait=500) is None
    lab.wait(50)
    assert listed(member.answer()) == {0: (0, 0)}


@pytest.fixture
def waiting(lab: ShareGroupLab) -> tuple[ShareMember, ShareMember]:
    """A member that has acquired two batches of three records, and one that waits for any."""
    lab.produce(3, 3)
    owner, other = lab.member("owner"), lab.member("other")
    assert owner.fetch(0, batch_size=1) == [(0, 2, 1), (3, 5, 1)]
    assert other.send(0, wait=60_000) is None
    return owner, other


@pytest.mark.rules("SGF-16")
def test_new_records_end_a_wait(lab: ShareGroupLab, waiting: tuple[ShareMember, ShareMember]) -> None:
    """Records that are appended are acquired by a fetch that waits."""
    _, other = waiting
    lab.produce(1)
    assert ranges(other.answer()) == [(6, 6, 1)]


@pytest.mark.rules("SGF-16")
def test_a_release_ends_no_wait(lab: ShareGroupLab, waiting: tuple[ShareMember, ShareMember]) -> None:
    """Released records are found when something else ends the wait: the start moves."""
    owner, other = waiting
    assert owner.acknowledge((3, 5, RELEASE)) == 0
    assert other.answer() is None
    assert owner.acknowledge((0, 2, ACCEPT)) == 0
    assert ranges(other.answer()) == [(3, 5, 2)]


@pytest.mark.rules("SGF-16", "SGP-5")
def test_a_lock_that_times_out_ends_a_wait(lab: ShareGroupLab, waiting: tuple[ShareMember, ShareMember]) -> None:
    """When the time of a lock is up its records go to whoever waits."""
    _, other = waiting
    lab.wait(30_000)
    assert ranges(other.answer()) == [(0, 2, 2)]


@pytest.mark.rules("SGF-16", "SGP-5")
def test_fetches_that_wait_get_records_one_by_one(lab: ShareGroupLab) -> None:
    """Records with states of their own are released one after the other: each fetch that waits gets one of them."""
    lab.produce(5)
    owner, one, other = lab.member("m"), lab.member("n"), lab.member("o")
    assert owner.fetch(0) == [(0, 4, 1)]
    assert owner.acknowledge((0, 0, ACCEPT)) == 0
    assert one.send(0, wait=60_000) is None
    assert other.send(0, wait=60_000) is None
    lab.wait(30_000)
    assert [ranges(one.answer()), ranges(other.answer())] == [[(1, 1, 2)], [(2, 2, 2)]]
    assert one.fetch() == [(3, 4, 2)]


@pytest.mark.rules("SGF-16")
def test_another_fetch_ends_a_wait(lab: ShareGroupLab, waiting: tuple[ShareMember, ShareMember]) -> None:
    """When a fetch of the partition is answered, those that wait look again."""
    owner, other = waiting
    owner.acknowledge((0, 5, RELEASE))
    assert owner.fetch(max_records=1) == [(0, 2, 2)]
    assert ranges(other.answer()) == [(3, 5, 2)]


@pytest.mark.rules("SGF-16")
def test_a_closed_session_ends_no_wait(lab: ShareGroupLab, waiting: tuple[ShareMember, ShareMember]) -> None:
    """What it releases is found when the wait is over."""
    owner, other = waiting
    assert owner.close() == 0
    assert other.answer() is None
    lab.wait(60_000)
    assert ranges(other.answer()) == [(0, 2, 2), (3, 5, 2)]


@pytest.mark.rules("SGF-19")
@pytest.mark.parametrize("wait", [0, 300])
def test_a_fetch_takes_other_records_than_it_releases(lab: ShareGroupLab, wait: int) -> None:
    """Records that a fetch releases are available after it, if there are others or it does not wait."""
    lab.produce(5)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 4, 1)]
    lab.produce(3)
    assert ranges(member.send(0, acks=[(0, 4, RELEASE)], wait=wait, max_records=2, share_acquire_mode=1)) == [(5, 6, 1)]
    assert member.fetch() == [(0, 4, 2), (7, 7, 1)]


@pytest.mark.rules("SGF-19")
def test_a_fetch_takes_what_was_released_before(lab: ShareGroupLab) -> None:
    """Records that were released before the request come without those that it releases, even of the same batch."""
    lab.produce(5)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 4, 1)]
    assert member.acknowledge((3, 3, RELEASE)) == 0
    assert ranges(member.send(0, acks=[(0, 1, RELEASE)])) == [(3, 3, 2)]
    assert member.fetch() == [(0, 1, 2)]


@pytest.mark.rules("SGF-19")
def test_a_fetch_that_does_not_wait_gets_nothing_that_it_releases(lab: ShareGroupLab) -> None:
    """Without a wait the answer is empty, and the next fetch has the records."""
    lab.produce(5)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 4, 1)]
    assert ranges(member.send(0, acks=[(0, 4, RELEASE)], wait=0)) == []
    assert member.fetch() == [(0, 4, 2)]


@pytest.mark.rules("SGF-16", "SGF-19")
@pytest.mark.parametrize("acks", [[(0, 4, RELEASE)], [(2, 2, RELEASE)], [(0, 1, RELEASE), (2, 4, ACCEPT)]])
def test_a_fetch_waits_for_what_it_releases(lab: ShareGroupLab, acks: list[tuple[int, int, int]]) -> None:
    """Without other records those that a fetch releases come when its wait ends."""
    lab.produce(5)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 4, 1)]
    assert member.send(0, acks=acks) is None
    lab.wait(299)
    assert member.answer() is None
    lab.wait(1)
    assert ranges(member.answer()) == [(first, last, 2) for first, last, how in acks if how == RELEASE]


@pytest.mark.rules("SGF-16", "SGF-19")
def test_a_start_that_moves_ends_the_wait_for_what_a_fetch_releases(lab: ShareGroupLab) -> None:
    """A fetch that accepts the first records gets at once what it releases of the others."""
    lab.produce(5)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 4, 1)]
    assert ranges(member.send(0, acks=[(0, 1, ACCEPT), (2, 4, RELEASE)])) == [(2, 4, 2)]


@pytest.mark.rules("SGF-17")
def test_the_window_has_a_limit() -> None:
    """From the first unfinished record to the last acquired one there are no more than so many, rounded to a batch."""
    lab = ShareGroupLab(share_partition_max_record_locks=100)
    lab.produce(50, 50, 50)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 99, 1)]
    assert member.fetch() == []
    member.acknowledge((50, 99, ACCEPT))
    assert member.fetch() == []
    member.acknowledge((10, 19, RELEASE))
    assert member.fetch() == [(10, 19, 2)]
    member.acknowledge((0, 9, ACCEPT))
    assert member.fetch() == [(100, 149, 1)]


@pytest.mark.rules("SGP-1")
@pytest.mark.parametrize(
    ("reset", "first"),
    [
        ("earliest", [(0, 1, 1)]),
        ("latest", []),
        ("by_duration:PT1H", [(1, 1, 1)]),
        ("by_duration:PT3600,5S", [(1, 1, 1)]),
        ("by_duration:P106751991167300D", [(0, 1, 1)]),
    ],
)
def test_where_a_share_partition_begins(reset: str, first: list[tuple[int, int, int]]) -> None:
    """The group's config says it, at the first fetch."""
    lab = ShareGroupLab(share_auto_offset_reset=reset)
    hour_ms = 3_600_000
    lab.produce(1, timestamp_ms=lab.sim.network.now.wall_ms - 2 * hour_ms)
    lab.produce(1, timestamp_ms=lab.sim.network.now.wall_ms)
    member = lab.member("m")
    assert member.fetch(0) == first
    lab.produce(1)
    assert member.fetch() == [(2, 2, 1)]


@pytest.mark.rules("SGP-1")
def test_no_record_is_young_enough() -> None:
    """A duration that reaches no record is an error of the partition for as long as that is so."""
    lab = ShareGroupLab(share_auto_offset_reset="by_duration:PT1H")
    member = lab.member("m")
    assert member.send(0) is None
    lab.wait(300)
    assert listed(member.answer()) == {0: (ErrorCode.OFFSET_NOT_AVAILABLE, 0)}
    lab.produce(1, timestamp_ms=lab.sim.network.now.wall_ms)
    assert member.fetch() == [(0, 0, 1)]


@pytest.mark.rules("SGP-4")
def test_records_that_the_log_has_lost(lab: ShareGroupLab) -> None:
    """When the log begins later, what was available before is archived, and what was acquired can be acknowledged."""
    lab.produce(3, 3, 3, 3)
    member = lab.member("m")
    assert member.fetch(0, max_records=7, batch_size=1) == [(0, 2, 1), (3, 5, 1), (6, 8, 1)]
    lab.log().advance_log_start(4, lab.sim.network.now)
    assert member.acknowledge((0, 2, ACCEPT)) == 0
    assert member.acknowledge((3, 5, RELEASE)) == 0
    assert ranges(member.send()) == []
    assert ranges(member.send()) == [(4, 5, 2), (9, 11, 1)]


@pytest.mark.rules("SGP-4", "SGK-7")
@pytest.mark.parametrize("acks", [(0, 0, ACCEPT), (4, 4, RENEW)])
def test_a_start_stays_where_nothing_is_stored(lab: ShareGroupLab, acks: tuple[int, int, int]) -> None:
    """Where the log begins with finished records, the start moves over them with the next change that is stored."""
    lab.produce(5)
    owner = lab.member("m")
    assert owner.fetch(0) == [(0, 4, 1)]
    lab.log().advance_log_start(2, lab.sim.network.now)
    assert owner.acknowledge((0, 0, RELEASE), (1, 2, ACCEPT)) == 0
    assert lab.member("n").send(0).responses
    assert owner.acknowledge(acks, is_renew_ack=True) == 0
    assert owner.acknowledge((2, 3, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert owner.acknowledge((3, 3, ACCEPT)) == 0
    assert owner.acknowledge((2, 4, ACCEPT)) == 0


@pytest.mark.rules("SGP-4", "SGP-5")
@pytest.mark.parametrize("how", ["close", "timeout"])
def test_a_log_that_has_lost_all_that_was_acquired(lab: ShareGroupLab, how: str) -> None:
    """The end of the lock is stored, and two fetches find where the log begins; the second goes on inside a batch."""
    lab.produce(2, 2)
    owner, other = lab.member("m"), lab.member("n")
    assert owner.fetch(0, max_records=1) == [(0, 1, 1)]
    lab.log().advance_log_start(3, lab.sim.network.now)
    assert ranges(other.send(0)) == []
    assert lab.stored_start() == -1
    if how == "close":
        owner.close()
    else:
        lab.wait(30_000)
    assert lab.stored_start() == 3
    assert ranges(other.send()) == []
    assert ranges(other.send()) == [(3, 3, 1)]


@pytest.mark.rules("SGP-4")
def test_a_log_that_has_lost_all_records_of_a_batch_with_states_of_their_own(lab: ShareGroupLab) -> None:
    """Then one fetch finds where the log begins."""
    lab.produce(2, 2)
    owner, other = lab.member("m"), lab.member("n")
    assert owner.fetch(0, max_records=1) == [(0, 1, 1)]
    assert owner.acknowledge((0, 0, RELEASE)) == 0
    lab.log().advance_log_start(3, lab.sim.network.now)
    assert ranges(other.send(0)) == []
    lab.wait(30_000)
    assert ranges(other.send()) == [(2, 3, 1)]


@pytest.mark.rules("SGP-4")
@pytest.mark.parametrize("how", ["close", "timeout"])
def test_a_batch_that_the_log_has_lost_in_part(lab: ShareGroupLab, how: str) -> None:
    """A batch is acquired from its beginning on, which the log has lost: that does not come again."""
    lab.produce(3, 9)
    member = lab.member("m")
    member.fetch(0, max_records=1)
    lab.log().advance_log_start(7, lab.sim.network.now)
    assert ranges(member.send()) == []
    assert ranges(member.send()) == [(3, 11, 1)]
    if how == "close":
        member.close()
        member.epoch = 0
    else:
        lab.wait(30_000)
    assert member.fetch(0) == [(7, 11, 2)]


@pytest.mark.rules("SGP-7")
def test_a_lost_connection_releases(lab: ShareGroupLab) -> None:
    """The connection that opened the session is lost: its records are available, their count stays."""
    lab.produce(2)
    owner, other = lab.member("owner"), lab.member("other")
    other.fetch(0, max_records=0)
    owner.fetch(0)
    owner.hang_up()
    assert other.fetch(0) == [(0, 1, 2)]


@pytest.mark.rules("SGP-7")
def test_only_the_connection_that_opened_counts(lab: ShareGroupLab) -> None:
    """A session that was opened anew on another connection outlives the first one."""
    lab.produce(2)
    first, again = lab.member("m"), lab.member("m")
    first.fetch(0)
    again.fetch(0)
    first.hang_up()
    assert again.acknowledge((0, 1, ACCEPT)) == 0


@pytest.mark.rules("SGP-9")
def test_a_group_without_sessions_is_dropped(lab: ShareGroupLab) -> None:
    """The last connection goes: what is stored is loaded again at the next fetch."""
    lab.produce(4)
    member = lab.member("m")
    member.fetch(0)
    member.acknowledge((1, 1, RELEASE))
    assert member.fetch() == [(1, 1, 2)]
    member.acknowledge((2, 2, REJECT))
    member.hang_up()
    assert lab.share_partition() is None
    assert lab.member("n").fetch(0) == [(0, 0, 2), (1, 1, 3), (3, 3, 2)]


@pytest.mark.rules("SGF-16")
def test_a_fetch_that_is_given_up(lab: ShareGroupLab) -> None:
    """A client that goes while its fetch waits acquires nothing."""
    gone = lab.member("gone")
    assert gone.send(0, wait=60_000) is None
    gone.hang_up()
    lab.produce(1)
    assert lab.member("m").fetch(0) == [(0, 0, 1)]


def transaction(lab: ShareGroupLab, producer_id: int, size: int, *, commit: bool | None) -> None:
    """A transaction of so many records; None leaves it open."""
    batch = build_batch(
        [Record(offset, T0, None, b"v") for offset in range(size)],
        transactional=True,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
    )
    now = lab.sim.network.now
    lab.log().append(batch, now)
    if commit is not None:
        lab.log().append_marker(producer_id, 0, now, commit=commit, coordinator_epoch=0)


@pytest.mark.rules("SGP-10")
def test_read_committed() -> None:
    """Records of aborted transactions are archived, markers are acquired; open transactions end a fetch."""
    lab = ShareGroupLab(share_isolation_level="read_committed")
    transaction(lab, 1, 3, commit=False)
    transaction(lab, 2, 2, commit=True)
    lab.produce(1)
    transaction(lab, 3, 1, commit=None)
    member = lab.member("m")
    answer = member.send(0)
    assert (ranges(answer), batches(answer)) == ([(3, 7, 1)], [(3, 3), (4, 5), (6, 6), (7, 7)])
    assert lab.states()[0] == ("Archived", 1)
    assert member.acknowledge((3, 3, GAP), (4, 5, ACCEPT), (6, 6, GAP), (7, 7, ACCEPT)) == 0
    assert lab.states() == {}
    assert member.fetch() == []


@pytest.mark.rules("SGP-10")
def test_an_aborted_transaction_among_others() -> None:
    """What is acquired around aborted batches is given as ranges without them."""
    lab = ShareGroupLab(share_isolation_level="read_committed")
    lab.produce(2)
    transaction(lab, 1, 3, commit=False)
    lab.produce(2)
    member = lab.member("m")
    assert member.fetch(0) == [(0, 1, 1), (5, 7, 1)]
    assert member.acknowledge((2, 2, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert member.acknowledge((0, 1, RELEASE)) == 0
    assert member.fetch() == [(0, 1, 2)]


@pytest.mark.rules("SGP-10")
def test_an_open_transaction_is_waited_for() -> None:
    """A fetch that waits is answered when the transaction ends; without any record left it waits on."""
    lab = ShareGroupLab(share_isolation_level="read_committed")
    transaction(lab, 1, 1, commit=None)
    member = lab.member("m")
    assert member.send(0, wait=60_000) is None
    lab.log().append_marker(1, 0, lab.sim.network.now, commit=True, coordinator_epoch=0)
    lab.sim.network.flush()
    assert ranges(member.answer()) == [(0, 1, 1)]


def test_read_uncommitted(lab: ShareGroupLab) -> None:
    """By default records of open and aborted transactions are acquired as others."""
    transaction(lab, 1, 1, commit=False)
    transaction(lab, 2, 1, commit=None)
    assert lab.member("m").fetch(0) == [(0, 2, 1)]


@pytest.mark.rules("SGF-11")
def test_a_member_that_lags_reads_what_it_acquires(lab: ShareGroupLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long log only the headers of batches are read whose records can be acquired."""
    read: list[bytes] = []

    def counted(batch: bytes) -> BatchHeader:
        read.append(batch)
        return parse_header(batch)

    lab.produce(*[10] * 300)
    member = lab.member("m")
    monkeypatch.setattr(share_fetch, "parse_header", counted)
    assert member.fetch(0, max_records=25) == [(0, 29, 1)]
    assert 3 <= len(read) <= 4
    assert member.fetch(0, max_records=5) == [(30, 39, 1)]
    assert len(read) <= 10

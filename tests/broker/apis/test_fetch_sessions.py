"""Fetch sessions as clients see them (KIP-227)."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakebroker.broker.core.logs import fetching
from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.protocol.errors import ErrorCode
from tests.support.fetches import At, Fetches, Pending
from tests.support.share_state_apis import MakeCall

STEPS = ["produce", "move", "add", "forget"]
VERSIONS = [7, 12, 13, 18]


@pytest.fixture
def lab(make_call: MakeCall) -> Fetches:
    return Fetches(make_call)


def opened(lab: Fetches, *asked: At, version: int = 12) -> int:
    """Make a session; its id."""
    session = lab.fetch(*asked, version=version, epoch=0).response.session_id
    assert session > 0
    return session


def top(pending: Pending) -> tuple[int, int, int]:
    """(error code, session id, number of topics) of an answer."""
    response = pending.response
    return response.error_code, response.session_id, len(response.responses)


@pytest.mark.rules("FS-1")
@pytest.mark.parametrize("version", range(4, 19))
def test_no_session_unless_asked_for(lab: Fetches, version: int) -> None:
    """Epoch -1, and every version below 7, is answered in full with session 0."""
    for _ in range(2):
        pending = lab.fetch(At(0), At(1), version=version)
        assert (pending.response.session_id, len(pending.partitions())) == (0, 2)
    assert len(lab.cluster.nodes[1].fetch_sessions) == 0


@pytest.mark.rules("FS-1", "FS-2")
@pytest.mark.parametrize("version", VERSIONS)
def test_epoch_0_makes_a_session(lab: Fetches, version: int) -> None:
    """The first answer is full, in the order of the request; the id is a positive number, another one each time."""
    lab.produce(1, partition=1)
    pending = lab.fetch(At(2), At(0), At(1), version=version, epoch=0)
    assert [data.partition_index for _, data in pending.partitions()] == [2, 0, 1]
    other = opened(lab, At(0), version=version)
    assert 0 < pending.response.session_id < 2**31
    assert other != pending.response.session_id


@pytest.mark.rules("FS-2")
def test_a_session_without_partitions(lab: Fetches) -> None:
    """An empty list makes a session, too, to which partitions can be added."""
    session = opened(lab)
    assert lab.fetch(At(1), session=session, epoch=1).offsets() == {1: []}


@pytest.mark.rules("FS-3", "FS-4", "FS-5")
@pytest.mark.parametrize("version", VERSIONS)
def test_only_news_is_answered(lab: Fetches, version: int) -> None:
    """Nothing new is an empty answer; records come, again and again until the client has moved on."""
    session = opened(lab, At(0), At(1), At(2), version=version)
    assert top(lab.fetch(version=version, session=session, epoch=1)) == (0, session, 0)
    lab.produce(1, partition=1)
    assert lab.fetch(version=version, session=session, epoch=2).offsets() == {1: [0]}
    assert lab.fetch(version=version, session=session, epoch=3).offsets() == {1: [0]}
    assert top(lab.fetch(At(1, offset=1), version=version, session=session, epoch=4)) == (0, session, 0)


@pytest.mark.rules("FS-5")
def test_what_counts_as_news(lab: Fetches) -> None:
    """A moved high watermark or log start is listed once without records."""
    lab.produce(3)
    session = opened(lab, At(0, offset=3), At(1))
    lab.log().limit_high_watermark(2, lab.now)
    assert lab.fetch(session=session, epoch=1).offsets() == {0: []}
    assert lab.fetch(session=session, epoch=2).offsets() == {}
    lab.log().advance_log_start(1, lab.now)
    assert lab.fetch(session=session, epoch=3).offsets() == {0: []}
    assert lab.fetch(session=session, epoch=4).offsets() == {}


@pytest.mark.rules("FS-5")
def test_errors_are_news_every_time(lab: Fetches) -> None:
    """An error is listed as long as it lasts, and so is the first good answer after it."""
    session = opened(lab, At(0, offset=9), At(1), At(7))
    for epoch in (1, 2):
        codes = {d.partition_index: d.error_code for _, d in lab.fetch(session=session, epoch=epoch).partitions()}
        assert codes == {0: ErrorCode.OFFSET_OUT_OF_RANGE, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert lab.fetch(At(0), session=session, epoch=3, forget=[At(7)]).offsets() == {0: []}
    assert lab.fetch(session=session, epoch=4).offsets() == {}


@pytest.mark.rules("FS-5", "FT-13")
def test_a_divergence_is_news(lab: Fetches) -> None:
    """It is listed until the client has changed its position."""
    lab.produce(3)
    lab.topic.partitions[0].leader_epoch = 1
    session = opened(lab, At(0, offset=3, last_epoch=0))
    lab.produce(1)
    for epoch in (1, 2):
        pending = lab.fetch(At(0, offset=4, last_epoch=0), session=session, epoch=epoch)
        assert pending.only().diverging_epoch.end_offset == 3


@pytest.mark.rules("FS-5", "FT-13")
def test_a_divergence_that_an_older_version_cannot_tell(lab: Fetches) -> None:
    """The request fails with 35, at the top and at each partition that it lists; the session and its epoch go on."""
    lab.produce(3)
    lab.topic.partitions[0].leader_epoch = 1
    lab.produce(1)
    session = opened(lab, At(0, offset=4, last_epoch=0), At(1))
    assert top(lab.fetch(version=11, session=session, epoch=1)) == (ErrorCode.UNSUPPORTED_VERSION, session, 0)
    failed = lab.fetch(At(2), version=11, session=session, epoch=2, wait=500)
    assert (top(failed), failed.only().error_code) == (
        (ErrorCode.UNSUPPORTED_VERSION, session, 1),
        ErrorCode.UNSUPPORTED_VERSION,
    )
    end_offsets = [data.diverging_epoch.end_offset for _, data in lab.fetch(session=session, epoch=3).partitions()]
    assert end_offsets == [3]
    moved = lab.fetch(At(0, offset=4), version=11, session=session, epoch=4)
    assert top(moved) == (0, session, 0), "v11 has no last fetched epoch, so nothing is remembered of it"


@pytest.mark.rules("FS-6")
def test_partitions_take_turns(lab: Fetches) -> None:
    """With room for one batch, the partition that was answered goes behind the others."""
    session = opened(lab, At(0), At(1), At(2))
    for partition in range(3):
        lab.produce(3, partition)
    seen, offsets = [], [0, 0, 0]
    moved: list[At] = []
    for epoch in range(1, 7):
        pending = lab.fetch(*moved, session=session, epoch=epoch, max_bytes=1)
        (served,) = [partition for partition, found in pending.offsets().items() if found]
        seen.append(served)
        offsets[served] += 1
        moved = [At(served, offset=offsets[served])]
    assert seen == [0, 1, 2, 0, 1, 2]


@pytest.mark.rules("FS-4")
def test_partitions_come_and_go(lab: Fetches) -> None:
    """Listed partitions are added or changed, forgotten ones removed; to forget an unknown one is nothing."""
    session = opened(lab, At(0), At(1))
    assert lab.fetch(At(2), session=session, epoch=1, forget=[At(0), At(3)]).offsets() == {2: []}
    for partition in range(4):
        lab.produce(1, partition)
    assert lab.fetch(session=session, epoch=2).offsets() == {1: [0], 2: [0]}


@pytest.mark.rules("FS-8")
def test_to_forget_everything_ends_the_session(lab: Fetches) -> None:
    """The answer has session 0; the next request meets 70."""
    session = opened(lab, At(0), At(1))
    assert top(lab.fetch(session=session, epoch=1, forget=[At(0), At(1)])) == (0, 0, 0)
    assert top(lab.fetch(session=session, epoch=2)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, 0)


@pytest.mark.rules("FS-9")
def test_errors_at_the_top(lab: Fetches) -> None:
    """70 for unknown ids, 71 for wrong epochs, 106 for names and ids mixed; the session waits for its epoch."""
    session = opened(lab, At(0))
    by_ids = opened(lab, At(0), version=13)
    assert top(lab.fetch(At(0), session=12345, epoch=1)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, 0)
    assert top(lab.fetch(At(0), session=0, epoch=1)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, 0)
    assert top(lab.fetch(At(0), session=12345, epoch=-7)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, 0)
    for epoch in (2, 2**31 - 1, -2):
        assert top(lab.fetch(session=session, epoch=epoch)) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, 0)
    assert top(lab.fetch(session=session, epoch=1, version=13)) == (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 0, 0)
    assert top(lab.fetch(session=by_ids, epoch=1, version=12)) == (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 0, 0)
    assert top(lab.fetch(session=session, epoch=1)) == (0, session, 0)
    assert top(lab.fetch(session=by_ids, epoch=1, version=13)) == (0, by_ids, 0)


@pytest.mark.rules("FS-1")
@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_request_closes_the_session_it_names(lab: Fetches, epoch: int) -> None:
    """Whether it makes another one or not."""
    session = opened(lab, At(0))
    lab.fetch(At(0), session=session, epoch=epoch)
    assert top(lab.fetch(session=session, epoch=1)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, 0)
    assert len(lab.cluster.nodes[1].fetch_sessions) == (1 if epoch == 0 else 0)


@pytest.mark.rules("FS-3")
def test_epochs_wrap(lab: Fetches) -> None:
    """After 2147483647 comes 1."""
    session = opened(lab, At(0))
    kept = lab.cluster.nodes[1].fetch_sessions.get(session, str(ANONYMOUS))
    assert kept is not None
    kept.epoch = 2**31 - 1
    assert top(lab.fetch(session=session, epoch=2**31 - 1)) == (0, session, 0)
    assert top(lab.fetch(session=session, epoch=1)) == (0, session, 0)


@pytest.mark.rules("FS-7")
def test_an_unknown_id_may_become_known(lab: Fetches) -> None:
    """It is answered 100 each time, until there is a topic of that id."""
    late = lab.cluster.topics.plan("late", 1)
    session = lab.fetch(At(0), At(0, topic="late"), version=13, epoch=0, ids={"late": late.id}).response.session_id
    for epoch in (1, 2):
        assert lab.fetch(version=13, session=session, epoch=epoch).only().error_code == ErrorCode.UNKNOWN_TOPIC_ID
    topics = lab.cluster.topics
    topics._by_name["late"] = topics._by_id[late.id] = late
    topics.last_creation += 1
    data = lab.fetch(version=13, session=session, epoch=3).only()
    assert (data.error_code, data.high_watermark) == (0, 0)
    assert top(lab.fetch(version=13, session=session, epoch=4)) == (0, session, 0)


@pytest.mark.rules("FS-11", "FT-4", "FT-5")
def test_an_incremental_fetch_waits(lab: Fetches) -> None:
    """For min_bytes over all partitions of the session; without news the answer is an empty list with the session."""
    session = opened(lab, At(0), At(1))
    quiet = lab.fetch(session=session, epoch=1, wait=500)
    lab.wait(499)
    assert quiet.is_parked
    lab.wait(1)
    assert top(quiet) == (0, session, 0)
    woken = lab.fetch(session=session, epoch=2, wait=500)
    lab.produce(1, partition=1)
    assert woken.offsets() == {1: [0]}


@pytest.mark.rules("FS-5", "FS-11")
def test_a_wait_ends_with_all_that_has_come(lab: Fetches) -> None:
    """Read are the partitions that had something when it began and those that have something now, in order."""
    lab.produce(1, partition=1)
    session = opened(lab, At(0), At(1, offset=1), At(2))
    lab.fetch(session=session, epoch=1, wait=500, min_bytes=150)
    lab.wait(500)
    lab.produce(1, partition=1)
    woken = lab.fetch(session=session, epoch=2, wait=500, min_bytes=150)
    assert woken.is_parked
    lab.produce(1, partition=0)
    assert woken.offsets() == {0: [0], 1: [1]}


@pytest.mark.rules("FS-10")
def test_a_parked_request_has_used_its_epoch(lab: Fetches) -> None:
    """Another connection goes on with the next epoch; the parked one then fails with 71."""
    session = opened(lab, At(0))
    parked = lab.fetch(session=session, epoch=1, wait=500)
    assert parked.is_parked
    assert top(lab.fetch(session=session, epoch=1)) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, 0)
    assert top(lab.fetch(session=session, epoch=2)) == (0, session, 0)
    lab.wait(500)
    assert top(parked) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, 0)


@pytest.mark.rules("FS-10")
def test_a_long_parked_request_ends_when_its_epoch_is_over(lab: Fetches, monkeypatch: pytest.MonkeyPatch) -> None:
    """MOCK: it does not wait on, so that a session waits for very many partitions only once."""
    monkeypatch.setattr(fetching, "MANY_TARGETS", 0)
    session = opened(lab, At(0))
    first = lab.fetch(session=session, epoch=1, wait=500)
    second = lab.fetch(session=session, epoch=2, wait=500)
    assert top(first) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, 0)
    assert second.is_parked
    assert len(lab.topic.partitions[0].log.waiters) == 1
    lab.wait(500)
    assert top(second) == (0, session, 0)
    third = lab.fetch(session=session, epoch=3, wait=500)
    assert third.is_parked


@pytest.mark.rules("FS-2")
def test_a_parked_first_request_makes_its_session_when_answered(lab: Fetches) -> None:
    """The id is given out with the answer, and the session begins with what was answered."""
    parked = lab.fetch(At(0), wait=500, epoch=0)
    assert len(lab.cluster.nodes[1].fetch_sessions) == 0
    lab.wait(500)
    assert top(lab.fetch(session=parked.response.session_id, epoch=1)) == (0, parked.response.session_id, 0)


@pytest.mark.rules("FS-12")
def test_places_are_limited(make_call: MakeCall) -> None:
    """Without a place there is no session; one idle for two minutes gives way, and so does a smaller old one."""
    lab = Fetches(make_call, max_incremental_fetch_session_cache_slots=2)
    first, second = opened(lab, At(0)), opened(lab, At(0), At(1))
    assert lab.fetch(At(0), epoch=0).response.session_id == 0
    lab.wait(120_000)
    assert lab.fetch(At(0), epoch=0).response.session_id == 0, "not yet idle for long enough"
    lab.wait(1)
    lab.fetch(session=first, epoch=1)
    third = opened(lab, At(2))
    assert top(lab.fetch(session=second, epoch=1)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, 0)
    lab.wait(60_000)
    assert lab.fetch(At(0), epoch=0).response.session_id == 0, "first is old, but not smaller"
    opened(lab, At(0), At(1))
    assert top(lab.fetch(session=first, epoch=2)) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, 0)
    assert top(lab.fetch(session=third, epoch=1)) == (0, third, 0)


@pytest.mark.rules("FS-12")
def test_no_places_at_all(make_call: MakeCall) -> None:
    """With the setting at 0 no session is ever made."""
    lab = Fetches(make_call, max_incremental_fetch_session_cache_slots=0)
    assert top(lab.fetch(At(0), epoch=0)) == (0, 0, 1)


@pytest.mark.rules("FS-4", "FS-5", "FS-6")
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # make_call keeps nothing
def test_a_client_sees_the_same_with_and_without_session(make_call: MakeCall, steps: list[tuple[str, int]]) -> None:
    """Whatever is produced, added, moved and forgotten: what a session's answers add up to is what full answers say."""
    lab = Fetches(make_call)
    session, epoch = opened(lab, At(0)), 1
    positions: dict[int, int] = {0: 0}
    seen: dict[int, tuple[int, list[int]]] = {0: (0, [])}
    for step, partition in steps:
        change, forget = [], []
        if step == "produce":
            lab.produce(1, partition)
        elif step == "forget" and len(positions) > 1 and partition in positions:
            forget.append(At(partition))
            del positions[partition], seen[partition]
        elif step == "add" or partition in positions:
            positions[partition] = lab.log(partition).log_end_offset if step == "move" else 0
            change.append(At(partition, positions[partition]))
        pending = lab.fetch(*change, session=session, epoch=epoch, forget=forget)
        epoch += 1
        listed = {d.partition_index: d.high_watermark for _, d in pending.partitions()}
        offsets = pending.offsets()
        for each in positions:
            watermark = listed[each] if each in listed else seen[each][0]
            seen[each] = (watermark, offsets.get(each, []))
        full = lab.fetch(*[At(each, offset) for each, offset in positions.items()])
        expected = {
            d.partition_index: (d.high_watermark, full.offsets()[d.partition_index]) for _, d in full.partitions()
        }
        assert seen == expected

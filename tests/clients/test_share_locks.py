"""Half a minute that passes at once: real share consumers hold records for longer than a lock lasts, or renew it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.clients.committed import configure_group, produce
from tests.clients.members import LANGUAGES, Cast, Member
from tests.clients.story import KEEPS_OLD_RECORDS

LOCK_S = 30  # as it is when nothing is set
EXPLICIT = {"topics": "jobs", "group.id": "workers", "share.acknowledgement.mode": "explicit", "max.poll.records": 100}

pytestmark = [
    KEEPS_OLD_RECORDS,
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]


@pytest.fixture(params=LANGUAGES)
def cast(request: pytest.FixtureRequest, fakebroker: FakeBroker, tmp_path: Path) -> Iterator[Cast]:
    """The members of a test, of one language, and a topic whose records they take from its beginning."""
    fakebroker.create_topic("jobs")
    configure_group(fakebroker.bootstrap, "workers", share_auto_offset_reset="earliest")
    produce(fakebroker.bootstrap, "jobs", ["one", "two"])
    made = Cast(fakebroker.bootstrap, request.param, tmp_path)
    yield made
    made.close()


def deliveries(member: Member) -> list[tuple[str, int]]:
    """What a member has read, with how often each was delivered by then."""
    return [(each.value, each.delivery_count) for each in member.read]


@pytest.mark.rules("SGP-5", "SGP-6", "SGK-7")
def test_a_lock_ends_when_the_clock_jumps(fakebroker: FakeBroker, cast: Cast) -> None:
    """Just before its end nobody else gets the records; then another member has them, and the first is refused."""
    stage = cast.stage()
    holder = stage.start("share", **EXPLICIT)
    cast.wait("both records", lambda: len(holder.read) == 2)
    other = stage.start("share", **EXPLICIT)
    fakebroker.group("workers").wait(members=2, timeout_s=60)

    fakebroker.clock.advance(seconds=LOCK_S - 10, timers=True)
    assert not other.read
    fakebroker.clock.advance(seconds=11, timers=True)
    cast.wait("both records again", lambda: len(other.read) == 2)

    assert deliveries(holder) == [("one", 1), ("two", 1)]
    assert other.values == ["one", "two"]
    # The first one's client may have asked for more by itself: then it got them first, and informed nobody.
    assert {each.delivery_count for each in other.read} <= {2, 3}
    holder.acknowledge("ACCEPT", 2)
    assert holder.refused
    other.acknowledge("ACCEPT", 2)
    assert not other.refused


@pytest.mark.rules("SGK-9", "SGP-5")
def test_a_renewed_lock_lasts_for_as_long_again(fakebroker: FakeBroker, cast: Cast) -> None:
    """Twice two thirds of a lock are more than one; the member that renewed it between them may still accept."""
    if cast.language == "confluent-kafka":
        pytest.skip("confluent-kafka 2.16 cannot renew a lock")
    holder = cast.stage().start("share", **EXPLICIT)
    cast.wait("both records", lambda: len(holder.read) == 2)

    fakebroker.clock.advance(seconds=LOCK_S * 2 / 3, timers=True)
    holder.acknowledge("RENEW", 2)
    cast.wait(
        "it has them still", lambda: cast.language == "franz-go" or len(holder.read) == 4
    )  # the Java client tells again
    fakebroker.clock.advance(seconds=LOCK_S * 2 / 3, timers=True)
    holder.acknowledge("ACCEPT", 2)

    assert not holder.refused
    assert set(deliveries(holder)) == {("one", 1), ("two", 1)}

"""Share groups of real clients: records as a queue, with locks and delivery counts that the broker keeps.

The same stories are played on a real Kafka (slow), so that what is asked for here is what Kafka does. Only fakebroker
lets half a minute pass at once.
"""

import importlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.committed import EITHER_BROKER, bootstrap_of, configure_group, create_topics, produce
from tests.clients.members import LANGUAGES, Cast, Member, Stage
from tests.support.real_kafka import start_kafka

__all__ = ["start_kafka"]

SHORT_LOCK_MS = 5_000
LOCK_S = 30  # unless something else is set
# So that members hear of a change at once, and a test can have a short lock.
SOON = {
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": 300,
    "group.share.min.record.lock.duration.ms": 1_000,
}
# A member that answers when the test says so; with a limit of records franz-go asks for none before they are polled.
EXPLICIT = {"share.acknowledgement.mode": "explicit", "max.poll.records": 100}

pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]
_numbers = itertools.count(1)

Start = Callable[..., Member]


@pytest.fixture(params=EITHER_BROKER)
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Where a broker listens: fakebroker, or a real Kafka."""
    return bootstrap_of(request, SOON)


@pytest.fixture(params=LANGUAGES)
def cast(request: pytest.FixtureRequest, bootstrap: str, tmp_path: Path) -> Iterator[Cast]:
    """The members of a test, of one language."""
    made = Cast(bootstrap, request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A topic of this test with one partition, whose group begins at its start."""
    name = f"jobs{next(_numbers)}"
    create_topics(bootstrap, **{name: 1})
    configure_group(bootstrap, group_of(name), share_auto_offset_reset="earliest")
    return name


@pytest.fixture
def stage(cast: Cast) -> Stage:
    """A process with members."""
    return cast.stage()


@pytest.fixture
def start(stage: Stage, topic: str) -> Start:
    """Start a member of the topic's group, in the first process unless another one is named."""

    def started(on: Stage = stage, **settings: object) -> Member:
        return on.start("share", **{"topics": topic, "group.id": group_of(topic), **settings})

    return started


def group_of(topic: str) -> str:
    """The group that takes a topic's records."""
    return f"{topic}-group"


def values(count: int) -> list[str]:
    """Values that differ."""
    return [f"value-{number}" for number in range(count)]


def counts(member: Member) -> list[tuple[str, int]]:
    """What a member has read, with how often each was delivered by then."""
    return [(each.value, each.delivery_count) for each in member.read]


def nothing_but(cast: Cast, topic: str, value: str, member: Member, after: int) -> None:
    """The next record that a member reads, after so many, is a new one: nothing else was left to deliver."""
    produce(cast.bootstrap, topic, [value])
    cast.wait(f"{value} is read", lambda: len(member.read) > after)
    assert counts(member)[after:] == [(value, 1)]


@pytest.mark.behaviour("Share group")
@pytest.mark.rules("SGH-10", "SGH-12", "SGP-1", "SGK-1", "SGF-14", "SGP-4")
def test_each_record_is_taken_by_one_member(cast: Cast, topic: str, stage: Stage, start: Start) -> None:
    """Members share one partition; what they have taken comes to nobody again."""
    members = [start(), start(cast.stage())]
    for part in range(0, 200, 20):
        produce(cast.bootstrap, topic, values(part + 20)[part:])
    cast.wait("all records", lambda: sum(len(each.read) for each in members) >= 200)
    assert sorted(value for each in members for value in each.values) == sorted(values(200))
    for each in members:
        each.stop()

    nothing_but(cast, topic, "last", start(), after=0)


@pytest.mark.behaviour("Share group")
@pytest.mark.rules("SGK-1", "SGK-2", "SGK-3", "SGK-8", "SGP-6")
def test_what_is_released_comes_again_and_what_is_rejected_does_not(cast: Cast, topic: str, start: Start) -> None:
    """Of six records two are released, two rejected, two accepted; the delivery count tells of the second time."""
    produce(cast.bootstrap, topic, values(6))
    member = start(**EXPLICIT)
    cast.wait("six records", lambda: len(member.read) == 6)
    for kind in ("RELEASE", "REJECT", "ACCEPT"):
        member.acknowledge(kind, 2)
    cast.wait("two records again", lambda: len(member.read) == 8)
    assert counts(member) == [(value, 1) for value in values(6)] + [(value, 2) for value in values(2)]

    member.acknowledge("ACCEPT", 2)
    nothing_but(cast, topic, "last", member, after=8)


@pytest.mark.behaviour("Share group")
@pytest.mark.rules("SGP-7", "SGF-14")
def test_what_a_killed_member_held_comes_to_another(cast: Cast, topic: str, stage: Stage, start: Start) -> None:
    """At once, because its connection is lost: the lock would have lasted for half a minute."""
    doomed = cast.stage()
    produce(cast.bootstrap, topic, values(4))
    holder = start(doomed, **EXPLICIT)
    cast.wait("four records", lambda: len(holder.read) == 4)
    besides = f"{topic}-besides"
    create_topics(cast.bootstrap, **{besides: 1})
    produce(cast.bootstrap, besides, ["of another topic"])
    other = start(topics=f"{topic},{besides}")
    cast.wait("it takes part", lambda: other.values == ["of another topic"])

    doomed.kill()
    cast.wait("four records again", lambda: len(other.read) == 5, timeout_s=LOCK_S - 5)
    assert counts(other)[1:] == [(value, 2) for value in values(4)]


@pytest.mark.behaviour("Share group")
@pytest.mark.rules("SGP-5", "SGK-7", "SGP-6")
def test_what_is_held_for_too_long_comes_to_another(cast: Cast, topic: str, start: Start) -> None:
    """When its lock is over another member gets it, and the first one's late answer is refused."""
    configure_group(cast.bootstrap, group_of(topic), share_record_lock_duration_ms=SHORT_LOCK_MS)
    produce(cast.bootstrap, topic, values(3))
    holder = start(**EXPLICIT)
    cast.wait("three records", lambda: len(holder.read) == 3)
    other = start(**EXPLICIT)
    cast.wait("three records again", lambda: len(other.read) >= 3)
    assert other.values[:3] == values(3)
    # The first one's client may have asked for more by itself: then it got them first, and informed nobody.
    assert {each.delivery_count for each in other.read[:3]} <= {2, 3}

    holder.acknowledge("ACCEPT", 3)
    assert holder.refused


@pytest.mark.behaviour("Share group")
@pytest.mark.rules("SGK-2", "SGP-6", "SGC-1")
def test_a_record_is_given_up_when_it_was_delivered_often_enough(cast: Cast, topic: str, start: Start) -> None:
    """With a limit of 2 the second release is the last."""
    configure_group(cast.bootstrap, group_of(topic), share_delivery_count_limit=2)
    produce(cast.bootstrap, topic, values(1))
    member = start(**EXPLICIT)
    for delivery in (1, 2):
        cast.wait(f"delivery {delivery}", lambda delivery=delivery: len(member.read) == delivery)  # type: ignore[misc]
        member.acknowledge("RELEASE", 1)

    nothing_but(cast, topic, "last", member, after=2)
    assert counts(member)[:2] == [("value-0", 1), ("value-0", 2)]


@pytest.mark.behaviour("Share group")
@pytest.mark.rules("SGP-10", "SGC-1")
def test_a_group_that_reads_what_is_committed(cast: Cast, topic: str, start: Start) -> None:
    """Records of an aborted transaction are not delivered, those of an open one when it is committed."""
    kafka = importlib.import_module("confluent_kafka")
    configure_group(cast.bootstrap, group_of(topic), share_isolation_level="read_committed")
    producer = kafka.Producer({"bootstrap.servers": cast.bootstrap, "transactional.id": topic})
    producer.init_transactions(60)
    member = start()
    for value in ("aborted", "committed"):
        producer.begin_transaction()
        for number in range(3):
            producer.produce(topic, f"{value}-{number}")
        (producer.commit_transaction if value == "committed" else producer.abort_transaction)(60)

    cast.wait("three records", lambda: len(member.read) == 3)
    nothing_but(cast, topic, "plain", member, after=3)
    assert member.values[:3] == [f"committed-{number}" for number in range(3)]

"""Consumer groups of real clients whose partitions the broker assigns (group.protocol=consumer).

The same stories are played on a real Kafka (slow), so that what is asked for here is what Kafka does.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.committed import EITHER_BROKER, bootstrap_of, create_topics, produce
from tests.clients.members import LANGUAGES, Cast, Member, Stage
from tests.support.real_kafka import start_kafka

__all__ = ["start_kafka"]

PARTITIONS = 6
# So that who was killed is missed soon, and members hear of a change at once.
SOON = {
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": 8_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 300,
    "group.min.session.timeout.ms": 1_000,
}
CLASSIC = {"group.protocol": "classic", "session.timeout.ms": 8_000, "heartbeat.interval.ms": 300}

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
    """A topic of this test; a Kafka serves several."""
    name = f"orders{next(_numbers)}"
    create_topics(bootstrap, **{name: PARTITIONS})
    return name


@pytest.fixture
def stage(cast: Cast) -> Stage:
    """A process with members."""
    return cast.stage()


@pytest.fixture
def start(stage: Stage, topic: str) -> Start:
    """Start a member of the topic's group, in the first process unless another one is named."""

    def started(on: Stage = stage, protocol: str = "consumer", **settings: object) -> Member:
        if not settings.keys() & {"topics", "pattern"}:
            settings["topics"] = topic
        chosen = CLASSIC if protocol == "classic" else {"group.protocol": protocol}
        return on.start("consumer", **{"group.id": f"{topic}-group", **chosen, **settings})

    return started


def partitions(*topics: str) -> set[str]:
    """All partitions of topics."""
    return {f"{topic}-{number}" for topic in topics for number in range(PARTITIONS)}


def balanced(cast: Cast, wanted: set[str], *members: Member) -> None:
    """Until each partition has one owner, and no member has two more than another."""

    def is_balanced() -> bool:
        owned = [each.assigned or set() for each in members]
        sizes = sorted(map(len, owned))
        return set().union(*owned) == wanted and sum(sizes) == len(wanted) and sizes[-1] - sizes[0] < 2

    cast.wait(f"{len(members)} members share {sorted(wanted)}", is_balanced)


def all_read(cast: Cast, wanted: list[str], *members: Member) -> None:
    """Until the members together have read every value."""
    cast.wait(f"{len(wanted)} values", lambda: set(wanted) <= {value for each in members for value in each.values})


def values(count: int, first: int = 0) -> list[str]:
    """Values that differ."""
    return [f"value-{number}" for number in range(first, first + count)]


@pytest.mark.behaviour("KIP-848 group")
@pytest.mark.rules("CGH-10", "CGE-2", "CGR-4", "CGR-6", "CGT-1", "CGT-2")
def test_three_members_share_a_topic_and_one_is_killed(cast: Cast, topic: str, stage: Stage, start: Start) -> None:
    """The broker gives each a third; when one dies without a word, the others have its partitions after its session."""
    doomed = cast.stage()
    first = start()
    balanced(cast, partitions(topic), first)
    others = [start(), start(doomed)]
    balanced(cast, partitions(topic), first, *others)
    produce(cast.bootstrap, topic, values(300))
    all_read(cast, values(300), first, *others)
    read = [value for each in (first, *others) for value in each.values]
    assert sorted(read) == sorted(values(300)), "each record has one reader"

    doomed.kill()
    produce(cast.bootstrap, topic, values(300, first=300))
    survivors = first, others[0]
    balanced(cast, partitions(topic), *survivors)
    all_read(cast, values(300, first=300), *survivors)


@pytest.mark.behaviour("KIP-848 group")
@pytest.mark.rules("CGX-1", "CGX-2", "CGX-4", "CGE-2")
def test_a_pattern_takes_in_topics_that_come_later(cast: Cast, topic: str, start: Start) -> None:
    """Two members of a pattern share what matches the whole name, and a new topic some seconds after it was made."""
    create_topics(cast.bootstrap, **{f"no-{topic}": PARTITIONS})
    members = [start(pattern=f"{topic}[a-z]*") for _ in range(2)]
    balanced(cast, partitions(topic), *members)

    later = f"{topic}late"
    create_topics(cast.bootstrap, **{later: PARTITIONS})
    produce(cast.bootstrap, later, values(100))
    balanced(cast, partitions(topic, later), *members)
    all_read(cast, values(100), *members)


@pytest.mark.behaviour("KIP-848 group")
@pytest.mark.rules("CGS-2", "CGS-3", "CGH-31")
def test_a_static_member_restarts_and_disturbs_nobody(cast: Cast, topic: str, start: Start) -> None:
    """It has its partitions again, and the other one keeps what it has."""
    if cast.language == "franz-go":
        pytest.skip("franz-go 1.22.1 leaves with epoch -2 and no instance id, which Kafka refuses: the session ends")
    other = start(**{"group.instance.id": "instance-1"})
    before = start(**{"group.instance.id": "instance-2"})
    balanced(cast, partitions(topic), other, before)
    owned, heard = before.assigned, other.assignments

    before.stop()
    after = start(**{"group.instance.id": "instance-2"})
    cast.wait("the restarted one has its partitions", lambda: after.assigned == owned)
    produce(cast.bootstrap, topic, values(100))
    all_read(cast, values(100), other, after)

    assert other.assignments == heard


@pytest.mark.behaviour("KIP-848 group")
@pytest.mark.rules("CGM-3", "CGM-5", "CGM-6", "CGM-7", "CGM-8", "CGM-10", "CGO-11")
def test_a_group_is_upgraded_and_downgraded_while_it_runs(cast: Cast, topic: str, start: Start) -> None:
    """Members are replaced one by one, first by those of the new protocol, then by old ones: nothing is lost."""
    members = [start(protocol="classic"), start(protocol="classic")]
    balanced(cast, partitions(topic), *members)
    everybody, sent = [*members], 0
    for protocol in ("consumer", "consumer", "classic", "classic"):
        members.append(start(protocol=protocol))
        everybody.append(members[-1])
        balanced(cast, partitions(topic), *members)
        produce(cast.bootstrap, topic, values(60, first=sent))
        sent += 60
        members.pop(0).stop()
        balanced(cast, partitions(topic), *members)
        produce(cast.bootstrap, topic, values(60, first=sent))
        sent += 60
        all_read(cast, values(sent), *everybody)


@pytest.mark.behaviour("KIP-848 group")
@pytest.mark.rules("CGA-1", "CGA-2", "CGA-3", "CGO-1", "CGO-7")
def test_members_choose_the_range_assignor_and_resume_at_their_offsets(cast: Cast, topic: str, start: Start) -> None:
    """`range` gives each member consecutive partitions; who comes later goes on behind what was committed."""
    members = [start(**{"group.remote.assignor": "range"}) for _ in range(2)]
    halves = {frozenset(f"{topic}-{number}" for number in part) for part in (range(3), range(3, PARTITIONS))}
    cast.wait("each has a half", lambda: {frozenset(each.assigned or ()) for each in members} == halves)
    produce(cast.bootstrap, topic, values(100))
    all_read(cast, values(100), *members)
    for each in members:
        each.stop()

    produce(cast.bootstrap, topic, values(100, first=100))
    heir = start(**{"group.remote.assignor": "range"})
    all_read(cast, values(100, first=100), heir)

    assert not set(values(100)) & set(heir.values)

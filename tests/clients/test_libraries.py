"""Real client libraries through their ordinary API: the story that an application lives with a broker.

The same stories are played on a real Kafka (long), so that what is asked for here is what Kafka does.
"""

import pytest

from tests.clients.brokers import Broker
from tests.clients.every_library import LIBRARIES, every_library, of
from tests.clients.group_of_topic import PARTITIONS, Join, broker, group_of, join, library, topic
from tests.clients.libraries import PYTHON_LIBRARIES
from tests.clients.story import WALL_START_MS, Adapter, Member, Sent, formed, make_records, wait_all
from tests.support.real_kafka import start_kafka

__all__ = ["broker", "join", "library", "start_kafka", "topic"]

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]

MARKS = 20
IN_PYTHON = {each.name for each in PYTHON_LIBRARIES}
every_codec = pytest.mark.parametrize(
    ("name", "codec"),
    [
        of(name, codec, marks=[pytest.mark.essential] if codec == "none" and name in IN_PYTHON else [])
        for name, library in LIBRARIES.items()
        for codec in library.codecs
    ],
)
only_fakebroker = pytest.mark.parametrize("broker", ["fakebroker"], indirect=True)


def read(members: list[Member]) -> list[Sent]:
    """What members have read together."""
    return [record for member in members for record in member.received]


@pytest.mark.behaviour("Round trip, {codec}")
@every_codec
def test_what_is_produced_is_read_by_a_group_of_two(
    broker: Broker, topic: str, library: Adapter, join: Join, codec: str
) -> None:
    """2,000 records with keys, headers and times come back whole, once, in order per partition, to two members."""
    records = make_records(2_000, PARTITIONS)
    members = [join() for _ in range(2)]
    formed(broker.group(group_of(topic)), members)

    library.produce(broker.bootstrap, topic, records, codec)
    wait_all(members, {r.value for r in records})
    for member in members:
        member.stop()

    received = read(members)
    assert sorted(received) == sorted(records)
    for partition in range(PARTITIONS):
        assert [r for r in received if r.partition == partition] == [r for r in records if r.partition == partition]
    assert all(m.received for m in members)


@pytest.mark.behaviour("Three members, one leaves")
@every_library
def test_a_third_member_joins_and_one_leaves(broker: Broker, topic: str, library: Adapter, join: Join) -> None:
    """Whatever the group goes through, every record is delivered to somebody."""
    _three_members_and_one_leaves(broker, topic, library, join)


@pytest.mark.behaviour("KIP-848 group")
@pytest.mark.parametrize("name", [of("rdkafka")])
def test_the_broker_assigns_partitions(broker: Broker, topic: str, library: Adapter, join: Join) -> None:
    """The same with group.protocol=consumer; what other libraries do then is in test_consumer_groups.py."""
    _three_members_and_one_leaves(broker, topic, library, join, group_protocol="consumer")
    assert broker.group(group_of(topic)).described().protocol == "consumer"


def _three_members_and_one_leaves(broker: Broker, topic: str, library: Adapter, join: Join, **options: object) -> None:
    batches = [make_records(1_000, PARTITIONS, first=n * 1_000) for n in range(3)]
    group = broker.group(group_of(topic))
    members = [join(**options) for _ in range(2)]
    formed(group, members)
    library.produce(broker.bootstrap, topic, batches[0], "none")

    members.append(join(**options))
    formed(group, members)
    library.produce(broker.bootstrap, topic, batches[1], "none")
    wait_all(members, {r.value for batch in batches[:2] for r in batch})

    members[0].stop()
    formed(group, members[1:])
    library.produce(broker.bootstrap, topic, batches[2], "none")
    wait_all(members, {r.value for batch in batches for r in batch})
    for member in members[1:]:
        member.stop()


@pytest.mark.behaviour("Resume at committed offsets")
@every_library
def test_a_consumer_resumes_from_its_committed_offset(broker: Broker, topic: str, library: Adapter, join: Join) -> None:
    """A member that stops after a commit and one that comes later read every record exactly once between them."""
    records = make_records(2_000, PARTITIONS)
    library.produce(broker.bootstrap, topic, records, "none")

    first = join(limit=800)
    first.join()
    second = join()
    second.wait(len(records) - len(first.received))
    second.stop()

    assert sorted(read([first, second])) == sorted(records)
    assert sum(broker.committed(group_of(topic), topic, PARTITIONS).values()) == len(records)


@pytest.mark.behaviour("Offset reset")
@every_library
def test_a_consumer_without_a_valid_offset_begins_where_it_resets_to(
    broker: Broker, topic: str, library: Adapter, join: Join
) -> None:
    """With "earliest" behind deleted records, although another offset is committed; with "latest" at the end."""
    records = make_records(400, PARTITIONS)
    library.produce(broker.bootstrap, topic, records[:40], "none")
    first = join(limit=40)
    first.join()
    library.produce(broker.bootstrap, topic, records[40:], "none")
    broker.delete_records(topic, dict.fromkeys(range(PARTITIONS), 50))

    second = join(auto_offset_reset="earliest")
    second.wait(200)
    second.stop()
    assert sorted(second.received) == sorted(records[200:])

    late = join(auto_offset_reset="latest", group=f"{topic}-late")
    formed(broker.group(f"{topic}-late"), [late])
    marks = _read_from_every_partition(broker, topic, library, late)
    new = make_records(100, PARTITIONS, first=400)
    library.produce(broker.bootstrap, topic, new, "none")
    wait_all([late], {record.value for record in new})
    late.stop()
    assert {record.value for record in late.received} <= {record.value for record in marks + new}


def _read_from_every_partition(broker: Broker, topic: str, library: Adapter, member: Member) -> list[Sent]:
    """Send marks until the member, which begins at the end, has read one of each partition; returns the marks."""
    sent: list[Sent] = []
    for number in range(MARKS):
        marks = [Sent(index, b"mark", b"mark-%d" % number, (), WALL_START_MS) for index in range(PARTITIONS)]
        library.produce(broker.bootstrap, topic, marks, "none")
        sent += marks
        if member.sees(lambda: {record.partition for record in member.received} == set(range(PARTITIONS)), 2):
            return sent
    raise AssertionError(f"{library.name} read only from {sorted({record.partition for record in member.received})}")


@pytest.mark.behaviour("Offsets by time")
@every_library
def test_offsets_are_found_by_time(broker: Broker, topic: str, library: Adapter) -> None:
    """Per partition the first record at or after the asked time is found, or nothing after the last (LO-11, LO-13)."""
    library.produce(broker.bootstrap, topic, make_records(10_000, PARTITIONS), "gzip")

    def at(timestamp_ms: int) -> dict[int, int | None]:
        return library.offsets_for_time(broker.bootstrap, topic, PARTITIONS, timestamp_ms)

    assert at(0) == {0: 0, 1: 0, 2: 0, 3: 0}
    assert at(WALL_START_MS + 4_002) == {0: 1001, 1: 1001, 2: 1000, 3: 1000}
    past_the_end = at(WALL_START_MS + 10_000)
    assert all(offset in (None, 2_500) for offset in past_the_end.values())  # some answer "not found" with the end


@pytest.mark.behaviour("Transactions")
@every_library
def test_a_reader_of_committed_records_does_not_see_aborted_ones(
    broker: Broker, topic: str, library: Adapter, join: Join
) -> None:
    """Of an aborted transaction and a committed one it reads the second; a reader of everything reads both."""
    aborted, committed = make_records(40, PARTITIONS), make_records(40, PARTITIONS, first=40)
    library.transaction(broker.bootstrap, topic, f"{topic}-sender", aborted, commit=False)
    library.transaction(broker.bootstrap, topic, f"{topic}-sender", committed, commit=True)

    careful = join(isolation_level="read_committed")
    careful.wait(len(committed))
    careful.stop()
    assert sorted(careful.received) == sorted(committed)

    careless = join(isolation_level="read_uncommitted", group=f"{topic}-careless")
    careless.wait(len(aborted + committed))
    careless.stop()
    assert sorted(careless.received) == sorted(aborted + committed)


@pytest.mark.behaviour("Eight days pass while a member is connected", needs="a clock")
@only_fakebroker
@every_library
def test_a_group_survives_a_jump_of_a_week(broker: Broker, topic: str, library: Adapter, join: Join) -> None:
    """Moving the broker's wall clock by eight days does not disturb a connected consumer."""
    member = join()
    group = broker.group(group_of(topic))
    library.produce(broker.bootstrap, topic, make_records(10, PARTITIONS), "none")
    member.wait(10)  # kafka-python rejoins once when it has learnt the topic's partitions; that is over now
    generation = group.generation

    broker.clock.advance(days=8)
    library.produce(broker.bootstrap, topic, make_records(100, PARTITIONS, first=10), "none")
    member.wait(110)

    assert (group.described().state, group.generation) == ("Stable", generation)
    member.stop()


@pytest.mark.behaviour("Offsets expire after eight days without members", needs="a clock")
@only_fakebroker
@every_library
def test_a_group_without_members_loses_its_offsets(broker: Broker, topic: str, library: Adapter, join: Join) -> None:
    """A member that comes after six days goes on behind what was committed; after eight more it begins again."""
    records = make_records(40, PARTITIONS)
    library.produce(broker.bootstrap, topic, records, "none")
    first = join(limit=40)
    first.join()
    broker.clock.advance(days=6)
    more = make_records(40, PARTITIONS, first=40)
    library.produce(broker.bootstrap, topic, more, "none")
    second = join(limit=40)
    second.join()
    assert sorted(second.received) == sorted(more)

    broker.clock.advance(days=8)
    assert broker.committed(group_of(topic), topic, PARTITIONS) == dict.fromkeys(range(PARTITIONS), -1)
    third = join(limit=80)
    third.join()
    assert sorted(third.received) == sorted(records + more)

"""Real Python clients through their ordinary API: the story that an application lives with a broker."""

import pytest

from fakebroker import FakeBroker
from tests.clients.libraries import LIBRARIES
from tests.clients.story import KEEPS_OLD_RECORDS, WALL_START_MS, Adapter, Member, formed, make_records, wait_all

PARTITIONS = 4
pytestmark = [
    KEEPS_OLD_RECORDS,
    pytest.mark.clients,
    pytest.mark.filterwarnings("ignore"),  # what the libraries warn of at import is not ours to mend
]

every_library = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
every_codec = pytest.mark.parametrize(
    ("library", "codec"),
    [
        pytest.param(lib, codec, id=f"{name}-{codec}", marks=[pytest.mark.essential] if codec == "none" else [])
        for name, lib in LIBRARIES.items()
        for codec in lib.codecs
    ],
)


@every_codec
def test_what_is_produced_is_read_by_a_group_of_two(fakebroker: FakeBroker, library: Adapter, codec: str) -> None:
    """2,000 records with keys, headers and times come back whole, once, in order per partition, to two members."""
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    records = make_records(2_000, PARTITIONS)
    members = [Member(lambda: library.consumer(fakebroker.bootstrap, "orders", "billing")) for _ in range(2)]
    formed(fakebroker.group("billing"), members)

    library.produce(fakebroker.bootstrap, "orders", records, codec)
    wait_all(members, {r.value for r in records})
    for member in members:
        member.stop()

    received = [r for m in members for r in m.received]
    assert sorted(received) == sorted(records)
    for partition in range(PARTITIONS):
        assert [r for r in received if r.partition == partition] == [r for r in records if r.partition == partition]
    assert all(m.received for m in members)


@every_library
def test_a_third_member_joins_and_one_leaves(fakebroker: FakeBroker, library: Adapter) -> None:
    """Whatever the group goes through, every record is delivered to somebody."""
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    batches = [make_records(1_000, PARTITIONS, first=n * 1_000) for n in range(3)]
    group = fakebroker.group("billing")
    members = [Member(lambda: library.consumer(fakebroker.bootstrap, "orders", "billing")) for _ in range(2)]
    formed(group, members)
    library.produce(fakebroker.bootstrap, "orders", batches[0], "none")

    members.append(Member(lambda: library.consumer(fakebroker.bootstrap, "orders", "billing")))
    formed(group, members)
    library.produce(fakebroker.bootstrap, "orders", batches[1], "none")
    wait_all(members, {r.value for batch in batches[:2] for r in batch})

    members[0].stop()
    formed(group, members[1:])
    library.produce(fakebroker.bootstrap, "orders", batches[2], "none")
    wait_all(members, {r.value for batch in batches for r in batch})
    for member in members[1:]:
        member.stop()


@every_library
def test_a_consumer_resumes_from_its_committed_offset(fakebroker: FakeBroker, library: Adapter) -> None:
    """A member that stops after a commit and one that comes later read every record exactly once between them."""
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    records = make_records(2_000, PARTITIONS)
    library.produce(fakebroker.bootstrap, "orders", records, "none")

    first = Member(lambda: library.consumer(fakebroker.bootstrap, "orders", "billing"), limit=800)
    first.join()
    second = Member(lambda: library.consumer(fakebroker.bootstrap, "orders", "billing"))
    second.wait(len(records) - len(first.received))
    second.stop()

    assert sorted(first.received + second.received) == sorted(records)
    assert sum(fakebroker.group("billing").offsets.values()) == len(records)


@every_library
def test_offsets_are_found_by_time(fakebroker: FakeBroker, library: Adapter) -> None:
    """Per partition the first record at or after the asked time is found, or nothing after the last (LO-11, LO-13)."""
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    library.produce(
        fakebroker.bootstrap, "orders", make_records(10_000, PARTITIONS), "gzip" if "gzip" in library.codecs else "none"
    )

    def at(timestamp_ms: int) -> dict[int, int | None]:
        return library.offsets_for_time(fakebroker.bootstrap, "orders", PARTITIONS, timestamp_ms)

    assert at(0) == {0: 0, 1: 0, 2: 0, 3: 0}
    assert at(WALL_START_MS + 4_002) == {0: 1001, 1: 1001, 2: 1000, 3: 1000}
    past_the_end = at(WALL_START_MS + 10_000)
    assert all(
        offset in (None, 2_500) for offset in past_the_end.values()
    )  # librdkafka answers "not found" with the end


@every_library
def test_a_group_survives_a_jump_of_a_week(fakebroker: FakeBroker, library: Adapter) -> None:
    """Moving the broker's wall clock by eight days does not disturb a connected consumer."""
    fakebroker.create_topic("orders", partitions=PARTITIONS)
    member = Member(lambda: library.consumer(fakebroker.bootstrap, "orders", "billing"))
    group = fakebroker.group("billing")
    library.produce(fakebroker.bootstrap, "orders", make_records(10, PARTITIONS), "none")
    member.wait(10)  # kafka-python rejoins once when it has learnt the topic's partitions; that is over now
    generation = group.generation

    fakebroker.clock.advance(days=8)
    library.produce(fakebroker.bootstrap, "orders", make_records(100, PARTITIONS, first=10), "none")
    member.wait(110)

    assert (group.state, group.generation) == ("Stable", generation)
    member.stop()

"""What every run makes up anew is shown as names, in order of first appearance."""

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.scenarios.comparison import Meaning
from fakebroker.scenarios.comparison.shown import relative

START_MS = 1_767_225_600_000
FIRST = "consumer-0a1b2c3d-0000-1111-2222-333344445555"
SECOND = "consumer-9a1b2c3d-0000-1111-2222-333344445555"


def shown(data: object, meaning: Meaning | None = None, now_ms: int = START_MS) -> object:
    return (meaning or Meaning(START_MS)).shown(data, now_ms)


def test_ids_are_named_in_order_of_first_appearance() -> None:
    """The first member seen is member-1, wherever its id appears again."""
    meaning = Meaning(START_MS)
    answer = {"Leader": SECOND, "MemberId": FIRST, "Members": [{"MemberId": FIRST}, {"MemberId": SECOND}]}

    assert shown(answer, meaning) == {
        "Leader": "member-1",
        "MemberId": "member-2",
        "Members": [{"MemberId": "member-2"}, {"MemberId": "member-1"}],
    }
    assert shown({"MemberId": SECOND}, meaning) == {"MemberId": "member-1"}


def test_no_id_stays_no_id() -> None:
    """The values that mean "none" are shown as they are; producer id 0 is an id."""
    none = {"MemberId": "", "ProducerId": -1, "SessionId": 0, "TopicId": "AAAAAAAAAAAAAAAAAAAAAA", "ClusterId": None}

    assert shown(none) == none
    assert shown({"ProducerId": 0}) == {"ProducerId": "producer-1"}


def test_leader_epochs_count_from_the_first_seen_of_their_partition() -> None:
    """A cluster in which a leader changed before the story began tells the same story; -1 is no epoch."""
    meaning = Meaning(START_MS)

    def epoch(topic: str, partition: int, value: int) -> object:
        data = {"Topics": [{"Name": topic, "Partitions": [{"PartitionIndex": partition, "LeaderEpoch": value}]}]}
        return shown(data, meaning)["Topics"][0]["Partitions"][0]["LeaderEpoch"]  # type: ignore[index]

    assert [epoch("t", 0, 7), epoch("t", 1, 2), epoch("t", 0, 8), epoch("t", 0, -1)] == [0, 0, 1, -1]


def test_times_of_day_are_relative_to_the_beginning() -> None:
    """Times near the story are shown relative to its beginning; what is far from it, or no time, stays."""
    times = {"Topics": [{"Timestamp": START_MS + 3000}, {"Timestamp": -1}, {"Timestamp": 5}]}

    assert shown(times, now_ms=START_MS + 9000) == {
        "Topics": [{"Timestamp": "+3s"}, {"Timestamp": -1}, {"Timestamp": 5}]
    }


def test_relative_times_are_written_as_people_do() -> None:
    """Units from days to milliseconds, without those that are zero."""
    assert [relative(ms) for ms in (0, 90_000, -604_800_000, 3_600_001)] == ["+0ms", "+1m30s", "-7d", "+1h1ms"]


def test_records_are_shown_by_content() -> None:
    """Offsets, keys, values and producers of the records, not the bytes of their batch."""
    batch = build_batch([Record(4, START_MS + 1000, b"k", b"\xff")], base_offset=4)

    data = shown({"Records": {"hex": batch.hex()}})

    assert data == {"Records": [{"offset": 4, "key": "k", "value": {"hex": "ff"}, "timestamp": "+1s"}]}


def test_ids_are_found_inside_texts_and_keys() -> None:
    """Journal rows and errors speak of members by their ids, too."""
    meaning = Meaning(START_MS)
    shown({"MemberId": FIRST}, meaning)

    assert meaning.text(f"member {FIRST} left") == "member member-1 left"
    assert meaning.shown({"members": {FIRST: {"member_id": SECOND}}}, START_MS) == {
        "members": {"member-1": {"member_id": "member-2"}}
    }


def test_ids_inside_of_a_text_are_named() -> None:
    """With the prefix that each has, in texts of any length: a long one is looked at once."""
    meaning, random_part = Meaning(START_MS), "-0a1b2c3d-0000-4000-8000-00000000000"
    text = f"(consumer.1/a:b{random_part}1) left, x{random_part}2y{random_part}3 stays"

    assert meaning.text(text) == "(member-1) left, member-2member-3 stays"
    long = "a" * 500_000 + "-"
    assert meaning.text(long) == long

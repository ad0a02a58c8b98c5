"""Records that were read more than once: alike they are one, different ones are none."""

from typing import Any

from fakebroker.analysis.history.decode import decode_record
from fakebroker.analysis.pipeline.contract import Row
from tests.analysis.history.samples import AT_MS, KEY, group_record, log_record, value
from tests.support.tables_made import commits, coordinator_records, rejects


def row(offset: int = 17, **fields: Any) -> Row:
    """The decoded row of a commit."""
    return decode_record(log_record(KEY, value(5), log_offset=offset)._replace(**fields))[0]


def kept(rows: list[Row]) -> list[tuple[Any, ...]]:
    """What is left of records: place, offset, whether the producer and the time are known."""
    found = [*commits(rows, []), *coordinator_records(rows)]
    names = ("source", "log_partition", "log_offset", "producer_id", "at")
    return sorted(tuple(each[name] for name in names) for each in found)


def test_a_record_in_two_files_counts_once() -> None:
    """Whatever order they come in."""
    one, two = row(file="a.log"), row(file="b.log")

    assert kept([two, one]) == kept([one, two]) == kept([one]) == [("west", 3, 17, None, AT_MS)]
    assert rejects([one, two]) == []


def test_what_a_sink_does_not_know_is_no_difference() -> None:
    """Of a segment's row and a sink's row the segment's stays, which knows the producer and the time."""
    segment = row(file="z.log", producer_id=3, producer_epoch=0, is_transactional=True)
    sink = row(file="a.json", at_ms=None)

    assert kept([sink, segment]) == [("west", 3, 17, 3, AT_MS)]
    assert rejects([sink, segment]) == []


def test_different_records_at_one_offset_are_rejects() -> None:
    """No one can tell which is right, so neither counts, and each is named with its file."""
    rows = [row(file="a.log"), row(18), row(file="b.log", value=value(6))]
    found = rejects(rows)

    assert [place[2] for place in kept(rows)] == [18]
    assert [(each["file"], each["position"], each["log_offset"]) for each in found] == [
        ("a.log", 100, 17),
        ("b.log", 100, 17),
    ]
    assert {each["reason"] for each in found} == {
        "another file has a different record at this offset: the files are not from one log"
    }


def test_a_commit_and_another_record_at_one_offset() -> None:
    """They differ, too."""
    key, data = group_record()
    rows = [row(), row(key=key, value=data, file="b.log")]

    assert (kept(rows), len(rejects(rows))) == ([], 2)


def test_sources_and_partitions_are_apart() -> None:
    """The same offset of another log or partition is another record."""
    rows = [row(), row(source="east", value=value(9)), row(log_partition=4, value=None)]

    assert [place[:2] for place in kept(rows)] == [("east", 3), ("west", 3), ("west", 4)]
    assert rejects(rows) == []


def test_rejects_are_left_out() -> None:
    """What could not be read does not stand against what could."""
    (bad,) = decode_record(log_record(KEY[:-1], value(), at_ms=AT_MS))

    assert len(kept([bad, row()])) == 1
    assert [each["reason"] for each in rejects([bad, row()])] == [bad["reason"]]

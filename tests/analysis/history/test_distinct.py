"""Records that were read more than once: alike they are one, different ones are none."""

from fakebroker.analysis.history.decode import Row, decode_record
from fakebroker.analysis.history.distinct import distinct_rows
from tests.analysis.history.samples import AT_MS, KEY, group_record, log_record, value


def row(offset: int = 17, **fields: object) -> Row:
    record = log_record(KEY, value(5), log_offset=offset)._replace(**fields)  # type: ignore[arg-type]
    return decode_record(record)[0]


def test_a_record_in_two_files_counts_once() -> None:
    """The first by file and position stays, whatever order they come in."""
    one, two = row(file="a.log"), row(file="b.log")

    assert distinct_rows([two, one]) == distinct_rows([one, two]) == ([one], [])


def test_what_a_sink_does_not_know_is_no_difference() -> None:
    """Of a segment's row and a sink's row the segment's stays, which knows the producer."""
    segment = row(file="z.log", producer_id=3, producer_epoch=0, is_transactional=True)
    sink = row(file="a.json", at_ms=None)

    assert distinct_rows([sink, segment]) == ([segment], [])


def test_different_records_at_one_offset_are_rejects() -> None:
    """Nobody can tell which is right, so neither counts, and each is named with its file."""
    one, two = row(file="a.log"), row(file="b.log", value=value(6))
    kept, rejects = distinct_rows([one, row(18), two])

    assert [each["log_offset"] for each in kept] == [18]
    assert [(each.file, each.position, each.log_offset) for each in rejects] == [("a.log", 100, 17), ("b.log", 100, 17)]
    assert {each.reason for each in rejects} == {
        "another file has a different record at this offset: the files are not from one log"
    }


def test_a_commit_and_another_record_at_one_offset() -> None:
    """They differ, too."""
    key, data = group_record()
    kept, rejects = distinct_rows([row(), row(key=key, value=data)])

    assert (kept, len(rejects)) == ([], 2)


def test_sources_and_partitions_are_apart() -> None:
    """The same offset of another log or partition is another record."""
    rows = [row(), row(source="east", value=value(9)), row(log_partition=4, value=None)]

    assert distinct_rows(rows) == (rows, [])


def test_rejects_are_left_out() -> None:
    """What could not be read does not stand against what could."""
    (bad,) = decode_record(log_record(KEY[:-1], value(), at_ms=AT_MS))

    assert distinct_rows([bad, row()]) == ([row()], [])

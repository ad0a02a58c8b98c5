"""What could not be read, and why."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Table, columns
from fakebroker.analysis.pipeline.distinct_records import DecodedOptions, conflicting_records
from fakebroker.analysis.pipeline.recipe import Recipe, listed

TABLE = Table(
    name="rejects",
    layer="bronze",
    about="Input that could not be read: an incomplete line, an undecodable record, a truncated segment",
    columns=columns("""
        source string: the run or log it belongs to, if known; else the name of the file
        file string: the file, or HOST:PORT of a live read
        position long: the position: the line of a text file, counted from 1; the byte of a segment; the row of Parquet; the offset of a live read
        log_partition int?: the partition of `__consumer_offsets`, if known
        log_offset long?: the offset of the record, if known
        reason string: the error, as an English clause
        sample string?: the start of the content: text, or bytes as hex
    """),
    key=("source", "file", "position", "log_offset", "reason"),
)


_DIFFERENT: Final = "another file has a different record at this offset: the files are not from one log"
_SAMPLE_CHARACTERS: Final = 96


def recipe(options: DecodedOptions = DecodedOptions()) -> Recipe:
    """A row for each thing that could not be read, and for each record of an offset that has another one elsewhere."""
    found = f"SELECT {listed(TABLE.column_names)} FROM decoded WHERE what = 'reject'"
    if options.may_repeat:
        found += f"""
            UNION ALL
            SELECT
                source, file, "position", log_partition, log_offset, '{_DIFFERENT}' AS reason,
                SUBSTRING(
                    CONCAT(COALESCE(kind, 'OffsetCommit'), ' of group ', COALESCE(group_id, 'None')),
                    1, {_SAMPLE_CHARACTERS}
                ) AS sample
            FROM ({conflicting_records()}) AS conflicting
        """
    key = listed(TABLE.key)
    return Recipe(f"""
        SELECT {key}, MIN(log_partition) AS log_partition, MIN(sample) AS sample FROM ({found}) AS found GROUP BY {key}
    """)

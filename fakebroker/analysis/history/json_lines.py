"""JSON lines that a sink wrote: one record of `__consumer_offsets` in each line.

    {"topic": "__consumer_offsets", "partition": 0, "offset": 17, "timestamp": 1760000000000,
     "key": "AAEAAWcAAXQAAAAA", "value": "AAMAAA..."}

Bytes are base64 (what Connect's JsonConverter and Spark's to_json write) or hexadecimal. A line, or each of its fields,
may be in Connect's envelope of schema and payload. A value that is null or missing is a tombstone.
"""

from collections.abc import Iterator
from typing import Any, Final

from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject, sample_of
from fakebroker.analysis.history.packed import BAD_GZIP, unpacked
from fakebroker.analysis.history.sink_rows import BadRow, Shape, record_of, shape_of, unwrapped
from fakebroker.protocol.json_text import parse_json

LONGEST_LINE_BYTES: Final = 64 << 20
"""What one line may take in memory."""


def read_json_lines(file: LogFile) -> Iterator[LogRecord | Reject]:
    """The records of a file, packed by gzip or not, in the order of its lines, and a reject for each other line.

    Raises OSError when the file cannot be opened; a failure later on is a reject.
    """
    shape: Shape | None = None
    columns: tuple[str, ...] = ()
    number = 0
    with file.path.open("rb") as opened:
        try:
            lines = unpacked(opened)
            while line := lines.readline(LONGEST_LINE_BYTES):
                number += 1
                if not line.strip():
                    continue
                try:
                    row = _row(line)
                    if shape is None or tuple(row) != columns:  # a line without its nulls, say
                        named = shape_of(row, has_partition=file.log_partition is not None)
                        shape, columns = named._replace(text=shape.text if shape else None), tuple(row)
                    shape = shape.with_text_of(row)
                    yield record_of(row, shape, file, number)
                except BadRow as fault:
                    yield file.reject(number, str(fault), sample_of(line[:200].decode("utf-8", "replace")))
        except (OSError, *BAD_GZIP) as error:
            yield file.reject(number + 1, f"the file cannot be read after line {number}: {error}")


def _row(line: bytes) -> dict[str, Any]:
    """The columns in a line. Raises BadRow."""
    try:
        row = unwrapped(parse_json(line))
    except ValueError as error:
        torn = "" if line.endswith(b"\n") else ", and is truncated"
        raise BadRow(f"the line is not JSON ({str(error)[:100]}){torn}") from None
    if not isinstance(row, dict):
        raise BadRow("the line is not a JSON object")
    return row

"""Batches written as data, and read back as data."""

import struct

import pytest

from fakebroker.protocol.records.batch import build_batch as well_formed_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.scenarios.dialogue.batches import HEADER, build, read_batches

NOW_MS = 1_800_000_000_000


def test_a_batch_reads_back_as_it_was_written() -> None:
    """What the builder makes is a proper batch: right CRC, offsets, times, keys, values and headers."""
    data = build(
        {"batch": {"records": [["k", "v"], [None, {"hex": "ff00"}, 5, [["h", "x"]]]], "pid": 7, "seq": 3}}, NOW_MS
    )

    (batch,) = read_batches(data, NOW_MS)
    assert batch["crc_ok"]
    assert (batch["ProducerId"], batch["seq"], batch["count"], batch["last_offset_delta"]) == (7, 3, 2, 1)
    assert batch["records"] == [
        [0, 1_700_000_000_000, "k", "v"],
        [1, 1_700_000_000_005, None, {"hex": "ff00"}, [["h", "x"]]],
    ]


def test_several_batches_follow_each_other() -> None:
    """A list of batches is their bytes, one after the other."""
    data = build({"batches": [{}, {"base_offset": 5}]}, NOW_MS)

    assert [batch["offset"] for batch in read_batches(data, NOW_MS)] == [0, 5]


@pytest.mark.parametrize(
    ("field", "place", "value"), [("crc", 4, 1), ("attributes", 5, 64), ("last_offset_delta", 6, 4), ("count", 12, 9)]
)
def test_any_field_may_be_wrong_on_purpose(field: str, place: int, value: int) -> None:
    """Dialogues show how a broker takes broken batches, so the builder builds them."""
    data = build({"batch": {field: value}}, NOW_MS)

    assert HEADER.unpack_from(data)[place] == value


def test_times_near_now_read_now() -> None:
    """A timestamp given relative to now comes back as "now"."""
    (batch,) = read_batches(build({"batch": {"timestamp": "now-5000"}}, NOW_MS), NOW_MS)

    assert batch["base_timestamp"] == "now"
    assert batch["records"][0][1] == "now"


def test_builders_are_found_anywhere_in_a_request() -> None:
    """A batch may stand wherever a request has bytes."""
    built = build({"TopicData": [{"Records": {"batch": {}}, "Index": 0}]}, NOW_MS)

    assert isinstance(built["TopicData"][0]["Records"], bytes)
    assert built["TopicData"][0]["Index"] == 0


def test_an_incomplete_last_batch_is_left_out() -> None:
    """Fetch may cut the last batch; clients skip it, and so does the reader."""
    data = build({"batches": [{}, {}]}, NOW_MS)

    assert len(read_batches(data[:-1], NOW_MS)) == 1


def test_compressed_records_are_not_shown_but_for_gzip() -> None:
    """Recordings show the records of gzip batches and say "compressed" for the other codecs."""
    records = [Record(0, 5, b"k", b"v")]
    gzip_batch, zstd_batch = (well_formed_batch(records, codec=codec) for codec in (1, 4))

    shown = [batch["records"] for batch in read_batches(gzip_batch + zstd_batch, NOW_MS)]
    assert [row[2:] for row in shown[0]] == [["k", "v"]]
    assert shown[1] == "compressed"


def test_old_messages_are_shown_as_messages() -> None:
    """A message of format 1 has a timestamp, a key and a value of its own."""
    body = struct.pack(">bbq", 1, 0, 1_700_000_000_000) + struct.pack(">i", 1) + b"k" + struct.pack(">i", -1)
    message = struct.pack(">qii", 4, len(body) + 4, 0) + body

    assert read_batches(message, NOW_MS) == [
        {"offset": 4, "magic": 1, "attributes": 0, "timestamp": 1_700_000_000_000, "key": "k", "value": None}
    ]

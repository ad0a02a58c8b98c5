"""What a record means: rows for what Kafka reads, rejects for what it cannot read, never an exception."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.history.decode import decode_record
from fakebroker.analysis.history.log_record import LogRecord
from fakebroker.analysis.pipeline.contract import FIRST_TIME_MS, LAST_TIME_MS
from fakebroker.analysis.pipeline.tables.decoded import TABLE
from fakebroker.protocol.records.offsets_codec import Format, group_key, group_value, offset_key
from fakebroker.protocol.records.offsets_topic import GroupValue
from fakebroker.protocol.records.record_types import RECORD_TYPES
from fakebroker.protocol.schema.jsonable import to_json
from tests.analysis.history.samples import AT_MS, KEY, group_record, log_record, value
from tests.protocol.schema.strategies import messages


def decoded(record: LogRecord) -> list[dict[str, Any]]:
    """The rows of a record without the columns that say nothing."""
    return [{name: each for name, each in row.items() if each is not None} for row in decode_record(record)]


@pytest.mark.rules("CR-3", "CR-4")
def test_a_committed_offset() -> None:
    """A commit's row has the fields of key and value, and where it stands."""
    topic_id = bytes(range(16))
    data = value(5, metadata="m", leader_epoch=2, topic_id=topic_id)

    assert decoded(log_record(KEY, data)) == [
        {
            "what": "commit",
            "source": "west",
            "file": "a.log",
            "position": 100,
            "log_partition": 3,
            "log_offset": 17,
            "at": AT_MS,
            "group_id": "billing",
            "topic": "orders",
            "partition": 0,
            "committed_offset": 5,
            "leader_epoch": 2,
            "metadata": "m",
            "committed_at": AT_MS,
            "topic_id": "AAECAwQFBgcICQoLDA0ODw",
            "transactional": False,
        }
    ]


@pytest.mark.rules("CR-5")
def test_a_commit_with_a_retention_of_its_own() -> None:
    """Value version 1 says when it expires, and no leader epoch."""
    (row,) = decoded(log_record(KEY, value(expire_ms=AT_MS + 1)))

    assert (row["expires_at"], row["leader_epoch"]) == (AT_MS + 1, -1)


@pytest.mark.rules("CR-11")
def test_a_tombstone_of_an_offset() -> None:
    """A tombstone names the partition and has nothing of a value."""
    (row,) = decoded(log_record(KEY, None))

    assert (row["what"], row["group_id"], row["partition"]) == ("commit", "billing", 0)
    assert not row.keys() & {"committed_offset", "leader_epoch", "metadata", "committed_at"}


@pytest.mark.rules("CR-3")
def test_the_oldest_key() -> None:
    """A key of type 0 is read like one of type 1."""
    (row,) = decoded(log_record(b"\0\0" + KEY[2:], value(version=0)))

    assert (row["what"], row["committed_offset"]) == ("commit", 5)


@pytest.mark.rules("CR-7")
def test_a_group_record() -> None:
    """Any other record has its key and value as JSON with Kafka's names."""
    (row,) = decoded(log_record(*group_record()))

    assert (row["what"], row["record_type"], row["kind"], row["value_version"]) == ("record", 2, "GroupMetadata", 3)
    assert row["group_id"] == "billing"
    assert json.loads(row["key"]) == {"group": "billing"}
    assert json.loads(row["value"])["generation"] == 3


def test_texts_stay_readable_in_json() -> None:
    """Letters beyond ASCII come as they are, in the key and in the value."""
    (row,) = decoded(
        log_record(group_key("größe"), group_value(GroupValue("völker", 3, None, None, AT_MS, ()), Format()))
    )

    assert row["group_id"] == "größe"
    assert "größe" in row["key"]
    assert "völker" in row["value"]


@pytest.mark.parametrize("length", [1, 1000, 1024, 30_000])
def test_a_key_of_any_length_is_read_as_often_as_it_comes(length: int) -> None:
    """Keys are kept while they are short; one with bytes after its last field is reported each time."""
    group_id = "g" * length
    found = [decoded(log_record(group_key(group_id) + rest, None)) for rest in (b"", b"", b"!", b"!")]

    assert [[row["what"] for row in rows] for rows in found] == [["record"], ["record"], *[["record", "reject"]] * 2]
    assert {(rows[0]["group_id"], rows[0]["key"]) for rows in found} == {(group_id, f'{{"group":"{group_id}"}}')}


def test_an_unknown_type_is_kept() -> None:
    """A record of a type that nobody knows is a row with its bytes."""
    (row,) = decoded(log_record(bytes.fromhex("0063ff"), bytes.fromhex("000100")))

    assert (row["kind"], row["record_type"], row["key"], row["value"]) == ("unknown", 99, "0063ff", "000100")


@pytest.mark.rules("RC-3")
@pytest.mark.parametrize("control", ["commit", "abort"])
def test_a_marker(control: str) -> None:
    """A marker's row names the producer, and the epoch of the coordinator that wrote it."""
    record = log_record(b"\0\0\0\1", bytes.fromhex("000000000007"), producer_id=9, producer_epoch=1, control=control)
    (row,) = decoded(record)

    assert (row["what"], row["kind"], row["producer_id"], row["producer_epoch"]) == ("record", control, 9, 1)
    assert row["value"] == '{"coordinatorEpoch":7}'
    assert "record_type" not in row


def test_a_marker_that_a_sink_wrote_as_data() -> None:
    """The key of a marker is too short for a key of a group: it is a marker also where nothing says so."""
    (row,) = decoded(log_record(b"\0\0\0\0", bytes.fromhex("000000000000")))

    assert (row["what"], row["kind"]) == ("record", "abort")


BAD = {
    "no key": (None, value(), "the record has no key"),
    "a key of one byte": (b"\0", value(), "too short for its type"),
    "a cut key": (KEY[:-1], value(), "OffsetCommitKey v0 .* is truncated|OffsetCommitKey v0.*bytes left"),
    "a negative length": (b"\0\1\xff\xff" + bytes(8), value(), "null is not allowed"),
    "a cut value": (KEY, value()[:-1], "OffsetCommitValue v4 .*is truncated"),
    "an empty value": (KEY, b"", "too short for its version"),
    "an unknown version": (KEY, b"\0\5" + bytes(30), "OffsetCommitValue has no version 5, only 0-4"),
    "a negative version": (KEY, b"\xff\xff" + bytes(30), "no version -1"),
    "a cut group": (group_record()[0], group_record()[1][:-1], "GroupMetadataValue v3"),
    "a group of an unknown version": (group_record()[0], b"\0\x09", "GroupMetadataValue has no version 9"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_a_reject(name: str) -> None:
    """The reject says why, and where the record stands; there is no other row."""
    key, data, reason = BAD[name]
    (row,) = decoded(log_record(key, data))

    assert row["what"] == "reject"
    assert (row["source"], row["file"], row["position"], row["log_partition"], row["log_offset"]) == (
        ("west", "a.log", 100, 3, 17)
    )
    assert re.search(reason, row["reason"])


@pytest.mark.parametrize(
    ("at_ms", "commit_ms", "reasons"),
    [
        (FIRST_TIME_MS, LAST_TIME_MS, []),
        (AT_MS, LAST_TIME_MS + 1, ["committed_at 253402300800000 ms is outside of the years 1 to 9999"]),
        (FIRST_TIME_MS - 1, AT_MS, ["at -62135596800001 ms is outside of the years 1 to 9999"]),
        (2**63 - 1, -(2**63), [f"committed_at {-(2**63)} ms is", f"at {2**63 - 1} ms is"]),
        (None, AT_MS, []),
    ],
)
def test_times_that_no_table_can_have(at_ms: int | None, commit_ms: int, reasons: list[str]) -> None:
    """A time outside of the years 1 to 9999 is null in the row, which stays, and a reject."""
    row, *rejects = decode_record(log_record(KEY, value(commit_ms=commit_ms), at_ms=at_ms))

    assert row["what"] == "commit"
    assert [reject["what"] for reject in rejects] == ["reject"] * len(reasons)
    assert all(reject["reason"].startswith(reason) for reject, reason in zip(rejects, reasons, strict=True))
    assert (row["committed_at"] is None) == any(reason.startswith("committed_at") for reason in reasons)


@pytest.mark.parametrize(("key", "data"), [(KEY, value()), group_record()])
def test_bytes_after_the_last_field(key: bytes, data: bytes) -> None:
    """Kafka does not look at them: the row stays, and a reject tells of them."""
    row, *rejects = decode_record(log_record(key + b"x", data + b"yz"))

    assert row["what"] != "reject"
    assert [reject["reason"] for reject in rejects] == [
        "1 bytes follow the last field of the key",
        "2 bytes follow the last field of the value",
    ]


def test_text_that_is_not_utf_8() -> None:
    """It is read as Kafka reads it, with U+FFFD where it is not UTF-8."""
    (row,) = decoded(log_record(offset_key("ab", "t", 0).replace(b"ab", b"a\xff"), value()))

    assert row["group_id"] == "a\ufffd"


@given(st.data())
def test_every_record_of_every_type_comes_out_as_it_was_written(data: st.DataObject) -> None:
    """The fields of key and value are in the row, for every type and version."""
    each = data.draw(st.sampled_from(list(RECORD_TYPES.values())))
    version = data.draw(st.integers(0, each.value.versions.last))
    key: Any = data.draw(messages(each.key, 0))
    message: Any = data.draw(messages(each.value, version))
    prefix = each.number.to_bytes(2, "big"), version.to_bytes(2, "big")
    row, *rejects = decode_record(log_record(prefix[0] + key.encode(0), prefix[1] + message.encode(version)))

    if row["what"] == "commit":
        assert (row["group_id"], row["topic"], row["partition"]) == (key.group, key.topic, key.partition)
        assert (row["committed_offset"], row["metadata"]) == (message.offset, message.metadata)
        assert all(reject["reason"].endswith("outside of the years 1 to 9999") for reject in rejects)
    else:
        assert (json.loads(row["key"]), json.loads(row["value"])) == (to_json(key, 0), to_json(message, version))
        assert (row["kind"], row["value_version"], rejects) == (each.name, version, [])


@given(
    key=st.none() | st.binary(max_size=40) | st.builds(lambda rest: KEY[:4] + rest, st.binary(max_size=30)),
    data=st.none() | st.binary(max_size=80) | st.builds(lambda rest: value()[:6] + rest, st.binary(max_size=40)),
    number=st.integers(-3, 30),
    at_ms=st.none() | st.integers(-(2**63), 2**63 - 1),
)
def test_no_bytes_raise(key: bytes | None, data: bytes | None, number: int, at_ms: int | None) -> None:
    """Whatever stands in a record, there are rows with the columns of `decoded`, the first one about the record."""
    if key is not None and len(key) > 2:
        key = number.to_bytes(2, "big", signed=True) + key[2:]
    rows = decode_record(log_record(key, data, at_ms=at_ms))

    assert rows
    assert all(row.keys() == set(TABLE.column_names) for row in rows)
    assert all(row["what"] == "reject" and row["reason"] for row in rows[1:])

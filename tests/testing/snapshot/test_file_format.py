"""Files of snapshots: what is written is read, and nothing else is taken for a snapshot."""

import json
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import InvalidArgument, Snapshot
from fakebroker.testing.snapshot.file_format import FORMAT_VERSION, MAGIC
from fakebroker.testing.snapshot.state_codec import Reader
from tests.testing.snapshot.histories import STEPS, new_broker, play

HEAD = len(MAGIC) + 4 + 16


def content() -> bytes:
    """A file with something of everything."""
    broker = new_broker()
    play(broker, [(kind, n) for n in (3, 12, 14) for kind in STEPS if kind != "topic"])
    return broker.snapshot().to_bytes()


CONTENT = content()


class WithNew(NamedTuple):
    """A state that got another field after files were written."""

    old: int
    new: str = "default"


def sealed(start: bytes, head: bytes, data: bytes) -> bytes:
    """A file with right lengths and a right checksum."""
    body = start + struct.pack(">QQ", len(head), len(data)) + head + data
    return body + struct.pack(">I", zlib.crc32(body))


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file with another head, sealed again."""
    head_bytes, data_bytes = struct.unpack_from(">QQ", CONTENT, len(MAGIC) + 4)
    head = json.loads(CONTENT[HEAD : HEAD + head_bytes])
    change(head)
    data = CONTENT[HEAD + head_bytes : HEAD + head_bytes + data_bytes]
    return sealed(CONTENT[: len(MAGIC) + 4], json.dumps(head).encode(), data)


def topic(head: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = head["cluster"]["topics"][0]
    return found


def renamed(head: dict[str, Any], name: str) -> None:
    topic(head).update(name=name)


def log(head: dict[str, Any]) -> dict[str, Any]:
    partitions = [each for one in head["cluster"]["topics"] for each in one["partitions"]]
    found: dict[str, Any] = next(p["log"] for p in partitions if p["log"] and p["log"]["segments"][0]["batches"][2])
    return found


def test_a_file_says_everything() -> None:
    """Read and written again it is the same, byte for byte."""
    assert Snapshot.from_bytes(CONTENT).to_bytes() == CONTENT


def whole_files() -> list[Any]:
    version = struct.pack(">I", FORMAT_VERSION + 1)
    return [
        (b"", "is empty"),
        (b"PK\x03\x04 a zip file", "is not a snapshot of fakebroker"),
        (MAGIC[:7], "is cut off: it has only 7 bytes"),
        (CONTENT[: HEAD - 1], "is cut off"),
        (CONTENT[:-1], "is cut off: it has"),
        (CONTENT + b"x", "has data after its end"),
        (CONTENT[:-10] + bytes([CONTENT[-10] ^ 1]) + CONTENT[-9:], "is damaged: its checksum is wrong"),
        (MAGIC + version + CONTENT[len(MAGIC) + 4 :], r"has format 2; .* reads formats up to 1: a newer one wrote"),
        (MAGIC + bytes(4) + CONTENT[len(MAGIC) + 4 :], "has the unknown format 0"),
        (sealed(CONTENT[: len(MAGIC) + 4], b"not json", b""), "is damaged: Expecting value"),
        (sealed(CONTENT[: len(MAGIC) + 4], b"\xff", b""), "is damaged"),
        (sealed(CONTENT[: len(MAGIC) + 4], b"[" * 100_000, b""), "is damaged"),
        (sealed(CONTENT[: len(MAGIC) + 4], b"[]", b""), r"the state: \[\] is not of type dict"),
    ]


@pytest.mark.parametrize(("bad", "text"), whole_files())
def test_files_that_are_no_snapshots(bad: bytes, text: str, tmp_path: Path) -> None:
    """The error names the file and what is wrong with it."""
    path = tmp_path / "bad.fakebroker"
    path.write_bytes(bad)

    with pytest.raises(InvalidArgument, match=text) as raised:
        Snapshot.load(path)

    assert str(raised.value).startswith(str(path))
    assert (raised.value.field, raised.value.value) == ("path", str(path))


NO_NAMES = ("../../victim", "/tmp/victim", "", "..", "a\0b", "x" * 250)
"""Those of folders elsewhere, and of none."""


def heads() -> list[Any]:
    return [
        (lambda h: h.pop("clock"), "the state: the field 'clock' is missing"),
        (lambda h: h.update(more=1), "the state has no field 'more'"),
        (lambda h: h["clock"].update(wall_ms="now"), "the state.clock.wall_ms: 'now' is not of type int"),
        (lambda h: h["clock"].update(wall_ms=True), "wall_ms: True is not of type int"),
        (lambda h: h["clock"].update(rate=0), "its clock is invalid"),
        (lambda h: h["clock"].update(wall_ms=10**20), "its clock is invalid"),
        (lambda h: h["options"].update(profile="fast"), "profile: there is no 'fast'; there are"),
        (lambda h: h["options"].update(as_release="9.9"), "there is no release '9.9'; there are"),
        (lambda h: h["options"].update(node_ids=[1, 3]), r"it began with the nodes \[1, 3\]"),
        (lambda h: h["options"].update(node_ids=[]), r"it began with the nodes \[\]"),
        (lambda h: h["cluster"]["nodes"].append(h["cluster"]["nodes"][0]), r"its 3 nodes are \[1, 2, 1\]"),
        (lambda h: h["cluster"]["nodes"][0].update(id=0), r"of \[0, 2\]"),
        (lambda h: h["options"]["config"].update(x="1"), "there is no setting 'x'"),
        (lambda h: h["cluster"]["random"].update(internal=[1, 2]), "is damaged"),
        (lambda h: h["cluster"]["topics"].append(topic(h)), "two topics have the same name"),
        *[(partial(renamed, name=name), "is not a valid topic name") for name in NO_NAMES],
        (partial(renamed, name="__cluster_metadata"), "__cluster_metadata is reserved"),
        (lambda h: topic(h).update(id="zz"), r"topics\[0\].id: 'zz' is not hexadecimal"),
        (lambda h: topic(h).update(id="00"), "has no id"),
        (lambda h: topic(h).update(partitions=[]), "no partitions"),
        (lambda h: topic(h)["config"].update({"retention.ms": "long"}), "retention.ms"),
        (lambda h: topic(h)["partitions"][0].update(leader=7), "has nodes"),
        (lambda h: topic(h)["partitions"][0].update(replicas=[9]), "has nodes"),
        (lambda h: topic(h)["partitions"][0].update(leader_epoch=2**31), "has the leader epoch 2147483648"),
        (lambda h: topic(h)["partitions"][0].update(leader_epoch=-1), "has the leader epoch -1"),
        (lambda h: log(h).update(epochs=[[2**31, 0]]), "has the leader epoch 2147483648"),
        (lambda h: log(h).update(log_end_offset=2**63), "has the offset 9223372036854775808"),
        (lambda h: log(h).update(log_end_offset=-5), "not in order"),
        (lambda h: log(h).update(segments=[]), r"has segments at \[\]"),
        (lambda h: log(h)["segments"].append(log(h)["segments"][0]), "belong to something else, too"),
        (lambda h: log(h)["segments"][0].update(batches=[0, 0]), "2 numbers instead of 3"),
        (lambda h: log(h)["segments"][0].update(batches=[10**9, 0, 1]), "bytes 1000000000 to"),
        (lambda h: log(h)["segments"][0].update(offsets=[0, 10**12]), "bytes 0 to"),
        (lambda h: log(h)["segments"][0].update(offsets=[0, 0]), "not of one length"),
        (lambda h: log(h)["segments"][0].update(ends=[0, log(h)["segments"][0]["ends"][1]]), "as long as it says"),
        (lambda h: [p.update(log=log(h)) for p in topic(h)["partitions"]], "belong to something else, too"),
        (lambda h: log(h).update(epochs=[[1]]), "1 values instead of 2"),
    ]


@pytest.mark.parametrize(("change", "text"), heads())
def test_states_that_no_broker_can_have(change: Callable[[dict[str, Any]], None], text: str) -> None:
    """A file that was made by hand, with a right checksum, is refused with what is wrong and where."""
    with pytest.raises(InvalidArgument, match=text):
        Snapshot.from_bytes(changed(change))


def test_fields_that_an_older_version_did_not_have() -> None:
    """A field with a default may be missing; others may not."""
    with pytest.raises(InvalidArgument, match="the field 'elr' is missing"):
        Snapshot.from_bytes(changed(lambda h: topic(h)["partitions"][0].pop("elr")))

    assert Reader(memoryview(b"")).decode({"old": 1}, WithNew, "it") == WithNew(1, "default")


@given(st.binary(max_size=200))
def test_random_bytes_are_no_snapshot(data: bytes) -> None:
    """Nothing but InvalidArgument comes of them."""
    for start in (b"", MAGIC, CONTENT[:HEAD]):
        with pytest.raises(InvalidArgument):
            Snapshot.from_bytes(start + data)


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_a_byte_that_was_changed_in_the_head_is_noticed(position: int, value: int) -> None:
    """Also where the checksum was made right again: the snapshot is refused, or is one that a broker can have."""
    head_bytes, _ = struct.unpack_from(">QQ", CONTENT, len(MAGIC) + 4)
    body = bytearray(CONTENT[:-4])
    body[HEAD + position % head_bytes] = value
    try:
        snapshot = Snapshot.from_bytes(bytes(body) + struct.pack(">I", zlib.crc32(body)))
    except InvalidArgument:
        return
    assert snapshot.to_bytes()

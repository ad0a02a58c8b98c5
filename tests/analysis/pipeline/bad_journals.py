"""Journals with every fault that a line or a file can have, and the reasons that are expected for them."""

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

from fakebroker.testing.exchanges.writing import line_of


def event(seq: int, **changes: Any) -> dict[str, Any]:
    """A line of a journal: a transition."""
    return {
        "schema_version": 1,
        "run": "run",
        "seq": seq,
        "part": 0,
        "kind": "transition",
        "wall_ms": 1_767_225_600_000 + seq,
        "mono_ms": seq,
        "node": None,
        "connection": None,
        "client": None,
        "group": "billing",
        "group_type": "classic",
        "before": "Empty",
        "after": "PreparingRebalance",
        "generation": 1,
        "reason": "a test",
        **changes,
    }


def _without(name: str) -> bytes:
    return line_of({key: value for key, value in event(9).items() if key != name}).rstrip()


def _with(**changes: Any) -> bytes:
    return line_of({**event(9), **changes}).rstrip()


# What stands in the line, and a part of the reason of its reject.
BAD_LINES: list[tuple[bytes, str]] = [
    (b'{"schema_version":1,"run":"r', "the line is not JSON: "),
    (b"[1,2]", "the line is [1,2], not a JSON object"),
    (b'"text"', 'the line is "text", not a JSON object'),
    (b"{}", "schema_version is missing"),
    (_with(schema_version=2), "schema_version is 2; only 1 is supported"),
    (_with(schema_version="1"), 'schema_version is "1"; only 1 is supported'),
    (_without("run"), "run is missing"),
    (_without("reason"), "reason is missing"),
    (_with(seq=None), "seq is null"),
    (_with(group=None), "group is null"),
    (_with(kind=5), "kind is 5, not a string"),
    (_with(seq="9"), 'seq is "9", not an integer'),
    (_with(seq=1.0), "seq is 1.0, not an integer"),
    (_with(seq=True), "seq is true, not an integer"),
    (_with(seq=2**63), "seq is 9223372036854775808, not a 64-bit number"),
    (_with(generation=2**31), "generation is 2147483648, not a 32-bit number"),
    (_with(wall_ms=2**60), "wall_ms is 1152921504606846976, not a time in the years 1 to 9999"),
    (_with(topics="orders"), 'topics is "orders", not a list of strings'),
    (_with(topics=["orders", 1]), "topics has 1, not a list of strings"),
    (b'{"a":NaN}', "the line is not JSON: NaN is not JSON"),
    (b'{"client":"\xff"}', "byte 12 of the line is not UTF-8"),
    (b"\xef\xbb\xbf{}", "the line is not JSON: "),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"seq":' + b"9" * 5_000 + b"}", "the line is not JSON: "),
]


def write_bad_journals(folder: Path) -> None:
    """Files with bad lines among good ones; (run, seq) 0 to 5 are good."""
    (folder / "bad.jsonl").write_bytes(b"\n".join([line_of(event(0)).rstrip(), *(data for data, _ in BAD_LINES), b""]))
    (folder / "cut.jsonl.gz").write_bytes(_cut_gzip(line_of(event(1))))
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "lines.jsonl").write_bytes(b"\n \r\n" + json.dumps(event(2)).encode() + b"\r\n\n")
    (folder / "no_gzip.jsonl.gz").write_bytes(b"\x1f\x8b and then something else")
    (folder / "other.jsonl").write_bytes(line_of(event(3)) + line_of(event(2, reason="another")))
    (folder / "torn.jsonl.open").write_bytes(line_of(event(4)) + line_of(event(9))[:40])
    (folder / "unended.jsonl").write_bytes(line_of(event(5)).rstrip())


def _cut_gzip(data: bytes) -> bytes:
    """Compressed data that ends in the middle, after the first line."""
    noise = Random(1).randbytes(20_000).hex()
    whole = gzip.compress(data + line_of(event(9, reason=noise)))
    return whole[: len(whole) // 2]

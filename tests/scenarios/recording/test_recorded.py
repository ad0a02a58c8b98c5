"""The sessions of real clients with a real Kafka, which `scripts/record-sessions` recorded."""

from pathlib import Path

import pytest

from fakebroker.protocol.wire.frame import encode_request, has_tagged_response_header
from fakebroker.testing.exchanges.messages import answer_of, request_of
from tests.testing.exchanges.sessions import lines_in

SESSIONS = sorted((Path(__file__).resolve().parents[2] / "data" / "sessions").glob("*.jsonl"))
# What admin clients try first, and transactions.
NOT_SERVED = {"ConsumerGroupDescribe", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"}


def test_there_is_one_of_each_client() -> None:
    """confluent-kafka, Java and kafkajs, and one of transactions."""
    assert {path.stem for path in SESSIONS} >= {"confluent-kafka", "java", "kafkajs", "transactions"}
    assert max(path.stat().st_size for path in SESSIONS) < 200_000


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_every_message_is_understood_and_complete(path: Path) -> None:
    """Each message of a real client becomes as many bytes again as it was recorded with."""
    lines = lines_in(path)
    assert [lines[0]["kind"], lines[-1]["kind"]] == ["session", "end"]
    assert {line["api"] for line in lines if "hex" in line} <= NOT_SERVED
    for line in lines:
        if line["kind"] == "request" and (request := request_of(line)) is not None:
            frame = encode_request(request, line["version"], line["correlation_id"], line["client"])
            assert len(frame) == line["size_bytes"]
        elif line["kind"] == "answer" and (answer := answer_of(line)) is not None:
            header_bytes = 5 if has_tagged_response_header(line["api_key"], line["version"]) else 4
            assert header_bytes + len(answer.encode(line["version"])) == line["size_bytes"]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_payloads_are_redacted(path: Path) -> None:
    """What the stories of the clients wrote is not in the files."""
    text = path.read_text()

    assert lines_in(path)[0]["redacted"] == ["payloads", "secrets"]
    assert not [
        word
        for word in ("order 0", "key 0", "by hand", "trace", "metric 0")
        if word in text or word.encode().hex() in text
    ]

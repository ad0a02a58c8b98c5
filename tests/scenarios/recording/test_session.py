"""Session files: what is written is what is read, cut off or wrong lines are reported, memory is bounded."""

import json
import logging
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode, InvalidArgument
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.scenarios.recording.session import (
    SessionError,
    SessionWriter,
    answer_of,
    frame_of,
    read_session,
    request_of,
)

HEAD = {
    "kind": "session",
    "schema_version": 1,
    "upstream": "127.0.0.1:9092",
    "started_wall_ms": 1_767_225_600_000,
    "fakebroker": "0.1",
}
CONNECT = {"kind": "connect", "at_ms": 3, "connection": 1, "broker": None}
END = {"kind": "end", "at_ms": 9, "reason": "SIGINT", "summary": {}}


def exchanged(kind: str = "request", **fields: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "at_ms": 4,
        "connection": 1,
        "broker": 1,
        "client": "svc",
        "correlation_id": 7,
        "api": "Heartbeat",
        "api_key": 12,
        "version": 4,
        "bytes": 40,
        **fields,
    }


def saved(path: Path, *lines: dict[str, Any] | str) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(text + "\n" for text in texts))
    return path


def problem(path: Path) -> str:
    with pytest.raises(SessionError) as found:
        list(read_session(path))
    return str(found.value)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Every line comes back as it was written, in order."""
    lines = [HEAD, CONNECT, exchanged(message={"GroupId": "g\u2028\ud800"}), exchanged("answer", hex="0001"), END]
    writer = SessionWriter(tmp_path / "s")
    for line in lines:
        writer.write(line)
    writer.close()

    assert list(read_session(tmp_path / "s")) == lines
    assert writer.error is None


def test_every_line_is_on_its_way_when_it_is_written(tmp_path: Path) -> None:
    """What was written can be read while the writer lives: nothing waits in a buffer for a process that is killed."""
    writer = SessionWriter(tmp_path / "s")
    writer.write(HEAD)
    writer.write(CONNECT)

    assert list(read_session(tmp_path / "s")) == [HEAD, CONNECT]
    writer.close()


def test_a_long_frame_is_written_in_pieces(tmp_path: Path) -> None:
    """The bytes of a frame that was not made a text as a whole are all there."""
    frame = os.urandom(3_000_000)
    writer = SessionWriter(tmp_path / "s")
    writer.write(HEAD)
    writer.write_long(exchanged(api=None, api_key=999), frame)
    writer.close()

    _, line = read_session(tmp_path / "s")

    assert frame_of(line) == frame
    assert request_of(line) is None


def test_messages_come_back(tmp_path: Path) -> None:
    """A decoded message becomes the message again; what stands beside the records' bytes is only for reading."""
    heartbeat = {"GroupId": "g", "GenerationId": 3, "MemberId": "m", "GroupInstanceId": None}
    produce = {
        "Acks": -1,
        "TimeoutMs": 1,
        "TransactionalId": None,
        "TopicData": [{"Name": "t", "PartitionData": [{"Index": 0, "Records": {"hex": "00ff", "batches": [{}]}}]}],
    }

    request = request_of(exchanged(message=heartbeat))
    produced = request_of(exchanged(api="Produce", api_key=ApiKey.PRODUCE, version=9, message=produce))
    answer = answer_of(exchanged("answer", message={"ThrottleTimeMs": 0, "ErrorCode": 27}))

    assert request is not None
    assert answer is not None
    assert produced is not None
    assert request.generation_id == 3  # type: ignore[attr-defined]
    assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS  # type: ignore[attr-defined]
    assert produced.topic_data[0].partition_data[0].records == b"\x00\xff"  # type: ignore[attr-defined]


def test_long_frames_become_messages_when_they_are_asked_for(tmp_path: Path) -> None:
    """What was not decoded because it is long is decoded when it is read, and only then."""
    writer = SessionWriter(tmp_path / "s")
    writer.write(HEAD)
    sent = HeartbeatRequest(group_id="g" * 5000, generation_id=1, member_id="m")
    got = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    writer.write_long(exchanged(), encode_request(sent, 4, 7, "svc"))
    writer.write_long(exchanged("answer"), b"\0\0\0\x07\0" + got.encode(4))
    writer.close()

    _, request, answer = read_session(tmp_path / "s")

    assert request_of(request) == sent
    assert answer_of(answer) == got


def test_a_cut_off_last_line_is_reported_and_what_came_before_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A recording that was killed in the middle of a line is read up to there, and somebody is informed."""
    path = saved(tmp_path / "s", HEAD, CONNECT)
    path.write_text(path.read_text() + json.dumps(exchanged())[:50])
    notes: list[str] = []

    assert list(read_session(path, notes.append)) == [HEAD, CONNECT]
    assert notes == [f"{path}:3: the last line was cut off after 50 bytes; what came before is used"]
    with caplog.at_level(logging.WARNING, "fakebroker"):
        assert list(read_session(path)) == [HEAD, CONNECT]
    assert "was cut off" in caplog.text


def test_a_whole_last_line_without_its_end_is_read(tmp_path: Path) -> None:
    """Editors leave out the last line's end."""
    path = saved(tmp_path / "s", HEAD, CONNECT)
    path.write_text(path.read_text().rstrip("\n"))

    assert list(read_session(path)) == [HEAD, CONNECT]


def test_a_line_that_is_being_written_ends_the_session_for_now(tmp_path: Path) -> None:
    """Its end may come right after it was read: that is no empty line."""
    path = saved(tmp_path / "s", HEAD, CONNECT)
    path.write_text(path.read_text().rstrip("\n"))

    lines = read_session(path)
    assert [next(lines), next(lines)] == [HEAD, CONNECT]
    with path.open("a") as file:
        file.write("\n")
    assert list(lines) == []
    assert list(read_session(path)) == [HEAD, CONNECT]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "1: the file is empty"),
        (["no json"], "1: not JSON: "),
        (["[1]"], "1: a line of a session is a JSON object, not list"),
        ([CONNECT], "1: a session begins with a line of the kind session"),
        ([HEAD, HEAD], "2: a second line of the kind session"),
        ([HEAD, {"kind": "reqest"}], "2: there is no kind 'reqest'; did you mean 'request'?"),
        ([HEAD, {"kind": ["request"]}], "2: there is no kind ['request']"),
        ([HEAD, {"kind": "connect", "at_ms": 3, "connection": 1}], "2: connect.broker is missing"),
        ([HEAD, exchanged(connection="1")], "2: request.connection is '1', not int"),
        ([HEAD, exchanged(version=True)], "2: request.version is True, not int or null"),
        ([HEAD, exchanged(message=[1])], "2: request.message is list, not an object"),
        ([HEAD, "{", CONNECT], "2: not JSON: "),
        ([HEAD, '{"a":' * 100_000], "2: not JSON: it is nested too deeply"),
        ([HEAD, {**CONNECT, "at_ms": 2**63}], "2: at_ms is 9223372036854775808, more than a year from the line before"),
        ([HEAD, {**CONNECT, "at_ms": -1e308}], "2: at_ms is -1e+308, more than a year"),
        ([HEAD, {**CONNECT, "at_ms": float("nan")}], "2: at_ms is nan, more than a year"),
        ([{**HEAD, "schema_version": 2}], "1: schema_version is 2; this fakebroker reads 1"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, lines: list[Any], expected: str) -> None:
    """The message says file and line, and what is wrong there."""
    path = saved(tmp_path / "s", *lines)

    assert problem(path).startswith(f"{path}:{expected}")


def test_a_file_that_is_no_session_is_named(tmp_path: Path) -> None:
    """Binary data without a line's end is not read to its end, and a folder or a missing file is reported."""
    path = tmp_path / "s"
    path.write_bytes(b"\0" * 3_000_000)

    assert problem(path) == f"{path}:1: a line of more than 1048576 bytes"
    assert problem(tmp_path) == f"{tmp_path}: it cannot be read: Is a directory"
    assert problem(tmp_path / "none") == f"{tmp_path / 'none'}: it cannot be read: No such file or directory"


def test_bytes_that_are_no_hexadecimal_are_reported() -> None:
    """A line that was edited wrongly does not end in a stranger's exception."""
    with pytest.raises(SessionError, match="hex: "):
        frame_of(exchanged(hex="xy"))


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    """A recording does not overwrite another one unless it is told to, and says where it cannot be."""
    path = saved(tmp_path / "s", HEAD)

    with pytest.raises(InvalidArgument, match="exists; --force overwrites it"):
        SessionWriter(path)
    with pytest.raises(InvalidArgument, match="cannot be written: No such file"):
        SessionWriter(tmp_path / "none" / "s")
    assert list(read_session(path)) == [HEAD]
    SessionWriter(path, force=True).close()
    assert path.read_bytes() == b""


def test_a_full_disk_ends_the_recording_with_a_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of the line that did not fit is taken away, the error is reported, later lines are ignored."""
    writer = SessionWriter(tmp_path / "s")
    writer.write(HEAD)
    write = os.write

    def write_some(fd: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(fd, bytes(data)[:20])

    monkeypatch.setattr(os, "write", write_some)
    writer.write(CONNECT)
    monkeypatch.undo()
    writer.write(END)

    assert writer.error == f"the recording ends here, {tmp_path / 's'} cannot be written: No space left on device"
    assert list(read_session(tmp_path / "s")) == [HEAD]


def test_a_file_of_100_mb_is_read_with_little_memory(tmp_path: Path) -> None:
    """Reading holds one line at a time, however long the file."""
    path = tmp_path / "s"
    line = json.dumps(exchanged(hex="ab" * 100_000)) + "\n"
    with path.open("w") as file:
        file.write(json.dumps(HEAD) + "\n")
        file.writelines(line for _ in range(500))
    assert path.stat().st_size > 100_000_000

    def count(lines: Iterator[Any]) -> int:
        return sum(1 for _ in lines)

    tracemalloc.start()
    try:
        assert count(read_session(path)) == 501
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()

"""Differences between a recorded broker and ours that are none by meaning, and those that look like them but are."""

from pathlib import Path
from typing import Any

import pytest

from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.records.record_content import records_of
from fakebroker.scenarios.comparison.matching import Around, Matching
from fakebroker.scenarios.comparison.walk import Difference
from fakebroker.scenarios.recording.explained import EARLIER, SLOWER, reason_for, reason_for_wait
from fakebroker.scenarios.recording.fetched import GOING, TRANSACTIONS, Streams
from fakebroker.scenarios.recording.survey import Survey
from tests.scenarios.recording.recorded import SESSIONS, lines_of, replayed, write_lines

PLACE = ("orders", 0)


def later(path: Path, out: Path, api: str, ms: int) -> Path:
    """The session as if the last answer of an API, and all that comes after it, had come later."""
    lines = lines_of(path)
    last = max(
        number
        for number, line in enumerate(lines)
        if line["kind"] == "answer" and line["api"] == api and line["client"]
    )
    for line in lines[last:]:
        line["at_ms"] += ms
    return write_lines(out, lines)


@pytest.mark.parametrize(("api", "unexplained"), [("Produce", 0), ("OffsetCommit", 0), ("SyncGroup", 1)])
def test_a_recorded_broker_may_take_its_time(tmp_path: Path, api: str, unexplained: int) -> None:
    """Where nothing waits for anybody, an answer that comes later than ours is the same; of rebalances it is not."""
    result, _ = replayed(later(SESSIONS[0], tmp_path / "s.jsonl", api, 400))

    assert result.unexplained == unexplained
    assert (SLOWER in result.explained) == (not unexplained)


def test_our_own_slowness_is_not_explained() -> None:
    """A broker in memory has no reason to be slower than a Kafka."""
    assert reason_for_wait("Produce", 0, 300) == SLOWER
    assert reason_for_wait("Produce", 300, 0) is None
    assert reason_for_wait("JoinGroup", 0, 300) is None


def test_groups_of_before_may_be_listed_otherwise() -> None:
    """A replay does not make them, or only their offsets; those that somebody joins are compared."""
    survey = Survey()
    survey.groups_before = {"old": None, "joined": None}
    survey.first_generations = {"joined": 3}

    def reason(group: str, rest: str = "") -> str | None:
        return reason_for("ListGroups", Difference(f".Groups[{group}]{rest}", "missing", "x"), {}, survey)

    assert reason("old") == reason("old", ".ProtocolType") == EARLIER
    assert reason("joined") is None
    assert reason("new") is None


def _answer(error_code: int = 0, end: int = 0, data: bytes = b"") -> dict[str, Any]:
    partition = {
        "PartitionIndex": 0,
        "ErrorCode": error_code,
        "HighWatermark": end,
        "LastStableOffset": end,
        "Records": {"hex": data.hex()},
    }
    return {"ErrorCode": 0, "Responses": [{"Topic": "orders", "Partitions": [partition]}]}


def _streams(transactional: dict[tuple[str, int], None] | None = None) -> Streams:
    return Streams(Matching(), lambda topic: topic.get("Topic"), transactional or {})


def _compared(streams: Streams, recorded: dict[str, Any], ours: dict[str, Any]) -> set[str | None]:
    return {each.reason for each in streams.compare(recorded, ours, Around({}, 0, 0), lambda _: False)}


def test_a_deleted_topic_goes_one_partition_after_another() -> None:
    """Which of them a Fetch still sees depends on the moment; before somebody deletes the topic an error is one."""
    streams = _streams()

    assert _compared(streams, _answer(), _answer(3)) == {None}
    streams.going["orders"] = None
    assert _compared(streams, _answer(), _answer(3)) == {GOING}
    assert _compared(streams, _answer(3), {"ErrorCode": 0, "Responses": []}) == {GOING}


def test_how_transactions_stand_is_not_known() -> None:
    """The last stable offset differs only where there are records of transactions."""
    ours = _answer(end=2)
    ours["Responses"][0]["Partitions"][0]["LastStableOffset"] = 1

    assert _compared(_streams({PLACE: None}), _answer(end=2), ours) == {TRANSACTIONS}
    assert _compared(_streams(), _answer(end=2), ours) == {None}


def test_what_a_consumer_read_is_looked_for_in_our_log() -> None:
    """The same record there is as good as one that was delivered; another one is not."""
    data = build_batch(plain_records([(None, b"a"), (None, b"b")], 5))
    streams = _streams()
    _compared(streams, _answer(end=2, data=data), _answer(end=2))
    first, second = records_of(data)

    streams.meet(PLACE, first)
    streams.meet(PLACE, second._replace(value=b"c"))

    assert list(streams.left()) == [(PLACE, 1)]

"""Whatever a client sends has words: one request without any would end its story, and the log and files of all."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.broker.engine.journal import BrokerStarted, Journal, Peer
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import APIS, Api
from fakebroker.testing.exchanges.writing import line_of as file_line_of
from fakebroker.testing.explanations import wording
from fakebroker.testing.explanations.event_wording import event_text
from fakebroker.testing.explanations.failed_wording import WORDING_FAILED
from fakebroker.testing.explanations.failure_story import story
from fakebroker.testing.explanations.wording import request_text
from fakebroker.testing.journal import repeated_lines
from fakebroker.testing.journal.brief import BriefLines, brief_rows
from fakebroker.testing.journal.request_log import line_of
from fakebroker.testing.journal.rows import rows_of
from tests.protocol.wire.responses import encode_response
from tests.support.engine import SimEngine
from tests.support.extreme_messages import EXTREMES, extreme_messages

PEER = Peer(4, "/127.0.0.1", 2, client_port=5000)


def note_extremes(journal: Journal, api: Api) -> None:
    """A request of each extreme in each version: without an answer, with one without errors, with an extreme one."""
    now = Instant(0, 0)
    for version in range(api.min, api.max + 1):
        client = f"{api.name} {version}"
        requests = [encode_request(each, version, 9, client) for each in extreme_messages(api.request, version)]
        answers = [encode_response(each, version, 9) for each in extreme_messages(api.response, version)]
        for request, answer in zip(requests, answers, strict=True):
            for each in (None, answers[0], answer):
                journal.exchange(PEER, request, each, now, now)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_request_has_words(api: Api) -> None:
    """In the log and the story, as brief lines, as lines of files and of what was read from them."""
    journal = Journal(max_bytes=1 << 30)
    note_extremes(journal, api)
    exchanges = journal.requests()
    assert len(exchanges) == (api.max - api.min + 1) * len(EXTREMES) * 3
    brief = BriefLines()
    for exchange in exchanges:
        said = f"{request_text(exchange)} {line_of(exchange)} {exchange!r}"
        texts = [line["text"] for line in brief.of([exchange])]
        rows = list(rows_of(exchange, "run"))
        assert all(json.dumps(row, allow_nan=False) and file_line_of(row) for row in rows)
        texts += [line["text"] for line in brief_rows(rows)]
        assert WORDING_FAILED not in "".join((said, *texts)), said


def test_the_story_has_them_all() -> None:
    """Its hints look at requests of all clients."""
    broker = SimEngine()
    for api in APIS.values():
        note_extremes(broker.engine.journal, api)
    text = story(broker.engine)
    assert "ListOffsets 1: the last" in text
    assert WORDING_FAILED not in text


@pytest.fixture
def failing_wording(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the words for Heartbeat, and one in the lines of files."""

    def fail(api: str, *_: object) -> str:
        if api == "Heartbeat":
            raise KeyError(api)
        return ""

    def fail_of_row(exchange: Any, run: str) -> Iterator[Any]:
        if getattr(exchange, "api", "") == "Heartbeat":
            raise KeyError(exchange.api)
        return rows_of(exchange, run)

    monkeypatch.setattr(wording, "member_text", fail)
    monkeypatch.setattr(repeated_lines, "rows_of", fail_of_row)


@pytest.mark.usefixtures("failing_wording")
def test_a_request_whose_wording_fails_is_shown_without_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log and the file go on after it, and stories and brief lines have it without its words."""
    with caplog.at_level(logging.INFO, "fakebroker"), FakeBroker(verbose=True, journal_dir=tmp_path) as broker:
        client = broker.client("a")
        client.request("Heartbeat", 4, group_id="g", member_id="m")
        client.request("ApiVersions", 3)
        instead = "Heartbeat v4, (wording failed: KeyError) -> UNKNOWN_MEMBER_ID"
        assert instead in broker.story()
        assert next(line["text"] for line in broker.journal.brief().lines if line["kind"] == "request") == instead
    logged = [text.split(": ", 1)[1] for text in caplog.messages if " to node 1: " in text and " -> " in text]
    assert [text.split(" -> ")[0] for text in logged] == [instead.split(" -> ")[0], "ApiVersions v3"]
    (file,) = tmp_path.iterdir()
    kinds = [row.get("api") or row["kind"] for row in map(json.loads, file.read_text().splitlines())]
    assert [each for each in kinds if each in ("internal_error", "Heartbeat", "ApiVersions")] == [
        "internal_error",
        "ApiVersions",
    ]


def test_an_event_whose_wording_fails_is_shown_without_words() -> None:
    """As here, where settings are no dictionary."""
    assert event_text(BrokerStarted("4.3", None)) == "(wording failed: AttributeError)"  # type: ignore[arg-type]

"""Brief lines: what happened without decoded bodies, remembered by bytes, in stretches that can be read on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import FakeBroker
from fakebroker.broker.core.events import CoordinatorRecords, GroupStored
from fakebroker.broker.engine.journal import Exchange, Journal, Peer
from fakebroker.protocol.errors import InvalidArgument, UnknownThing
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.consumer_group_schema import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from fakebroker.protocol.records.group_records import GroupRecord
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.describe_groups import DescribeGroupsRequest
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.testing.explanations.wording import said_text
from fakebroker.testing.journal import brief
from fakebroker.testing.journal.brief import MAX_NAMES, MAX_PARTS, BriefFilter, BriefLines, brief_rows, stretch
from fakebroker.testing.journal.rows import rows_of
from tests.protocol.wire.responses import encode_response
from tests.serve.sim.workload import Workload
from tests.support.chance import examples

PEER = Peer(3, "/127.0.0.1", 2, client_port=5000)
BODIES = {"request", "response", "run", "schema_version"}


def heartbeats(count: int, group: str = "billing", code: int = 0) -> Journal:
    """A journal of heartbeats of one member, each with a correlation id of its own."""
    journal = Journal()
    for number in range(count):
        request = HeartbeatRequest(group_id=group, generation_id=1, member_id="m")
        answer = encode_response(HeartbeatResponse(error_code=code), 4, number)
        frame = encode_request(request, 4, number, "svc-1")
        journal.exchange(PEER, frame, answer, Instant(1000, number), Instant(1001, number + 1))
    return journal


def seqs(lines: list[dict[str, Any]]) -> list[int]:
    return [line["seq"] for line in lines]


def everything(journal: Journal, limit: int, wanted: BriefFilter, *, backwards: bool) -> list[int]:
    """The numbers of all entries that are found by going on from answer to answer."""
    found: list[int] = []
    since, before = 0, journal.next_seq if backwards else None
    while True:
        part = stretch(journal, BriefLines(), since, before, limit, wanted)
        numbers = seqs(part.lines)
        found = numbers + found if backwards else found + numbers
        if backwards:
            before = part.previous
        elif part.next is not None:
            since = part.next
        if (part.previous if backwards else part.next) is None:
            return found


def test_a_line_of_a_request_is_its_line_in_files_without_bodies() -> None:
    """For every request that a broker of many clients has answered, also where it was remembered by its bytes."""
    workload = Workload(3)
    workload.run()
    exchanges = [each for each in workload.lab.journal.entries() if isinstance(each, Exchange)]
    whole = [next(iter(rows_of(each, "run"))) for each in exchanges]

    lines = BriefLines().of(exchanges)
    texts = [line.pop("text") for line in lines]

    assert len(lines) > 100
    assert lines == [{name: value for name, value in row.items() if name not in BODIES} for row in whole]
    assert texts == [said_text(exchange) for exchange in exchanges]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that are never alike do not make it grow; what it says stays right."""
    monkeypatch.setattr(brief, "MAX_REMEMBERED", 10)
    lines = BriefLines()
    for number in range(50):
        (line,) = lines.of(heartbeats(1, f"group-{number}").entries())
        assert line["groups"] == [f"group-{number}"]

    assert len(lines._subjects) <= 10


def test_an_event_has_words_and_counts_its_parts() -> None:
    """Of an event that tells of many things the first lines are there, and how many there are."""
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=30)
        broker.group("billing").commit({("orders", index): 1 for index in range(30)})
        broker.clock.advance(days=9)
        lines = broker.journal.brief(kind="offset_expired").lines

    assert len(lines) == brief.MAX_PARTS
    assert {line["parts"] for line in lines} == {30}
    assert "billing: offsets expired: orders-0 at 1" in lines[0]["text"]
    assert not BODIES & lines[0].keys()


def test_brief_lines_of_a_saved_journal_are_those_of_the_broker() -> None:
    """A file tells the same as the broker that wrote it; only the words of events are those of files."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        broker.client("svc-1").join("billing", ["orders"])
        broker.group("old").commit({("orders", 0): 1})
        broker.clock.advance(days=9)
        live, rows = broker.journal.brief().lines, broker.journal.rows()

    saved = brief_rows(rows)

    for lines in (live, saved):
        for line in lines:
            line.pop("text", None)
    assert saved == live


@examples(30)
@given(st.integers(0, 60), st.integers(1, 40), st.booleans())
def test_nothing_is_lost_between_stretches(count: int, limit: int, backwards: bool) -> None:
    """Going on from answer to answer gives every entry once, in order, from either end."""
    journal = heartbeats(count)

    assert everything(journal, limit, BriefFilter(), backwards=backwards) == list(range(count))


@pytest.mark.parametrize("backwards", [False, True])
def test_an_answer_looks_at_so_many_entries(monkeypatch: pytest.MonkeyPatch, backwards: bool) -> None:
    """With a filter that matches hardly anything an answer ends early, and says where to go on."""
    monkeypatch.setattr(brief, "MAX_SCANNED", 7)
    journal = heartbeats(30)

    first = stretch(journal, BriefLines(), 0, 30 if backwards else None, 5, BriefFilter(group="other"))

    assert first.lines == []
    assert (first.previous if backwards else first.next) == (23 if backwards else 7)
    assert everything(journal, 5, BriefFilter(group="billing"), backwards=backwards) == list(range(30))


def test_forgotten_entries_are_reported() -> None:
    """A stretch before the oldest entry begins with that, and `first_seq` says so."""
    journal = Journal(max_entries=16)
    for entry in heartbeats(100).entries():
        assert isinstance(entry, Exchange)
        journal.exchange(PEER, entry.request_frame, entry.response_frame, entry.received, entry.answered)  # type: ignore[arg-type]

    found = stretch(journal, BriefLines(), 0, None, 1000, BriefFilter())

    assert found.first_seq == journal.forgotten > 0
    assert seqs(found.lines) == list(range(journal.forgotten, 100))


def test_kinds_and_groups_are_chosen() -> None:
    """One kind or several, events by their group, requests by those that they name."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        for group in ("billing", "other"):
            broker.client(group).join(group, ["orders"])
        transitions = broker.journal.brief(kind="transition", group="billing").lines
        both = broker.journal.brief(kind="request|transition", group="billing").lines

    assert {(line["kind"], line["group"]) for line in transitions} == {("transition", "billing")}
    assert {line["kind"] for line in both} == {"request", "transition"}
    assert all("billing" in (line.get("group"), *line.get("groups", ())) for line in both)


def test_what_cannot_be_asked() -> None:
    """Each is an error that names the argument."""
    with FakeBroker() as broker:
        for wrong in ({"since": -1}, {"limit": 0}, {"limit": 1001}, {"before": -1}, {"since": 1, "before": 2}):
            with pytest.raises(InvalidArgument) as error:
                broker.journal.brief(**wrong)  # type: ignore[arg-type]
            assert error.value.field in wrong
        with pytest.raises(UnknownThing, match="did you mean 'transition'"):
            broker.journal.brief(kind="request|transitions")


def test_long_lists_are_cut_off() -> None:
    """A line has the first names of a request, of an event and of a record of a group, however many there are."""
    groups, names = [f"g{index}" for index in range(500)], tuple(f"t{index}" for index in range(500))
    journal, key = Journal(), ConsumerGroupMemberMetadataKey(group_id="g", member_id="m")
    value = ConsumerGroupMemberMetadataValue(subscribed_topic_names=list(names))
    frame = encode_request(DescribeGroupsRequest(groups=groups), 5, 1, "svc-1")
    journal.exchange(PEER, frame, None, Instant(1000, 0), Instant(1001, 1))
    journal.event(GroupStored("g", "written", 1, "consumer", None, None, 1, names, -1), Instant(1000, 0))
    journal.event(CoordinatorRecords("written", [GroupRecord(5, key, value)] * 30), Instant(1000, 0))

    request, stored, *records = stretch(journal, BriefLines(), 0, None, 500, BriefFilter()).lines

    assert request["groups"] == groups[:MAX_NAMES]
    assert stored["subscribed_topics"] == [*names[:MAX_NAMES]]
    assert [(line["parts"], line["value"]["subscribedTopicNames"]) for line in records] == [
        (30, [*names[:MAX_NAMES]])
    ] * MAX_PARTS
    assert "30 ConsumerGroupMemberMetadata" in records[0]["text"]
    assert len(value.subscribed_topic_names) == 500
    found = stretch(journal, BriefLines(), 0, None, 500, BriefFilter(group=groups[-1])).lines
    assert [line["seq"] for line in found] == [0]

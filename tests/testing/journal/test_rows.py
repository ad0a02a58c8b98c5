"""Rows: every entry the broker makes becomes lines that keep the schema and can be read back."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.engine.journal import Exchange, InternalError, Journal, Peer
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import APIS, Api
from fakebroker.testing.exchanges.columns import problems
from fakebroker.testing.exchanges.writing import line_of
from fakebroker.testing.explanations.wording import request_text
from fakebroker.testing.journal.from_rows import entries_of
from fakebroker.testing.journal.rows import plain, records_count, rows_of
from fakebroker.testing.journal.schema import JOURNAL
from tests.protocol.schema.strategies import messages
from tests.protocol.wire.responses import encode_response
from tests.serve.sim.workload import Workload
from tests.support.chance import examples
from tests.support.engine import SimEngine

PEER = Peer(3, "/127.0.0.1", 2, client_port=5000)


def exchange(frame: bytes, answer: bytes | None) -> Exchange:
    journal = Journal(max_bytes=10**9)
    journal.exchange(PEER, frame, answer, Instant(1000, 10), Instant(1005, 15))
    return journal.requests()[0]


def checked(entry: Any) -> list[dict[str, Any]]:
    """The rows of an entry, after they were lines."""
    rows = list(rows_of(entry, "run"))
    assert rows
    assert [problem for row in rows for problem in problems(row, JOURNAL)] == []
    assert [row["part"] for row in rows] == list(range(len(rows)))
    again = [json.loads(line_of(row)) for row in rows]
    assert again == rows
    return again


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    """Any request of any API and version with any answer or none, of any client."""
    api: Api = draw(st.sampled_from(list(APIS.values())))
    version = draw(st.integers(api.min, api.max))
    client = draw(st.none() | st.text(max_size=20))
    request = encode_request(draw(messages(api.request, version)), version, draw(st.integers(0, 2**31 - 1)), client)
    has_answer = draw(st.booleans())
    answer = encode_response(draw(messages(api.response, version)), version, 7) if has_answer else None
    return exchange(request, answer)


@examples(60)
@given(exchanges())
def test_any_exchange_can_be_written_and_read_back(entry: Exchange) -> None:
    """Whatever a client sends: its lines keep the schema, it can be put into words, and made again from its line."""
    row = checked(entry)[0]

    assert (row["api"], row["version"], row["client"]) == (entry.api, entry.version, entry.client_id)
    assert request_text(entry)
    (again,) = (each for each in entries_of([row]) if isinstance(each, Exchange))
    assert again.header.correlation_id == entry.header.correlation_id
    assert again.is_answered == entry.is_answered


def test_everything_a_busy_broker_does_can_be_written() -> None:
    """Joins, commits, produces, expiries, loads: each entry of a random workload keeps the schema."""
    workload = Workload(3)
    workload.run()
    rows = [row for entry in workload.lab.journal.entries() for row in checked(entry)]

    kinds = {row["kind"] for row in rows}
    assert {"request", "transition", "coordinator_moved", "offset_committed", "records_appended"} <= kinds
    assert [row["seq"] for row in rows] == sorted(row["seq"] for row in rows)


def test_a_request_says_whom_it_is_about_and_what_became_of_it() -> None:
    """Groups, topics, errors by name, sizes and both times are columns; a commit is also a line for each offset."""
    lab = SimEngine()
    lab.cluster.topics.create("orders", 2)
    lab.client().ask(
        "OffsetCommit", 7, group_id="g", generation_id_or_member_epoch=-1,
        topics=[_commit_topic("orders", [(0, 42), (9, 1)])],
    )  # fmt: skip
    rows = [row for entry in lab.journal.entries() for row in checked(entry)]
    request = next(row for row in rows if row["kind"] == "request")
    (committed,) = (row for row in rows if row["kind"] == "offset_committed")

    assert (request["groups"], request["topics"]) == (["g"], ["orders"])
    assert request["errors"] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert (request["is_answered"], request["waited_ms"], request["node"]) == (True, 0, 1)
    assert request["request"]["Topics"][0]["Partitions"][0]["CommittedOffset"] == 42
    assert (committed["group"], committed["topic"], committed["partition"], committed["offset"]) == (
        "g",
        "orders",
        0,
        42,
    )
    assert (committed["seq"], committed["part"]) == (request["seq"], 1)


def _commit_topic(name: str, offsets: list[tuple[int, int]]) -> Any:
    from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic

    return OffsetCommitRequestTopic(name=name, partitions=[(p, offset, -1, -1, None) for p, offset in offsets])


def test_records_are_counted_and_not_shown() -> None:
    """Keys and values stay out of the file; counts come from the headers, whatever follows them."""
    batch = build_batch([Record(n, 0, b"key-secret", b"value") for n in range(3)])

    assert records_count(batch + batch) == 6
    assert records_count(batch[:-1]) == 0
    assert records_count(b"") == 0


def test_topics_named_by_id_get_their_name() -> None:
    """From Produce v13 and Fetch v13 on clients send ids; the row has names as long as the topic is there."""
    lab = SimEngine()
    topic = lab.cluster.topics.create("orders", 1)
    from fakebroker.protocol.wire.messages.fetch import FetchTopic

    fetched = FetchTopic(topic_id=topic.id, partitions=[(0, -1, 0, -1, -1, 1000, bytes(16), -1)])
    lab.client().ask("Fetch", 13, topics=[fetched], max_wait_ms=0)

    (entry,) = lab.journal.requests("Fetch")
    assert entry.topics == {"orders": [0]}
    assert checked(entry)[0]["topics"] == ["orders"]
    assert request_text(entry) == "Fetch v13, orders-0 from 0 -> nothing new"


def test_an_internal_error_is_an_entry() -> None:
    """A bug of the broker is in the journal where it happened."""
    lab = SimEngine()
    lab.engine.failed(RuntimeError("oh"))

    (recorded,) = lab.journal.events(InternalError)
    assert recorded.event == InternalError("RuntimeError", "oh")
    assert checked(recorded)[0]["kind"] == "internal_error"


def test_any_value_of_an_event_is_json() -> None:
    """Events may hold what JSON lacks: bytes, sets, infinity, objects."""
    assert plain({"a": b"\x01", 2: {3, 1}, "f": float("inf"), "t": (1, PEER.node_id), "o": Instant(1, 2)}) == {
        "a": {"hex": "01"}, "2": ["1", "3"], "f": "inf", "t": [1, 2], "o": {"wall_ms": 1, "mono_ms": 2},
    }  # fmt: skip

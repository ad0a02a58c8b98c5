"""Lines that a history is computed from: what broker it is, what of groups is stored, what is deleted."""

from typing import Any

from fakebroker.testing.virtual_broker import VirtualBroker

DAY_MS = 86_400_000


def _rows(broker: VirtualBroker, kind: str) -> list[dict[str, Any]]:
    return broker.journal.rows(kind)


def _joined(broker: VirtualBroker, topics: list[str]) -> Any:
    client = broker.client("a")
    client.join("billing", topics)
    client.sync({client.member_id: {topic: [0] for topic in topics}})
    return client


def test_the_first_line_says_what_broker_it_is() -> None:
    """Its release and the settings it was given, without secrets; once, also if only its clock is moved."""
    config = {"offsets.retention.minutes": 60, "ssl.keystore.password": "hush"}
    with VirtualBroker(as_release="3.9", config=config, profile="kafka") as broker:
        assert broker.journal.rows() == []
        broker.clock.advance(minutes=1)
        broker.client("a").metadata()
        started, *others = broker.journal.rows()

    assert (started["kind"], started["release"]) == ("broker_started", "3.9.1")
    assert started["settings"] == {"offsets.retention.minutes": "60"}
    assert not [row for row in others if row["kind"] == "broker_started"]


def test_groups_are_reported_as_they_are_stored_and_loaded() -> None:
    """With what their members subscribe to, and the time from which an Empty group's retention counts."""
    with VirtualBroker() as broker:
        broker.create_topic("orders")
        client = _joined(broker, ["orders"])
        stored = _rows(broker, "group_stored")[-1]
        assert (stored["how"], stored["generation"], stored["members"]) == ("written", 1, 1)
        assert (stored["protocol_type"], stored["subscribed_topics"]) == ("consumer", ["orders"])
        client.commit({("orders", 0): 5})
        client.leave()
        empty = _rows(broker, "group_stored")[-1]
        broker.clock.advance(days=1)
        broker.coordinator("billing").move(1)
        loaded = _rows(broker, "group_stored")[-1]

    assert (empty["members"], empty["subscribed_topics"]) == (0, [])
    assert loaded["wall_ms"] == empty["wall_ms"] + DAY_MS
    assert (loaded["how"], loaded["state_ms"], loaded["generation"]) == ("loaded", empty["state_ms"], 2)


def test_deleted_offsets_are_reported_with_the_reason() -> None:
    """By a client, with their topic, with their group; what was not there is not reported."""
    with VirtualBroker() as broker:
        for topic in ("orders", "audit", "mail"):
            broker.create_topic(topic)
        client = broker.client("a")
        client.commit({("orders", 0): 1, ("audit", 0): 2, ("mail", 0): 3}, group_id="billing")
        client.delete_offsets("billing", [("orders", 0)])
        client.delete_offsets("billing", [("orders", 0)])
        client.delete_topic("audit")
        client.delete_group("billing")

        assert [(row["topic"], row["reason"]) for row in _rows(broker, "offset_deleted")] == [
            ("orders", "a client deleted it"),
            ("audit", "its topic was deleted"),
            ("mail", "its group was deleted"),
        ]


def test_a_commit_tells_its_times() -> None:
    """The commit timestamp, the client's own if it sent one; when it expires if it was given a retention."""
    with VirtualBroker(as_release="3.9") as broker:
        broker.create_topic("orders")
        client, now_ms = broker.client("a"), broker.clock.now_ms
        for version, partition, fields in (
            (2, (0, 5, -1, -1, ""), {"retention_time_ms": 1000}),
            (1, (0, 6, -1, 77, ""), {}),
            (8, (0, 7, -1, -1, ""), {}),
        ):
            topics = [{"name": "orders", "partitions": [partition]}]
            client.request("OffsetCommit", version, group_id="billing", topics=topics, **fields)
        rows = _rows(broker, "offset_committed")

    assert [(row["committed_ms"], row["expire_ms"]) for row in rows] == [
        (now_ms, now_ms + 1000), (77, None), (now_ms, None),
    ]  # fmt: skip
    assert not any(row["transactional"] for row in rows)

"""`broker.acls`: rights changed while clients are connected."""

from typing import Any

import pytest

from fakebroker import InvalidArgument, UnknownThing
from fakebroker.protocol.errors import ErrorCode
from fakebroker.testing.handles.acls import AclEntry
from fakebroker.testing.virtual_broker import VirtualBroker

ANONYMOUS = "User:ANONYMOUS"


def produce(client: Any, topic: str = "orders") -> int:
    """The error code of producing nothing to a topic."""
    data = [{"name": topic, "partition_data": [{"index": 0, "records": None}]}]
    answer = client.request("Produce", 9, acks=1, timeout_ms=1000, topic_data=data)
    return int(answer.responses[0].partition_responses[0].error_code)


def test_rights_hold_from_the_next_request_on() -> None:
    """Given, denied and taken away again: each time the same client is answered otherwise."""
    with VirtualBroker(acls=[]) as broker:
        broker.create_topic("orders")
        client = broker.client()
        assert produce(client) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        broker.acls.allow(ANONYMOUS, "WRITE", topic="ord", prefix=True)
        assert produce(client) != ErrorCode.TOPIC_AUTHORIZATION_FAILED
        broker.acls.deny("User:*", "WRITE", topic="orders", host="127.0.0.1")
        assert produce(client) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert broker.acls.remove(permission="DENY") == 1
        assert produce(client) != ErrorCode.TOPIC_AUTHORIZATION_FAILED
        broker.acls.clear()
        assert produce(client) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        kinds = [each.event.what for each in broker.journal.events("acl_changed")]
        assert kinds == ["added", "added", "removed", "removed"]


def test_entries_in_the_words_of_kafka() -> None:
    """Those that were declared come first; a reset goes back to them."""
    declared: list[dict[str, object]] = [
        {"allow": "User:alice", "operation": "READ", "topic": "orders"},
        {"deny": "User:*", "operation": "ALL", "group": "secret-", "prefix": True, "host": "10.0.0.1"},
    ]
    with VirtualBroker(acls=declared, config={"super.users": "User:root"}) as broker:
        broker.acls.allow("User:alice", "ALTER", cluster=True)
        assert broker.acls.entries == [
            AclEntry("ALLOW", "User:alice", "READ", "TOPIC", "orders", "LITERAL", "*"),
            AclEntry("DENY", "User:*", "ALL", "GROUP", "secret-", "PREFIXED", "10.0.0.1"),
            AclEntry("ALLOW", "User:alice", "ALTER", "CLUSTER", "kafka-cluster", "LITERAL", "*"),
        ]
        assert broker.acls.super_users == ["User:root"]
        broker.reset()
        assert len(broker.acls.entries) == 2


def test_why_somebody_may_or_may_not() -> None:
    """The ACL that decides, or that there is none."""
    with VirtualBroker(acls=[], config={"super.users": "User:root"}) as broker:
        acls = broker.acls
        acls.allow("User:alice", "READ", topic="orders")
        acls.deny("User:alice", "WRITE", topic="*")

        assert acls.explain("User:alice", "DESCRIBE", topic="orders").is_allowed
        denied = acls.explain("User:alice", "WRITE", topic="orders")
        assert (denied.is_allowed, denied.reason) == (False, "DENY User:alice WRITE on every TOPIC")
        assert denied.entry is not None
        assert denied.entry.resource_name == "*"
        assert acls.explain("User:bob", "READ", topic="orders").reason == "no ACL that matches the resource allows it"
        assert acls.explain("User:root", "DELETE", group="g").reason == "User:root is a super user"


def test_who_was_refused_is_in_the_journal_and_the_story() -> None:
    """With the operation, the resource and the reason."""
    with VirtualBroker(acls=[]) as broker:
        broker.create_topic("orders")
        produce(broker.client())
        (refused,) = broker.journal.events("access_denied")
        event = refused.event
        assert (event.principal, event.operation, event.resource_name) == (ANONYMOUS, "WRITE", "orders")
        assert event.api == "Produce"
        wording = "Produce of User:ANONYMOUS at 127.0.0.1 refused: WRITE on TOPIC orders (no ACL matches the resource)"
        assert wording in broker.story()


def test_rights_survive_a_snapshot() -> None:
    """They are part of the durable state, and a restore brings back those of its moment."""
    with VirtualBroker(acls=[]) as broker:
        broker.acls.allow("User:alice", "READ", topic="orders")
        snapshot = broker.snapshot()
        broker.acls.clear()
        broker.restore(snapshot)
        assert [entry.principal for entry in broker.acls.entries] == ["User:alice"]
        assert broker.acls.explain("User:alice", "READ", topic="orders").is_allowed


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"principal": "alice", "operation": "READ", "topic": "t"}, "principal"),
        ({"principal": "User:alice", "operation": "read", "topic": "t"}, "operation"),
        ({"principal": "User:alice", "operation": "ANY", "topic": "t"}, "operation"),
        ({"principal": "User:alice", "operation": "READ"}, "topic"),
        ({"principal": "User:alice", "operation": "READ", "topic": "t", "group": "g"}, "topic"),
        ({"principal": "User:alice", "operation": "READ", "topic": ""}, "topic"),
        ({"principal": "User:alice", "operation": "READ", "group": 5}, "group"),
        ({"principal": "User:alice", "operation": "READ", "topic": "t", "host": None}, "host"),
    ],
)
def test_arguments_that_cannot_be(arguments: dict[str, Any], field: str) -> None:
    """The error names the argument; nothing has changed."""
    with VirtualBroker(acls=[]) as broker:
        for power in (broker.acls.allow, broker.acls.deny):
            with pytest.raises(InvalidArgument) as raised:
                power(**arguments)
            assert raised.value.field == field
        assert broker.acls.entries == []


def test_what_is_not_there_cannot_be_removed() -> None:
    """A filter without a match is an error, so is one that says nothing."""
    with VirtualBroker(acls=[]) as broker:
        broker.acls.allow("User:alice", "READ", topic="orders")
        with pytest.raises(UnknownThing, match="no ACL matches"):
            broker.acls.remove("User:bob")
        with pytest.raises(InvalidArgument, match="`clear` removes all"):
            broker.acls.remove()
        assert broker.acls.remove("User:alice", topic="orders", prefix=False) == 1


def test_without_an_authorizer() -> None:
    """There are no rights to give, and the error says how to have some."""
    with VirtualBroker() as broker, pytest.raises(InvalidArgument, match="acls"):
        broker.acls.allow("User:alice", "READ", topic="orders")


@pytest.mark.parametrize(
    ("acls", "text"),
    [
        ("User:alice", "should be a list"),
        ([5], "should be a mapping"),
        ([{"operation": "READ", "topic": "t"}], "needs `allow` or `deny`"),
        ([{"allow": "User:a", "deny": "User:b", "operation": "READ", "topic": "t"}], "needs `allow` or `deny`"),
        ([{"allow": "User:a", "operation": "READ", "topics": "t"}], "topics: an ACL has no such argument"),
        ([{"allow": "User:a", "topic": "t"}], "operation: is missing; there are ALL, READ, WRITE"),
    ],
)
def test_declarations_that_cannot_be(acls: Any, text: str) -> None:
    """The error says what is wrong with the entry."""
    with pytest.raises(InvalidArgument, match=text):
        VirtualBroker(acls=acls)

"""What a run leaves on a broker is deleted; what was there before is not."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fakebroker.scenarios.conformance.access import Access, BrokerClient, parsed_address
from fakebroker.scenarios.conformance.cleaning import Cleaner
from fakebroker.scenarios.conformance.survey import survey
from fakebroker.testing.broker import FakeBroker

RUN = "-0a1b2c3d"
NEWER: dict[str, dict[str, object]] = {
    "Consumer": {"subscribed_topic_names": ["fixed"], "topic_partitions": [], "rebalance_timeout_ms": 60_000},
    "Share": {"subscribed_topic_names": ["fixed"]},
}
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SETTINGS = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(profile="kafka", config=SETTINGS) as running:
        yield running


def access_to(broker: FakeBroker) -> Access:
    return Access(parsed_address(broker.bootstrap))


def test_topics_and_groups_of_the_run_are_deleted(broker: FakeBroker) -> None:
    """Names of the run and fixed topics go, also groups with members; names that look alike but were there stay."""
    broker.create_topic(f"theirs{RUN}")
    broker.create_topic("fixed-before")
    cleaner = Cleaner(access_to(broker), survey(access_to(broker)), RUN)
    for topic in (f"ours{RUN}000", "fixed", "somebody-elses"):
        broker.create_topic(topic)
    broker.client("m").join(f"g{RUN}001", ["fixed"])
    client = BrokerClient(access_to(broker))
    for kind, fields in NEWER.items():
        fields = {"group_id": f"{kind}{RUN}002", "member_id": "A" * 22, "member_epoch": 0, **fields}
        assert client.get(f"{kind}GroupHeartbeat", **fields).error_code == 0
    client.close()

    left = cleaner.clean(["fixed", "fixed-before"])

    assert left == []
    names = {topic.name for topic in broker.topics if not topic.name.startswith("__")}
    assert names == {f"theirs{RUN}", "fixed-before", "somebody-elses"}
    assert list(broker.groups) == []


def test_acls_quotas_and_users_of_the_run_are_deleted(broker: FakeBroker) -> None:
    """What an aborted case left of these is deleted, what was there before is kept."""
    broker.acls.allow("User:before", "READ", topic="t")
    broker.quotas.set(user="before", producer_byte_rate=10.0)
    cleaner = Cleaner(access_to(broker), survey(access_to(broker)), RUN)
    cleaner.note_state()
    broker.acls.allow("User:ours", "READ", topic="t")
    broker.acls.deny("User:ours", "WRITE", topic="t")
    broker.quotas.set(user="ours", producer_byte_rate=10.0)
    broker.quotas.set(client_id="<default>", consumer_byte_rate=5.0)
    client = BrokerClient(access_to(broker))
    salted = {"name": "ours", "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"x" * 32}
    client.get("AlterUserScramCredentials", deletions=[], upsertions=[salted])

    assert cleaner.clean() == []

    assert [acl.principal for acl in broker.acls.entries] == ["User:before"]
    entries = client.get("DescribeClientQuotas", components=[], strict=False).entries
    assert [entry.entity[0].entity_name for entry in entries] == ["before"]
    assert client.get("DescribeUserScramCredentials", users=None).results == []
    client.close()


def test_what_cannot_be_deleted_is_named(broker: FakeBroker) -> None:
    """Where topics cannot be deleted, each of ours is named."""
    found = survey(access_to(broker))
    without = {name: between for name, between in found.versions.items() if name != "DeleteTopics"}
    cleaner = Cleaner(access_to(broker), replace(found, versions=without), RUN)
    broker.create_topic(f"ours{RUN}000")

    assert cleaner.clean() == [f"topic ours{RUN}000: the broker serves no DeleteTopics"]

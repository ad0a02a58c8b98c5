"""The hash over the topics of a group (CGB-4)."""

from base64 import urlsafe_b64decode

import pytest

from fakebroker.core.groups.modern.metadata_hash import group_hash, topic_hash

NAME, TOPIC_ID = "rt1795223098", urlsafe_b64decode("jdj1OVblTTagsVXZQEZYlQ==")


@pytest.mark.rules("CGB-4")
def test_the_hash_that_kafka_stored() -> None:
    """A topic with two partitions and no racks, and the record of a group that had subscribed to it."""
    assert group_hash({NAME: topic_hash(NAME, TOPIC_ID, [(), ()])}) == 6605259546703524770


@pytest.mark.rules("CGB-4")
def test_a_group_without_topics_has_no_hash() -> None:
    """Then the field is 0 and is not written."""
    assert group_hash({}) == 0


@pytest.mark.rules("CGB-4")
def test_order_does_not_matter() -> None:
    """Topics count in order of their names, racks in their own order."""
    assert group_hash({"a": 1, "b": -2}) == group_hash({"b": -2, "a": 1})
    assert topic_hash(NAME, TOPIC_ID, [["east", "west"]]) == topic_hash(NAME, TOPIC_ID, [["west", "east"]])


@pytest.mark.rules("CGE-4", "CGB-4")
def test_everything_of_a_topic_counts() -> None:
    """Another id, name, number of partitions or rack is another hash."""
    hashes = [
        topic_hash(NAME, TOPIC_ID, [(), ()]),
        topic_hash(NAME, bytes(16), [(), ()]),
        topic_hash("other", TOPIC_ID, [(), ()]),
        topic_hash(NAME, TOPIC_ID, [()]),
        topic_hash(NAME, TOPIC_ID, [["east"], ()]),
        topic_hash(NAME, TOPIC_ID, [(), ["east"]]),
        topic_hash(NAME, TOPIC_ID, [["eas", "t"], ()]),
    ]

    assert len(set(hashes)) == len(hashes)

"""`--topic NAME:PARTITIONS[:SETTING=VALUE,...]`."""

import pytest

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.topic_option import TopicOption, parse_topic


def test_a_topic_has_a_name_partitions_and_settings() -> None:
    """The settings are optional; a comma without a "=" after it belongs to the value."""
    assert parse_topic("orders:3") == TopicOption("orders", 3, {})
    assert parse_topic("a.b_c:1:cleanup.policy=compact,delete,retention.ms=5") == TopicOption(
        "a.b_c", 1, {"cleanup.policy": "compact,delete", "retention.ms": "5"}
    )


def test_a_topic_has_one_partition_unless_the_text_says_more() -> None:
    """The name alone is enough."""
    assert parse_topic("orders") == TopicOption("orders", 1, {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not NAME[:PARTITIONS[:SETTING=VALUE,...]]"),
        ("orders:", "it is not NAME[:PARTITIONS[:SETTING=VALUE,...]]"),
        (":3", "it is not NAME[:PARTITIONS[:SETTING=VALUE,...]]"),
        ("orders:many", "'many' is not a number of partitions"),
        ("orders:0", "'0' is not a number of partitions"),
        ("orders:-1", "'-1' is not a number of partitions"),
        ("orders:1:", "'' is not SETTING=VALUE"),
        ("orders:1:compact", "'compact' is not SETTING=VALUE"),
        ("orders:1:=5", "'=5' is not SETTING=VALUE"),
        ("orders:1:retention.ms=1,retention.ms=2", "retention.ms is given twice"),
    ],
)
def test_what_is_wrong_is_named(text: str, why: str) -> None:
    """The error repeats the option and says which part is wrong."""
    with pytest.raises(InvalidArgument) as raised:
        parse_topic(text)

    assert str(raised.value) == f"--topic {text!r}: {why}"
    assert (raised.value.field, raised.value.value) == ("topic", text)

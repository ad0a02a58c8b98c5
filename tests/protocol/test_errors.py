"""Error codes by Kafka's names, and which of them clients may retry."""

import pytest

from fakebroker.protocol.errors import ErrorCode, KafkaError, error_name, nearest


@pytest.mark.parametrize(
    ("name", "number", "retriable"),
    [
        ("UNKNOWN_SERVER_ERROR", -1, False),
        ("NONE", 0, False),
        ("OFFSET_OUT_OF_RANGE", 1, False),
        ("CORRUPT_MESSAGE", 2, True),
        ("NOT_LEADER_OR_FOLLOWER", 6, True),
        ("COORDINATOR_LOAD_IN_PROGRESS", 14, True),
        ("NOT_COORDINATOR", 16, True),
        ("ILLEGAL_GENERATION", 22, False),
        ("REBALANCE_IN_PROGRESS", 27, False),
        ("FETCH_SESSION_ID_NOT_FOUND", 70, True),
        ("MEMBER_ID_REQUIRED", 79, False),
        ("FENCED_INSTANCE_ID", 82, False),
        ("UNSTABLE_OFFSET_COMMIT", 88, True),
        ("UNKNOWN_TOPIC_ID", 100, True),
        ("INVALID_REGULAR_EXPRESSION", 128, False),
    ],
)
def test_codes_are_kafkas(name: str, number: int, retriable: bool) -> None:
    """Name, number and retriability are those of the Java client."""
    code = ErrorCode(number)

    assert (code.name, code.retriable) == (name, retriable)


def test_a_code_that_is_none_has_a_name() -> None:
    """It is its number."""
    assert (error_name(16), error_name(12345)) == ("NOT_COORDINATOR", "12345")


def test_an_error_says_its_code_and_its_text() -> None:
    """What a test sees when a call of the object model is refused."""
    assert (
        str(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic 'x'"))
        == "UNKNOWN_TOPIC_OR_PARTITION: no topic 'x'"
    )
    assert str(KafkaError(ErrorCode.NOT_COORDINATOR)) == "NOT_COORDINATOR"


@pytest.mark.parametrize(
    ("name", "names", "ending"),
    [
        ("Ordrs", ["orders", "payments"], "did you mean 'orders'?"),
        ("x", ["orders", "payments"], "there are orders, payments"),
        ("x", [], "there are none"),
        ("x", map(str, range(100, 120)), "there are 20: 100, 101, 102, 103, 104, ... (the page has them)"),
    ],
)
def test_a_wrong_name_has_a_short_ending(name: object, names: list[str], ending: str) -> None:
    """The nearest names; without one all that there are, but of many the first and where the others are."""
    assert nearest(name, names, "the page has them") == ending

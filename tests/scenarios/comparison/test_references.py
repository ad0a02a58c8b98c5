"""What counts as the recorded answer."""

import pytest

from fakebroker.scenarios.comparison.names import Names
from fakebroker.scenarios.comparison.references import differences


def diff(want: object, got: object, **saved: object) -> list[str]:
    names = Names("-x")
    for name, value in saved.items():
        names.save(name, value)
    return [each.text("Kafka") for each in differences(want, got, names, wall_ms=1_000_000)]


def test_equal_answers_have_no_differences() -> None:
    """An answer equal to the recorded one passes."""
    assert (
        diff({"ErrorCode": 0, "Members": [{"MemberId": "m"}]}, {"ErrorCode": 0, "Members": [{"MemberId": "m"}]}) == []
    )


def test_a_difference_names_the_path_and_both_values() -> None:
    """A wrong field is reported with where it is, what came and what Kafka gave."""
    assert diff({"Topics": [{"ErrorCode": 3}]}, {"Topics": [{"ErrorCode": 0}]}) == [".Topics[0].ErrorCode: 0, Kafka 3"]


def test_fields_missing_and_fields_too_many_are_differences() -> None:
    """Both sides must have the same fields."""
    assert diff({"A": 1}, {"B": 2}) == [".A: missing, Kafka 1", ".B: 2, Kafka not there"]


def test_lists_of_another_length_are_one_difference() -> None:
    """A list with entries missing is reported once, not entry by entry."""
    (line,) = diff({"Members": [{"MemberId": "a"}, {"MemberId": "b"}]}, {"Members": []})

    assert line.startswith(".Members: 0 entries [], Kafka 2 entries [{")


def test_loose_fields_are_compared_by_type() -> None:
    """What no broker can predict may differ, but not in type."""
    assert diff({"Host": "alpha", "Port": 9092}, {"Host": "beta", "Port": 1}) == []
    assert diff({"Host": "alpha"}, {"Host": 5}) == [".Host: 5, Kafka 'alpha'"]


def test_loose_numbers_agree_in_being_none() -> None:
    """-1 means "none" and is not loose; for session ids 0 does too."""
    assert diff({"LeaderId": -1}, {"LeaderId": 3}) == [".LeaderId: 3, Kafka -1"]
    assert diff({"SessionId": 77}, {"SessionId": 0}) == [".SessionId: 0, Kafka 77"]
    assert diff({"SessionId": 77}, {"SessionId": 5}) == []


def test_a_loose_field_that_refers_to_a_saved_value_is_exact() -> None:
    """A producer id that came back in the recording must come back here."""
    assert diff({"ProducerId": "$pid"}, {"ProducerId": 7}, pid=7) == []
    assert diff({"ProducerId": "$pid"}, {"ProducerId": 8}, pid=7) == [".ProducerId: 8, Kafka 7"]
    assert diff({"ProducerId": 5}, {"ProducerId": 8}) == []


def test_saved_values_and_the_tag_are_put_in() -> None:
    """ "$a" stands for the value saved under that name, "~" for the tag of the run."""
    assert diff({"MemberId": "$a", "GroupId": "g~"}, {"MemberId": "m-1", "GroupId": "g-x"}, a="m-1") == []


def test_ids_that_nobody_saved_are_alike_when_their_prefix_is() -> None:
    """A member id that the recording could not save before it appeared is compared without its random part."""
    kafka = "b-f7078f4b-c830-49da-ab64-ecc7517a7bed"

    assert diff({"MemberId": kafka}, {"MemberId": "b-3906a7c8-603d-41d4-89e7-a54d87bdc1f7"}) == []
    assert diff({"MemberId": kafka}, {"MemberId": "c-3906a7c8-603d-41d4-89e7-a54d87bdc1f7"}) != []
    assert diff({"MemberId": "$b"}, {"MemberId": "b-3906a7c8-603d-41d4-89e7-a54d87bdc1f7"}, b=kafka) != []


def test_some_lists_come_in_any_order() -> None:
    """Lists of things with an identity are compared as sets, also when the identity is a saved value."""
    want = {"Members": [{"MemberId": "$a", "N": 1}, {"MemberId": "$b", "N": 2}]}

    assert diff(want, {"Members": [{"MemberId": "a", "N": 2}, {"MemberId": "z", "N": 1}]}, a="z", b="a") == []


def test_other_lists_keep_their_order() -> None:
    """A list without a known identity is compared in order."""
    assert diff({"Coordinators": [1, 2]}, {"Coordinators": [2, 1]}) != []
    assert diff({"Partitions": [1, 2]}, {"Partitions": [2, 1]}) == []


def test_relative_times_are_filled_in() -> None:
    """ "now-5" is the time of sending, five milliseconds earlier."""
    assert Names("").fill({"T": ["now-5", "now+5", "nowhere"]}, 1000) == {"T": [995, 1005, "nowhere"]}


@pytest.mark.parametrize("filled", ["$unknown", "plain"])
def test_an_unknown_name_stays(filled: str) -> None:
    """A text that looks like a reference but is none is left as it is."""
    assert Names("t").fill(filled, 0) == filled

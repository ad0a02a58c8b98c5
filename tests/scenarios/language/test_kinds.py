"""Kinds of values: what they take, what they make of it, and what they say of the rest."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.arguments.kinds import MOMENT, NUMBER, TEXT, WHOLE, Choice, Kind, Whole
from fakebroker.protocol.arguments.structures import PARTITION, ByPartition, Fields, ListOf, OneOf, partition_of
from fakebroker.scenarios.language.kinds import DURATION_MS, Duration, Reading, Wrong
from fakebroker.scenarios.language.kinds import read as read_node
from fakebroker.scenarios.language.yaml_file import parse_yaml


def read(kind: Kind, text: str, reading: Reading | None = None) -> object:
    return read_node(kind, parse_yaml(text, "f"), reading or Reading())


def wrong(kind: Kind, text: str, reading: Reading | None = None) -> str:
    with pytest.raises(Wrong) as caught:
        read(kind, text, reading)
    return caught.value.message


@given(st.text(min_size=1), st.integers(0, 10**9))
def test_the_last_hyphen_separates_topic_and_partition(topic: str, partition: int) -> None:
    """Topics may have hyphens of their own."""
    assert partition_of(f"{topic}-{partition}") == (topic, partition)


@pytest.mark.parametrize("text", ["orders", "orders-", "-0", "orders-x", "orders--1x", "orders-1.5", "orders-٣"])
def test_what_is_no_partition_is_refused(text: str) -> None:
    """A partition is a topic, a hyphen, a number."""
    with pytest.raises(ValueError, match="no partition"):
        partition_of(text)


def test_values_are_made_of_their_kinds() -> None:
    """Each kind gives what a call takes."""
    assert read(TEXT, "a") == "a"
    assert read(DURATION_MS, "1s") == 1000
    assert read(Duration(NUMBER, 1000), "1500ms") == 1.5
    assert read(MOMENT, "2026-01-01T00:00:00Z") == datetime(2026, 1, 1, tzinfo=UTC)
    assert read(OneOf([MOMENT, WHOLE]), "5") == 5
    assert read(ListOf(PARTITION), "[orders-0, a-b-1]") == [("orders", 0), ("a-b", 1)]
    assert read(ByPartition(WHOLE), "{orders-0: 42}") == {("orders", 0): 42}
    assert read(OneOf([WHOLE, TEXT]), "3") == 3
    assert read(OneOf([WHOLE, TEXT]), "x") == "x"
    assert read(Fields({"n": WHOLE}, ["n"], dict), "{n: 1}") == {"n": 1}


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (TEXT, "3", 'should be a text, not 3; in quotes it is one: "3"'),
        (TEXT, "true", 'should be a text, not true; in quotes it is one: "true"'),
        (TEXT, "[a]", "should be a text, not ['a']"),
        (TEXT, "~", "should be a text, not null"),
        (WHOLE, "'3'", "should be a whole number, not '3'"),
        (WHOLE, "true", "should be a whole number, not true"),
        (WHOLE, "1.0", "should be a whole number, not 1.0"),
        (WHOLE, "9223372036854775808", "should be a whole number that fits into 64 bits, not 9223372036854775808"),
        (Whole(1), "0", "should be a whole number, 1 or more, not 0"),
        (Whole(1, 5), "6", "should be a whole number from 1 to 5, not 6"),
        (DURATION_MS, "10", "should be a duration (250ms, 10s, 1h 10m, 3d), not 10"),
        (DURATION_MS, "10x", "'10x' is not a duration, such as 250ms, 10s, 1h 10m or 3d"),
        (MOMENT, "2026-01-01T00:00:00", "'2026-01-01T00:00:00' has no time zone; one in UTC is 2026-01-01T00:00:00Z"),
        (MOMENT, "monday", "should be a time (2026-01-01T00:00:00Z), not 'monday'"),
        (ListOf(TEXT), "orders", "should be a list, not 'orders'; a list of one is [orders]"),
        (ListOf(TEXT), "[1]", 'should be a text, not 1; in quotes it is one: "1"'),
        (ListOf(TEXT, 1), "[]", "should have at least 1 element"),
        (ByPartition(WHOLE), "{a: 42}", "should be a topic and a partition, such as orders-0, not 'a'"),
        (ByPartition(WHOLE), "{orders-0: 1, orders-00: 2}", "'orders-00' is there already"),
        (Choice(["kafka", "test"]), "tset", "there is no 'tset'; did you mean 'test'?"),
        (Fields({"name": TEXT}, ["name"], dict), "{nam: a}", "there is no field 'nam'; did you mean 'name'?"),
        (Fields({"name": TEXT}, ["name"], dict), "{}", "the field 'name' is missing"),
        (OneOf([WHOLE, TEXT]), "[1]", "should be a whole number or a text, not [1]"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(kind: Kind, text: str, message: str) -> None:
    """The message names what was given and what would be right."""
    assert wrong(kind, text) == message


def test_saved_values_stand_for_any_kind() -> None:
    """A name that was saved is kept for the player, one that was not is refused, and $$ is a dollar sign."""
    reading = Reading(saved={"first": "value", "a": "actor"})

    assert read(WHOLE, "$first", reading) == "$first"
    assert read(ListOf(TEXT), "[$first.members.0, $a.member_id]", reading) == ["$first.members.0", "$a.member_id"]
    assert read(TEXT, "$$x", reading) == "$$x"
    assert wrong(WHOLE, "$frist", reading) == "no earlier step saves 'frist'; did you mean 'first'?"
    assert wrong(TEXT, "$a", reading) == "a is an actor; say what of it: $a.member_id"
    assert wrong(TEXT, "$5", reading) == "'$5' begins with $ and is not the name of a saved value; $$ stands for one $"
    assert read(TEXT, "$first", Reading(in_timeline=False)) == "$first"

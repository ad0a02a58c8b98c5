"""Reasons of rebalances as sentences of the journal."""

from fakebroker.broker.core.groups.classic.reasons import Reason, describe


def test_a_reason_names_its_subject_and_the_words_of_the_client() -> None:
    """The words stand in brackets; without words there are none. Braces of a client are only letters."""
    assert Reason.LEFT.of("member a", "shutting down") == "member a left (shutting down)"
    assert Reason.JOINED.of("member {}", "{0}") == "member {} joined ({0})"
    assert Reason.TOO_LARGE.of() == "the loaded group has more members than group.max.size"


def test_three_members_are_named() -> None:
    """One is a member, others are members; a fourth is only counted among others."""
    assert describe(["a"]) == "member a"
    assert describe(["a", "b", "c"]) == "members a, b, c"
    assert describe(["a", "b", "c", "d"]) == "members a, b, c and others"

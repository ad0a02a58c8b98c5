"""ACLs by themselves: what patterns and filters match, what is found for a resource, and the state."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.security.acls import (
    Acl,
    AclFilter,
    Acls,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    Who,
    acl_of,
)
from tests.support.work_counter import calls_of

LITERAL, PREFIXED, ANY, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.ANY, PatternType.MATCH
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
NAMES = st.sampled_from(["a", "ab", "abc", "b", "*", "*a"])
PATTERNS = st.builds(ResourcePattern, st.sampled_from([TOPIC, GROUP]), NAMES, st.sampled_from([LITERAL, PREFIXED]))
ENTRIES = st.builds(
    Acl,
    PATTERNS,
    st.sampled_from(["User:alice", "User:bob", "User:*"]),
    st.sampled_from(["*", "10.0.0.1"]),
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALL]),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)


EVERYONE = [(principal, host) for principal in ("User:alice", "User:bob", "User:*") for host in ("*", "10.0.0.1")]


def plainly(entries: Iterable[Acl], name: str, whom: Iterable[Who]) -> list[Acl]:
    """What there is about a topic and clients, by a look at every entry: its name, prefixes, the wildcard."""

    def rank(acl: Acl) -> tuple[bool, int]:
        is_prefix = acl.pattern.pattern_type is PREFIXED
        return acl.pattern.name != name and not is_prefix, 1 + len(acl.pattern.name) if is_prefix else 0

    matching = [each for each in entries if each.pattern.resource_type is TOPIC and each.pattern.matches(name)]
    return sorted([each for each in matching if (each.principal, each.host) in whom], key=rank)


def entry(name: str = "a", pattern_type: PatternType = LITERAL, principal: str = "User:alice") -> Acl:
    return Acl(ResourcePattern(TOPIC, name, pattern_type), principal, "*", Operation.READ, Permission.ALLOW)


@pytest.mark.rules("AU-9")
@pytest.mark.parametrize(
    ("name", "pattern_type", "matched", "others"),
    [
        ("ab", LITERAL, ["ab"], ["a", "abc", ""]),
        ("ab", PREFIXED, ["ab", "abc"], ["a", "xab"]),
        ("*", LITERAL, ["", "a", "*", "*a"], []),
        ("*", PREFIXED, ["*", "*a"], ["a", ""]),
    ],
)
def test_what_a_pattern_matches(name: str, pattern_type: PatternType, matched: list[str], others: list[str]) -> None:
    """A literal name matches itself, a prefix what begins with it; only the literal asterisk matches everything."""
    pattern = ResourcePattern(TOPIC, name, pattern_type)
    assert [each for each in [*matched, *others] if pattern.matches(each)] == matched


@pytest.mark.rules("AU-2", "AU-9")
@given(
    st.lists(ENTRIES, max_size=12),
    st.sampled_from(["a", "ab", "abc", "b", "*", "*a", "x", ""]),
    st.sets(st.sampled_from(EVERYONE)),
)
def test_entries_of_a_resource_are_all_whose_patterns_match(entries: list[Acl], name: str, whom: set[Who]) -> None:
    """What is found by names, prefixes and clients is what a look at every entry finds, in that order."""
    acls = Acls()
    for each in entries:
        acls.add(each)
    for each in entries[::3]:
        acls.remove(each)
    left = [each for each in dict.fromkeys(entries) if each not in entries[::3]]
    found = acls.about(TOPIC, name, whom)
    assert found.entries == plainly(left, name, whom)
    assert found.is_matched is bool(plainly(left, name, EVERYONE))
    assert (set(acls), len(acls)) == (set(left), len(left))


@pytest.mark.rules("AU-2")
def test_entries_about_others_cost_nothing() -> None:
    """A topic, or all of them, may have an entry for each user."""
    acls, calls = Acls(), list[int]()
    for count in (10, 1_000):
        for number in range(count):
            acls.add(entry("*", principal=f"User:{number}"))
        calls.append(calls_of(lambda: acls.about(TOPIC, "a", EVERYONE)))
    assert calls[0] == calls[1]


@pytest.mark.rules("AU-11")
def test_an_entry_is_there_once() -> None:
    """Adding and removing say whether anything has changed."""
    acls = Acls()
    assert [acls.add(entry()), acls.add(entry()), len(acls)] == [True, False, 1]
    assert [acls.remove(entry()), acls.remove(entry()), len(acls)] == [True, False, 0]
    assert not acls.remove(entry("never"))


@pytest.mark.rules("AU-10")
@pytest.mark.parametrize(
    ("name", "pattern_type", "found"),
    [
        (None, ANY, ["a", "ab", "a.", "*", "b"]),
        (None, MATCH, ["a", "ab", "a.", "*", "b"]),
        ("a", ANY, ["a", "a."]),
        ("a", LITERAL, ["a"]),
        ("a", PREFIXED, ["a."]),
        (None, PREFIXED, ["a."]),
        ("ab", MATCH, ["ab", "a.", "*"]),
        ("*", LITERAL, ["*"]),
    ],
)
def test_filters_by_name(name: str | None, pattern_type: PatternType, found: list[str]) -> None:
    """Exactly that pattern, both types of the name, or whatever would apply to the name; "a." is the prefix a."""
    acls = Acls()
    for each in [entry("a"), entry("ab"), entry("a", PREFIXED), entry("*"), entry("b")]:
        acls.add(each)
    shown = [
        each.pattern.name + ("." if each.pattern.pattern_type is PREFIXED else "")
        for each in acls.find(AclFilter(name=name, pattern_type=pattern_type))
    ]
    assert shown == found


@pytest.mark.rules("AU-10")
@pytest.mark.parametrize(
    "other",
    [
        {"resource_type": GROUP},
        {"principal": "User:bob"},
        {"host": "10.0.0.1"},
        {"operation": Operation.WRITE},
        {"permission": Permission.DENY},
    ],
)
def test_every_field_of_a_filter_counts(other: dict[str, Any]) -> None:
    """One field that is another leaves an entry out; a filter of its own values means it."""
    assert AclFilter(TOPIC, "a", LITERAL, "User:alice", "*", Operation.READ, Permission.ALLOW).matches(entry())
    assert AclFilter().matches(entry())
    assert not AclFilter()._replace(**other).matches(entry())


@given(st.lists(ENTRIES, max_size=12))
def test_the_state_is_all_of_it(entries: list[Acl]) -> None:
    """Entries of a state find the same resources as those that it was read from."""
    acls, again = Acls(), Acls()
    for each in entries:
        acls.add(each)
    again.add(entry("gone"))
    again.restore(acls.state())
    assert list(again) == list(acls)
    assert again.about(GROUP, "abc", EVERYONE) == acls.about(GROUP, "abc", EVERYONE)
    assert len(again) == len(acls)


def test_codes_that_do_not_exist() -> None:
    """An entry cannot be made of a code that nobody knows."""
    with pytest.raises(ValueError, match="99"):
        acl_of(99, "a", 3, "User:alice", "*", 3, 3)


def test_entries_in_words() -> None:
    """Who, what, on which resources, and from where if that is not everywhere."""
    assert str(entry()) == "ALLOW User:alice READ on TOPIC 'a'"
    assert str(entry("a", PREFIXED)) == "ALLOW User:alice READ on TOPIC names that begin with 'a'"
    assert str(entry("*")._replace(host="10.0.0.1")) == "ALLOW User:alice READ on every TOPIC from 10.0.0.1"

"""Which protocol a generation uses (JG-27)."""

from itertools import permutations

import pytest

from tests.support.groups import OneGroup


def chosen(*lists: str, as_release: str = "4.3") -> str:
    """The protocol chosen for members that offer these, in their order of preference."""
    lab = OneGroup(as_release=as_release)
    joins = [lab.join(protocols=[(name, b"") for name in names.split()]) for names in lists]
    lab.wait(10_000)
    return str(joins[0].protocol)


@pytest.mark.rules("JG-27")
@pytest.mark.parametrize(
    ("lists", "winner"),
    [
        (["range"], "range"),
        (["roundrobin range"], "roundrobin"),
        (["a b", "b a", "b a"], "b"),
        (["a b", "b"], "b"),
        (["x range sticky", "y sticky range", "range sticky z"], "range"),
        (["a b c", "c b a", "b c a", "b a c"], "b"),
    ],
)
def test_votes(lists: list[str], winner: str) -> None:
    """Each member votes for the first of its protocols that all support; most votes win."""
    assert chosen(*lists) == winner


@pytest.mark.rules("JG-27")
@pytest.mark.parametrize(
    ("one", "other", "winner"),
    [
        ("range", "sticky", "sticky"),
        ("roundrobin", "range", "range"),
        ("cooperative-sticky", "roundrobin", "roundrobin"),
        ("sticky", "other", "other"),
    ],
)
def test_ties(one: str, other: str, winner: str) -> None:
    """A tie goes to the name that comes first in a Java hash map, whoever voted first."""
    assert chosen(f"{one} {other}", f"{other} {one}") == winner
    assert chosen(f"{other} {one}", f"{one} {other}") == winner


@pytest.mark.rules("JG-27")
def test_a_tie_of_all() -> None:
    """The order of joining plays no role."""
    names = ["range", "sticky", "roundrobin"]
    for order in permutations(names):
        assert chosen(*[" ".join([name, *sorted(set(names) - {name})]) for name in order]) == "sticky"


@pytest.mark.rules("JG-27")
def test_ties_in_3_9() -> None:
    """Kafka 3.9.1 lists the votes in the order of a Scala map."""
    assert chosen("range sticky", "sticky range", as_release="3.9") == "range"
    assert chosen("range roundrobin", "roundrobin range", as_release="3.9") == "roundrobin"

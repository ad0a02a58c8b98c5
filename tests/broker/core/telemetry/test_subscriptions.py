"""Which clients are asked for which metrics."""

from collections.abc import Iterable, Mapping
from random import Random

import pytest

from fakebroker.broker.core.telemetry.subscriptions import (
    STATES_PER_STEP,
    ClientIdentity,
    InvalidPattern,
    Wanted,
    check_selectors,
    is_match,
    subscription_id,
    wanted_of,
)
from fakebroker.protocol.pace import Pace, finished

CLIENT = ClientIdentity("id", "svc-1", "librdkafka", "2.3.0", "127.0.0.1", "50123")
INSTANCE = bytes.fromhex("67b037363bf745b18f3718b5f656271f")


def wanted(resources: Iterable[Mapping[str, str]], identity: ClientIdentity = CLIENT) -> Wanted:
    return finished(wanted_of(resources, identity, Pace(STATES_PER_STEP)))


@pytest.mark.rules("TE-2", "TE-6")
@pytest.mark.parametrize(
    ("selectors", "matches"),
    [
        ((), True),
        (("client_id=svc-.*",), True),
        (("client_id=svc-",), False),
        (("client_id=svc-.*", "client_software_name=apache.*"), False),
        (("client_software_version=2\\.[0-9]\\.0", "client_source_address=127.0.0.1", "client_source_port=5.*"), True),
    ],
)
def test_every_selector_has_to_match_the_whole_text(selectors: tuple[str, ...], matches: bool) -> None:
    """Without any everybody matches."""
    assert finished(is_match(selectors, CLIENT, Pace(1_000_000))) is matches


@pytest.mark.rules("TE-2")
def test_matching_resources_are_added_up() -> None:
    """All of their metrics, everything if one wants that, at the shortest of their intervals."""
    resources = {
        "a": {"metrics": "org.a.,org.b.", "interval.ms": "5000"},
        "b": {"metrics": "org.b.,org.c.", "interval.ms": "2000", "match": "client_id=svc-1"},
        "c": {"metrics": "*", "interval.ms": "100", "match": "client_id=other"},
    }
    every, other = resources.values(), CLIENT._replace(client_id="other")
    assert wanted([]) == Wanted((), 300_000)
    assert wanted(every) == Wanted(("org.a.", "org.b.", "org.c."), 2000)
    assert wanted(every, other) == Wanted(("*",), 100)


@pytest.mark.rules("TE-5")
def test_subscription_ids_are_those_of_kafka() -> None:
    """As a running broker gave them for this client."""
    assert subscription_id(Wanted((), 300_000), INSTANCE) == -236906765
    assert subscription_id(Wanted(("*",), 500), INSTANCE) == -1905912426
    assert subscription_id(Wanted((), 300_000), bytes(15) + b"\5") == -725132325


@pytest.mark.rules("TE-6")
def test_patterns_that_cannot_be_read() -> None:
    """One of them spoils all."""
    check_selectors(("client_id=a.*", "client_id=(b|c)"))
    with pytest.raises(InvalidPattern):
        check_selectors(("client_id=a.*", "client_id=(("))


@pytest.mark.rules("TE-6")
def test_the_patterns_of_a_resource_are_bounded_together() -> None:
    """Each takes its time to read and to match, so many have no more states than one may have."""
    check_selectors(("client_id=.*a.{900}",) * 5)
    with pytest.raises(InvalidPattern, match="too large"):
        check_selectors(("client_id=.*a.{900}",) * 20)


@pytest.mark.rules("TE-2")
def test_long_texts_are_matched_in_steps() -> None:
    """A client id may have 32,767 bytes, and a pattern thousands of states: each step looks at some thousands."""
    chance = Random(1)
    client = CLIENT._replace(client_id="".join(chance.choices("ab", k=2_000)))
    wide = {"match": "client_id=.*a.{300}", "metrics": "*"}
    assert sum(1 for _ in wanted_of([wide], client, Pace(STATES_PER_STEP))) > 2_000 * 100 // STATES_PER_STEP


def test_large_patterns_are_compiled_in_steps() -> None:
    """Also those that the first character of a client id decides."""
    large = [{"match": f"client_id=x{number}.{{900}}", "metrics": "*"} for number in range(20)]
    assert sum(1 for _ in wanted_of(large, CLIENT, Pace(STATES_PER_STEP))) >= 20 * 900 // STATES_PER_STEP


@pytest.mark.rules("TE-2")
def test_many_resources_are_read_in_steps() -> None:
    """There may be any number of them."""
    assert sum(1 for _ in wanted_of([{"metrics": "*"}] * 1_000, CLIENT, Pace(STATES_PER_STEP))) >= 5

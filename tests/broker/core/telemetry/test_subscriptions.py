"""Which clients are asked for which metrics."""

import pytest

from fakebroker.broker.core.telemetry.subscriptions import (
    ClientIdentity,
    InvalidPattern,
    Wanted,
    check_selectors,
    is_match,
    subscription_id,
    wanted_of,
)

CLIENT = ClientIdentity("id", "svc-1", "librdkafka", "2.3.0", "127.0.0.1", "50123")
INSTANCE = bytes.fromhex("67b037363bf745b18f3718b5f656271f")


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
    assert is_match(selectors, CLIENT) is matches


@pytest.mark.rules("TE-2")
def test_matching_resources_are_added_up() -> None:
    """All of their metrics, everything if one wants that, at the shortest of their intervals."""
    resources = {
        "a": {"metrics": "org.a.,org.b.", "interval.ms": "5000"},
        "b": {"metrics": "org.b.,org.c.", "interval.ms": "2000", "match": "client_id=svc-1"},
        "c": {"metrics": "*", "interval.ms": "100", "match": "client_id=other"},
    }
    assert wanted_of({}, CLIENT) == Wanted((), 300_000)
    assert wanted_of(resources, CLIENT) == Wanted(("org.a.", "org.b.", "org.c."), 2000)
    assert wanted_of(resources, CLIENT._replace(client_id="other")) == Wanted(("*",), 100)


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

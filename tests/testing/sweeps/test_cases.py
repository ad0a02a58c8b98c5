"""Cases have names that repeat them, and sentences that say what happens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import InvalidArgument
from fakebroker.testing.sweeps import plausible
from fakebroker.testing.sweeps.cases import Case, parse_case

CLIENTS = st.none() | st.text(max_size=20)


@given(
    st.sampled_from(sorted(plausible.PLAUSIBLE)),
    st.integers(1, 10**6),
    st.sampled_from(sorted(plausible.FAULTS)),
    CLIENTS,
)
def test_the_name_of_a_case_gives_the_case(api: str, nth: int, fault: str, client_id: str | None) -> None:
    """Whatever a client calls itself, with slashes, colons or nothing at all."""
    case = Case(api, nth, plausible.fault(fault), client_id, is_named=client_id is not None)

    assert parse_case(case.name) == case


def test_names_are_as_one_types_them() -> None:
    """API#N:FAULT, with the client before it where several have used the API; Kafka's spelling of errors will do."""
    case = parse_case("consumer-1/offsetcommit#3:NOT_COORDINATOR")

    assert (case.api, case.nth, case.client_id) == ("OffsetCommit", 3, "consumer-1")
    assert case.name == "consumer-1/OffsetCommit#3:not-coordinator"
    assert parse_case("OffsetCommit#3:lost-answer").client_id is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lost-answer", "the answer to OffsetCommit #3 of a is lost after it was applied"),
        ("disconnect", "the connection is closed at OffsetCommit #3 of a, before it is applied"),
        ("rebalance", "a rebalance between Fetch #9 and OffsetCommit #3 of a"),
        ("pause", "a is paused beyond its session timeout between Fetch #9 and OffsetCommit #3 of a"),
        ("not-coordinator", "OffsetCommit #3 of a is answered with NOT_COORDINATOR, and not applied"),
    ],
)
def test_a_sentence_says_what_happens(name: str, sentence: str) -> None:
    """Which request of whom, and what becomes of it."""
    assert Case("OffsetCommit", 3, plausible.fault(name), "a", "Fetch #9").sentence == sentence


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OffsetCommit", "API#N:FAULT, e.g. OffsetCommit#3:lost-answer, not 'OffsetCommit'"),
        ("OffsetCommit#three:lost-answer", "API#N:FAULT"),
        ("OffsetCommit#0:lost-answer", "counted from 1"),
        ("OffsetCommt#3:lost-answer", "there is no API 'OffsetCommt'; did you mean 'OffsetCommit'"),
        ("OffsetCommit#3:lost-anwser", "there is no fault 'lost-anwser'; did you mean 'lost-answer'?"),
        ("OffsetCommit#3:none", "there is no fault 'none'"),
        ("", "not ''"),
    ],
)
def test_what_is_no_case_is_refused(text: str, message: str) -> None:
    """The message says what is right, with the nearest spelling."""
    with pytest.raises(InvalidArgument) as refused:
        parse_case(text, "--fakebroker-fault")

    assert message in str(refused.value)
    assert "--fakebroker-fault" in str(refused.value)

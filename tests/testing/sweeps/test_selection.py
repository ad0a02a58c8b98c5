"""Which cases are run: all plausible ones, or a sample that is spread over APIs and faults."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker import InvalidArgument
from fakebroker.testing.sweeps.cases import RequestSeen
from fakebroker.testing.sweeps.selection import cases_of, sample, selection


def seen(api: str, nth: int = 1, client_id: str = "a", is_member: bool = True) -> RequestSeen:
    return RequestSeen(api, client_id, nth, "", is_member)


REQUESTS = st.lists(
    st.builds(
        seen,
        st.sampled_from(["Fetch", "OffsetCommit", "Produce"]),
        st.integers(1, 50),
        st.sampled_from("ab"),
        st.booleans(),
    ),
    unique_by=lambda each: (each.api, each.client_id, each.nth),
)


def test_each_request_is_swept_with_what_is_plausible() -> None:
    """In the order of the requests."""
    cases = cases_of([seen("OffsetCommit"), seen("Fetch")], selection(faults="lost-answer|rebalance"))

    assert [case.name for case in cases] == [
        "OffsetCommit#1:lost-answer", "OffsetCommit#1:rebalance", "Fetch#1:rebalance",
    ]  # fmt: skip


def test_names_say_which_client_where_several_used_the_api() -> None:
    """And only there."""
    cases = cases_of(
        [seen("Fetch"), seen("Fetch", client_id="b"), seen("OffsetCommit")], selection(faults="disconnect")
    )

    assert [case.name for case in cases] == [
        "a/Fetch#1:disconnect",
        "b/Fetch#1:disconnect",
        "OffsetCommit#1:disconnect",
    ]


def test_a_client_outside_of_groups_meets_no_rebalance() -> None:
    """Rebalances and pauses are for members."""
    assert cases_of([seen("Fetch", is_member=False)], selection(faults="rebalance|pause")) == []


@given(REQUESTS, st.integers(0, 5), st.integers(1, 200))
def test_a_sample_is_of_the_cases_and_repeats(requests: list[RequestSeen], seed: int, budget: int) -> None:
    """As many as the budget allows, each once, in their order; the same seed gives the same."""
    cases = cases_of(requests, selection())
    chosen = sample(cases, seed, budget)

    assert len(chosen) == min(budget, len(cases))
    places = [cases.index(case) for case in chosen]
    assert places == sorted(set(places))
    assert chosen == sample(cases, seed, budget)


@given(REQUESTS, st.integers(0, 5))
def test_a_sample_is_spread_over_apis_and_faults(requests: list[RequestSeen], seed: int) -> None:
    """With room for one of each kind, every kind is there."""
    cases = cases_of(requests, selection())
    kinds = {(case.api, case.fault.name) for case in cases}

    assert {(case.api, case.fault.name) for case in sample(cases, seed, len(kinds) or 1)} == kinds


def test_apis_may_have_wildcards() -> None:
    """Names in any case, in the order in which they are asked for."""
    assert selection(apis="offsetcommit| *Group*").apis[0] == "OffsetCommit"
    assert {"JoinGroup", "SyncGroup", "LeaveGroup"} <= set(selection(apis="*Group*").apis)


@pytest.mark.parametrize(
    ("asked", "field", "message"),
    [
        ({"apis": "OffsetCommt"}, "apis", "there is no API 'OffsetCommt'; did you mean 'OffsetCommit'"),
        ({"apis": "Fetch||Produce"}, "apis", "a text such as 'A|B'"),
        ({"apis": ["Fetch"]}, "apis", "a text such as 'A|B'"),
        ({"faults": "lost-anwser"}, "faults", "did you mean 'lost-answer'"),
        ({"faults": ""}, "faults", "a text such as 'A|B'"),
        ({"budget": 0}, "budget", "a whole number from 1, not 0"),
        ({"budget": 2.5}, "budget", "a whole number from 1, not 2.5"),
        ({"seed": -1}, "seed", "a whole number from 0, not -1"),
        ({"seed": "x"}, "seed", "a whole number from 0, not 'x'"),
    ],
)
def test_what_cannot_be_swept_is_refused(asked: dict[str, Any], field: str, message: str) -> None:
    """The error names the field and says what is right."""
    with pytest.raises(InvalidArgument) as refused:
        selection(**asked)

    assert refused.value.field == field
    assert message in str(refused.value)

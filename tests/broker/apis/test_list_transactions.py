"""ListTransactions: its filters, which are all to be passed, and what it does not list."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis
from tests.support.transactional import add, elsewhere, load_slowly, producer

Make = Callable[..., Call]


@pytest.fixture
def lab(make_call: Make) -> GroupApis:
    """ "pay" has had an open transaction for a second, "pay-2" has none."""
    lab = GroupApis(make_call)
    lab.cluster.topics.create("t", 1)
    producer(lab, "pay-2")
    add(lab, producer(lab, "pay"), t=[0])
    lab.wait(1000)
    return lab


def listed(lab: GroupApis, version: int = 2, **filters: Any) -> list[str]:
    """The ids that pass the filters, sorted."""
    answer = lab.ask("ListTransactions", version, **filters)
    assert answer.error_code == 0
    return sorted(each.transactional_id for each in answer.transaction_states)


@pytest.mark.rules("DX-3")
@pytest.mark.parametrize("version", range(3))
def test_without_filters_all_are_listed(lab: GroupApis, version: int) -> None:
    """With state and producer id."""
    answer = lab.ask("ListTransactions", version)

    shown = {each.transactional_id: each.transaction_state for each in answer.transaction_states}
    assert shown == {"pay": "Ongoing", "pay-2": "Empty"}
    assert len({each.producer_id for each in answer.transaction_states}) == 2


@pytest.mark.rules("DX-3")
def test_states_are_matched_by_their_exact_names(lab: GroupApis) -> None:
    """Names that are no states come back, each once, and match nothing."""
    answer = lab.ask("ListTransactions", 0, state_filters=["Ongoing", "empty", "Nope", "Nope"])

    assert [each.transactional_id for each in answer.transaction_states] == ["pay"]
    assert answer.unknown_state_filters == ["empty", "Nope"]
    assert listed(lab, state_filters=["Nope"]) == []
    assert listed(lab, state_filters=["Dead", "Empty"]) == ["pay-2"]


@pytest.mark.rules("DX-3")
def test_all_filters_must_be_passed(lab: GroupApis) -> None:
    """State, producer id and age; in state Empty the age is beyond all."""
    (ongoing,) = lab.ask("ListTransactions", 0, state_filters=["Ongoing"]).transaction_states
    mine: dict[str, Any] = {"producer_id_filters": [ongoing.producer_id]}

    assert listed(lab, **mine) == ["pay"]
    assert listed(lab, state_filters=["Empty"], **mine) == []
    assert listed(lab, producer_id_filters=[999]) == []
    assert listed(lab, duration_filter=999) == ["pay", "pay-2"]
    assert listed(lab, duration_filter=1000) == ["pay-2"]
    assert listed(lab, duration_filter=-5) == ["pay", "pay-2"]


@pytest.mark.rules("DX-3")
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (None, ["pay", "pay-2"]),
        ("", ["pay", "pay-2"]),
        ("pay", ["pay"]),
        ("pay.*", ["pay", "pay-2"]),
        ("ay", []),
        ("(?i)PAY", ["pay"]),
        (r"\Qpay\E-\d", ["pay-2"]),
        ("x|pay", ["pay"]),
    ],
)
def test_a_pattern_matches_whole_ids(lab: GroupApis, pattern: str | None, names: list[str]) -> None:
    """In the syntax of RE2."""
    assert listed(lab, transactional_id_pattern=pattern) == names


@pytest.mark.rules("DX-3")
@pytest.mark.parametrize("pattern", ["[", "*", "(", "(?=p)pay", r"(p)\1", "a**", r"\p{Alpha}", "p(?<!x)ay"])
def test_what_is_no_pattern(lab: GroupApis, pattern: str) -> None:
    """128, and nothing else in the answer."""
    answer = lab.ask("ListTransactions", 2, transactional_id_pattern=pattern, state_filters=["Nope"])

    assert (answer.error_code, answer.transaction_states, answer.unknown_state_filters) == (
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        [],
        [],
    )


@pytest.mark.rules("DX-4", "CLU-12")
def test_only_what_this_broker_coordinates(make_call: Make) -> None:
    """The other ids are listed by the other brokers; 14 while a partition loads."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    own = elsewhere(lab, 1)
    producer(lab, own)
    assert listed(lab) == [own]
    lab.cluster.nodes[2].transactions.shard(elsewhere(lab), lab.now)
    assert listed(lab) == [own]

    load_slowly(lab, own)
    answer = lab.ask("ListTransactions", 0)
    assert (answer.error_code, answer.transaction_states) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])

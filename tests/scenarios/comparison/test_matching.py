"""Two runs of one story mean the same, whatever ids, epochs and times they made up."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.scenarios.comparison import Around, Matching
from fakebroker.scenarios.comparison.pairs import Pairs

Json = Any
AROUND = Around({"GroupId": "g"}, 1_000_000, 2_000_000)


def differences(matching: Matching, recorded: Json, ours: Json) -> list[str]:
    return [str(each) for each in matching.differences(recorded, ours, AROUND)]


def reordered(data: Json, seed: int) -> Json:
    """The same data with the keys of every object in another order."""
    if isinstance(data, dict):
        keys = sorted(data, key=lambda key: hash((seed, key)))
        return {key: reordered(data[key], seed) for key in keys}
    return [reordered(each, seed) for each in data] if isinstance(data, list) else data


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30))
def test_pairs_are_one_to_one(pairs: list[tuple[int, int]]) -> None:
    """Whatever is paired, each value of one side has at most one on the other, and the first pairing counts."""
    found = Pairs()
    known: dict[int, int] = {}
    for recorded, ours in pairs:
        is_new = recorded not in known and ours not in known.values()
        assert found.pair("member", recorded, ours) is (is_new or known.get(recorded) == ours)
        if is_new:
            known[recorded] = ours
    assert {r: found.ours("member", r) for r in known} == known
    assert {found.recorded("member", o): o for o in known.values()} == known


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=30))
def test_a_trial_that_is_undone_leaves_nothing(pairs: list[tuple[int, int, bool]]) -> None:
    """After a trial that failed everything can be paired as if it had not been."""
    tried, straight = Pairs(), Pairs()
    for recorded, ours, is_kept in pairs:
        if is_kept:
            assert tried.pair("topic", recorded, ours) is straight.pair("topic", recorded, ours)
        else:
            mark = tried.mark()
            tried.pair("topic", recorded, ours)
            tried.count(("group", recorded), 1, ours)
            tried.undo(mark)
    assert all(tried.ours("topic", n) == straight.ours("topic", n) for n in range(5))
    assert tried.our_count(("group", 0), 7) == 7


@given(st.permutations(range(5)), st.permutations(range(5)), st.integers())
def test_members_are_matched_in_any_order(recorded: list[int], ours: list[int], seed: int) -> None:
    """The members of a group come in no order, and neither does anything depend on the order of keys."""

    def answer(prefix: str, order: list[int]) -> Json:
        members = [{"MemberId": f"{prefix}{n}", "Metadata": {"hex": f"0{n}"}} for n in order]
        return {"ErrorCode": 0, "GenerationId": 1, "Leader": f"{prefix}0", "MemberId": f"{prefix}1", "Members": members}

    matching = Matching()

    assert differences(matching, answer("there-", recorded), reordered(answer("here-", ours), seed)) == []
    assert [matching.pairs.ours("member", f"there-{n}") for n in range(5)] == [f"here-{n}" for n in range(5)]


def test_an_id_that_stands_for_another_is_a_difference() -> None:
    """Both ways: a recorded id has one of ours, and one of ours has one recorded."""
    matching = Matching()
    assert differences(matching, {"MemberId": "a"}, {"MemberId": "x"}) == []

    assert differences(matching, {"MemberId": "a"}, {"MemberId": "y"}) == [".MemberId: 'y', recorded 'a'"]
    assert differences(matching, {"MemberId": "b"}, {"MemberId": "x"}) == [".MemberId: 'x', recorded 'b'"]
    assert differences(matching, {"MemberId": ""}, {"MemberId": "x"}) == [".MemberId: 'x', recorded ''"]


def test_kinds_of_ids_do_not_meet() -> None:
    """A node and a producer may have the same number."""
    matching = Matching()

    assert differences(matching, {"NodeId": 1, "ProducerId": 1}, {"NodeId": 5, "ProducerId": 0}) == []
    assert differences(matching, {"LeaderId": 1}, {"LeaderId": 5}) == []
    assert differences(matching, {"LeaderId": 1}, {"LeaderId": 1}) == [".LeaderId: 1, recorded 1"]


def test_epochs_and_generations_count_from_where_they_began() -> None:
    """A group that is older there, and a partition whose leader changed, are the same if they grow alike."""
    matching = Matching()

    def partition(epoch: int) -> Json:
        return {"Topics": [{"Name": "t", "Partitions": [{"PartitionIndex": 0, "LeaderEpoch": epoch}]}]}

    assert differences(matching, {"GenerationId": 41}, {"GenerationId": 1}) == []
    assert differences(matching, {"GenerationId": 42}, {"GenerationId": 2}) == []
    assert differences(matching, {"GenerationId": 43}, {"GenerationId": 2}) != []
    assert differences(matching, partition(7), partition(0)) == []
    assert differences(matching, partition(8), partition(1)) == []
    assert differences(matching, partition(8), partition(0)) != []


def test_requests_are_translated() -> None:
    """What goes out has our ids, our generation and our epochs in the place of the recorded ones; the rest stays."""
    matching = Matching()
    differences(matching, {"MemberId": "a", "GenerationId": 41}, {"MemberId": "x", "GenerationId": 1})
    differences(matching, {"SessionId": 900, "TopicId": "t" * 22}, {"SessionId": 3, "TopicId": "u" * 22})
    recorded = {
        "GroupId": "g",
        "MemberId": "a",
        "GenerationId": 42,
        "SessionId": 900,
        "Topics": [{"TopicId": "t" * 22, "Partitions": [{"Partition": 0, "CurrentLeaderEpoch": -1}]}],
        "Assignments": [{"MemberId": "a", "Assignment": {"hex": "00"}}, {"MemberId": "unknown", "Assignment": None}],
    }

    assert matching.translated(recorded) == {
        "GroupId": "g",
        "MemberId": "x",
        "GenerationId": 2,
        "SessionId": 3,
        "Topics": [{"TopicId": "u" * 22, "Partitions": [{"Partition": 0, "CurrentLeaderEpoch": -1}]}],
        "Assignments": [{"MemberId": "x", "Assignment": {"hex": "00"}}, {"MemberId": "unknown", "Assignment": None}],
    }


def test_times_are_compared_by_how_long_ago_they_are() -> None:
    """A time of day near the answer is the same if it is as far from it in both runs."""
    matching = Matching()

    assert differences(matching, {"LogAppendTimeMs": 1_000_000}, {"LogAppendTimeMs": 2_000_100}) == []
    assert differences(matching, {"LogAppendTimeMs": 1_000_000}, {"LogAppendTimeMs": 1_000_001_000}) != []
    assert differences(matching, {"LogAppendTimeMs": -1}, {"LogAppendTimeMs": 2_000_000}) != []


def test_what_is_missing_is_reported_by_name() -> None:
    """An entry that only one side has is named, and so is a field."""
    recorded = {"Topics": [{"Name": "a", "ErrorCode": 0}, {"Name": "b", "ErrorCode": 0}]}

    found = differences(Matching(), recorded, {"Topics": [{"Name": "b", "ErrorCode": 3}]})

    assert found[0].startswith(".Topics[a]: missing, recorded {'Name': 'a'")
    assert found[1] == ".Topics[b].ErrorCode: 3, recorded 0"


def test_what_does_not_match_teaches_nothing() -> None:
    """`same` pairs ids only if all of the answer is the same."""
    matching = Matching()

    assert not matching.same({"MemberId": "a", "ErrorCode": 0}, {"MemberId": "x", "ErrorCode": 1}, AROUND)
    assert matching.same({"MemberId": "a", "ErrorCode": 0}, {"MemberId": "y", "ErrorCode": 0}, AROUND)
    assert matching.pairs.ours("member", "a") == "y"

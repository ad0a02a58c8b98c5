"""Seeds: the same seed plays the same, another one another order; without one nothing is drawn."""

import pytest

from fakebroker.scenarios.happenings import Sent
from fakebroker.scenarios.playing.player import Played
from fakebroker.scenarios.playing.shuffle import Shuffle
from tests.support.scenarios import Steps, play


def storm(seed: int | None) -> Played:
    """Three members by themselves, steps in any order, pauses, a pass that is left open."""
    s = Steps()
    return play(
        *(s.do(name, "consume", group_id="billing", topics=["orders"]) for name in "abc"),
        s.any_order(s.do("a", "list_groups"), s.do("b", "describe_cluster"), s.do("c", "metadata")),
        s.passes(3000, 30_000),
        s.group(within_ms=60_000, state="Stable", members=3),
        seed=seed,
        jitter_ms=(0, 20),
    )


@pytest.mark.parametrize("seed", [None, 0, 1, 77])
def test_the_same_seed_plays_the_same(seed: int | None) -> None:
    """Happenings are equal, down to times and member ids."""
    first, second = storm(seed), storm(seed)

    assert first.problems == []
    assert first.happenings == second.happenings


def test_other_seeds_play_otherwise() -> None:
    """Orders and times differ from seed to seed, and all of them come out as the scenario says."""
    plays = [storm(seed) for seed in range(20)]
    orders = {
        tuple(
            each.api
            for each in played.happenings
            if isinstance(each, Sent) and each.api in ("ListGroups", "Metadata", "DescribeCluster")
        )
        for played in plays
    }

    assert [played.problems for played in plays] == [[]] * 20
    assert len({played.virtual_ms for played in plays}) > 10
    assert len(orders) > 2


def test_without_a_seed_nothing_is_drawn() -> None:
    """Orders are as written, a time that is left open is the least, and there are no pauses."""
    shuffle = Shuffle(None)

    assert shuffle.order([3, 1, 2]) == [3, 1, 2]
    assert shuffle.between(5, 50) == 5
    assert shuffle.pause_ms(5, 50) == 0


def test_a_seed_draws_between_the_ends() -> None:
    """Both ends may come; a range that is upside down is its least."""
    shuffle = Shuffle(3)
    drawn = {shuffle.between(1, 4) for _ in range(200)}

    assert drawn == {1, 2, 3, 4}
    assert shuffle.between(5, 2) == 5
    assert sorted(shuffle.order(range(50))) == list(range(50))

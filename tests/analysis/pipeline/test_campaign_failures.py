"""campaign_failures: what is counted, and that both engines count the same."""

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables import table
from tests.support.tables_made import campaign_failures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]


def row(scenario: str, seed: int, settings: str, problem: str | None) -> Row:
    """A run; one with a problem failed."""
    is_bad = problem is not None
    return {
        "scenario": scenario,
        "seed": seed,
        "settings": settings,
        "outcome": "failed" if is_bad else "passed",
        "failure": f"{problem} with seed {seed} {settings}" if is_bad else None,
        "signature": problem,
        "line": seed if is_bad and seed % 3 else None,
        "steps": 3,
        "virtual_ms": 6,
        "transcript_hash": "00",
        "repeat": f"play {scenario} {seed} {settings}" if is_bad else None,
    }


# Names that sort otherwise in other collations: capitals, digits, letters beyond ASCII.
NAMES = ["a.yaml", "B.yaml", "ä.yaml", "a/10.yaml", "a/9.yaml", "\U0001f600.yaml", "\uffee.yaml"]
PROBLEMS = ["lost", "Late", "é", "a <id>", "", "\U0001f600", "\uffee"]
SETTINGS = ["{}", '{"a": "1"}', '{"a": "10"}', '{"a": "2"}']
runs = st.dictionaries(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 12), st.sampled_from(SETTINGS)),
    st.none() | st.sampled_from(PROBLEMS),
    max_size=60,
).map(lambda found: [row(*key, problem) for key, problem in found.items()])


def test_failures_are_ranked_by_how_many_runs_fail_like_that() -> None:
    """The most frequent comes first, with its lowest seed; runs that passed count for the whole."""
    played = [row("a", seed, "{}", "lost" if seed > 6 else "late" if seed == 3 else None) for seed in range(1, 10)]

    found = campaign_failures([*reversed(played), row("b", 1, "{}", None)])

    assert [(each["rank"], each["signature"], each["runs"], each["of_runs"], each["first_seed"]) for each in found] == [
        (1, "lost", 3, 9, 7),
        (2, "late", 1, 9, 3),
    ]
    assert found[0]["failure"] == "lost with seed 7 {}"
    assert found[0]["repeat"] == "play a 7 {}"


@given(runs)
def test_every_failed_run_is_counted_once(campaign_runs: list[Row]) -> None:
    """Ranks are 1, 2, 3, ...; keys are unique; the counts add up; the columns are those of the contract."""
    found = campaign_failures(campaign_runs)

    assert [each["rank"] for each in found] == list(range(1, len(found) + 1))
    assert sum(each["runs"] for each in found) == sum(each["outcome"] != "passed" for each in campaign_runs)
    assert len({(each["scenario"], each["signature"]) for each in found}) == len(found)
    assert all(tuple(each) == table("campaign_failures").column_names for each in found)


@given(runs)
def test_the_order_of_runs_does_not_matter(campaign_runs: list[Row]) -> None:
    """Rows may come in any order, as from executors."""
    assert campaign_failures(campaign_runs) == campaign_failures(campaign_runs[::-1])


@pytest.mark.spark
def test_both_engines_rank_alike(spark: "SparkSession") -> None:
    """Spark and DuckDB give the same rows, for names, problems and settings of all kinds."""
    draw = Random(13)
    keys = {(draw.choice(NAMES), draw.randrange(40), draw.choice(SETTINGS)) for _ in range(400)}
    campaign_runs = [row(*key, draw.choice([None, *PROBLEMS])) for key in sorted(keys)]
    engine = SparkEngine(spark)
    frame = engine.frame(table("campaign_runs"), campaign_runs)

    on_spark = engine.rows(make(engine, "campaign_failures", {"campaign_runs": frame}))

    here = campaign_failures(campaign_runs)
    assert len(here) > 40
    assert sorted(on_spark, key=lambda each: each["rank"]) == here

"""Campaigns on Spark: the same rows as in this process, whatever becomes of the workers."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.analysis.campaign.on_python import runs_here
from fakebroker.analysis.campaign.on_spark import Counted, runs_on_spark, small_batches
from fakebroker.analysis.campaign.plan import Campaign, read_campaign
from tests.analysis.campaign.texts import DEPENDS, EXPIRES, PASSES, write_scenarios

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = ["offsets.retention.minutes=1,1440", "offsets.retention.check.interval.ms=60000"]
ROOT = Path(__file__).resolve().parents[3]


def campaign_in(folder: Path) -> Campaign:
    """One with three scenarios, two settings and 20 seeds."""
    write_scenarios(folder, passes=PASSES, depends=DEPENDS, expires=EXPIRES)
    return read_campaign([str(folder)], SETTINGS, range(20))


def by_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in the order of their keys."""
    return sorted(rows, key=lambda row: (row["scenario"], row["seed"], row["settings"]))


@pytest.mark.spark
def test_spark_gives_the_rows_of_this_process(spark: "SparkSession", tmp_path: Path) -> None:
    """Every row is the same; tasks need none of the files; runs and failures are counted on the way."""
    campaign = campaign_in(tmp_path / "s")
    here = by_key(list(runs_here(campaign, 1)))
    for file in (tmp_path / "s").rglob("*.yaml"):
        file.unlink()
    counted = Counted(spark)

    with small_batches(spark):
        frame = runs_on_spark(spark, campaign, counted=counted)
        partitions = frame.rdd.getNumPartitions()
        found = by_key([row.asDict() for row in frame.collect()])

    assert found == here
    assert partitions == 8  # four for each of the two cores
    assert counted.runs.value == 120
    assert counted.failures.value == sum(row["outcome"] != "passed" for row in here)


@pytest.mark.spark
def test_the_size_of_batches_is_put_back(spark: "SparkSession") -> None:
    """Others on the same session have the batches that they had before."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)

    with small_batches(spark):
        assert spark.conf.get(name) == "50"

    assert spark.conf.get(name) == before


# A run in the middle ends its own process, once; Spark gives the task to another.
KILLED_ONCE = """
import os, signal, sys
from pathlib import Path
from fakebroker.analysis.campaign.on_python import runs_here
from fakebroker.analysis.campaign.on_spark import runs_on_spark
from fakebroker.analysis.campaign.one_run import play_run
from fakebroker.analysis.campaign.plan import read_campaign
from fakebroker.analysis.pipeline.session import spark_session

marker = Path(sys.argv[2])
campaign = read_campaign([sys.argv[1]], [], range(60))

def play(campaign, number):
    if number == 31 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return play_run(campaign, number)

session = spark_session("local[2,3]", {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": sys.argv[3]})
found = sorted((row.asDict() for row in runs_on_spark(session, campaign, play).collect()), key=lambda row: row["seed"])
session.stop()
assert found == list(runs_here(campaign, 1))
assert marker.exists()
print(len(found), "runs")
"""


@pytest.mark.spark
@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    """The task of a worker that dies is played again, and all rows are there, once and as they should be."""
    from tests.analysis.pipeline.conftest import FAST_JVM

    write_scenarios(tmp_path / "s", depends=DEPENDS)
    command = [sys.executable, "-c", KILLED_ONCE, str(tmp_path / "s"), str(tmp_path / "marker"), FAST_JVM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "60 runs"

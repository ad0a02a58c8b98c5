"""Spark's own Kafka source and sink work against fakebroker, and ask for what the page says."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
JARS = ROOT / ".java" / "spark-kafka"
PAGE = ROOT / "docs" / "how-to" / "spark.md"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (JARS / ".complete").exists(),
        reason="SPARK'S OWN KAFKA SOURCE IS NOT TESTED: no jars in .java/spark-kafka (scripts/set-up-spark-kafka)",
    ),
]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the steps of spark_kafka_session.py found, taken once."""
    jars = ",".join(str(jar) for jar in sorted(JARS.glob("*.jar")))
    command = [sys.executable, "-m", "tests.analysis.pipeline.spark_kafka_session", jars]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"[-5000:]
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return result


def table(number: int) -> set[tuple[str, int]]:
    """The APIs and versions of a table on the page."""
    text = PAGE.read_text().split("## Spark's own Kafka source")[1].split("With `spark.sql.")[number]
    return {(api, int(version)) for api, version in re.findall(r"^\| (\w+) \| (\d+) \|", text, re.M)}


def test_batches_have_the_records_that_are_asked_for(found: dict[str, Any]) -> None:
    """By topic, pattern and partition: 300 records in three partitions."""
    assert found["batch"] == [300, 300, 100]


def test_times_mean_the_first_record_as_new(found: dict[str, Any]) -> None:
    """(partition, first offset, records) by one time, and by times of each partition."""
    assert found["by_time"] == [[[0, 50, 50], [1, 0, 100], [2, 0, 100]], [[0, 90, 5], [1, 20, 80], [2, 0, 1]]]


def test_a_time_after_all_records_is_an_error_or_the_end(found: dict[str, Any]) -> None:
    """The broker answers offset -1 for it, which Spark tells apart by the option's strategy."""
    assert found["by_time_without_match"] == ["No offset matched", 0]


def test_the_sink_writes(found: dict[str, Any]) -> None:
    """Partitions as the rows say, headers, every row once."""
    assert found["sink"] == [[10, 10], True, 20]


def test_a_stream_goes_on_from_its_checkpoint(found: dict[str, Any]) -> None:
    """Several micro-batches, then one with the fifty records that came meanwhile; none lost or twice."""
    assert found["stream"] == [True, 1, 350, 50]


def test_a_driver_that_is_a_member_of_a_group_works_too(found: dict[str, Any]) -> None:
    """With useDeprecatedOffsetFetching: a batch and a stream have everything."""
    assert found["deprecated"] == [350, True, 350]


def test_what_spark_asks_for_is_what_the_page_says(found: dict[str, Any]) -> None:
    """The set of APIs and versions in the broker's journal, without groups and with them."""
    assert {(api, version) for api, version in found["asked"]} == table(0)

    of_members = {(api, version) for api, version in found["asked by members"]}
    assert of_members | {("Heartbeat", 4)} == table(1)  # it comes only after three seconds

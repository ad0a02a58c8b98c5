"""The data source on executors that are processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.support.spark_cluster import spark_cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = """
import sys
from fakebroker.analysis.pipeline.session import spark_session

master, servers = sys.argv[1:]
conf = {"spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
spark = spark_session(master, {**conf, "spark.driver.host": "127.0.0.1"})
options = {"kafka.bootstrap.servers": servers}
rows = spark.range(100).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")
rows.write.format("fakebroker").mode("append").options(**options, topic="orders").save()
print(spark.read.format("fakebroker").options(**options, subscribe="orders").load().distinct().count())
spark.stop()
"""


def test_executors_read_and_write(tmp_path: Path) -> None:
    """On two workers every row that is written is read again."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with FakeBroker() as broker, spark_cluster() as master:
        broker.create_topic("orders", partitions=4)
        command = [sys.executable, str(program), master, broker.bootstrap]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        run = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=tmp_path, env=environment)

        assert run.stdout.split()[-1:] == ["100"], run.stderr[-4000:]
        assert sum(broker.topic("orders").end_offsets.values()) == 100

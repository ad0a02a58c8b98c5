"""The data sources over Spark Connect, over which the commands do not work."""

import os
import subprocess
import sys

import pytest

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.java import java_home

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# A client and its server, which has no session of Spark's older kind. `remote("local[1]")` starts both.
PROGRAM = """
import sys
from pyspark.sql import SparkSession
from fakebroker.analysis.pipeline.sources.history import HistoryDataSource

spark = SparkSession.builder.remote("local[1]").getOrCreate()
servers = {"kafka.bootstrap.servers": sys.argv[1]}
orders = spark.read.format("fakebroker").options(**servers, subscribe="orders").load()
print([bytes(row.value) for row in orders.orderBy("offset").collect()])
spark.dataSource.register(HistoryDataSource)
log = spark.read.format("fakebroker_history").option("bootstrap", sys.argv[1]).load()
print([row.committed_offset for row in log.where("what = 'commit'").collect()])
print(type(spark).__module__)
"""


def test_the_data_sources_work_over_connect() -> None:
    """Batches of a topic and of commits; the server's Python has this package."""
    environment = {**os.environ, "JAVA_HOME": java_home(), "PYSPARK_PYTHON": sys.executable}
    with FakeBroker() as broker:
        broker.create_topic("orders").produce("a", "b")
        broker.client("a").commit({("orders", 0): 2}, group_id="billing")
        words = [sys.executable, "-c", PROGRAM, broker.bootstrap]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=400, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[b'a', b'b']", "[2]", "pyspark.sql.connect.session"]

"""Spark, with the Java that the extra brings, reads a journal as a data source."""

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.session import spark_session


def test_spark_reads_a_journal(tmp_path):
    with FakeBroker(journal_dir=tmp_path / "journal") as broker:
        broker.create_topic("orders")
        broker.client("c").commit({("orders", 0): 1}, group_id="billing")
    spark = spark_session("local[1]")
    try:
        frame = spark.read.format("fakebroker").load(str(tmp_path / "journal"))
        assert frame.count() > 0
    finally:
        spark.stop()

"""The runs of a campaign spread over the executors of Spark.

A run depends on nothing but the campaign and its number, so a task that is lost is played again and gives the same.
Executors need no files: what they play comes with the task.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from fakebroker.analysis.campaign.one_run import PASSED, Row, play_run
from fakebroker.analysis.campaign.plan import Campaign, loaded
from fakebroker.analysis.campaign.progress import CampaignProgress
from fakebroker.analysis.pipeline.progress import repeated
from fakebroker.analysis.pipeline.tables.campaign_runs import TABLE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Accumulator
    from pyspark.sql import DataFrame, SparkSession

TASKS_A_CORE: Final = 4
MAX_RUNS_A_TASK: Final = 1000  # what is lost with an executor, and the steps in which progress is seen
RUNS_A_BATCH: Final = 50
_LOOK_EVERY_S: Final = 0.5
_BATCH_SETTING: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"


def runs_on_spark(
    session: "SparkSession",
    campaign: Campaign,
    play: Callable[[Campaign, int], Row] = play_run,
    counted: "Counted | None" = None,
) -> "DataFrame":
    """A DataFrame of `campaign_runs`; what is made of it plays them."""
    runs = len(campaign)
    tasks = max(TASKS_A_CORE * session.sparkContext.defaultParallelism, -(-runs // MAX_RUNS_A_TASK))
    pickled = campaign.pickled()

    def play_all(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        from fakebroker.analysis.pipeline.rows import to_arrow

        for batch in batches:
            rows = [play(loaded(pickled), number) for number in batch.column(0).to_pylist()]
            if counted is not None:
                counted.add(rows)
            yield from to_arrow(TABLE, rows).to_batches()

    return session.range(0, runs, 1, min(tasks, max(runs, 1))).mapInArrow(play_all, TABLE.spark_ddl)


class Counted:
    """Runs and failures of tasks that ended, counted by Spark."""

    def __init__(self, session: "SparkSession") -> None:
        self.runs: Accumulator[int] = session.sparkContext.accumulator(0)
        self.failures: Accumulator[int] = session.sparkContext.accumulator(0)

    def add(self, rows: list[Row]) -> None:
        """Count rows, in a task."""
        self.runs.add(len(rows))
        self.failures.add(sum(row["outcome"] != PASSED for row in rows))


@contextmanager
def small_batches(session: "SparkSession") -> Iterator[None]:
    """Hand runs to Python in batches of RUNS_A_BATCH: a run takes milliseconds, not microseconds as a row does."""
    before: Any = session.conf.get(_BATCH_SETTING)
    session.conf.set(_BATCH_SETTING, str(RUNS_A_BATCH))
    try:
        yield
    finally:
        session.conf.set(_BATCH_SETTING, before)


@contextmanager
def watched(counted: Counted, progress: CampaignProgress) -> Iterator[None]:
    """Tell of the progress while the block works."""
    try:
        with repeated(lambda: progress.show(counted.runs.value, counted.failures.value), _LOOK_EVERY_S):
            yield
    finally:
        progress.clear()

"""The table `rejects` on Spark."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.distinct_records import conflicting_records
from fakebroker.analysis.pipeline.tables.decoded import DecodedOptions
from fakebroker.analysis.pipeline.tables.rejects import TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rejects(decoded: "DataFrame", *, options: DecodedOptions = DecodedOptions()) -> "DataFrame":
    """A row for each thing that could not be read, and for each record of an offset that has another one elsewhere."""
    found = decoded.where(F.col("what") == "reject").select(*TABLE.column_names)
    if options.may_repeat:
        found = found.unionByName(conflicting_records(decoded))
    return found.dropDuplicates(list(TABLE.key)).select(*TABLE.column_names)
